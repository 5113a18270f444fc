"""The attack inside Foolbox and ART, where they are installed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

from geoduel.attack import (  # noqa: E402
    to_art,
    to_foolbox,
)
from geoduel.errors import (  # noqa: E402
    ArgumentError,
    MissingExtraError,
)


class Brightness(torch.nn.Module):
    """Answers 1 where the mean pixel is above a half."""

    def forward(self, images):
        excess = images.mean((1, 2, 3)) - 0.5
        return torch.stack([-excess, excess], 1)


@pytest.fixture
def images():
    return torch.as_tensor(
        np.random.default_rng(0).uniform(0.3, 0.68, (4, 3, 6, 6)), dtype=torch.float32
    )


def test_foolbox(images):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package itself, on newer Pythons
        foolbox = pytest.importorskip("foolbox", reason="Foolbox is not installed")
        model = foolbox.PyTorchModel(Brightness().eval(), bounds=(0, 1))
        labels = Brightness()(images).argmax(1)
        made = to_foolbox(budget=200, rng=0, directions="all")
        raw, clipped, success = made(model, images, labels, epsilons=[0.001, 0.6])
        assert not success[0].any()
        assert success[1].all()
        assert ((clipped[1] - images).flatten(1).norm(dim=1) <= 0.6 * (1 + 1e-5)).all()
        assert raw[1].min() >= 0
        assert raw[1].max() <= 1
        target = foolbox.criteria.TargetedMisclassification(1 - labels)
        assert made(model, images, target, epsilons=0.6)[2].all()


def test_art(images):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifiers = pytest.importorskip("art.estimators.classification", reason="no ART")
        estimator = classifiers.PyTorchClassifier(
            model=Brightness().eval(),
            loss=torch.nn.CrossEntropyLoss(),
            input_shape=(3, 6, 6),
            nb_classes=2,
            clip_values=(0, 1),
        )
        x = images.numpy()
        own = estimator.predict(x).argmax(1)
        made = to_art(estimator, radius=0.6, budget=200, rng=0, directions="all")
        found = made.generate(x)
        assert (estimator.predict(found).argmax(1) != own).all()
        one_hot = np.eye(2, dtype=np.float32)[1 - own]
        aimed = to_art(estimator, radius=0.6, budget=200, rng=0, directions="all", targeted=True)
        assert (estimator.predict(aimed.generate(x, one_hot)).argmax(1) == 1 - own).all()
        with pytest.raises(ArgumentError, match="gradients"):
            to_art(estimator, budget=10, method="rgd")


def test_absent_or_without_budget():
    for make in (lambda: to_foolbox(), lambda: to_art(None)):
        with pytest.raises((ArgumentError, MissingExtraError), match=r"budget|pip install"):
            make()
