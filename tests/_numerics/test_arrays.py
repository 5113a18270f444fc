"""Large stacks in parts."""

from __future__ import annotations

import numpy as np

from geoduel._numerics import arrays as _arrays
from geoduel._numerics.arrays import combine, combine_both, in_blocks


def test_blocks_make_no_difference(monkeypatch):
    monkeypatch.setattr(_arrays, "BLOCK", 60)
    x, y = np.random.default_rng(16).standard_normal((2, 25, 3, 3))
    np.testing.assert_array_equal(in_blocks(np.add, 2, x, y), x + y)
    twice, minus = in_blocks(lambda a: (a + a, -a), 2, x)
    np.testing.assert_array_equal(twice, 2 * x)
    np.testing.assert_array_equal(minus, -x)
    np.testing.assert_array_equal(in_blocks(lambda a: np.sum(a, (-2, -1)), 2, x), x.sum((-2, -1)))
    np.testing.assert_array_equal(in_blocks(np.add, 2, x, y[0]), x + y[0])
    t = np.linspace(0, 1, 25)
    for a in (t, 0.3, np.float64(0.3)):
        first, second = np.reshape(a, (-1, 1, 1)) * x, t[:, None, None] * y
        np.testing.assert_array_equal(combine(a, x, t, y, 2), first + second)
        np.testing.assert_array_equal(combine_both(a, x, t, y, 2), (first + second, first - second))
    np.testing.assert_array_equal(
        combine(t, x[0], t, y[0], 2), t[:, None, None] * x[0] + t[:, None, None] * y[0]
    )
