"""What is geomstats' own: the metric."""

from __future__ import annotations

import pytest

from geoduel.errors import ArgumentError
from geoduel.manifolds.adapters import from_geomstats


def test_a_space_of_geomstats_needs_a_metric():
    class Space:
        shape, metric = (3,), None
        belongs = to_tangent = None

    with pytest.raises(ArgumentError, match="equip_with_metric"):
        from_geomstats(Space())
