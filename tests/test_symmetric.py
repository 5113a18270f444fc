"""Functions of symmetric matrices and small factorisations, against SciPy and long doubles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm, expm_frechet, logm, solve_triangular

from geoduel._numerics import arrays as _arrays
from geoduel._numerics import linalg as _linalg
from geoduel._numerics.arrays import combine, combine_both, in_blocks
from geoduel._numerics.gradients import attach
from geoduel._numerics.linalg import (
    Polynomials,
    eigh,
    eigvalsh,
    expm1,
    expm1_pair,
    factor,
    lanes,
    matmul,
    positive,
    svd,
)
from geoduel._numerics.symmetric import (
    ExpLog,
    exp_difference,
    exponential,
    hadamard,
    pack,
    sym,
    unpack,
)
from geoduel.errors import NotOnManifoldError

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


SIZES = (
    0.0,
    1e-300,
    1e-12,
    1e-5,
    4e-4,
    0.02,
    0.09,
    0.3,
    0.5,
    0.6,
    0.77,
    1.0,
    1.4,
    1.5,
    1.9,
    2.0,
    7.0,
)


@pytest.mark.parametrize("size", SIZES)
def test_exponential_series_are_right_to_rounding(size):
    """On numbers, as 1 x 1 and as diagonal matrices; and on rotations of the plane.

    The sum rounds each term, in all as much as e^|a| - 1 is; each of the halvings doubles that.
    """
    rounding = 4 * EPS * math.expm1(size) * max(size, 1)
    for a in (size, -size, size / 3):
        matrix = np.diag([a, -a / 2])
        expected = np.diag(np.expm1([a, -a / 2]))
        for stack in (matrix, matrix[None], np.full((300, 1, 1), 1.0) * matrix):
            for square in (0, 1):
                np.testing.assert_allclose(
                    expm1(stack, size, square) - expected, 0 * stack, rtol=0, atol=rounding
                )
            both = expm1_pair(stack, size)
            for got, e in zip(both, (expected, np.diag(np.expm1([-a, a / 2]))), strict=True):
                np.testing.assert_allclose(got - e, 0 * stack, rtol=0, atol=rounding)
        turn = np.array([[0.0, -a], [a, 0.0]])
        versine = 2 * math.sin(a / 2) ** 2
        expected = np.array([[-versine, -math.sin(a)], [math.sin(a), -versine]])
        for square in (0, -1):
            got = expm1(turn, size, square)
            np.testing.assert_allclose(got, expected, rtol=0, atol=rounding)


@pytest.mark.parametrize("square", [0, 1, -1])
@pytest.mark.parametrize("n", [2, 5, 10])
def test_the_exponential_of_the_opposite_is_the_inverse(n, square):
    a = np.random.default_rng(17).standard_normal((6, n, n))
    a = a + square * a.mT
    a *= (np.array([1e-8, 0.05, 0.4, 0.9, 2.0, 6.0]) / np.linalg.norm(a, axis=(1, 2)))[
        :, None, None
    ]
    for stack in (a, *a, lanes(np.concatenate([a] * 50))):
        size = float(np.max(np.linalg.norm(stack, axis=(-2, -1))))
        there, back = expm1(stack, size, square), expm1(-stack, size, square)
        # (I + F)(I + B) = I; both are right to some rounding units of e^size, halvings included.
        product = there + back + there @ back
        tolerance = 8 * n * EPS * math.exp(2 * size) * max(size, 1)
        np.testing.assert_allclose(product, 0 * stack, rtol=0, atol=tolerance)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_polynomials_of_every_length_and_of_stacks(library):
    a = 0.5 * symmetric(8, 4, (200,))
    coefficients = np.random.default_rng(9).standard_normal((2, 12))
    for length in (2, 5, 6, 12):
        c = coefficients[:, :length]
        powers = [np.linalg.matrix_power(a, k) for k in range(length)]
        expected = np.einsum("ck,k...->c...", c, np.stack(powers))
        tolerance = 100 * EPS * np.max(np.abs(np.stack(powers)))
        for stack, place in ((a, ...), (a[:5], slice(5)), (a[3], 3), (lanes(a), ...)):
            if library == "torch":
                stack = pytest.importorskip("torch").tensor(np.array(stack))
            got = [*Polynomials(c)(stack), Polynomials(c[0])(stack)]
            for one, e in zip(got, [*expected, expected[0]], strict=True):
                np.testing.assert_allclose(one, e[place], rtol=0, atol=tolerance)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_large_stacks_of_tiny_matrices(n):
    """They have another layout in memory, and a text of their own."""
    a = np.random.default_rng(15).standard_normal((40, 30, n, n))
    x = sym(a @ a.mT + np.eye(n))
    low, inverse = factor(x)
    assert low.strides[0] == inverse.strides[0] == low.itemsize
    tolerance = {"rtol": 0, "atol": 40 * n * EPS * np.max(x)}
    np.testing.assert_allclose(low, np.linalg.cholesky(x), **tolerance)
    np.testing.assert_allclose(inverse, np.linalg.inv(low), **tolerance)
    for b in (a, lanes(a), a[0, 0]):
        np.testing.assert_allclose(matmul(low, b), low @ b, **tolerance)
        np.testing.assert_allclose(matmul(b, low.mT), b @ low.mT, **tolerance)
    np.testing.assert_array_equal(sym(lanes(a)), sym(a))
    assert sym(lanes(a)).flags.c_contiguous
    x[7, 7] = np.diag([-1e-18, *[1.0] * (n - 1)])
    if n > 1:
        assert np.all(np.isfinite(factor(x)[1]))  # repaired, as in small stacks
    x[7, 7] -= 1e-3 * np.eye(n)
    with pytest.raises(NotOnManifoldError, match=r"eigenvalue is -0\.001"):
        factor(x)


@pytest.mark.parametrize("n", [1, 3, 6])
def test_stacks_of_every_layout_and_kind(n):
    x = (np.eye(n) + np.ones((n, n))) * np.arange(1, 6)[:, None, None]
    expected = np.linalg.cholesky(x)
    for a in (x, np.asfortranarray(x), x.astype(int), np.asfortranarray(x.astype(int)), x[:0]):
        low, inverse = factor(a)
        np.testing.assert_allclose(low, expected[: len(a)], rtol=0, atol=1e-14)
        np.testing.assert_allclose(low @ inverse, np.broadcast_to(np.eye(n), a.shape), atol=1e-14)
        np.testing.assert_allclose(matmul(a, a), a @ a, rtol=1e-14)


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


# -- gradients -------------------------------------------------------------------------------------


def test_attach_states_a_gradient():
    torch = pytest.importorskip("torch")
    a = torch.ones(2, dtype=torch.float64, requires_grad=True)
    b = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    value = attach((a * b).detach() ** 2, (a, b), lambda g: (2 * g, 5 * g))
    (value.sum() * 3).backward()
    assert a.grad.tolist() == [18.0, 18.0]  # summed over the axis that was broadcast
    assert b.grad.tolist() == [[15.0, 15.0]] * 3
    plain = np.ones(2)
    assert attach(plain, (plain,), lambda g: (g,)) is plain


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


# -- factorisations --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3, 10, 20])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_factorisations_agree_with_numpy(n, dtype):
    rng = np.random.default_rng(10)
    a = rng.standard_normal((3, n, n)).astype(dtype)
    x = sym(a @ a.mT + np.eye(n, dtype=dtype))
    tol = {"rtol": 0, "atol": 40 * n * float(np.finfo(dtype).eps) * float(np.max(np.abs(x)))}
    for one in (x, x[0]):
        low, inverse = factor(one)
        values, vectors = eigh(one)
        u, s, vt = svd(one)
        assert all(b.dtype == dtype for b in (low, inverse, values, vectors, u, s, vt))
        np.testing.assert_array_equal(low, np.tril(low))
        np.testing.assert_array_equal(inverse, np.tril(inverse))
        np.testing.assert_allclose(low @ low.mT, one, **tol)
        np.testing.assert_allclose(low @ inverse, np.broadcast_to(np.eye(n), one.shape), **tol)
        np.testing.assert_allclose((vectors * values[..., None, :]) @ vectors.mT, one, **tol)
        np.testing.assert_allclose((u * s[..., None, :]) @ vt, one, **tol)
        np.testing.assert_allclose(eigvalsh(one), values, **tol)


@pytest.mark.parametrize("n", [3, 10, 20])
def test_the_inverse_factor_is_as_good_as_substitution(n):
    """On a graded factor: relative to each entry's scale, where elimination with pivots is not."""
    rng = np.random.default_rng(11)
    low = np.tril(rng.standard_normal((2, n, n))) * (10.0 ** -np.linspace(0, 8, n))
    low[..., range(n), range(n)] = 10.0 ** -np.linspace(0, 8, n)
    for one in (low, low[0]):
        inverse = _linalg._triangular_inverse(one)
        stack = np.reshape(one, (-1, n, n))
        exact = np.stack([solve_triangular(b, np.eye(n), lower=True) for b in stack])
        scale = np.abs(exact) @ np.abs(stack) @ np.abs(exact)
        assert np.max(np.abs(np.reshape(inverse, exact.shape) - exact) / (scale + 1e-300)) < n * EPS


def test_hadamard_is_the_product_in_the_eigenbasis():
    s, v = symmetric(12), symmetric(13)
    values, q = np.linalg.eigh(s)
    sums = values[:, None] + values
    np.testing.assert_allclose(hadamard(q, sums, v), s @ v + v @ s, atol=1e-13)


def test_positive_repairs_rounding_alone():
    good = np.diag([1.0, 1e-300])
    assert positive(good, "a") is good
    raised = positive(np.diag([1.0, -1e-17]), "a")
    assert 0 < raised[1, 1] < 4e-15
    with pytest.raises(NotOnManifoldError, match=r"a is not positive definite.*-1e-08"):
        positive(np.diag([1.0, -1e-8]), "a")


@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "svd", "cholesky", "factor"])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_nan_in_nan_out(name, library):
    """One matrix of a stack that is not finite leaves the results of the others as they are."""
    good, bad = np.diag([1.0, 2.0, 3.0]), np.full((3, 3), np.nan)
    kind = np.asarray if library == "numpy" else pytest.importorskip("torch").from_numpy

    def results(a):
        out = getattr(_linalg, name)(kind(a))
        return [np.asarray(b) for b in (out if isinstance(out, tuple) else (out,))]

    whole, alone, broken = results(np.stack([good, bad, good])), results(good), results(bad)
    for stack, one, lost in zip(whole, alone, broken, strict=True):
        np.testing.assert_allclose(np.abs(stack[0]), np.abs(one))
        np.testing.assert_array_equal(stack[2], stack[0])
        for b in (stack[1], lost):
            assert np.isnan(b).any()
            assert not np.any(np.isfinite(b) & (b != 0))  # triangles keep their zeros


def test_log_agrees_with_scipy():
    x = expm(symmetric(14))
    np.testing.assert_allclose(ExpLog.of_point(x).log, logm(x), atol=1e-12)
