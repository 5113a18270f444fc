"""Factorisations of matrices, against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from geoduel._numerics import linalg
from geoduel._numerics.linalg import (
    congruence,
    eigh,
    eigvalsh,
    factor,
    fast_matmul,
    identity,
    positive_definite,
    svd,
    svdvals,
)
from geoduel._numerics.symmetric import sym
from geoduel.errors import NotOnManifoldError

EPS = np.finfo(float).eps


def test_products_of_single_matrices_and_stacks():
    a, b = np.random.default_rng(0).standard_normal((2, 5, 3, 3))
    for x, y in ((a, b), (a[0], b[0]), (a[0], b), (a, b[0])):
        np.testing.assert_allclose(
            fast_matmul(x, y), np.einsum("...ij,...jk->...ik", x, y), atol=1e-14
        )
        np.testing.assert_allclose(congruence(x, y), x @ y @ x.mT, atol=1e-14)
    np.testing.assert_array_equal(identity(a), np.eye(3))
    np.testing.assert_array_equal(identity(a.astype(np.float32), 2), np.eye(2, dtype=np.float32))


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
        np.testing.assert_allclose(svdvals(one), s, **tol)


@pytest.mark.parametrize("n", [3, 10, 20])
def test_the_inverse_factor_is_as_good_as_substitution(n):
    """Of a graded matrix: relative to each entry's scale, where elimination with pivots is not."""
    rng = np.random.default_rng(11)
    low = np.tril(rng.standard_normal((2, n, n)))
    low[..., range(n), range(n)] = 1.0
    low *= (10.0 ** -np.linspace(0, 8, n))[:, None]
    x = sym(low @ low.mT)
    for one in (x, x[0]):
        factors = [np.reshape(a, (-1, n, n)) for a in factor(one)]
        for stack, inverse in zip(*factors, strict=True):
            exact = solve_triangular(stack, np.eye(n), lower=True)
            scale = np.abs(exact) @ np.abs(stack) @ np.abs(exact)
            assert np.max(np.abs(inverse - exact) / (scale + 1e-300)) < n * EPS


@pytest.mark.parametrize("n", [1, 3, 6])
def test_stacks_of_every_layout_and_kind(n):
    x = (np.eye(n) + np.ones((n, n))) * np.arange(1, 6)[:, None, None]
    expected = np.linalg.cholesky(x)
    for a in (x, np.asfortranarray(x), x.astype(int), np.asfortranarray(x.astype(int)), x[:0]):
        low, inverse = factor(a)
        np.testing.assert_allclose(low, expected[: len(a)], rtol=0, atol=1e-14)
        np.testing.assert_allclose(low @ inverse, np.broadcast_to(np.eye(n), a.shape), atol=1e-14)


@pytest.mark.parametrize("batch", [(), (40, 30)])
def test_factors_of_what_rounding_made_singular(batch):
    x = np.broadcast_to(np.diag([-1e-18, 1.0, 1.0]), (*batch, 3, 3)).copy()
    assert np.all(np.isfinite(factor(x)[1]))
    x[..., 0, 0] -= 1e-3
    with pytest.raises(NotOnManifoldError, match=r"eigenvalue is -0\.001"):
        factor(x)


def test_positive_repairs_rounding_alone():
    good = np.diag([1.0, 1e-300])
    assert positive_definite(good, "a") is good
    raised = positive_definite(np.diag([1.0, -1e-17]), "a")
    assert 0 < raised[1, 1] < 4e-15
    with pytest.raises(NotOnManifoldError, match=r"a is not positive definite.*-1e-08"):
        positive_definite(np.diag([1.0, -1e-8]), "a")


@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "svd", "cholesky", "factor"])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_nan_in_nan_out(name, library):
    """One matrix of a stack that is not finite leaves the results of the others as they are."""
    good, bad = np.diag([1.0, 2.0, 3.0]), np.full((3, 3), np.nan)
    kind = np.asarray if library == "numpy" else pytest.importorskip("torch").from_numpy

    def results(a):
        out = getattr(linalg, name)(kind(a))
        return [np.asarray(b) for b in (out if isinstance(out, tuple) else (out,))]

    whole, alone, broken = results(np.stack([good, bad, good])), results(good), results(bad)
    for stack, one, lost in zip(whole, alone, broken, strict=True):
        np.testing.assert_allclose(np.abs(stack[0]), np.abs(one))
        np.testing.assert_array_equal(stack[2], stack[0])
        for b in (stack[1], lost):
            assert np.isnan(b).any()
            assert not np.any(np.isfinite(b) & (b != 0))  # triangles keep their zeros


@pytest.mark.parametrize("n", [1, 3, 5])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_singular_values_of_what_is_not_finite_are_nan(n, bad):
    """LAPACK may never return from an infinite number; a stack keeps its other results."""
    one, other = np.random.default_rng(0).standard_normal((2, n, n))
    wanted = linalg.svd(other)
    one[0, 0] = bad
    assert all(np.isnan(part).all() for part in linalg.svd(one))
    assert np.isnan(linalg.svdvals(one)).all()
    for got, part in zip(linalg.svd(np.stack([one, other])), wanted, strict=True):
        assert np.isnan(got[0]).all()
        np.testing.assert_allclose(got[1], part, atol=1e-14)
    large = np.full((n, n), 1e200)  # whose squares no double holds
    np.testing.assert_allclose(linalg.svdvals(large)[0], n * 1e200)
