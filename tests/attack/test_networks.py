"""Networks: their sizes, their weights in files, their training."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")
pytest.importorskip("safetensors", reason="needs the extra attack")
pytest.importorskip("sklearn", reason="needs the extra attack")

from geoduel.attack import (  # noqa: E402
    digits,
    load_pictures,
    load_weights,
    save_weights,
    small_cnn,
    train,
    vgg11_bn,
)
from geoduel.attack.networks import NETWORKS, augmented, new  # noqa: E402
from geoduel.errors import ArgumentError  # noqa: E402


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
