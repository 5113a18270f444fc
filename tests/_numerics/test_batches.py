"""Leading axes: their common shape, one axis in their place, and arrays made alike."""

import numpy as np
import pytest

from geoduel._numerics.batches import along_one_axis, as_like, leading_shape


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
