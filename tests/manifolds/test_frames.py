"""Functions of matrices by products alone, and frames: against SciPy and eigenvectors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

from geoduel.errors import NotOnManifoldError
from geoduel.manifolds import _frames as frames

LENGTHS = np.geomspace(1e-9, 30, 60)


def skew_of_norms(rng, n, norms):
    a = rng.standard_normal((len(norms), n, n))
    a = a - a.mT
    return a * (norms / np.linalg.norm(a, ord=2, axis=(-2, -1)))[:, None, None]


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_expm_is_orthogonal_and_right_at_every_length(library, n):
    """PyTorch's own exponential is off by 1e-10 at norms near 0.05."""
    a = skew_of_norms(np.random.default_rng(0), n, LENGTHS)
    expected = np.stack([scipy.linalg.expm(b) for b in a])
    if library == "torch":
        torch = pytest.importorskip("torch")
        a = torch.tensor(a)
    for one, length, e in zip(a, LENGTHS, expected, strict=True):
        for stack in (one, one[None]):
            got = np.asarray(frames.expm(stack, length)).reshape(n, n)
            np.testing.assert_allclose(got, e, rtol=0, atol=1e-14 * (1 + length))


@pytest.mark.parametrize("p", [1, 2, 4])
def test_cosine_series_is_that_of_the_eigenvalues(p):
    rng = np.random.default_rng(1)
    for length in LENGTHS:
        v = rng.standard_normal((7, p))
        v *= length / np.linalg.norm(v)
        w, q = np.linalg.eigh(v.T @ v)
        z = np.sqrt(abs(w))
        versine, sinc = frames.cosine_series(v.T @ v, length)
        tol = 5e-15 * (1 + length) ** 2  # of the eigenvalues, too
        expected = 0.5 * np.sinc(z / (2 * math.pi)) ** 2  # (1 - cos z)/z²
        np.testing.assert_allclose(versine, (q * expected) @ q.T, rtol=0, atol=tol)
        np.testing.assert_allclose(sinc, (q * np.sinc(z / math.pi)) @ q.T, rtol=0, atol=tol)


def test_skew_action_is_the_exponential_for_any_bound_that_holds():
    rng = np.random.default_rng(2)
    w = rng.standard_normal((6, 2))
    for k, length in zip(skew_of_norms(rng, 6, LENGTHS), LENGTHS, strict=True):
        expected = scipy.linalg.expm(k) @ w
        for bound in (length, 3 * length):
            got = frames.skew_action(lambda u, k=k: k @ u, w, bound)
            np.testing.assert_allclose(got, expected, rtol=0, atol=2e-14 * (1 + bound))


@pytest.mark.parametrize(("n", "p"), [(5, 2), (4, 3), (3, 3), (6, 1)])
def test_reflector_is_an_involution_that_takes_the_frame_to_the_first_axes(n, p):
    rng = np.random.default_rng(3)
    random = np.linalg.qr(rng.standard_normal((n, p)))[0]
    # The top of the frame may be anything with singular values up to 1, zero and -1 included.
    for x in (random, np.eye(n)[:, :p], -np.eye(n)[:, :p], np.eye(n)[:, ::-1][:, :p]):
        h = frames.reflector(x)(np.eye(n))
        np.testing.assert_allclose(h @ h, np.eye(n), atol=1e-14)
        np.testing.assert_allclose(h, h.T, atol=1e-14)
        np.testing.assert_allclose((h @ x)[p:], 0, atol=1e-14)


def test_polar_refuses_dependent_columns():
    a = np.ones((4, 2))
    with pytest.raises(NotOnManifoldError, match="linearly dependent"):
        frames.polar(a, "St")
    with pytest.raises(NotOnManifoldError, match="not finite"):
        frames.polar(a * np.nan, "St")


def test_renew_cures_drift_to_second_order():
    rng = np.random.default_rng(4)
    x = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    off = x + 1e-6 * rng.standard_normal(x.shape)
    defect = frames.renew(off).T @ frames.renew(off) - np.eye(3)
    assert np.max(abs(defect)) < 1e-10
