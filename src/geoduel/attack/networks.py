"""Networks to attack: VGG-11, four small ones for any pictures; weights without pickles."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._support.check import (
    as_generator,
    as_path,
    function,
    instance,
    one_of,
    positive,
    positive_int,
    several,
    truth,
)
from ..errors import ArgumentError, DivergenceWarning
from ._torch import nn, safetensors, torch
from .data import Pictures
from .images import as_device

__all__ = ["NETWORKS", "augmented", "load_weights", "new", "save_weights", "small_cnn", "train"]
__all__ += ["vgg11_bn"]

CIFAR10_MEAN, CIFAR10_STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
VGG11 = (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M")


class _Classifier(nn.Module):
    """Normalise pixels in [0, 1], extract features, classify."""

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(
        self,
        features: nn.Module,
        classifier: nn.Module,
        mean: tuple[float, ...],
        std: tuple[float, ...],
    ) -> None:
        super().__init__()
        self.features, self.classifier = features, classifier
        # Not part of the weights: files hold what was learned.
        self.register_buffer("mean", torch.tensor(mean).reshape(-1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).reshape(-1, 1, 1), persistent=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features((images - self.mean) / self.std).flatten(1))


def vgg11_bn(classes: int = 10) -> nn.Module:
    """VGG-11 with batch normalisation for 32 x 32 pictures, 9.76 million parameters.

    Input: pixels in [0, 1], shape (n, 3, 32, 32); normalised inside with CIFAR-10's mean and
    standard deviation. Output: logits, shape (n, classes).

    References
    ----------
    Simonyan and Zisserman, Very deep convolutional networks for large-scale image recognition,
    ICLR 2015, configuration A.
    """
    positive_int(classes, "classes")
    layers: list[nn.Module] = []
    channels = 3
    for width in VGG11:
        if isinstance(width, str):
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [
                nn.Conv2d(channels, width, 3, padding=1),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
            ]
            channels = width
    head = nn.Sequential(
        *(nn.Linear(512, 512), nn.ReLU(inplace=True), nn.Dropout()),
        *(nn.Linear(512, 512), nn.ReLU(inplace=True), nn.Dropout()),
        nn.Linear(512, classes),
    )
    return _Classifier(nn.Sequential(*layers), head, CIFAR10_MEAN, CIFAR10_STD)


def small_cnn(shape: tuple[int, ...] = (1, 8, 8), classes: int = 10, width: int = 16) -> nn.Module:
    """Two convolutions and a linear layer: learns scikit-learn's digits in seconds on one core.

    Parameters
    ----------
    shape : tuple of int
        Channels, height and width of a picture; height and width are even.
    classes : int
        Number of logits.
    width : int
        Channels of the first convolution.
    """
    channels, height, breadth = _sizes(shape, classes, width, least=2)
    features = nn.Sequential(
        *(nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)),
        *(nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(inplace=True)),
        nn.MaxPool2d(2),
    )
    head = nn.Linear(2 * width * (height // 2) * (breadth // 2), classes)
    return _Classifier(features, head, (0.5,) * channels, (0.5,) * channels)


def strided(shape: tuple[int, ...] = (3, 32, 32), classes: int = 10, width: int = 32) -> nn.Module:
    """Four convolutions, two of them with stride 2, and a mean over the picture."""
    shape = _sizes(shape, classes, width)
    features = nn.Sequential(
        *_convolution(shape[0], width),
        *_convolution(width, 2 * width, stride=2),
        *_convolution(2 * width, 2 * width),
        *_convolution(2 * width, 4 * width, stride=2),
        nn.AdaptiveAvgPool2d(1),
    )
    return _small(features, 4 * width, shape, classes)


def small_vgg(
    shape: tuple[int, ...] = (3, 32, 32), classes: int = 10, width: int = 32
) -> nn.Module:
    """Four convolutions and three max poolings: VGG in small."""
    shape = _sizes(shape, classes, width, least=8)
    features = nn.Sequential(
        *(*_convolution(shape[0], width), nn.MaxPool2d(2)),
        *(*_convolution(width, 2 * width), nn.MaxPool2d(2)),
        *(*_convolution(2 * width, 4 * width), *_convolution(4 * width, 4 * width)),
        *(nn.MaxPool2d(2), nn.AdaptiveMaxPool2d(1)),
    )
    return _small(features, 4 * width, shape, classes)


def residual(shape: tuple[int, ...] = (3, 32, 32), classes: int = 10, width: int = 24) -> nn.Module:
    """Three residual blocks, the later two at half and a quarter of the size.

    References
    ----------
    He, Zhang, Ren and Sun, Deep residual learning for image recognition, CVPR 2016.
    """
    shape = _sizes(shape, classes, width)
    features = nn.Sequential(
        *_convolution(shape[0], width),
        _Residual(width, width),
        _Residual(width, 2 * width, stride=2),
        _Residual(2 * width, 4 * width, stride=2),
        nn.AdaptiveAvgPool2d(1),
    )
    return _small(features, 4 * width, shape, classes)


def mixer(shape: tuple[int, ...] = (3, 32, 32), classes: int = 10, width: int = 96) -> nn.Module:
    """Patches of an eighth of the picture or more, mixed three times: no convolutions but these.

    References
    ----------
    Tolstikhin et al., MLP-Mixer: an all-MLP architecture for vision, NeurIPS 2021.
    """
    shape = _sizes(shape, classes, width, least=2)
    size = max(2, shape[1] // 8)
    if shape[2] < size:
        raise ArgumentError(f"shape must be at least {size} pixels wide, got {shape!r:.80}")
    patches = (shape[1] // size) * (shape[2] // size)
    features = nn.Sequential(
        nn.Conv2d(shape[0], width, size, size),
        nn.Flatten(2),  # width x patches
        *(_Mixing(patches, width) for _ in range(3)),
        nn.AdaptiveAvgPool1d(1),
    )
    return _small(features, width, shape, classes)


class _Residual(nn.Module):
    """x + two convolutions of x."""

    def __init__(self, channels: int, width: int, stride: int = 1) -> None:
        super().__init__()
        self.change = nn.Sequential(
            *_convolution(channels, width, stride), *_convolution(width, width)[:2]
        )
        same = channels == width and stride == 1
        self.keep = nn.Identity() if same else nn.Conv2d(channels, width, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.relu(self.keep(x) + self.change(x))


class _Mixing(nn.Module):
    """One network across the patches of a channel, one across the channels of a patch."""

    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.across_patches = nn.Sequential(
            nn.LayerNorm(patches),
            nn.Linear(patches, patches),
            nn.GELU(),
            nn.Linear(patches, patches),
        )
        self.across_channels = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.across_patches(x)
        return x + self.across_channels(x.mT).mT


def _convolution(channels: int, width: int, stride: int = 1) -> list[nn.Module]:
    convolution = nn.Conv2d(channels, width, 3, stride, padding=1, bias=False)
    return [convolution, nn.BatchNorm2d(width), nn.ReLU(inplace=True)]


def _sizes(shape: Any, classes: Any, width: Any, least: int = 1) -> tuple[int, int, int]:
    """Channels, height and width of the pictures of a network, whose sizes are looked at."""
    sizes = several(shape, "shape", "channels, height and width")
    if len(sizes) != 3:
        raise ArgumentError(f"shape must be channels, height and width, got {shape!r:.80}")
    channels, height, breadth = (positive_int(n, "shape") for n in sizes)
    if min(height, breadth) < least:
        raise ArgumentError(f"shape must have {least} x {least} pixels or more, got {shape!r:.80}")
    positive_int(classes, "classes")
    positive_int(width, "width")
    return channels, height, breadth


def _small(features: nn.Module, width: int, shape: tuple[int, ...], classes: int) -> nn.Module:
    half = (0.5,) * shape[0]
    return _Classifier(features, nn.Linear(width, classes), half, half)


NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "vgg11": vgg11_bn,
    "strided": strided,
    "residual": residual,
    "mixer": mixer,
    "small-vgg": small_vgg,
}
"""Architectures by name; they differ in how they look at a picture."""


def new(name: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    """An untrained network, by name, for pictures of a shape (channels, height, width).

    Examples
    --------
    >>> new("mixer", (1, 8, 8), 10)(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 10])
    """
    if one_of(name, "architecture", tuple(NETWORKS)) != "vgg11":
        return NETWORKS[name](shape, classes)
    sizes = _sizes(shape, classes, 1)
    if sizes != (3, 32, 32):
        raise ArgumentError(f"images of shape {sizes}, expected (3, 32, 32) for VGG-11")
    return vgg11_bn(classes)


def load_weights(network: nn.Module, path: str | Path) -> nn.Module:
    """Fill a network with the weights of a safetensors file; return it in float32 and eval mode.

    Raises
    ------
    ArgumentError
        If the file cannot be read, or does not fit the network; the message says what differs.
    """
    instance(network, "network", nn.Module, "a torch.nn.Module")
    path = as_path(path, "path")
    try:
        weights = safetensors().load_file(str(path))
    except Exception as error:  # the reader has errors of its own
        raise ArgumentError(f"weights {path}: cannot be read as safetensors ({error})") from error
    expected = network.state_dict()
    for name in sorted(expected.keys() ^ weights.keys()):
        which = "lacks" if name in expected else "has, beyond the network's,"
        raise ArgumentError(f"weights {path}: the file {which} {name!r}; is it another network's?")
    for name, tensor in weights.items():
        if tensor.shape != expected[name].shape:
            raise ArgumentError(
                f"weights {path}: {name!r} has shape {tuple(tensor.shape)}, expected "
                f"{tuple(expected[name].shape)}"
            )
    network.load_state_dict(weights)  # converts to the network's own float32
    return network.eval()


def save_weights(network: nn.Module, path: str | Path, half: bool = True) -> Path:
    """Write the weights as safetensors, floating-point numbers in half precision by default.

    Raises
    ------
    ArgumentError
        If an argument is wrong, or the file cannot be written.
    """
    instance(network, "network", nn.Module, "a torch.nn.Module")
    path = as_path(path, "path")
    truth(half, "half")
    weights = {
        name: (tensor.half() if half and tensor.is_floating_point() else tensor).contiguous().cpu()
        for name, tensor in network.state_dict().items()
    }
    writer = safetensors()
    try:
        writer.save_file(weights, str(path))
    except Exception as error:  # the writer has errors of its own
        raise ArgumentError(f"path {str(path)!r} cannot be written: {error}") from error
    return path


def train(
    network: nn.Module,
    pictures: Pictures,
    *,
    epochs: int = 45,
    batch_size: int = 128,
    learning_rate: float = 0.1,
    augment: bool = True,
    seed: int | np.random.Generator = 0,
    device: str | torch.device | None = None,
    callback: Callable[[int, float], None] | None = None,
) -> nn.Module:
    """Train a network: SGD with momentum, one cycle of the learning rate, label smoothing 0.1.

    Parameters
    ----------
    network : torch.nn.Module
        Trained in place, from the weights it has.
    pictures : Pictures
        What to learn. All of them have a label, below the network's number of classes.
    epochs, batch_size : int
        Passes over the pictures, and pictures a step.
    learning_rate : float
        Largest of the cycle.
    augment : bool
        Shift by up to an eighth of the size, mirror, and blank a quarter of the width (cutout).
    seed : int or numpy.random.Generator
        Of the order and of the augmentation.
    device : str or torch.device, optional
        Where to train; by default where the network is.
    callback : callable, optional
        ``callback(epoch, loss)`` after each epoch.

    Returns
    -------
    torch.nn.Module
        The network in eval mode.

    Raises
    ------
    ArgumentError
        If an argument is wrong, or the network does not take the pictures; the message says which.

    Warns
    -----
    DivergenceWarning
        If the loss is not finite after an epoch, which ends the training.

    Examples
    --------
    >>> from geoduel.attack import digits
    >>> network = train(small_cnn(), digits("train"), epochs=2, batch_size=64, augment=False)
    >>> test = digits()
    >>> bool((network(test.images).argmax(1) == test.labels).float().mean() > 0.8)
    True
    """
    instance(network, "network", nn.Module, "a torch.nn.Module")
    instance(pictures, "pictures", Pictures, "geoduel.attack.Pictures")
    positive_int(epochs, "epochs")
    positive_int(batch_size, "batch_size")
    positive(learning_rate, "learning_rate")
    truth(augment, "augment")
    rng = as_generator(seed, "seed")
    if callback is not None:
        function(callback, "callback", "the epoch and its loss", 2)
    weights = [p for p in network.parameters() if p.requires_grad]
    if not weights:
        raise ArgumentError("network has no parameters to train: none requires a gradient")
    if not len(pictures) or int(pictures.labels.min()) < 0:
        raise ArgumentError("pictures must be one or more, each with a label >= 0")
    home = weights[0].device
    if device is not None or home.type == "meta":
        home = as_device(home if device is None else device)
        network.to(home)
    images, labels = pictures.images.to(home, weights[0].dtype), pictures.labels.to(home).long()
    steps = -(-len(images) // batch_size)
    optimizer = torch.optim.SGD(
        network.parameters(), lr=learning_rate, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, learning_rate, total_steps=epochs * steps
    )
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
    network.train()
    for epoch in range(epochs):
        order = torch.as_tensor(rng.permutation(len(images)), device=home)
        total = 0.0
        for batch in order.split(batch_size):
            x = augmented(images[batch], rng) if augment else images[batch]
            loss = loss_of(_answers(network, x, labels[batch]), labels[batch])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(batch)
        if callback is not None:
            callback(epoch, total / len(images))
        if not math.isfinite(total):
            warnings.warn(
                f"the loss is {total} after epoch {epoch}, and so is the network: try a smaller "
                f"learning_rate than {learning_rate:g}",
                DivergenceWarning,
                stacklevel=2,
            )
            break
    return network.eval()


def _answers(network: nn.Module, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Logits of a batch, or an error that says what does not fit."""
    try:
        answers = network(x)
    except Exception as error:
        raise ArgumentError(
            f"network does not take a batch of {len(x)} pictures of shape {tuple(x.shape[1:])}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(answers, torch.Tensor) or answers.ndim != 2 or len(answers) != len(x):
        shape = getattr(answers, "shape", None)
        came = type(answers).__name__ if shape is None else f"shape {tuple(shape)}"
        raise ArgumentError(
            f"network must answer with one row of logits for each of {len(x)} pictures, got {came}"
        )
    if int(labels.max()) >= answers.shape[1]:
        raise ArgumentError(
            f"pictures have the label {int(labels.max())}, and network has {answers.shape[1]} "
            "classes: labels must be below that"
        )
    return answers


def augmented(x: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """The same shift and blank for a whole batch: a step sees one of many versions, cheaply."""
    height, width = x.shape[-2:]
    reach = max(1, height // 8)
    down, right = rng.integers(-reach, reach + 1, 2)
    x = torch.roll(nn.functional.pad(x, (reach,) * 4), (int(down), int(right)), (-2, -1))
    x = x[..., reach : reach + height, reach : reach + width]
    mirrored = torch.as_tensor(rng.random(len(x)) < 0.5, device=x.device)
    x = torch.where(mirrored[:, None, None, None], x.flip(-1), x)
    size = min(height, max(1, width // 4))
    top, left = rng.integers(0, (height - size + 1, width - size + 1))
    x[..., top : top + size, left : left + size] = 0.5
    return x
