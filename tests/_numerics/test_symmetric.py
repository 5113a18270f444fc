"""Functions of symmetric matrices, against SciPy and long doubles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm, expm_frechet, logm

from geoduel._numerics.symmetric import (
    ExpLog,
    exp_difference,
    exponential,
    hadamard,
    pack,
    sym,
    unpack,
)

EPS = np.finfo(float).eps


def symmetric(seed, n=4, batch=()):
    return sym(np.random.default_rng(seed).standard_normal((*batch, n, n)))


# -- coordinates, divided differences --------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5])
def test_coordinates_are_isometric(n):
    s, t = symmetric(0, n, (3,)), symmetric(1, n, (3,))
    assert pack(s).shape == (3, n * (n + 1) // 2)
    np.testing.assert_allclose(unpack(pack(s), n), s, rtol=2 * EPS)
    np.testing.assert_allclose(np.vecdot(pack(s), pack(t)), np.sum(s * t, axis=(1, 2)), atol=1e-14)


def test_exp_difference_keeps_its_digits():
    """Against long doubles, for numbers from equal to far apart."""
    a = np.array([-700.0, -1.0, 0.0, 0.5, 30.0])[:, None]
    gap = np.concatenate([[0.0], 10.0 ** np.arange(-18, 2)])
    b = a - gap
    exact_gap = np.longdouble(a) - np.longdouble(b)
    safe = np.where(exact_gap == 0, 1, exact_gap)
    exact = np.exp(np.longdouble(b)) * np.where(exact_gap == 0, 1, np.expm1(exact_gap) / safe)
    error = np.abs(exp_difference(a, b) / exact - 1)
    assert np.max(error) < 8 * EPS * np.max(np.abs(a))  # exp itself: half an ulp of its argument
    assert np.max(error[1:4]) < 8 * EPS
    np.testing.assert_array_equal(exp_difference(a, b), exp_difference(b, a))


# -- exponential and logarithm ---------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (3,)])
def test_exp_log_pair_and_derivatives(batch):
    s, h = symmetric(2, 4, batch), symmetric(3, 4, batch)
    pair = ExpLog.of_log(s)
    for one, direction, value, slope in zip(
        *(np.reshape(a, (-1, 4, 4)) for a in (s, h, pair.point(), pair.dexp(h))), strict=True
    ):
        np.testing.assert_allclose(value, expm(one), rtol=1e-13, atol=1e-13)
        expected = expm_frechet(one, direction, compute_expm=False)
        np.testing.assert_allclose(slope, expected, rtol=1e-12, atol=1e-12)
    back = ExpLog.of_point(pair.point())
    np.testing.assert_allclose(back.log, s, atol=1e-12)
    np.testing.assert_allclose(back.dlog(pair.dexp(h)), h, atol=1e-12)


def test_derivative_at_equal_eigenvalues():
    """At the identity D log is the identity map, at 2I half of it."""
    h = symmetric(4)
    np.testing.assert_allclose(ExpLog.of_point(np.eye(4)).dlog(h), h, atol=2 * EPS)
    np.testing.assert_allclose(ExpLog.of_point(2 * np.eye(4)).dlog(h), h / 2, atol=2 * EPS)


@pytest.mark.parametrize("size", [0.0, 1e-9, 5e-3, 0.3, 1.0, 1.9, 2.5, 9.0])
@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
def test_exponential_along_a_line(size, batch):
    """left e^{tW} right, for one matrix and for stacks, small and large tW, both signs of t."""
    w, left = symmetric(5, 3, batch), np.random.default_rng(6).standard_normal((*batch, 3, 3))
    w = size * w / np.linalg.norm(w, axis=(-2, -1), keepdims=True)
    at = exponential(w, left, left @ left.mT)
    sandwich = exponential(w, left, np.broadcast_to(np.eye(3), w.shape), np.linalg.inv(left))
    for t in (1.0, -1.0, 0.25, -0.5, np.full(batch, 0.7), 2):
        e = ExpLog.of_log(np.reshape(t, (*np.shape(t), 1, 1)) * w).point()
        scale = np.max(np.abs(e)) * 100 * EPS
        np.testing.assert_allclose(at(t), left @ e @ left.mT, rtol=0, atol=scale * 10)
        # Short steps: the change itself is right to a few digits less than all.
        change = sandwich(t) - np.eye(3)
        if size <= 1e-9:
            expected = left @ (np.reshape(t, (*np.shape(t), 1, 1)) * w) @ np.linalg.inv(left)
            np.testing.assert_allclose(change, expected, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(at(0.0), left @ left.mT)


# -- gradients -------------------------------------------------------------------------------------


def test_second_derivatives_are_refused_not_wrong():
    torch = pytest.importorskip("torch")
    x = torch.eye(2, dtype=torch.float64, requires_grad=True)
    for power in (1, 2):
        log = ExpLog.of_point(x).log
        (slope,) = torch.autograd.grad((log**power).sum(), x, create_graph=True)
        with pytest.raises(NotImplementedError, match="second derivatives"):
            torch.autograd.grad(slope.sum(), x)


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [1.0, 1.0, 2.0], [1.0, 1 + 1e-9, 2.0]])
@pytest.mark.parametrize("name", ["log", "dlog", "dexp", "point"])
def test_gradients_at_equal_and_close_eigenvalues(values, name):
    torch = pytest.importorskip("torch")
    q = np.linalg.qr(np.random.default_rng(8).standard_normal((3, 3)))[0]
    x, v = torch.from_numpy(sym((q * values) @ q.T)), torch.from_numpy(symmetric(9, 3))

    def of_coords(a, b):
        if name == "point":
            return ExpLog.of_log(x + unpack(a, 3)).point()
        pair = ExpLog.of_point(x + unpack(a, 3))
        return pair.log if name == "log" else getattr(pair, name)(v + unpack(b, 3))

    zeros = [torch.zeros(6, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(of_coords, zeros, eps=1e-6, atol=1e-7, rtol=1e-6)


# -- products in the eigenbasis --------------------------------------------------------------------


def test_hadamard_is_the_product_in_the_eigenbasis():
    s, v = symmetric(12), symmetric(13)
    values, q = np.linalg.eigh(s)
    sums = values[:, None] + values
    np.testing.assert_allclose(hadamard(q, sums, v), s @ v + v @ s, atol=1e-13)


def test_log_agrees_with_scipy():
    x = expm(symmetric(14))
    np.testing.assert_allclose(ExpLog.of_point(x).log, logm(x), atol=1e-12)
