"""Images and devices: what is none is named."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

from geoduel.attack.images import as_device, check_batch, check_images, check_pixels  # noqa: E402
from geoduel.errors import ArgumentError  # noqa: E402

GREY = torch.full((2, 1, 4, 4), 0.5)


def test_images_pass():
    check_images(GREY, (0.0, 1.0))
    check_batch(GREY[:0], least=0)
    check_pixels(GREY[:0], (0.0, 1.0), "images")  # of none there is none outside


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (GREY.numpy(), "start must be a torch tensor of floating-point numbers, got float32"),
        (GREY.int(), r"got torch\.int32"),
        (GREY + 0j, r"got torch\.complex64"),
        (GREY[0], r"start has shape \(1, 4, 4\), expected \(n, channels, height, width\), n >= 1"),
        (GREY[:0], "n >= 1"),
        (GREY[..., :0], "start has shape"),
        (GREY + 1, r"start has pixels from 1.5 to 1.5, expected them within clip=\(0.0, 1.0\)"),
        (torch.nan * GREY, "start has pixels from nan"),
    ],
)
def test_what_are_no_images_is_named(images, words):
    with pytest.raises(ArgumentError, match=words):
        check_images(images, (0.0, 1.0), "start")


@pytest.mark.parametrize("clip", [(1, 0), (0, 1, 2), ("a", "b"), 1.0, None])
def test_what_is_no_range_of_pixels_is_named(clip):
    with pytest.raises(ArgumentError, match="clip must be"):
        check_images(GREY, clip)


def test_devices_that_hold_numbers_pass_and_others_are_named():
    assert as_device("cpu") == as_device(torch.device("cpu")) == torch.device("cpu")
    for device in ("gpu", "", "meta", torch.device("meta"), 1.5, None, b"cpu"):
        with pytest.raises(ArgumentError, match="home "):
            as_device(device, "home")
