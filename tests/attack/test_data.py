"""Pictures to attack: what is read is right, and what is missing is named."""

from __future__ import annotations

import pickle
import struct

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")
pytest.importorskip("sklearn", reason="needs the extra attack")
pytest.importorskip("PIL", reason="needs the extra attack")

from geoduel.attack import Pictures, cifar10, image_folder, load_pictures  # noqa: E402
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


IMAGES, NUMBERS = torch.full((3, 1, 4, 4), 0.5), torch.arange(3)


@pytest.mark.parametrize(
    ("images", "labels", "words"),
    [
        (IMAGES.numpy(), NUMBERS, "images must be a torch tensor"),
        (
            (255 * IMAGES).byte(),
            NUMBERS,
            "images must be .* numbers, got torch.uint8",
        ),
        (255 * IMAGES, NUMBERS, "images has pixels from 127.5 to 127.5"),
        (torch.nan * IMAGES, NUMBERS, "images has pixels from nan"),
        (IMAGES[0], NUMBERS, r"images has shape \(1, 4, 4\)"),
        (IMAGES, NUMBERS[:2], r"labels has shape \(2,\), expected one for each image: \(3,\)"),
        (IMAGES, NUMBERS[:, None], "labels has shape"),
        (
            IMAGES,
            NUMBERS.float(),
            "labels must be .* of class numbers, got torch.float",
        ),
        (IMAGES, NUMBERS == 1, "labels must be .* got torch.bool"),
        (IMAGES, [0, 1, 2], "labels must be .* got list"),
        (IMAGES, NUMBERS - 2, "labels must be class numbers >= 0, or -1"),
    ],
)
def test_pictures_that_are_none_are_named(images, labels, words):
    with pytest.raises(ArgumentError, match=words):
        Pictures(images, labels, ())


@pytest.mark.parametrize("classes", ["cat", 3, [1, 2]])
def test_classes_are_names(classes):
    with pytest.raises(ArgumentError, match="classes must be"):
        Pictures(IMAGES, NUMBERS, classes)


def test_some_pictures_are_taken_by_numbers_slices_and_masks():
    pictures = Pictures(IMAGES, NUMBERS, ())
    for index in ([2, 0], np.array([2, 0]), torch.tensor([-1, 0])):
        assert pictures.take(index).labels.tolist() == [2, 0]
    for index in (slice(0, 3, 2), [True, False, True], np.array([True, False, True])):
        assert pictures.take(index).labels.tolist() == [0, 2]
    assert len(pictures.take([])) == len(pictures.take(NUMBERS > 5)) == 0
    for index in (1, None, "a", 1.5, [3], [0.5], [True], torch.zeros(3), object()):
        with pytest.raises(ArgumentError, match="index must be a slice, numbers or a mask of 3"):
            pictures.take(index)


def test_a_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "bad.png").write_bytes(b"nothing")
    with pytest.raises(ArgumentError, match=r"bad\.png is no picture"):
        image_folder(tmp_path)


@pytest.mark.parametrize("labels", [np.zeros(2), np.array(["a", "b"]), np.array([-7, 0])])
def test_arrays_with_wrong_labels_are_named(tmp_path, labels):
    np.savez(tmp_path / "x.npz", images=np.zeros((2, 4, 4, 3), np.uint8), labels=labels)
    with pytest.raises(ArgumentError, match="labels"):
        load_pictures(tmp_path / "x.npz")


def test_files_that_hold_no_arrays_are_named(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, images=np.zeros((0, 4, 4, 3), np.uint8), labels=np.zeros(0, dtype=int))
    with pytest.raises(ArgumentError, match="n >= 1"):
        load_pictures(path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(ArgumentError, match="expected arrays images and labels"):
        load_pictures(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ArgumentError, match="expected arrays images and labels"):
        load_pictures(path)
