"""Pictures to attack: scikit-learn's digits, CIFAR-10 in its published forms, folders of images."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .._support.check import as_path, one_of, several, text
from ..errors import ArgumentError, MissingExtraError
from ._torch import torch
from .images import check_batch, check_pixels
from .safe_pickle import Reader

__all__ = ["CIFAR10_CLASSES", "Pictures", "cifar10", "digits", "image_folder", "load_pictures"]


CIFAR10_CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
IMAGE_ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm"})
FILES = {"train": tuple(f"data_batch_{i}" for i in range(1, 6)), "test": ("test_batch",)}


@dataclass(frozen=True, eq=False)
class Pictures:
    """Labelled pictures.

    Attributes
    ----------
    images : torch.Tensor of shape (n, channels, height, width)
        Pixels in [0, 1], float32.
    labels : torch.Tensor of shape (n,)
        Class numbers, int64; -1 where the class is not known.
    classes : tuple of str
        Names of the classes.

    Raises
    ------
    ArgumentError
        If they are something else; the message says what.
    """

    images: torch.Tensor
    labels: torch.Tensor
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        check_batch(self.images, "images", least=0)
        check_pixels(self.images, (0.0, 1.0), "images")
        labels, n = self.labels, len(self.images)
        kind = getattr(labels, "dtype", type(labels).__name__)
        if not isinstance(labels, torch.Tensor) or kind not in _INTEGERS:
            raise ArgumentError(f"labels must be a torch tensor of class numbers, got {kind}")
        if tuple(labels.shape) != (n,):
            raise ArgumentError(
                f"labels has shape {tuple(labels.shape)}, expected one for each image: ({n},)"
            )
        if n and int(labels.min()) < -1:
            raise ArgumentError(
                f"labels must be class numbers >= 0, or -1 where it is not known; got "
                f"{int(labels.min())}"
            )
        for name in several(self.classes, "classes", "names"):
            text(name, "classes")

    def __len__(self) -> int:
        return len(self.images)

    def take(self, index: Any) -> Pictures:
        """The pictures with these numbers (a slice, a list, a mask).

        Raises
        ------
        ArgumentError
            If it is none of these, or there is no such picture.
        """
        some = isinstance(index, slice | list | tuple) or getattr(index, "ndim", 0) == 1
        try:
            if not some:
                raise TypeError
            at = index if isinstance(index, slice) else torch.as_tensor(index, device="cpu")
            if isinstance(at, torch.Tensor) and not at.numel():
                at = at.long()  # a list of nothing
            numbers = torch.arange(len(self))[at].to(self.labels.device)
        except (TypeError, ValueError, IndexError, RuntimeError):
            raise ArgumentError(
                f"index must be a slice, numbers or a mask of {len(self)} pictures, got "
                f"{index!r:.80}"
            ) from None
        return Pictures(self.images[numbers], self.labels[numbers], self.classes)


def load_pictures(where: str | Path, split: str = "test") -> Pictures:
    """Load pictures from whatever ``where`` is.

    Parameters
    ----------
    where : str or Path
        "digits", or "cifar10" for a copy under ``data/``, where torchvision puts it. Or an ``.npz``
        file with ``images`` (n, height, width, channels) of bytes and ``labels`` (n,). Or a folder
        with such a file, with ``cifar-10-batches-py`` or ``cifar-10-batches-bin``, or of images.
    split : {"test", "train"}
        Which part, where there are two.

    Raises
    ------
    ArgumentError
        If nothing of this kind is found there; the message says what was looked for.
    MissingExtraError
        If scikit-learn (digits) or pillow (folders of images) is not installed.
    """
    one_of(split, "split", tuple(FILES))
    path = as_path(where, "where")
    if where == "digits":
        return digits(split)
    if where == "cifar10" and not path.exists():
        path = Path("data")
        if not path.is_dir():
            raise ArgumentError(
                'data "cifar10": no folder data/ here; give the folder that holds '
                "cifar-10-batches-py or cifar-10-batches-bin (from www.cs.toronto.edu/~kriz)"
            )
    if path.suffix == ".npz":
        return _npz(path)
    if not path.is_dir():
        raise ArgumentError(f"data {path}: neither a folder nor an .npz file nor 'digits'")
    if _cifar10_home(path) is not None:
        return cifar10(path, split)
    arrays = sorted(path.glob(f"{split}*.npz")) or sorted(path.glob("*.npz"))
    return _npz(arrays[0]) if arrays else image_folder(path)


def digits(split: str = "test") -> Pictures:
    """Scikit-learn's 1,797 digits, 8 x 8 pixels in grey; every third is a test picture.

    Examples
    --------
    >>> pictures = digits()
    >>> tuple(pictures.images.shape), float(pictures.images.max())
    ((599, 1, 8, 8), 1.0)
    """
    try:
        load = import_module("sklearn.datasets").load_digits
    except ImportError:
        raise MissingExtraError(
            "the digits need scikit-learn: pip install 'geoduel[attack]'"
        ) from None
    found = load()
    images = torch.as_tensor(found.images / 16, dtype=torch.float32)[:, None]
    test = torch.arange(len(images)) % 3 == 0
    chosen = test if one_of(split, "split", tuple(FILES)) == "test" else ~test
    labels = torch.as_tensor(found.target, dtype=torch.int64)
    return Pictures(images[chosen], labels[chosen], tuple("0123456789"))


def cifar10(folder: str | Path, split: str = "test") -> Pictures:
    """CIFAR-10 from its python or its binary version, unpacked.

    Parameters
    ----------
    folder : str or Path
        Folder ``cifar-10-batches-py`` or ``cifar-10-batches-bin``, or one that holds it.
    split : {"test", "train"}
        10,000 or 50,000 pictures.

    References
    ----------
    Krizhevsky, Learning multiple layers of features from tiny images, 2009.
    """
    home = _cifar10_home(as_path(folder, "folder"))
    if home is None:
        raise ArgumentError(
            f"data {folder}: holds neither cifar-10-batches-py nor cifar-10-batches-bin"
        )
    names = FILES[one_of(split, "split", tuple(FILES))]
    binary = (home / f"{names[0]}.bin").is_file()
    parts = [_bin(home / f"{n}.bin") if binary else _batch(home / n) for n in names]
    pixels, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    return _pictures(pixels.reshape(-1, 3, 32, 32), labels, CIFAR10_CLASSES)


def image_folder(folder: str | Path) -> Pictures:
    """Images in one folder a class (the names sorted, as torchvision does), all of one size.

    Images right in the folder get label -1: `geoduel attack` then takes the network's own answer.
    """
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError(
            "folders of images need pillow: pip install 'geoduel[attack]'"
        ) from None
    folder = as_path(folder, "folder")
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in IMAGE_ENDINGS)
    if not files:
        raise ArgumentError(f"data {folder}: no images ({', '.join(sorted(IMAGE_ENDINGS))}) in it")
    classes = sorted({p.parent.name for p in files if p.parent != folder})
    arrays = []
    for path in files:
        try:
            with Image.open(path) as image:
                arrays.append(np.asarray(image.convert("RGB")))
        except Exception as error:  # hostile bytes can end in anything
            raise ArgumentError(f"data {folder}: {path.name} is no picture: {error}") from error
        if arrays[-1].shape != arrays[0].shape:
            raise ArgumentError(
                f"data {folder}: {path.name} has shape {arrays[-1].shape}, {files[0].name} has "
                f"{arrays[0].shape}; expected one size"
            )
    labels = [classes.index(p.parent.name) if p.parent != folder else -1 for p in files]
    return _pictures(np.stack(arrays).transpose(0, 3, 1, 2), np.array(labels), tuple(classes))


# -- private ---------------------------------------------------------------------------------------


def _pictures(pixels: np.ndarray, labels: np.ndarray, classes: tuple[str, ...]) -> Pictures:
    images = torch.as_tensor(np.ascontiguousarray(pixels)).float() / 255
    return Pictures(images, torch.as_tensor(labels.astype(np.int64)), classes)


def _npz(path: Path) -> Pictures:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            pixels, labels = arrays["images"], arrays["labels"]
    except Exception as error:  # what is no such file can end in anything
        raise ArgumentError(f"data {path}: {error}; expected arrays images and labels") from error
    whole = pixels.dtype == np.uint8 and labels.dtype.kind in "iu"
    if not whole or pixels.ndim != 4 or labels.shape != pixels.shape[:1] or not pixels.size:
        raise ArgumentError(
            f"data {path}: images {pixels.dtype} {pixels.shape}, labels {labels.dtype} "
            f"{labels.shape}; expected bytes of shape (n, height, width, channels), n >= 1, and n "
            "whole numbers"
        )
    count = int(labels.max()) + 1
    cifar = pixels.shape[1:] == (32, 32, 3) and count == 10
    classes = CIFAR10_CLASSES if cifar else tuple(map(str, range(count)))
    return _pictures(pixels.transpose(0, 3, 1, 2), labels, classes)


def _cifar10_home(folder: Path) -> Path | None:
    for home in (folder, folder / "cifar-10-batches-py", folder / "cifar-10-batches-bin"):
        if (home / "test_batch").is_file() or (home / "test_batch.bin").is_file():
            return home
    return None


def _bin(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Records of one byte for the label and 3072 for the pixels."""
    data = np.fromfile(path, dtype=np.uint8)
    if not data.size or data.size % 3073:
        raise ArgumentError(f"data {path}: {data.size} bytes, expected a multiple of 3073")
    records = data.reshape(-1, 3073)
    return records[:, 1:], _labels(records[:, 0], path)


def _batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """One of the python version's files, read without running it."""
    try:
        with path.open("rb") as file:
            found = Reader(file).load()
        table = {k.decode("latin1") if isinstance(k, bytes) else k: v for k, v in found.items()}
        pixels, labels = table["data"].pixels(), table["labels"]
        if pixels.shape != (len(labels), 3072):
            raise ValueError(f"data of shape {pixels.shape} for {len(labels)} labels")
        return pixels, _labels(np.asarray(labels, dtype=np.int64), path)
    except OSError as error:
        raise ArgumentError(f"data {path}: {error.strerror}") from error
    except Exception as error:  # a broken pickle can raise almost anything
        raise ArgumentError(f"data {path}: not a batch of CIFAR-10: {error}") from error


def _labels(labels: np.ndarray, path: Path) -> np.ndarray:
    if labels.min() < 0 or labels.max() > 9:
        raise ArgumentError(f"data {path}: labels from {labels.min()} to {labels.max()}, not 0..9")
    return labels
