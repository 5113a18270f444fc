"""The set that an attack may use: a ball's surface around each image, within the pixels.

A perturbation is a point p of the unit sphere of images, so methods see a plain sphere. The image
it stands for, at the given radius, is

    l2    clip(x + t p),   t >= 0 such that |image - x| = radius:

the ray from x in the direction p, bent along the walls of the box that pixels live in, and followed
until it meets the sphere of the radius. So all images of the sphere intersected with the box are
reached, and no pixel leaves its range. Where the box ends before the ray has the full length (a
radius beyond the corner), the image is the corner, which is nearer.

    linf  clip(x + radius sign(p)):

the corner of the cube around x that p points at. Every pixel uses all that the largest norm allows,
as the strongest perturbations do; turning p flips the pixels whose share in it is small.
Derivatives by p pass the sign as though it were a multiple of p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .._numerics.arrays import eps, expand
from .._support.check import instance, one_of
from ..errors import ArgumentError
from ..manifolds import Sphere
from ..methods.base import default_radius
from ._torch import torch
from .images import check_batch

__all__ = ["NORMS", "Threat", "resolved_radius"]

NORMS = {"l2": 2.0, "linf": math.inf}
"""Norms of perturbations by name."""

AHEAD = 1.5  # walls are looked for up to so many radii along a ray, and further if need be
ROUNDS = 30
FLIPS = 8  # pixels that a probe should flip at least, of an image made of signs


@dataclass(frozen=True, eq=False)
class Threat:
    """Images, the radius around each, the range of pixels, and the norm.

    Attributes
    ----------
    x : torch.Tensor of shape (n, channels, height, width)
        The images.
    radius : torch.Tensor of shape (n,)
        Length of the perturbations in the norm of all pixels.
    clip : tuple of float
        Least and largest pixel.
    norm : {"l2", "linf"}
        Euclidean, or the largest change of a pixel.

    Examples
    --------
    >>> import torch
    >>> threat = Threat(torch.tensor([[[[0.5, 0.9]]]]), torch.tensor([0.3]), (0.0, 1.0))
    >>> p = torch.tensor([[[[0.6, 0.8]]]])
    >>> image = threat.image(p)  # the second pixel stops at 1, the first takes the rest
    >>> image.ravel().tolist(), round(float(threat.size(image)), 6)
    ([0.78..., 1.0], 0.3)
    """

    x: torch.Tensor
    radius: torch.Tensor
    clip: tuple[float, float] = (0.0, 1.0)
    norm: str = "l2"

    def __post_init__(self) -> None:  # by kind and shape: it is made at each step
        check_batch(self.x, "x", least=0)
        if not isinstance(self.radius, torch.Tensor) or self.radius.shape != self.x.shape[:1]:
            raise ArgumentError(
                f"radius must be a tensor of one number an image, shape ({len(self.x)},), got "
                f"{self.radius!r:.80}"
            )
        one_of(self.norm, "norm", tuple(NORMS))
        if not isinstance(self.clip, tuple | list) or len(self.clip) != 2:
            raise ArgumentError(f"clip must be (least, largest) pixel, got {self.clip!r:.80}")

    def take(self, keep: torch.Tensor) -> Threat:
        """The problems with these numbers."""
        return replace(self, x=self.x[keep], radius=self.radius[keep])

    def at(self, radius: torch.Tensor) -> Threat:
        """The same with other radii, shape (n,)."""
        return replace(self, radius=radius)

    def size(self, images: torch.Tensor, norm: str | None = None) -> torch.Tensor:
        """Distances of images (..., n, channels, height, width) from x, in a norm by name."""
        change = (images.to(self.radius.dtype) - self.x.to(self.radius.dtype)).flatten(-3)
        return torch.linalg.vector_norm(change, NORMS[norm or self.norm], dim=-1)

    def image(self, p: torch.Tensor) -> torch.Tensor:
        """Images for perturbations of shape (..., n, channels, height, width)."""
        x = self.x.to(p.dtype)
        if self.norm == "linf":
            change = p * math.sqrt(math.prod(x.shape[1:]))
            if p.requires_grad:
                change = change + (torch.sign(change) - change).detach()
            else:
                change = torch.sign(change, out=change)
            t = self.radius.to(p)
        else:
            change, t = p, self._bent(x, p.detach())
        return torch.addcmul(x, expand(t, 3), change).clamp_(*self.clip)

    def _bent(self, x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        """How far the rays are followed, t of shape (..., n), bent along the walls.

        A pixel at its wall gives up its share of the length, which makes t grow and stops others;
        each round only adds to them. Only pixels that meet a wall at all, up to a length ``ahead``,
        are looked at: few, mostly.
        """
        low, high = self.clip
        d = math.prod(p.shape[-3:])
        radius = self.radius.to(p).expand(p.shape[:-3])
        t, ahead = radius.reshape(-1).double(), AHEAD * radius
        while True:
            far = torch.addcmul(x, expand(ahead, 3), p)
            met = torch.nonzero((far != far.clamp(low, high)).reshape(-1))[:, 0]
            if not len(met):
                return radius
            row = met // d
            size = p.reshape(-1)[met].double()
            here = x.reshape(-1)[met % x.numel()].double()
            room = torch.where(size > 0, high - here, here - low).square_()
            size.square_()
            whole = torch.linalg.vector_norm(p.flatten(-3), dim=-1).reshape(-1).double() ** 2
            before = t
            for _ in range(ROUNDS):
                stopped = (size * (t * t)[row] > room).double()
                used = torch.zeros_like(t).index_add_(0, row, room * stopped)
                left = whole.index_add(0, row, stopped.mul_(size), alpha=-1).clamp_min(1e-30)
                before, t = t, torch.sqrt((radius.reshape(-1) ** 2 - used).clamp_min(0) / left)
                if bool((t <= before).all()):
                    break
            t = torch.maximum(t, before)
            if bool((t <= ahead.reshape(-1)).all()):
                return t.to(p).reshape(radius.shape)
            ahead = 2 * torch.maximum(ahead, t.to(p).reshape(radius.shape))


def resolved_radius(threat: Threat, dtype: torch.dtype) -> float:
    """Least probe, an angle in radians, that images and answers in a dtype resolve.

    A probe of angle ν changes a pixel by about ν radius/√d. Where that is less than half the gap
    between neighbouring numbers, at the largest pixel, the image rounds back to itself and the duel
    is a tie. With ν = 1e-6 in float32, three of four duels are ties. The angle here is twice that
    least, or the default for any function, `geoduel.methods.base.default_radius`, if that is more.

    In the largest norm a probe flips the signs of about ν d/π pixels, and should flip some.
    """
    instance(threat, "threat", Threat, "a Threat")
    instance(dtype, "dtype", torch.dtype, "a dtype of torch")
    if not dtype.is_floating_point:
        raise ArgumentError(f"dtype must be one of floating-point numbers, got {dtype}")
    like = torch.empty(0, dtype=dtype)
    d = math.prod(threat.x.shape[1:])
    if threat.norm == "linf":
        pixels = FLIPS * math.pi / d
    else:
        top = max(abs(v) for v in threat.clip)
        pixels = eps(like) / 2 * top * math.sqrt(d) / float(threat.radius.min())
    return min(math.pi / 2, max(pixels, default_radius(Sphere(*threat.x.shape[1:]), like)))
