"""The painted horizon has exactly the tilt."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoduel.errors import ArgumentError

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra web)")

from samples.photos import horizon  # noqa: E402

from geoduel.pictures import seascape  # noqa: E402


@pytest.mark.parametrize(("seed", "degrees"), [(0, 0), (1, 3.3), (2, -21), (3, 40), (4, -0.4)])
def test_the_horizon_has_exactly_the_tilt(seed, degrees):
    image = seascape(seed, math.radians(degrees), (360, 240))
    assert image.size == (360, 240)
    assert image.mode == "RGB"
    assert math.degrees(horizon(image)) == pytest.approx(degrees, abs=0.2)
    assert np.asarray(image).std() > 20


def test_seascapes_repeat_with_their_seed_and_differ_without():
    one, same, other = (np.asarray(seascape(seed, 0.1, (60, 40))) for seed in (5, 5, 6))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("bad", [{"size": (0, 5)}, {"size": (5,)}, {"tilt": math.nan}])
def test_seascape_names_a_bad_argument(bad):
    with pytest.raises(ArgumentError, match=r"size|tilt"):
        seascape(0, **bad)
