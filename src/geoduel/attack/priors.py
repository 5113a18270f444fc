"""Priors: which perturbations are tried first. Each is a choice of tangent directions, no method.

A network does not weigh all changes of an image alike. `Directions` draws random images with a
given spectrum (in cosines, for luminance and colour apart) and a given weight for each pixel.
`ShapedSphere` is the unit sphere of images whose random tangent vectors are such draws, projected.
A method asks its manifold for directions, so every method takes every prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from .._numerics.arrays import Array, normal
from .._support.check import one_of, positive_int
from ..errors import ArgumentError
from ..manifolds import Sphere
from ..manifolds._border import Seed
from ._torch import nn, torch

__all__ = ["PRIORS", "Directions", "ShapedSphere", "prior"]

PRIORS = ("all", "low-frequency", "natural")


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
        _, height, width = self.shape
        rows, columns = self.weights.shape[1:]
        kept = (_cosines(n, q).to(self.weights) for n, q in ((height, rows), (width, columns)))
        object.__setattr__(self, "_cosines", tuple(kept))

    def take(self, keep: torch.Tensor) -> Directions:
        """The same for these images only."""
        return self if self.mask is None else replace(self, mask=self.mask[keep])

    def draw(self, rng: np.random.Generator, lead: tuple[int, ...], like: Array) -> Array:
        """Draw random images of shape (*lead, channels, height, width), not normalised."""
        c = self.weights * normal(rng, (*lead, *self.weights.shape), self.weights)
        down, across = self._cosines
        a = down.T @ c @ across
        if self.colour is not None:
            a = torch.einsum("ab,...ahw->...bhw", self.colour, a)
        return (a if self.mask is None else self.mask * a).to(like)


class ShapedSphere(Sphere):
    """The unit sphere of images, with random points and directions drawn from a prior.

    Parameters
    ----------
    directions : Directions
        Where they are drawn from.
    """

    def __init__(self, directions: Directions) -> None:
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
    name : {"natural", "low-frequency", "all"}
        * "natural": where networks for natural images are sensitive. Luminance in a band around
          half the highest frequency, colour at low frequencies, more at the centre and at edges of
          the image than in its flat parts. The band and the weights follow the mean square of
          gradients of a CIFAR-10 network on images of its own test set, rounded.
        * "low-frequency": the q x q lowest cosines of each channel, and nothing else.
        * "all": all directions alike, as in the paper. Returns None: the plain sphere.
    images : torch.Tensor of shape (n, channels, height, width)
        The images under attack, in [0, 1].
    q : int
        Cosines per axis for "low-frequency".

    References
    ----------
    Guo, Frank and Weinberger, Low frequency adversarial perturbation, UAI 2019, for low
    frequencies.
    """
    channels, height, width = shape = tuple(images.shape[1:])
    if one_of(name, "directions", PRIORS) == "all":
        return None
    if name == "low-frequency":
        q = positive_int(q, "q")
        if q * q * channels < 3:
            raise ArgumentError(f"q must give at least 3 directions, got {q} for shape {shape}")
        weights = torch.ones(channels, min(q, height), min(q, width))
        return Directions(weights.to(images), shape)
    rows, columns = torch.arange(height) / height, torch.arange(width) / width
    frequency = torch.hypot(rows[:, None], columns[None, :])
    luminance = torch.exp(-0.5 * ((frequency - 17 / 32) / (6 / 32)) ** 2)
    colours = torch.exp(-0.5 * (frequency / (4 / 32)) ** 2)
    weights = torch.stack([luminance, *(colours for _ in range(channels - 1))])
    axes = None if channels == 1 else _opponent(channels).to(images)
    return Directions(weights.to(images), shape, axes, _where_it_matters(images))


# -- private ---------------------------------------------------------------------------------------


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


def _where_it_matters(images: torch.Tensor) -> torch.Tensor:
    """Weight of each pixel: a bell around the centre times the fourth root of local contrast."""
    height, width = images.shape[-2:]
    grey = images.float().mean(1, keepdim=True)
    squares = torch.zeros_like(grey)
    for axis in (-2, -1):
        if images.shape[axis] > 1:
            squares += torch.gradient(grey, dim=axis)[0] ** 2
    contrast = nn.functional.avg_pool2d(squares, 3, 1, 1, count_include_pad=False)
    down, across = ((torch.arange(n).to(grey) + 0.5) / n - 0.5 for n in (height, width))
    bell = torch.exp(-0.5 * (down[:, None] ** 2 + across[None, :] ** 2) / (9 / 32) ** 2)
    return (bell * (contrast + 1e-3) ** 0.25).to(images)
