"""The attacks of the paper's figure 4 as their authors ran them, each on one image.

Here is what the published programs do, oddities included, so that the package's own versions can be
put beside it. `geoduel.attack.attack` is the one to use.

* A pixel may leave its range: nothing is clipped.
* ZO-RGD and the released RDNGD first walk outwards from the image, until they meet the sphere. They
  estimate each direction of this walk at the image itself, wherever they are, and no wrong answer
  of the network ends it. ZO-RGD subtracts the loss where it is, though, from losses near the image.
* A tie of a duel answers -1.
* RGD keeps to the sphere on which PGD's result lies, which is seldom the whole radius away.

PGD, RGD and ZO-RGD are those of Li, Balasubramanian and Ma; the paper takes them over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from .._numerics.arrays import normal
from ..errors import ArgumentError
from ..manifolds import Sphere
from ..methods.paper.direction import estimate
from ._torch import nn, torch

__all__ = [
    "PUBLISHED",
    "Look",
    "Victim",
    "pgd",
    "rdngd_released",
    "rdngd_text",
    "rgd",
    "slope_by_duels",
    "slope_by_values",
    "tangent",
    "zo_rgd",
]

AT_ONCE = 100  # images in one forward pass
OUTWARDS = 1000  # most steps of the walk to the sphere


class Look(NamedTuple):
    """An iterate, and what the network makes of it.

    Attributes
    ----------
    image : torch.Tensor of shape (1, channels, height, width)
        The iterate.
    loss : float
        Cross entropy of the true class.
    fooled : bool
        Whether the answer is another class.
    outwards : bool
        Whether the iterate is on its way to the sphere, where no answer ends the attack.
    """

    image: torch.Tensor
    loss: float
    fooled: bool
    outwards: bool = False


class Victim:
    """An image, its class, and the network that is to be fooled about it.

    Parameters
    ----------
    network : callable
        Maps images (k, channels, height, width) to logits (k, classes).
    image : torch.Tensor of shape (1, channels, height, width)
        What is attacked.
    label : int
        Its class.
    eps : float
        Radius of the sphere over the Euclidean norm of the image.
    answer : callable, optional
        Changes the answers of the duels; for negative controls.

    Attributes
    ----------
    radius : float
        Of the sphere around the image.
    passes, duels, ties : int
        Images that went through the network; duels asked, and those whose losses were equal.
    """

    def __init__(
        self,
        network: Callable[[torch.Tensor], torch.Tensor],
        image: torch.Tensor,
        label: int,
        eps: float = 0.05,
        answer: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        if image.ndim != 4 or len(image) != 1:
            raise ArgumentError(f"image has shape {tuple(image.shape)}, expected (1, c, h, w)")
        self.network, self.image, self.label, self.answer = network, image, int(label), answer
        self.radius = eps * float(torch.linalg.vector_norm(image))
        self.passes = self.duels = self.ties = 0

    def losses(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Cross entropies, and whether the answers are wrong."""
        parts = [self._logits(part) for part in images.split(AT_ONCE)]
        z = torch.cat(parts)
        return self._cross_entropy(z), z.argmax(1) != self.label

    def look(self, image: torch.Tensor, outwards: bool = False) -> Look:
        """Look at an iterate."""
        loss, fooled = self.losses(image)
        return Look(image, float(loss), bool(fooled), outwards)

    def slope(self, image: torch.Tensor) -> tuple[torch.Tensor, Look]:
        """Gradient of the loss at an iterate, and the look at it."""
        with torch.enable_grad():
            x = image.detach().requires_grad_()
            z = self._logits(x)
            loss = self._cross_entropy(z).sum()
            (g,) = torch.autograd.grad(loss, x)
        return g, Look(image, float(loss.detach()), int(z.argmax()) != self.label)

    def duel(self, ahead: torch.Tensor, behind: torch.Tensor) -> torch.Tensor:
        """+1 where the images ``ahead`` have the higher losses, -1 elsewhere and for ties."""
        loss, _ = self.losses(torch.cat([ahead, behind]))
        a, b = loss.split(len(ahead))
        self.duels += len(a)
        self.ties += int((a == b).sum())
        s = torch.where(a > b, 1.0, -1.0).to(a.dtype)
        return s if self.answer is None else self.answer(s)

    def onto_sphere(self, e: torch.Tensor) -> torch.Tensor:
        """Images whose perturbations have the directions ``e`` and the length of the radius."""
        return self.image + self.radius * _unit(e)

    def _logits(self, images: torch.Tensor) -> torch.Tensor:
        self.passes += len(images)
        return self.network(images.contiguous(memory_format=torch.channels_last))

    def _cross_entropy(self, z: torch.Tensor) -> torch.Tensor:
        wanted = torch.full((len(z),), self.label, device=z.device)
        return nn.functional.cross_entropy(z, wanted, reduction="none")


# -- gradients -------------------------------------------------------------------------------------


def pgd(victim: Victim, rng: np.random.Generator, *, step: float = 1e-4) -> Iterator[Look]:
    """Projected gradient ascent: x <- P(x + step sign ∇f(x)), P onto the ball around the image.

    The generator yields each iterate, the image first; so do all methods here.

    Parameters
    ----------
    victim : Victim
        The image.
    rng : numpy.random.Generator
        Not used: nothing is random.
    step : float
        Of each pixel.
    """
    x = victim.image
    while True:
        g, look = victim.slope(x)
        yield look
        x = x + step * torch.sign(g)
        if _length(x - victim.image) > victim.radius:
            x = victim.onto_sphere(x - victim.image)


def rgd(victim: Victim, rng: np.random.Generator, *, step: float = 2e-3) -> Iterator[Look]:
    """Riemannian gradient ascent: x <- R(x + step grad f(x)), R radially onto the sphere.

    The start is uniform on the sphere through the result of `pgd`.

    Parameters
    ----------
    victim : Victim
        The image.
    rng : numpy.random.Generator
        Of the start.
    step : float
        Factor of the gradient, which is not normalised.
    """
    before = Victim(victim.network, victim.image, victim.label)
    before.radius = victim.radius
    victim.radius = _length(_last(pgd(before, rng), 150).image - victim.image)
    x = victim.onto_sphere(normal(rng, tuple(victim.image.shape), victim.image))
    while True:
        g, look = victim.slope(x)
        yield look
        e = x - victim.image
        x = victim.onto_sphere(e + step * tangent(g, e))


# -- values ----------------------------------------------------------------------------------------


def slope_by_values(
    victim: Victim,
    rng: np.random.Generator,
    here: Look,
    samples: int = 500,
    smoothing: float = 1e-6,
) -> torch.Tensor:
    """Estimate the Riemannian gradient at an iterate of the sphere from values: see `zo_rgd`."""
    e = here.image - victim.image
    u = tangent(_gaussian(victim, rng, samples), e)
    rise = victim.losses(victim.onto_sphere(e + smoothing * u))[0] - here.loss
    return _mean(rise / smoothing, u)


def zo_rgd(
    victim: Victim,
    rng: np.random.Generator,
    *,
    samples: int = 500,
    smoothing: float = 1e-6,
    step: float = 1e-3,
    first_samples: int = 100,
    first_step: float = 0.1,
) -> Iterator[Look]:
    """Zeroth-order Riemannian gradient ascent: x <- R(x + step g) with g from function values.

        g = (1/m) Σ_j (f(R(x + μ u_j)) - f(x))/μ u_j,   u_j Gaussian in the tangent space

    Parameters
    ----------
    victim : Victim
        The image.
    rng : numpy.random.Generator
        Of the directions.
    samples, smoothing, step : int, float, float
        m, μ, and the factor of g, which is not normalised.
    first_samples, first_step : int, float
        On the walk to the sphere: m, and the length of a step.
    """

    def first(here: Look) -> torch.Tensor:
        u = _gaussian(victim, rng, first_samples)
        return _mean(victim.losses(victim.image + smoothing * u)[0] - here.loss, u)

    x = yield from _outwards(victim, first, first_step)
    while True:
        here = victim.look(x)
        yield here
        g = slope_by_values(victim, rng, here, samples, smoothing)
        x = victim.onto_sphere(x - victim.image + step * g)


# -- duels -----------------------------------------------------------------------------------------


def slope_by_duels(
    victim: Victim,
    rng: np.random.Generator,
    x: torch.Tensor,
    batch: int = 10,
    radius: float = 1e-6,
) -> torch.Tensor:
    """Estimate an uphill direction at a point of the sphere from duels, h̄ of `rdngd_released`."""
    e = x - victim.image
    u = _unit(tangent(_gaussian(victim, rng, batch), e))
    ahead, behind = (victim.onto_sphere(e + s * radius * u) for s in (1, -1))
    return _mean(victim.duel(ahead, behind), u)


def rdngd_released(
    victim: Victim,
    rng: np.random.Generator,
    *,
    batch: int = 10,
    radius: float = 1e-6,
    step: float = 0.1,
    first_step: float = 0.5,
) -> Iterator[Look]:
    """RDNGD as the released program has it: x <- R(x + step h̄/|h̄|), after a walk to the sphere.

    Parameters
    ----------
    victim : Victim
        The image.
    rng : numpy.random.Generator
        Of the directions.
    batch, radius, step : int, float, float
        Duels of an iteration, their ν, and the length of a step, in pixels.
    first_step : float
        Length of a step on the walk to the sphere.
    """

    def first(_: Look) -> torch.Tensor:
        u = _unit(_gaussian(victim, rng, batch))
        return _mean(victim.duel(victim.image + radius * u, victim.image - radius * u), u)

    x = yield from _outwards(victim, first, first_step)
    while True:
        yield victim.look(x)
        h = slope_by_duels(victim, rng, x, batch, radius)
        x = victim.onto_sphere(x - victim.image + step * _unit(h))


def rdngd_text(
    victim: Victim,
    rng: np.random.Generator,
    *,
    batch: int = 10,
    radius: float = 1e-6,
    step: float = 1e-6,
) -> Iterator[Look]:
    """RDNGD as the paper's text has it: Algorithm 1 with h̄ on the sphere, x <- Exp(step h̄).

    The start, which the text leaves open, is uniform on the sphere.

    Parameters
    ----------
    victim : Victim
        The image.
    rng : numpy.random.Generator
        Of the start and the directions.
    batch, radius, step : int, float, float
        Duels of an iteration, ν and η, in pixels.
    """
    sphere = Sphere(*victim.image.shape[1:])  # of directions: lengths are angles
    p = sphere.random_point(rng, (), victim.image)
    while True:
        yield victim.look(victim.image + victim.radius * p[None])
        duels = estimate(sphere, rng, p, radius / victim.radius, batch)
        ahead, behind = next(duels)
        try:
            duels.send(victim.duel(*(victim.image + victim.radius * q for q in (ahead, behind))))
        except StopIteration as done:
            p = sphere.exp(p, step / victim.radius * done.value)


Attack = Callable[[Victim, np.random.Generator], Iterator[Look]]

PUBLISHED: dict[str, tuple[Attack, str, int]] = {
    "pgd": (pgd, "gradients", 150),
    "rgd": (rgd, "gradients", 150),
    "zo-rgd": (zo_rgd, "scores", 1000),
    "rdngd-released": (rdngd_released, "comparisons", 1000),
    "rdngd-text": (rdngd_text, "comparisons", 1000),
}
"""Attacks by name: what they see, and how many iterations on the sphere they are given."""


def tangent(u: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    """The part of ``u`` that is orthogonal to the perturbation ``e``."""
    return u - _dot(u, e) / _dot(e, e) * e


# -- private ---------------------------------------------------------------------------------------


def _outwards(
    victim: Victim, direction: Callable[[Look], torch.Tensor], step: float
) -> Any:  # a generator of looks that returns a point of the sphere
    """Walk from the image until the sphere is met."""
    x = victim.image
    for _ in range(OUTWARDS):
        here = victim.look(x, outwards=True)
        yield here
        x = x + step * _unit(direction(here))
        if _length(x - victim.image) > victim.radius:
            break
    return victim.onto_sphere(x - victim.image)


def _last(looks: Iterator[Look], iterations: int) -> Look:
    """The iterate that fools, or the last of so many."""
    look = None
    for look in islice(looks, iterations + 1):
        if look.fooled and not look.outwards:
            break
    if look is None:
        raise ArgumentError(f"iterations must be at least 0, got {iterations}")
    return look


def _gaussian(victim: Victim, rng: np.random.Generator, many: int) -> torch.Tensor:
    return normal(rng, (many, *victim.image.shape[1:]), victim.image)


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).sum((-3, -2, -1), keepdim=True)


def _length(e: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(e))


def _unit(e: torch.Tensor) -> torch.Tensor:
    """Each image of a stack over its norm; one that is zero stays."""
    return e / torch.sqrt(_dot(e, e)).clamp_min(1e-12)


def _mean(weights: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """The mean of weighted directions, as h̄ of equation (12), with a leading axis of length 1."""
    return torch.mean(weights[:, None, None, None] * u, dim=0, keepdim=True)
