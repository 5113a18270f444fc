"""Pictures to attack: what is read is right, and what is missing is named."""

from __future__ import annotations

import pickle
import struct

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")
pytest.importorskip("sklearn", reason="needs the extra attack")
pytest.importorskip("PIL", reason="needs the extra attack")

from geoduel.attack import cifar10, load_pictures  # noqa: E402
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
