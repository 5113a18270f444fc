"""Networks to attack: VGG-11, four small ones for any pictures; weights without pickles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from .._support.check import as_path, instance, one_of, positive, positive_int, several, truth
from ..errors import ArgumentError
from ._torch import nn, safetensors, torch
from .data import Pictures

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
    sizes = several(shape, "shape", "channels, height and width")
    if len(sizes) != 3:
        raise ArgumentError(f"shape must be channels, height and width, got {shape!r:.80}")
    channels, height, breadth = (positive_int(n, "shape") for n in sizes)
    positive_int(classes, "classes")
    positive_int(width, "width")
    features = nn.Sequential(
        *(nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)),
        *(nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(inplace=True)),
        nn.MaxPool2d(2),
    )
    head = nn.Linear(2 * width * (height // 2) * (breadth // 2), classes)
    return _Classifier(features, head, (0.5,) * channels, (0.5,) * channels)


def strided(shape: tuple[int, ...] = (3, 32, 32), classes: int = 10, width: int = 32) -> nn.Module:
    """Four convolutions, two of them with stride 2, and a mean over the picture."""
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
    size = max(2, shape[1] // 8)
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
    if tuple(shape) != (3, 32, 32):
        raise ArgumentError(f"images of shape {tuple(shape)}, expected (3, 32, 32) for VGG-11")
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
    """Write the weights as safetensors, floating-point numbers in half precision by default."""
    instance(network, "network", nn.Module, "a torch.nn.Module")
    path = as_path(path, "path")
    truth(half, "half")
    weights = {
        name: (tensor.half() if half and tensor.is_floating_point() else tensor).contiguous().cpu()
        for name, tensor in network.state_dict().items()
    }
    safetensors().save_file(weights, str(path))
    return path


def train(
    network: nn.Module,
    pictures: Pictures,
    *,
    epochs: int = 45,
    batch_size: int = 128,
    learning_rate: float = 0.1,
    augment: bool = True,
    seed: int = 0,
    device: str | None = None,
    callback: Callable[[int, float], None] | None = None,
) -> nn.Module:
    """Train a network: SGD with momentum, one cycle of the learning rate, label smoothing 0.1.

    Parameters
    ----------
    network : torch.nn.Module
        Trained in place, from the weights it has.
    pictures : Pictures
        What to learn.
    epochs, batch_size : int
        Passes over the pictures, and pictures a step.
    learning_rate : float
        Largest of the cycle.
    augment : bool
        Shift by up to an eighth of the size, mirror, and blank a quarter of the width (cutout).
    seed : int
        Of the order and of the augmentation.
    device : str, optional
        Where to train; by default where the network is.
    callback : callable, optional
        ``callback(epoch, loss)`` after each epoch.

    Returns
    -------
    torch.nn.Module
        The network in eval mode.
    """
    positive_int(epochs, "epochs")
    positive_int(batch_size, "batch_size")
    positive(learning_rate, "learning_rate")
    truth(augment, "augment")
    if device is not None:
        network.to(device)
    home = next(network.parameters()).device
    images, labels = pictures.images.to(home), pictures.labels.to(home)
    steps = -(-len(images) // batch_size)
    optimizer = torch.optim.SGD(
        network.parameters(), lr=learning_rate, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, learning_rate, total_steps=epochs * steps
    )
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
    rng = np.random.default_rng(seed)
    network.train()
    for epoch in range(epochs):
        order = torch.as_tensor(rng.permutation(len(images)), device=home)
        total = 0.0
        for batch in order.split(batch_size):
            x = augmented(images[batch], rng) if augment else images[batch]
            loss = loss_of(network(x), labels[batch])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(batch)
        if callback is not None:
            callback(epoch, total / len(images))
    return network.eval()


def augmented(x: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """The same shift and blank for a whole batch: a step sees one of many versions, cheaply."""
    height, width = x.shape[-2:]
    reach = max(1, height // 8)
    down, right = rng.integers(-reach, reach + 1, 2)
    x = torch.roll(nn.functional.pad(x, (reach,) * 4), (int(down), int(right)), (-2, -1))
    x = x[..., reach : reach + height, reach : reach + width]
    mirrored = torch.as_tensor(rng.random(len(x)) < 0.5, device=x.device)
    x = torch.where(mirrored[:, None, None, None], x.flip(-1), x)
    size = max(1, width // 4)
    top, left = rng.integers(0, (height - size + 1, width - size + 1))
    x[..., top : top + size, left : left + size] = 0.5
    return x
