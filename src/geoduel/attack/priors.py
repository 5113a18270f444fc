"""Priors: which perturbations are tried first. Each is a choice of tangent directions, no method.

A network does not weigh all changes of an image alike. `Directions` draws random images with a
given spectrum (in cosines, for luminance and colour apart) and a given weight for each pixel.
`ShapedSphere` is the unit sphere of images whose random tangent vectors are such draws, projected.
A method asks its manifold for directions, so every method takes every prior.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._numerics.arrays import Array, normal
from .._support.check import instance, one_of, positive_int, several
from ..errors import ArgumentError
from ..manifolds import Manifold, Sphere
from ..manifolds._border import Seed
from ._torch import nn, torch
from .images import check_batch

__all__ = ["PRIORS", "Directions", "ShapedSphere", "prior"]

PRIORS = {
    "natural": "photographs",
    "low-frequency": "low frequencies",
    "all": "nothing",
    "fitted": "gradients of a VGG-11",
}
"""Names, and what each knows beforehand."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Gaussian random images with a spectrum and a mask; see `prior`.

    Attributes
    ----------
    weights : torch.Tensor of shape (channels, q, r)
        Standard deviation of each cosine coefficient; only the q x r lowest are drawn.
    colour : torch.Tensor of shape (channels, channels) or None
        Rows are the orthonormal colour axes that ``weights`` refer to; None: the channels.
    mask : torch.Tensor of shape (n, 1, height, width) or None
        Weight of each pixel, for each image.
    """

    weights: torch.Tensor
    shape: tuple[int, ...]
    colour: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    _cosines: tuple[torch.Tensor, torch.Tensor] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shape = several(self.shape, "shape", "channels, height and width")
        channels, height, width = _three(positive_int(n, "shape") for n in shape)
        least = (channels, 1, 1)
        _check_fits(self.weights, "weights", least, (channels, height, width))
        if self.colour is not None:
            _check_fits(self.colour, "colour", (channels, channels), (channels, channels))
        if self.mask is not None:
            mask = getattr(self.mask, "shape", (1,))
            _check_fits(self.mask, "mask", (0, 1, height, width), (mask[0], 1, height, width))
        rows, columns = self.weights.shape[1:]
        kept = (_cosines(n, q).to(self.weights) for n, q in ((height, rows), (width, columns)))
        object.__setattr__(self, "_cosines", tuple(kept))

    def take(self, keep: torch.Tensor) -> Directions:
        """The same for these images only."""
        return self if self.mask is None else replace(self, mask=self.mask[keep])

    def draw(self, rng: np.random.Generator, lead: tuple[int, ...], like: Array) -> Array:
        """Draw random images of shape (*lead, channels, height, width), not normalised."""
        c = self.weights * normal(rng, (*lead, *self.weights.shape), self.weights)
        return self.picture(c).to(like)

    def picture(self, c: torch.Tensor) -> torch.Tensor:
        """Images from coefficients of shape (..., channels, q, r)."""
        down, across = self._cosines
        a = down.T @ c @ across
        if self.colour is not None:
            a = torch.einsum("ab,...ahw->...bhw", self.colour, a)
        return a if self.mask is None else self.mask * a


class ShapedSphere(Sphere):
    """The unit sphere of images, with random points and directions drawn from a prior.

    Parameters
    ----------
    directions : Directions
        Where they are drawn from.
    """

    def __init__(self, directions: Directions) -> None:
        instance(directions, "directions", Directions, "Directions")
        super().__init__(*directions.shape)
        object.__setattr__(self, "directions", directions)

    directions: Directions

    def unit_tangent(
        self, rng: np.random.Generator, x: Array, batch: tuple[int, ...] = ()
    ) -> Array:
        lead = (*batch, *x.shape[: x.ndim - len(self.shape)])
        u = self.to_tangent(x, self.directions.draw(rng, lead, x))
        return self.to_manifold(u)

    def random_point(
        self, rng: Seed = None, batch: tuple[int, ...] = (), like: Array = None
    ) -> Array:
        """Points drawn from the prior."""
        return self.to_manifold(self.directions.draw(rng, batch, like))


def prior(name: str, images: torch.Tensor, q: int = 8) -> Directions | None:
    """Directions by name.

    Parameters
    ----------
    name : {"natural", "low-frequency", "all", "fitted"}
        * "natural": what holds of photographs. Amplitudes fall with frequency, as 1/(1 + f/8)
          for f half waves across the picture. Colours have half the energy of grey. There is
          somewhat more at the centre and at edges of the image. How much was chosen on four small
          networks, the strided, residual, mixer and small-vgg of `NETWORKS`.
        * "low-frequency": the q x q lowest cosines of each channel, and nothing else.
        * "all": all directions alike, as in the paper. Returns None: the plain sphere.
        * "fitted": where one network is sensitive. Luminance in a band around
          half the highest frequency, colour at low frequencies, more at the centre and at edges of
          the image than in its flat parts. The band and the weights follow the mean square of
          gradients of a VGG-11 for CIFAR-10 on images of its own test set, rounded. Against that
          network it is no black box.
    images : torch.Tensor of shape (n, channels, height, width)
        The images under attack, in [0, 1].
    q : int
        Cosines per axis for "low-frequency".

    References
    ----------
    Guo, Frank and Weinberger, Low frequency adversarial perturbation, UAI 2019, for low
    frequencies; Field, Relations between the statistics of natural images and the response
    properties of cortical cells, JOSA A 4 (1987), for the amplitudes of pictures.
    """
    check_batch(images)
    channels, height, width = shape = tuple(images.shape[1:])
    if one_of(name, "directions", tuple(PRIORS)) == "all":
        return None
    if name == "low-frequency":
        q = positive_int(q, "q")
        if q * q * channels < 3:
            raise ArgumentError(f"q must give at least 3 directions, got {q} for shape {shape}")
        weights = torch.ones(channels, min(q, height), min(q, width))
        return Directions(weights.to(images), shape)
    axes = None if channels == 1 else _opponent(channels).to(images)
    rows, columns = torch.arange(height), torch.arange(width)
    if name == "natural":
        grey = 1 / (1 + torch.hypot(rows[:, None] * 1.0, columns * 1.0) / 8)
        weights = torch.stack([grey, *(grey / math.sqrt(2) for _ in range(channels - 1))])
        mask = _where_it_matters(images, bell=0.4, power=1 / 8)
        return Directions(weights.to(images), shape, axes, mask)
    frequency = torch.hypot(rows[:, None] / height, columns / width)
    luminance = torch.exp(-0.5 * ((frequency - 17 / 32) / (6 / 32)) ** 2)
    colours = torch.exp(-0.5 * (frequency / (4 / 32)) ** 2)
    weights = torch.stack([luminance, *(colours for _ in range(channels - 1))])
    mask = _where_it_matters(images, bell=9 / 32, power=1 / 4)
    return Directions(weights.to(images), shape, axes, mask)


def directions_of(manifold: Manifold, x: torch.Tensor) -> Directions:
    """What a sphere of images draws from: its prior, or all cosines alike."""
    found = getattr(manifold, "directions", None)
    return found or Directions(torch.ones_like(x[(0,) * (x.ndim - 3)]), tuple(x.shape[-3:]))


# -- private ---------------------------------------------------------------------------------------


def _three(sizes: Iterable[int]) -> tuple[int, int, int]:
    found = tuple(sizes)
    if len(found) != 3:
        raise ArgumentError(f"shape must be channels, height and width, got {found}")
    return found


def _check_fits(a: Any, name: str, least: tuple[int, ...], most: tuple[int, ...]) -> None:
    """Raise unless it is a tensor of floating-point numbers whose axes are between these."""
    if not isinstance(a, torch.Tensor) or not a.is_floating_point():
        kind = getattr(a, "dtype", type(a).__name__)
        raise ArgumentError(f"{name} must be a torch tensor of floating-point numbers, got {kind}")
    fits = len(most) == a.ndim
    if not fits or not all(x <= n <= y for x, n, y in zip(least, a.shape, most, strict=True)):
        words = f"{most}" if least == most else f"{least} to {most}"
        raise ArgumentError(f"{name} has shape {tuple(a.shape)}, expected {words}")


def _cosines(n: int, q: int) -> torch.Tensor:
    """Rows are the q lowest vectors of the orthonormal cosine basis (DCT-II) of length n."""
    angle = math.pi / n * (torch.arange(n, dtype=torch.float64) + 0.5)
    rows = torch.cos(torch.arange(q, dtype=torch.float64)[:, None] * angle) * math.sqrt(2 / n)
    rows[0] /= math.sqrt(2)
    return rows


def _opponent(channels: int) -> torch.Tensor:
    """Orthonormal rows, the first of them all channels alike: for three, grey and two colours."""
    rows = torch.eye(channels, dtype=torch.float64)
    for k in range(1, channels):  # Helmert's matrix
        rows[k, :k], rows[k, k], rows[k, k + 1 :] = 1.0, -float(k), 0.0
    rows[0] = 1.0
    return rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True)


def _where_it_matters(images: torch.Tensor, bell: float, power: float) -> torch.Tensor:
    """Weight of each pixel: a bell around the centre times a power of local contrast."""
    height, width = images.shape[-2:]
    grey = images.float().mean(1, keepdim=True)
    squares = torch.zeros_like(grey)
    for axis in (-2, -1):
        if images.shape[axis] > 1:
            squares += torch.gradient(grey, dim=axis)[0] ** 2
    contrast = nn.functional.avg_pool2d(squares, 3, 1, 1, count_include_pad=False)
    down, across = ((torch.arange(n).to(grey) + 0.5) / n - 0.5 for n in (height, width))
    centre = torch.exp(-0.5 * (down[:, None] ** 2 + across[None, :] ** 2) / bell**2)
    return (centre * (contrast + 1e-3) ** power).to(images)
