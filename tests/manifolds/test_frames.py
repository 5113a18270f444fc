"""Functions of matrices by products alone, and frames: against SciPy and eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from geoduel.errors import ArgumentError, NotOnManifoldError
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
def test_generator_moves_the_frame_and_its_normal(p):
    """e^Ξ [X N] = [X N] e^M and ∫ e^{sΞ} X ds, in large matrices, also where N is short of rank."""
    rng = np.random.default_rng(1)
    q = scipy.linalg.qr(rng.standard_normal((2 * p + 1, 2 * p + 1)))[0]
    x, normal = q[:, :p], q[:, p:] @ rng.standard_normal((p + 1, p))
    normal[:, 0] *= 1e-9
    a = rng.standard_normal((p, p))
    a = a - a.T
    xi = normal @ x.T - x @ normal.T + x @ a @ x.T
    xn, gram = np.concatenate([x, normal], axis=1), normal.T @ normal
    expected = scipy.linalg.expm(xi) @ xn
    m = frames.generator(a, gram)
    np.testing.assert_allclose(xn @ scipy.linalg.expm(m), expected, atol=1e-12)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    integral = sum(
        w / 2 * scipy.linalg.expm((1 + t) / 2 * xi) @ x for t, w in zip(nodes, weights, strict=True)
    )
    e = scipy.linalg.expm(frames.generator(a, gram, integral=True))[: 2 * p, 2 * p :]
    np.testing.assert_allclose(xn @ e, integral, atol=1e-12)


@pytest.mark.parametrize("integral", [False, True])
def test_generators_of_a_stack_are_each_as_alone(integral):
    rng = np.random.default_rng(5)
    a, n = rng.standard_normal((2, 3, 2, 2)), rng.standard_normal((2, 3, 4, 2))
    a, gram = a - a.mT, n.mT @ n
    got = frames.generator(a, gram, integral)
    for i, j in np.ndindex(2, 3):
        alone = frames.generator(a[i, j], gram[i, j], integral)
        np.testing.assert_array_equal(got[i, j], alone)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_turned_is_the_exponential_of_skew_matrices(n):
    """Rounding of eigenvectors is that of the angles: 1e-16 times their size."""
    a = skew_of_norms(np.random.default_rng(6), n, LENGTHS[::10]) if n > 1 else np.zeros((6, 1, 1))
    got = frames.turned(a)
    np.testing.assert_allclose(got @ got.mT, np.broadcast_to(np.eye(n), a.shape), atol=1e-14)
    np.testing.assert_allclose(got, np.stack([scipy.linalg.expm(b) for b in a]), atol=1e-12)


@pytest.mark.parametrize("c", [1, 2])
def test_the_long_way_is_the_geodesic(c):
    """Of the canonical metric (1) and the Euclidean one (2), at one time and at several."""
    rng = np.random.default_rng(7)
    q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    x, normal = q[:, :2], q[:, 2:] @ rng.standard_normal((4, 2))
    a = rng.standard_normal((2, 2))
    a = a - a.T
    xi = normal @ x.T - x @ normal.T + c * x @ a @ x.T
    times = np.array([-0.7, 0.0, 2.3])
    expected = [scipy.linalg.expm(t * xi) @ x @ scipy.linalg.expm((1 - c) * t * a) for t in times]
    np.testing.assert_allclose(frames.long_way(x, a, normal, c, times), expected, atol=1e-12)
    np.testing.assert_allclose(frames.long_way(x, a, normal, c, 2.3), expected[2], atol=1e-12)


def test_transport_along_too_long_a_way_is_refused_wherever_the_entry_is():
    v = np.zeros((2, 3, 4, 2))
    v[1, 2, 3, 0] = -1e4
    frames.refuse_far_transport("St(4, 2)", v)
    for one in (v, v[1], v[1, 2]):
        with pytest.raises(ArgumentError, match=r"on St\(4, 2\): an entry is 1.1e\+04, at most"):
            frames.refuse_far_transport("St(4, 2)", 1.1 * one)


def test_vectors_whose_squares_overflow_are_shortened_and_no_others():
    v = np.array([[[3.0], [4.0]], [[3e200], [-4e200]]])
    with np.errstate(over="ignore"):
        w, length2 = frames.shortened(v, (v**2).sum(axis=(1, 2)))
    np.testing.assert_array_equal(w[0], v[0])
    assert length2[0] == 25
    assert np.isfinite(length2[1])
    np.testing.assert_allclose(w[1] / w[1, 0], [[1.0], [-4 / 3]])
    same = np.array([[3.0], [4.0]])
    assert frames.shortened(same, np.array(25.0))[0] is same


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


def test_products_of_entries_are_plain_numbers_for_two_matrices_alone():
    u, v = np.random.default_rng(8).standard_normal((2, 3, 4, 2))
    each = [float((a * b).sum()) for a, b in zip(u, v, strict=True)]
    assert type(frames.frobenius(u[0], v[0])) is float
    assert frames.frobenius(u[0], v[0]) == pytest.approx(each[0])
    np.testing.assert_allclose(frames.frobenius(u, v), each)
    np.testing.assert_allclose(frames.frobenius(u[0], v), [(u[0] * b).sum() for b in v])
    single = frames.frobenius(np.float32(u[0]), np.float32(v[0]))
    assert single.dtype == np.float32
    torch = pytest.importorskip("torch")
    assert isinstance(frames.frobenius(torch.tensor(u[0]), torch.tensor(v[0])), torch.Tensor)


def test_the_largest_number_is_that_of_those_that_are_finite():
    assert frames.largest(2.5) == 2.5
    assert frames.largest(np.zeros((0, 3))) == 0
    assert frames.largest(np.array([0.5, np.nan, 3.0, np.inf])) == 3
    torch = pytest.importorskip("torch")
    assert frames.largest(torch.tensor([1.0, 4.0], requires_grad=True)) == 4


@pytest.mark.parametrize(("length", "long"), [(64.0, False), (64.001, True), (np.nan, False)])
def test_beyond_64_a_way_is_long(length, long):
    assert frames.too_long(np.array([1.0, length])) is long


def test_a_way_whose_length_is_hidden_may_be_long():
    torch = pytest.importorskip("torch")
    seen = []

    def look(length):
        seen.append(frames.too_long(length))
        return length

    torch.func.vmap(look)(torch.ones(3))
    assert seen == [True]
