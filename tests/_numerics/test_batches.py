"""Leading axes: their common shape, one axis in their place, and arrays made alike."""

import numpy as np
import pytest

from geoduel._numerics.batches import along_one_axis, as_like, bounds_like, leading_shape


def test_leading_axes_broadcast():
    assert leading_shape(1, np.ones((4, 1, 3)), np.ones((5, 3))) == (4, 5)
    assert leading_shape(2, np.ones((2, 3)), np.ones((2, 3))) == ()
    with pytest.raises(ValueError, match="broadcast"):
        leading_shape(1, np.ones((4, 3)), np.ones((5, 3)))


def test_pairs_are_laid_out_row_by_row():
    x, y = np.arange(12.0).reshape(4, 1, 3), -np.arange(15.0).reshape(5, 3)
    lead, (a, b) = along_one_axis(1, x, y)
    assert lead == (4, 5)
    assert a.shape == b.shape == (20, 3)
    for i in range(20):
        np.testing.assert_array_equal(a[i], x[i // 5, 0])
        np.testing.assert_array_equal(b[i], y[i % 5])


def test_numbers_are_made_like_an_array():
    x = np.ones(2, np.float32)
    assert as_like(x, x) is x
    assert as_like([1, 2], x).dtype == np.float32
    torch = pytest.importorskip("torch")
    made = as_like([1, 2], torch.ones(2, dtype=torch.float64))
    assert made.dtype == torch.float64
    assert made.tolist() == [1, 2]
    assert isinstance(as_like(torch.ones(2, requires_grad=True), x), np.ndarray)


def test_bounds_are_rounded_inwards():
    rng = np.random.default_rng(0)
    lower = rng.normal(size=(50, 3))
    upper = lower + rng.exponential(size=(50, 3))
    for x in (np.zeros(3, np.float32), pytest.importorskip("torch").zeros(3)):
        low, high = bounds_like(lower, upper, x)
        assert low.dtype == high.dtype == x.dtype
        low, high = np.asarray(low), np.asarray(high)
        assert (low >= lower).all()
        assert (high <= upper).all()
        np.testing.assert_allclose(low, lower, rtol=2e-7)  # the next number at most
        np.testing.assert_allclose(high, upper, rtol=2e-7)
    point = np.array([0.1, 0.3, np.inf, -np.inf])
    for end in bounds_like(point, point, np.zeros(1, np.float32)):  # no number lies between
        np.testing.assert_array_equal(end, point.astype(np.float32))
    wide, exact = np.zeros(3), bounds_like(lower, upper, np.zeros(3))
    assert exact[0] is lower
    assert bounds_like(np.float32([0.1]), np.float32([0.2]), wide)[0].dtype == float
