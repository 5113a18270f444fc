"""Curves as an experiment would find them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from geoduel.reproduce.convergence import Curve


@pytest.fixture
def curve() -> Callable[..., Curve]:
    """A curve from the gaps of each seed."""

    def curve(label, gaps, duels, start=1.0, size=100, control=""):
        records = [
            {
                "sees": "duels",
                "start": start,
                "iteration": list(range(len(g))),
                "duels": duels,
                "seconds": [0.1 * i for i in range(len(g))],
                "gap": g,
                "last_gap": g[-1],
                "ties": 0,
            }
            for g in gaps
        ]
        return Curve("rayleigh", size, label, {}, records, control)

    return curve
