"""Checks of images, their pixels, and devices."""

from __future__ import annotations

from typing import Any

from .._support.check import real, several
from ..errors import ArgumentError
from ._torch import torch

__all__ = ["as_device", "check_batch", "check_images", "check_pixels"]


def check_images(images: Any, clip: Any, name: str = "images") -> None:
    """Raise unless the images are a batch of pixels within ``clip``."""
    check_batch(images, name)
    ends = [real(end, "clip") for end in several(clip, "clip", "the least and the largest pixel")]
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise ArgumentError(f"clip must be (least, largest) pixel, got {clip!r}")
    check_pixels(images, clip, name)


def check_batch(images: Any, name: str = "images", least: int = 1) -> None:
    """Raise unless these are so many images or more, floating-point; pixels are not looked at."""
    if not isinstance(images, torch.Tensor) or not images.is_floating_point():
        kind = getattr(images, "dtype", type(images).__name__)
        raise ArgumentError(f"{name} must be a torch tensor of floating-point numbers, got {kind}")
    if images.ndim != 4 or len(images) < least or 0 in images.shape[1:]:
        raise ArgumentError(
            f"{name} has shape {tuple(images.shape)}, expected (n, channels, height, width), "
            f"n >= {least}"
        )


def check_pixels(images: torch.Tensor, clip: tuple[float, float], name: str) -> None:
    """Raise unless all pixels are within ``clip``."""
    if not images.numel():
        return
    low, high = float(images.min()), float(images.max())
    if not (clip[0] <= low and high <= clip[1]):  # also where there is a NaN
        raise ArgumentError(
            f"{name} has pixels from {low:.4g} to {high:.4g}, expected them within clip={clip!r}"
        )


def as_device(device: Any, name: str = "device") -> torch.device:
    """The device that is meant, if numbers can be kept there."""
    if not isinstance(device, str | torch.device):
        raise ArgumentError(
            f"{name} must be a device such as 'cpu' or 'cuda:0', got {device!r:.80}"
        )
    try:
        found = torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ArgumentError(f"{name} {str(device)!r}: {str(error).splitlines()[0]}") from None
    if found.type == "meta":
        raise ArgumentError(f"{name} 'meta' holds no numbers, expected one such as 'cpu'")
    return found
