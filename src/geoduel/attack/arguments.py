"""Checks of the arguments of an attack."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from .._support.check import one_of, positive, positive_int
from ..errors import ArgumentError, RadiusWarning
from ..manifolds import Sphere
from ._torch import torch
from .images import check_images
from .judge import Judge
from .methods import ATTACKS
from .priors import Directions, ShapedSphere, prior
from .threat import NORMS, Threat, resolved_radius

__all__ = [
    "AS_PUBLISHED",
    "as_number",
    "check_labels",
    "check_radii",
    "check_start",
    "resolved_method",
    "sphere_of",
]


LEARNING = ("auto", "learning")
AS_PUBLISHED = ("rdngd-released", "rdngd-paper")
TRUST = 30.0  # duels that a first point which is not random counts as


def as_number(dtype: torch.dtype) -> torch.dtype:
    """Dtype of points and scores: half-precision images have perturbations in float32."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def check_radii(
    images: torch.Tensor, eps: float | None, radius: Any, clip: tuple[float, float], norm: str
) -> torch.Tensor:
    """Radii about the images, one each."""
    number = as_number(images.dtype)
    one_of(norm, "norm", tuple(NORMS))
    if radius is None and norm == "linf":
        radius = positive(8 / 255 if eps is None else eps, "eps") * (clip[1] - clip[0])
    if radius is None:
        size = torch.linalg.vector_norm(images.to(number).flatten(1), dim=1)
        if not bool((size > 0).all()):
            black = int(torch.nonzero(size == 0)[0, 0])
            raise ArgumentError(
                f"images[{black}] is zero everywhere, so eps * |x| is no radius: give radius="
            )
        return positive(0.05 if eps is None else eps, "eps") * size
    if not isinstance(radius, torch.Tensor):
        return images.new_full((len(images),), positive(radius, "radius"), dtype=number)
    if radius.shape != images.shape[:1] or not bool(((radius > 0) & radius.isfinite()).all()):
        raise ArgumentError(
            f"radius must be one number > 0 an image, got shape {tuple(radius.shape)}: {radius}"
        )
    return radius.to(images.device, number)


def check_labels(value: Any, name: str, images: torch.Tensor) -> torch.Tensor:
    """Labels as integers, one an image."""
    try:
        if isinstance(value, bool):
            raise TypeError
        found = torch.as_tensor(value, device=images.device)
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentError(f"{name} must be class numbers, got {value!r:.80}") from None
    if found.is_floating_point() or found.shape not in ((), images.shape[:1]):
        raise ArgumentError(
            f"{name} must be class numbers of shape ({len(images)},), got {found.dtype} of shape "
            f"{tuple(found.shape)}"
        )
    if int(found.min()) < 0:
        raise ArgumentError(f"{name} must be class numbers >= 0, got {int(found.min())}")
    return found.to(torch.int64).expand(len(images)).clone()


def check_start(start: Any, images: torch.Tensor, clip: tuple[float, float]) -> torch.Tensor:
    """Images to begin from, one an image under attack and another than that."""
    check_images(start, clip, "start")
    if start.shape != images.shape:
        raise ArgumentError(
            f"start has shape {tuple(start.shape)}, expected one image for each of images, "
            f"{tuple(images.shape)}"
        )
    start = start.to(images)
    same = (start == images).flatten(1).all(1)
    if bool(same.any()):
        which = int(torch.nonzero(same)[0, 0])
        raise ArgumentError(
            f"start[{which}] is images[{which}] itself, expected another: the search begins in the "
            "direction from one to the other"
        )
    return start


def sphere_of(threat: Threat, directions: str | Directions, q: int) -> Sphere:
    """The sphere whose points are perturbations, with directions of a kind if wanted."""
    images, (low, high) = threat.x, threat.clip
    positive_int(q, "q")
    if isinstance(directions, str):
        found = prior(directions, (images.to(as_number(images.dtype)) - low) / (high - low), q)
        return Sphere(*images.shape[1:]) if found is None else ShapedSphere(found)
    if not isinstance(directions, Directions) or directions.shape != tuple(images.shape[1:]):
        raise ArgumentError(
            f"directions must be a name or Directions for images of shape "
            f"{tuple(images.shape[1:])}, got {directions!r:.80}"
        )
    return ShapedSphere(directions)


def resolved_method(
    method: Any, name: str, threat: Threat, judge: Judge | None, known: bool = False
) -> Any:
    """The method with probes that the images' dtype resolves.

    ``known``: whether it begins at points that are not random. The default trusts these.
    """
    if name in AS_PUBLISHED:
        return method
    if known and name in LEARNING:
        method = replace(method, trust=TRUST)
    dtype = threat.x.dtype if judge is None or judge.dtype is None else judge.dtype
    least = resolved_radius(threat, dtype)
    for probe in ("radius", "smoothing"):
        wanted = getattr(method, probe, None)
        if wanted is not None and wanted < least:
            if name not in ATTACKS and name != "auto":  # those chose no width themselves
                warnings.warn(
                    f"{probe}={wanted:g} is below what images in {dtype} resolve; {least:.2g} is "
                    "taken",
                    RadiusWarning,
                    stacklevel=4,
                )
            method = replace(method, **{probe: least})
    return method
