"""The set that an attack may use: a sphere of perturbations around each image, within the pixels.

A perturbation is a point p of the unit sphere of images. The image it stands for is

    image(p) = clip(x + t p),   t >= 0 such that |image(p) - x| = radius:

the ray from x in the direction p, bent along the walls of the box that pixels live in, and followed
until it meets the sphere of the given radius. So all images of the sphere intersected with the box
are reached, no pixel leaves its range, and methods see a plain sphere. Where the box ends before
the ray has the full length (a radius beyond the corner), the image is the corner, which is nearer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._numerics.arrays import eps, expand
from ..manifolds import Sphere
from ..methods.base import default_radius
from ._torch import torch

__all__ = ["Threat", "resolved_radius"]

ROUNDS = 12


@dataclass(frozen=True)
class Threat:
    """Images, the radius around each, and the range of pixels.

    Attributes
    ----------
    x : torch.Tensor of shape (n, channels, height, width)
        The images.
    radius : torch.Tensor of shape (n,)
        Length of the perturbations, in the norm of all pixels (Euclidean).
    clip : tuple of float
        Least and largest pixel.

    Examples
    --------
    >>> import torch
    >>> threat = Threat(torch.tensor([[[[0.5, 0.9]]]]), torch.tensor([0.3]), (0.0, 1.0))
    >>> p = torch.tensor([[[[0.6, 0.8]]]])
    >>> image = threat.image(p)  # the second pixel stops at 1, the first takes the rest
    >>> image.ravel().tolist(), round(float(torch.linalg.norm(image - threat.x)), 6)
    ([0.78..., 1.0], 0.3)
    """

    x: torch.Tensor
    radius: torch.Tensor
    clip: tuple[float, float] = (0.0, 1.0)

    def take(self, keep: torch.Tensor) -> Threat:
        """The problems with these numbers."""
        return Threat(self.x[keep], self.radius[keep], self.clip)

    def image(self, p: torch.Tensor) -> torch.Tensor:
        """Images for perturbations of shape (..., n, channels, height, width)."""
        low, high = self.clip
        axes = p.ndim - self.x.ndim + 1  # those that count images
        room = torch.where(p > 0, high - self.x, self.x - low)
        size = p.abs()
        t = self.radius.expand(p.shape[:axes])
        stopped = size * expand(t, 3) > room
        # Pixels at the wall give up their share, which makes t grow and stops others; each round
        # only adds to them. Few rounds are needed: the walls that matter are met first.
        for _ in range(ROUNDS if bool(stopped.any()) else 0):
            free = ~stopped
            used = (room * room * stopped).flatten(axes).sum(-1)
            left = (size * size * free).flatten(axes).sum(-1)
            more = (self.radius**2 - used).clamp_min(0)
            t = torch.where(left > 0, torch.sqrt(more / left.clamp_min(1e-30)), t)
            now = stopped | (size * expand(t, 3) > room)
            if bool((now == stopped).all()):
                break
            stopped = now
        return torch.clamp(self.x + expand(t, 3) * p, low, high)


def resolved_radius(threat: Threat, dtype: torch.dtype) -> float:
    """Least probe, an angle in radians, that images and answers in a dtype resolve.

    A probe of angle ν changes a pixel by about ν radius/√d. Where that is less than half the gap
    between neighbouring numbers, at the largest pixel, the image rounds back to itself and the duel
    is a tie. With ν = 1e-6 in float32, three of four duels are ties. The angle here is twice that
    least, or the default for any function, `geoduel.methods.base.default_radius`, if that is more.
    """
    like = torch.empty(0, dtype=dtype)
    top = max(abs(v) for v in threat.clip)
    d = math.prod(threat.x.shape[1:])
    pixels = eps(like) / 2 * top * math.sqrt(d) / float(threat.radius.min())
    return min(math.pi / 2, max(pixels, default_radius(Sphere(*threat.x.shape[1:]), like)))
