"""The attack inside Foolbox and the Adversarial Robustness Toolbox, for pipelines that use them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support.check import truth
from ..errors import ArgumentError, MissingExtraError
from ._torch import torch
from .run import attack

__all__ = ["to_art", "to_foolbox"]


def to_foolbox(**settings: Any) -> Any:
    """Return the attack as a Foolbox attack of fixed radius.

    Parameters
    ----------
    **settings
        Of `geoduel.attack.attack`: ``budget`` (needed), ``method``, ``oracle``,
        ``directions``, ``batch_size``, ``rng``, ... The radius is Foolbox's ``epsilon``, one number
        for all images; pixels keep within the model's bounds.

    Returns
    -------
    foolbox.attacks.base.FixedEpsilonAttack
        Called as any other, ``to_foolbox(budget=1000)(fmodel, images, labels, epsilons=0.5)``, with
        labels, `foolbox.Misclassification` or `foolbox.TargetedMisclassification`. Foolbox checks
        the images afterwards, with one more pass each.

    Raises
    ------
    MissingExtraError
        If Foolbox is not installed.
    """
    try:
        import eagerpy as ep  # comes with Foolbox
        from foolbox.attacks.base import FixedEpsilonAttack, get_criterion
        from foolbox.criteria import Misclassification, TargetedMisclassification
        from foolbox.distances import l2, linf
    except ImportError:
        raise MissingExtraError("the adapter needs Foolbox: pip install foolbox") from None
    _needs_budget(settings)

    class GeoduelAttack(FixedEpsilonAttack):
        distance = linf if settings.get("norm") == "linf" else l2

        def run(self, model: Any, inputs: Any, criterion: Any, *, epsilon: float, **_: Any) -> Any:
            images, restore = ep.astensor_(inputs)
            criterion = get_criterion(criterion)
            if isinstance(criterion, TargetedMisclassification):
                goal = {"targeted": criterion.target_classes.raw}
            elif isinstance(criterion, Misclassification):
                goal = {"labels": criterion.labels.raw}
            else:
                raise ArgumentError(
                    f"criterion must be (targeted) misclassification, got {criterion!r:.80}"
                )
            clip = float(model.bounds.lower), float(model.bounds.upper)
            found = attack(model, images.raw, radius=epsilon, clip=clip, **goal, **settings)
            return restore(ep.astensor(found.images))

    return GeoduelAttack()


def to_art(
    estimator: Any, *, eps: float | None = None, radius: float | None = None, **settings: Any
) -> Any:
    """Return the attack as an evasion attack of the Adversarial Robustness Toolbox (ART).

    Parameters
    ----------
    estimator : art.estimators.classification.PyTorchClassifier
        The classifier, asked through ``predict`` only, in NumPy arrays: any of ART's classifiers
        with images (n, channels, height, width) will do. White-box methods need gradients and are
        refused.
    eps, radius : float
        As in `geoduel.attack.attack`.
    **settings
        Its other settings; ``budget`` is needed.

    Returns
    -------
    art.attacks.EvasionAttack
        ``generate(x, y=None)`` takes and returns NumPy arrays; y are classes or one-hot rows, by
        default the classifier's own answers. With ``targeted=True`` in the settings, y are the
        classes to reach.

    Raises
    ------
    MissingExtraError
        If ART is not installed.
    """
    try:
        from art.attacks.attack import EvasionAttack
    except ImportError:
        raise MissingExtraError(
            "the adapter needs ART: pip install adversarial-robustness-toolbox"
        ) from None
    _needs_budget(settings)
    if settings.get("method") in ("rgd", "pgd"):
        raise ArgumentError("method 'rgd' and 'pgd' see gradients, which ART's predict hides")
    targeted = truth(settings.pop("targeted", False), "targeted")

    class GeoduelAttack(EvasionAttack):
        _estimator_requirements = ()  # anything with predict

        def __init__(self) -> None:
            super().__init__(estimator=estimator)
            self._targeted = targeted

        def generate(self, x: np.ndarray, y: np.ndarray | None = None, **_: Any) -> np.ndarray:
            images = torch.as_tensor(np.asarray(x))
            goal = {}
            if y is not None:
                classes = np.asarray(y).argmax(1) if np.ndim(y) > 1 else np.asarray(y)
                goal = {"targeted" if targeted else "labels": torch.as_tensor(classes)}
            elif targeted:
                raise ArgumentError("targeted=True: y must hold the classes to reach")
            limits = estimator.clip_values
            low, high = (images.min(), images.max()) if limits is None else limits
            clip = float(np.min(np.asarray(low))), float(np.max(np.asarray(high)))

            def model(z: torch.Tensor) -> torch.Tensor:
                return torch.as_tensor(estimator.predict(z.cpu().numpy()))

            found = attack(model, images, eps=eps, radius=radius, clip=clip, **goal, **settings)
            return found.images.numpy()

    return GeoduelAttack()


def _needs_budget(settings: dict[str, Any]) -> None:
    if "budget" not in settings:
        raise ArgumentError("budget= is needed: the most comparisons an image")
