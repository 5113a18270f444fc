"""Pictures, networks, the command: what is read is right, and nothing is run while reading."""

from __future__ import annotations

import json
import pickle
import struct

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")
pytest.importorskip("safetensors", reason="needs the extra attack")
pytest.importorskip("sklearn", reason="needs the extra attack")
pytest.importorskip("PIL", reason="needs the extra attack")

from geoduel.attack import (  # noqa: E402
    Pictures,
    attack,
    cifar10,
    digits,
    load_pictures,
    load_weights,
    save_weights,
    small_cnn,
    train,
    vgg11_bn,
)
from geoduel.attack.command import prepared  # noqa: E402
from geoduel.cli import main  # noqa: E402
from geoduel.errors import ArgumentError  # noqa: E402


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (20, 3072), dtype=np.uint8)


LABELS = [i % 10 for i in range(20)]


def py2_pickle(pixels, labels):
    """A batch as the published files have it: protocol 2 of Python 2, NumPy's names, bytes."""

    def short(text):
        return b"U" + bytes([len(text)]) + text

    data = pixels.tobytes()
    rows, columns = pixels.shape
    return b"".join(
        [
            b"\x80\x02}(",
            short(b"data"),
            b"cnumpy.core.multiarray\n_reconstruct\n",
            b"cnumpy\nndarray\n",
            b"K\x00\x85" + short(b"b") + b"\x87R",
            b"(K\x01"
            + b"M"
            + struct.pack("<H", rows)
            + b"M"
            + struct.pack("<H", columns)
            + b"\x86",
            b"cnumpy\ndtype\n" + short(b"u1") + b"K\x00K\x01\x87R",
            b"(K\x03" + short(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb",
            b"\x89T" + struct.pack("<I", len(data)) + data + b"tb",
            short(b"labels"),
            b"](" + b"".join(b"K" + bytes([n]) for n in labels) + b"e",
            b"u.",
        ]
    )


@pytest.mark.parametrize("form", ["python 2", "python 3", "binary"])
def test_published_forms_of_cifar10(tmp_path, pixels, form):
    if form == "binary":
        home = tmp_path / "cifar-10-batches-bin"
        content = np.concatenate([np.array(LABELS, dtype=np.uint8)[:, None], pixels], 1).tobytes()
        ending = ".bin"
    else:
        home = tmp_path / "cifar-10-batches-py"
        table = {"data": pixels, "labels": LABELS}
        content = py2_pickle(pixels, LABELS) if form == "python 2" else pickle.dumps(table, 2)
        ending = ""
    home.mkdir()
    for name in ("test_batch", *(f"data_batch_{i}" for i in range(1, 6))):
        (home / (name + ending)).write_bytes(content)
    found = load_pictures(tmp_path)
    assert found.labels.tolist() == LABELS
    expected = pixels.reshape(20, 3, 32, 32) / np.float32(255)
    np.testing.assert_array_equal(found.images.numpy(), expected)
    assert found.classes[3] == "cat"
    assert len(cifar10(home, "train")) == 100


class Mischief:
    def __reduce__(self):
        import os

        return os.system, ("touch /tmp/geoduel-was-here",)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({"data": Mischief(), "labels": [1]}),
        pickle.dumps({"data": np.zeros((1, 3072), dtype=object), "labels": [1]}, 2),
        pickle.dumps({"data": np.zeros((1, 3072)), "labels": [1]}, 2),
        pickle.dumps({"data": np.zeros((2, 3072), dtype=np.uint8), "labels": [1]}, 2),
        pickle.dumps({"data": np.zeros((1, 3072), dtype=np.uint8), "labels": [11]}, 2),
        pickle.dumps([1, 2]),
        b"",
        b"no pickle",
    ],
)
def test_other_pickles_are_refused(tmp_path, content):
    from pathlib import Path

    (tmp_path / "test_batch").write_bytes(content)
    with pytest.raises(ArgumentError, match="test_batch"):
        cifar10(tmp_path)
    assert not Path("/tmp/geoduel-was-here").exists()


def test_a_folder_of_images(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    pictures = {}
    for name in ("b/1.png", "a/1.png", "a/0.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        pictures[name] = rng.integers(0, 256, (4, 5, 3), dtype=np.uint8)
        Image.fromarray(pictures[name]).save(path)
    found = load_pictures(tmp_path)
    assert found.classes == ("a", "b")
    assert found.labels.tolist() == [0, 0, 1]
    first = found.images[0].permute(1, 2, 0).numpy() * 255
    np.testing.assert_allclose(first, pictures["a/0.png"], atol=1e-4)
    Image.fromarray(np.zeros((3, 3, 3), np.uint8)).save(tmp_path / "a" / "2.png")
    with pytest.raises(ArgumentError, match="one size"):
        load_pictures(tmp_path)


def test_missing_data_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "x.npz", images=np.zeros((2, 3)), labels=np.zeros(2))
    for where, words in [
        ("cifar10", "no folder data/"),
        ("nowhere", "nowhere"),
        (tmp_path / "x.npz", "bytes"),
    ]:
        with pytest.raises(ArgumentError, match=words):
            load_pictures(where)
    (tmp_path / "x.npz").unlink()
    with pytest.raises(ArgumentError, match="no images"):
        load_pictures(tmp_path)


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


def test_augmented_pictures_keep_shape_and_range():
    from geoduel.attack.networks import _augmented

    x = torch.rand(6, 3, 16, 16)
    before = x.clone()
    y = _augmented(x, np.random.default_rng(0))
    assert y.shape == x.shape
    assert y.min() >= 0
    assert y.max() <= 1
    assert torch.equal(x, before)
    assert not torch.equal(y, x)


def test_prepared_pictures_are_classified_right(tmp_path):
    network, pictures = prepared("digits", None, 12, among=(30, 90))
    assert len(pictures) == 12
    assert (network(pictures.images).argmax(1) == pictures.labels).all()
    from PIL import Image

    Image.fromarray(np.zeros((32, 32, 3), np.uint8)).save(tmp_path / "0.png")
    with pytest.raises(ArgumentError, match="weights"):
        prepared(str(tmp_path), None, 3)


def test_command(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    out = tmp_path / "made"
    command = ["attack", "--n", "6", "--budget", "20", "--methods", "auto,evolution,rgd"]
    assert main([*command, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "misclassified" in said
    for name in ("progress.png", "pictures.png", "table.csv", "images.json"):
        assert (out / name).stat().st_size > 0
        assert name in said.replace("\n", "")
    record = json.loads((out / "images.json").read_text())
    assert set(record["results"]) == {"auto", "evolution", "rgd"}
    assert len(record["results"]["auto"]["success"]) == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "nowhere"], "nowhere"),
        (["--methods", "newton"], "method"),
        (["--methods", " "], "--methods"),
        (["--device", "abacus"], "--device"),
        (["train", "--data", "nowhere"], "nowhere"),
    ],
)
def test_command_says_what_is_wrong(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert main(["attack", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_half_of_cifar10_within_a_hundred_comparisons(shared):
    folder = shared / "cifar10"
    if not folder.is_dir():
        pytest.skip("no reference network: ../shared/cifar10 is absent")
    network, pictures = prepared(str(folder), None, 50)
    result = attack(network, pictures.images, pictures.labels, budget=300, rng=0)
    assert result.success_after(100) > 0.5
    assert result.success_after(300) >= 0.72
    assert isinstance(pictures, Pictures)
