"""Networks: their sizes, their weights in files, their training."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")
pytest.importorskip("safetensors", reason="needs the extra attack")
pytest.importorskip("sklearn", reason="needs the extra attack")

from geoduel.attack import (  # noqa: E402
    Pictures,
    digits,
    load_pictures,
    load_weights,
    save_weights,
    small_cnn,
    train,
    vgg11_bn,
)
from geoduel.attack.networks import NETWORKS, augmented, new  # noqa: E402
from geoduel.errors import ArgumentError, DivergenceWarning  # noqa: E402


def test_weights_round_trip_and_differences_are_named(tmp_path):
    torch.manual_seed(0)
    network = small_cnn(width=4).eval()
    path = save_weights(network, tmp_path / "w.safetensors", half=False)
    again = load_weights(small_cnn(width=4), path)
    x = digits().images[:5]
    torch.testing.assert_close(again(x), network(x), rtol=0, atol=0)
    halved = load_weights(small_cnn(width=4), save_weights(network, tmp_path / "h.safetensors"))
    assert next(halved.parameters()).dtype == torch.float32
    with pytest.raises(ArgumentError, match="shape"):
        load_weights(small_cnn(width=8), path)
    with pytest.raises(ArgumentError, match="another network"):
        load_weights(vgg11_bn(), path)
    (tmp_path / "bad.safetensors").write_bytes(b"nothing")
    with pytest.raises(ArgumentError, match=r"bad\.safetensors"):
        load_weights(small_cnn(), tmp_path / "bad.safetensors")


def test_vgg_has_its_parameters():
    assert sum(p.numel() for p in vgg11_bn().parameters()) == 9_756_426


def test_vgg_answers_as_recorded(shared):
    folder = shared / "cifar10"
    if not folder.is_dir():
        pytest.skip("no reference network: ../shared/cifar10 is absent")
    network = load_weights(vgg11_bn(), folder / "vgg11_bn.safetensors")
    pictures = load_pictures(folder)
    recorded = np.load(folder / "test_1000.npz")["logits"]
    with torch.no_grad():
        logits = network(pictures.images[:20]).numpy()
    np.testing.assert_allclose(logits, recorded[:20], atol=0.02)  # half-precision storage


def test_training_learns_and_repeats():
    some = digits("train").take(slice(0, 400))

    def trained():
        torch.manual_seed(0)
        return train(small_cnn(width=4), some, epochs=3, batch_size=40, augment=False, seed=1)

    one, two = trained(), trained()
    x = digits().take(slice(0, 200))
    assert torch.equal(one(x.images), two(x.images))
    assert (one(x.images).argmax(1) == x.labels).float().mean() > 0.7
    assert not one.training


@pytest.mark.parametrize(
    ("name", "epochs"), [("strided", 2), ("residual", 2), ("mixer", 3), ("small-vgg", 2)]
)
def test_small_architectures_learn_the_digits(name, epochs):
    torch.manual_seed(0)
    network = new(name, (1, 8, 8), 10)
    train(network, digits("train"), epochs=epochs, batch_size=64, augment=False)
    x = digits()
    assert (network(x.images).argmax(1) == x.labels).float().mean() > 0.9
    assert new(name, (3, 32, 32), 7)(torch.zeros(2, 3, 32, 32)).shape == (2, 7)


def test_networks_by_name():
    assert next(iter(NETWORKS)) == "vgg11"
    with pytest.raises(ArgumentError, match="architecture"):
        new("transformer", (3, 32, 32), 10)
    with pytest.raises(ArgumentError, match="VGG-11"):
        new("vgg11", (1, 8, 8), 10)


def test_augmented_pictures_keep_shape_and_range():
    x = torch.rand(6, 3, 16, 16)
    before = x.clone()
    y = augmented(x, np.random.default_rng(0))
    assert y.shape == x.shape
    assert y.min() >= 0
    assert y.max() <= 1
    assert torch.equal(x, before)
    assert not torch.equal(y, x)


EIGHT = torch.linspace(0, 1, 6 * 64).reshape(6, 1, 8, 8)
SIX = Pictures(EIGHT, torch.arange(6), tuple("0123456789"))


def frozen():
    return small_cnn(width=2).requires_grad_(False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"network": "vgg11"}, r"network must be a torch\.nn\.Module, got 'vgg11'"),
        ({"network": None}, "network must be"),
        ({"network": torch.nn.Flatten()}, "network has no parameters to train"),
        ({"network": frozen()}, "none requires a gradient"),
        (
            {"network": torch.nn.Linear(3, 3)},
            "network does not take a batch of 4 pictures",
        ),
        ({"network": vgg11_bn()}, r"of shape \(1, 8, 8\)"),
        ({"network": torch.nn.Conv2d(1, 2, 3)}, r"one row of logits .* got shape \(4, 2, 6, 6\)"),
        ({"network": small_cnn(classes=3, width=2)}, "label 5, and network has 3 classes"),
        ({"pictures": EIGHT}, "pictures must be geoduel.attack.Pictures"),
        ({"pictures": SIX.take([])}, "pictures must be one or more"),
        ({"pictures": Pictures(EIGHT, torch.arange(6) - 1, ())}, "each with a label >= 0"),
        ({"epochs": 0}, "epochs must be an integer >= 1"),
        ({"epochs": 1.5}, "epochs"),
        ({"batch_size": "8"}, "batch_size"),
        ({"learning_rate": 0}, "learning_rate must be > 0"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"augment": "no"}, "augment must be True or False"),
        ({"seed": -1}, "seed must be an int >= 0"),
        ({"seed": "x"}, "seed must be"),
        ({"seed": True}, "seed must be"),
        ({"device": "gpu"}, "device 'gpu'"),
        ({"device": "meta"}, "device 'meta' holds no numbers"),
        ({"device": 1.5}, "device must be a device such as"),
        ({"callback": 3}, "callback must be a function of the epoch and its loss"),
        ({"callback": lambda epoch: None}, "callback .* takes other arguments"),
    ],
)
def test_what_is_wrong_with_a_training_is_named(change, words):
    good = {"network": small_cnn(width=2), "pictures": SIX, "epochs": 1, "batch_size": 4}
    with pytest.raises(ArgumentError, match=words):
        train(**{**good, **change})


def test_a_last_batch_that_the_network_does_not_take_is_named():
    network = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 10)
    )
    with pytest.raises(ArgumentError, match="a batch of 1 pictures"):
        train(network, SIX, epochs=1, batch_size=5)


def test_training_that_diverges_says_so_and_ends():
    seen = []
    with pytest.warns(DivergenceWarning, match="try a smaller learning_rate than 1e"):
        train(
            small_cnn(width=2),
            SIX,
            epochs=20,
            batch_size=2,
            learning_rate=1e30,
            callback=lambda epoch, loss: seen.append(loss),
        )
    assert len(seen) < 20


def test_training_takes_pictures_of_other_dtypes_and_low_ones():
    double = Pictures(EIGHT.double(), torch.arange(6, dtype=torch.int32), ())
    train(small_cnn(width=2), double, epochs=1, batch_size=4)
    low = Pictures(EIGHT.reshape(6, 1, 2, 32), torch.arange(6), ())
    train(small_cnn((1, 2, 32), width=2), low, epochs=1, batch_size=4)
    assert torch.isfinite(augmented(torch.rand(3, 1, 1, 40), np.random.default_rng(0))).all()


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(
    "sizes", [("x", 10), ((1, 8), 10), ((1, 8, 0), 10), ((1, 8, 2.5), 10), ((1, 1, 1), 10)]
)
def test_sizes_that_no_network_has_are_named(name, sizes):
    if sizes == ((1, 1, 1), 10) and name in ("strided", "residual"):
        assert new(name, *sizes).eval()(torch.zeros(2, 1, 1, 1)).shape == (2, 10)
        return
    with pytest.raises(ArgumentError, match="shape"):
        new(name, *sizes)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("classes", [0, 2.5, "x", None])
def test_a_wrong_number_of_classes_is_named(name, classes):
    with pytest.raises(ArgumentError, match="classes must be an integer >= 1"):
        new(name, (3, 32, 32), classes)


def test_weights_that_cannot_be_written_are_an_error_of_the_path(tmp_path):
    with pytest.raises(ArgumentError, match=r"path .* cannot be written"):
        save_weights(small_cnn(width=2), tmp_path / "no" / "w.safetensors")
