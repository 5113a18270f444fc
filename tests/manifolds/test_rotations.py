"""Rotations: closed forms, second formulas, angles up to π, other libraries' answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation

from geoduel.errors import ArgumentError, CutLocusError, NotOnManifoldError, NotTangentError
from geoduel.manifolds.rotations import Rotations

EPS = np.finfo(float).eps
SIZES = [2, 3, 4, 5, 8]
size = pytest.mark.parametrize("n", SIZES)


def close(a, b, units=200.0):
    """Equal to so many rounding units, of 1 or of the largest number."""
    np.testing.assert_allclose(a, b, rtol=0, atol=units * EPS * max(1.0, np.max(np.abs(b))))


def planes(rng, n, *angles):
    """Skew matrix that turns orthogonal planes in general position by these angles."""
    omega = np.zeros((n, n))
    for i, angle in enumerate(angles):
        omega[2 * i + 1, 2 * i], omega[2 * i, 2 * i + 1] = angle, -angle
    q = Rotations(n).random_point(rng)
    omega = q @ omega @ q.T
    return (omega - omega.T) / 2


def pair(n, length=1.0, seed=0, batch=()):
    """Random points, tangent vectors of one length, and where they lead."""
    rng = np.random.default_rng(seed)
    m = Rotations(n)
    x = m.random_point(rng, batch)
    v = length * m.unit_tangent(rng, x)
    return m, x, v, m.exp(x, v)


@size
def test_translations_from_both_sides_are_isometries(n):
    """The metric is bi-invariant, and so is all that follows from it."""
    rng = np.random.default_rng(1)
    m, x, v, y = pair(n, 1.3)
    w = m.unit_tangent(rng, x)
    a, b = m.random_point(rng, (2,))

    def move(z):
        return a @ z @ b

    close(m.inner(move(x), move(v), move(w)), m.inner(x, v, w))
    close(m.dist(move(x), move(y)), m.dist(x, y))
    close(m.exp(move(x), move(v)), move(y))
    close(m.log(move(x), move(y)), move(m.log(x, y)))
    close(m.transport(move(x), move(y), move(w)), move(m.transport(x, y, w)))


@size
def test_inversion_is_an_isometry(n):
    m, x, _, y = pair(n, 1.3)
    close(m.dist(x.T, y.T), m.dist(x, y))


@size
def test_exp_is_the_matrix_exponential(n):
    for length in (1e-9, 0.5, 3.0, 20.0):
        _, x, v, y = pair(n, length)
        close(y, x @ scipy.linalg.expm(x.T @ v), 400 * (1 + length))


@size
def test_log_and_dist_are_the_matrix_logarithm(n):
    m, x, _, y = pair(n, 2.0, seed=2)
    omega = np.real(scipy.linalg.logm(x.T @ y))
    np.testing.assert_allclose(m.log(x, y), x @ omega, atol=1e-12)
    np.testing.assert_allclose(m.dist(x, y), np.linalg.norm(omega) / math.sqrt(2), atol=1e-12)


@size
def test_dist_is_the_angles_of_the_eigenvalues(n):
    m = Rotations(n)
    x, y = m.random_point(np.random.default_rng(3), (2,))
    angles = np.angle(np.linalg.eigvals(x.T @ y))
    close(m.dist(x, y), math.sqrt((angles**2).sum() / 2))


def test_agrees_with_scipy_on_rotations_of_space():
    rng = np.random.default_rng(4)
    m = Rotations(3)
    x, y = Rotation.random(50, rng), Rotation.random(50, rng)
    close(m.dist(x.as_matrix(), y.as_matrix()), (x.inv() * y).magnitude())
    vector = (x.inv() * y).as_rotvec()
    zero = np.zeros(50)
    a, b, c = vector.T
    omega = np.stack([zero, -c, b, c, zero, -a, -b, a, zero], axis=-1).reshape(-1, 3, 3)
    close(m.log(x.as_matrix(), y.as_matrix()), x.as_matrix() @ omega)
    close(m.exp(x.as_matrix(), x.as_matrix() @ omega), y.as_matrix())


def test_coordinates_of_stacks_are_those_of_each():
    space, rng = Rotations(3), np.random.default_rng(12)
    x, c = space.random_point(rng, (5,)), rng.standard_normal((2, 5, 3))
    stacked = space.from_coords(x, c)
    for i, j in np.ndindex(2, 5):
        np.testing.assert_allclose(stacked[i, j], space.from_coords(x[j], c[i, j]), atol=1e-15)
    np.testing.assert_allclose(space.from_coords(x[0], c), space.from_coords(x[:1], c), atol=0)


def test_angles_of_the_plane():
    m = Rotations(2)
    theta = np.array([[0.0, 3.0, -3.0], [1e-12, -1.0, 2.0]])
    x = m.from_angle(theta)
    m.check_point(x)
    close(m.to_angle(x), theta)
    close(m.dist(x[0, 1], x[0, 2]), 2 * math.pi - 6)
    close(m.from_angle(0.3) @ m.from_angle([0.4])[0], m.from_angle(0.7))
    assert m.from_angle(theta.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("gap", [10.0**-k for k in range(1, 13)])
@pytest.mark.parametrize(("n", "others"), [(2, ()), (3, ()), (4, (0.3,)), (5, (2.9,)), (7, (1, 0))])
def test_log_close_to_a_half_turn(n, others, gap):
    """Right to rounding, however close; only the second of two such planes is ill-conditioned."""
    rng = np.random.default_rng(5)
    m = Rotations(n)
    for _ in range(5):
        x, omega = m.random_point(rng), planes(rng, n, math.pi - gap, *others)
        y = m.exp(x, x @ omega)
        close(m.log(x, y), x @ omega)
        close(m.dist(x, y), math.hypot(math.pi - gap, *others))


@pytest.mark.parametrize(
    "gaps", [(1e-2, 1e-9), (1e-5, 1e-5), (1e-9, 1e-9), (1e-3, 1e-12), (0.4, 1e-10)], ids=str
)
def test_log_with_several_planes_close_to_a_half_turn(gaps):
    """Swapping two planes by rounding costs 1 / (sum of the gaps); the result still leads to y."""
    rng = np.random.default_rng(6)
    m = Rotations(6)
    for third in (0.0, 0.5, 2.0, math.pi - 1e-4):
        x = m.random_point(rng)
        omega = planes(rng, 6, *(math.pi - g for g in gaps), third)
        y = m.exp(x, x @ omega)
        v = m.log(x, y)
        close(m.exp(x, v), y)
        close(m.norm(x, v), m.dist(x, y))
        np.testing.assert_allclose(v, x @ omega, atol=200 * EPS / sum(gaps))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1.0, math.pi / 2, 2.0, 2.5])
@pytest.mark.parametrize("n", [4, 5, 9])
def test_equal_angles(n, angle):
    """All planes alike: isoclinic rotations, where eigenvectors are arbitrary."""
    rng = np.random.default_rng(7)
    m = Rotations(n)
    for jitter in (0.0, 1e-15, 1e-12, 1e-8):
        x = m.random_point(rng)
        omega = planes(rng, n, *(angle + jitter * i for i in range(n // 2)))
        close(m.log(x, m.exp(x, x @ omega)), x @ omega)


@pytest.mark.parametrize(("n", "count"), [(2, 1), (3, 1), (4, 1), (4, 2), (5, 1), (5, 2)])
def test_half_turn_exactly(n, count):
    """diag(1, -1, -1) and its kind: no single log, but a distance."""
    m, x = Rotations(n), np.eye(n)
    y = np.diag([-1.0] * (2 * count) + [1.0] * (n - 2 * count))
    close(m.dist(x, y), math.pi * math.sqrt(count), 4)
    with pytest.raises(CutLocusError, match=rf"Rotations\({n}\)"):
        m.log(x, y)
    with pytest.raises(CutLocusError):
        m.transport(x, y, np.zeros((n, n)))
    v = m.log(np.stack([x, x]), np.stack([y, x]))
    assert np.isnan(v[0]).all()
    np.testing.assert_array_equal(v[1], 0)


@size
def test_half_turn_about_any_axis(n):
    """Rounding does not turn it into a log of one side or the other."""
    rng = np.random.default_rng(8)
    m = Rotations(n)
    x, q = m.random_point(rng, (2, 100))
    y = x @ (q * np.array([-1.0] * 2 + [1.0] * (n - 2))) @ q.mT
    close(m.dist(x, y), math.pi)
    assert np.isnan(m.log(x, y)).all()


@size
def test_exp_beyond_a_half_turn_comes_back(n):
    rng = np.random.default_rng(9)
    m, x = Rotations(n), Rotations(n).random_point(rng)
    u = x @ planes(rng, n, 1.0)
    for t in (3.5, 5.0, 6.2):
        close(m.dist(x, m.exp(x, t * u)), 2 * math.pi - t)
    close(m.exp(x, 2 * math.pi * u), x)


@size
@pytest.mark.parametrize("length", [0.0, 1e-300, 1e-9, 0.1, 0.7, math.pi, 5.0, 40.0, 1e4])
def test_exp_of_every_length_is_that_of_the_eigenvalues(n, length):
    """Both ways, for one matrix and for a stack; rotations to rounding, however far."""
    m, x, v, _ = pair(n, length)
    angles, u = np.linalg.eigh(1j * (x.T @ v - v.T @ x) / 2)
    for t, (one, many) in zip(
        (1, -1),
        zip(m.exp_pair(x, v), m.exp_pair(x[None], v[None]), strict=True),
        strict=True,
    ):
        expected = x @ ((u * np.exp(-1j * t * angles)) @ u.conj().T).real
        for y in (one, many[0], m.exp(x, t * v), m.geodesic(x, v)(float(t))):
            close(y, expected, 4 * n * (1 + length))  # the angles themselves are that uncertain
            close(y.T @ y, np.eye(n), 4 * n)
    close(m.exp(m.exp(x, v), m.transport_along(x, v, -v)), x, 8 * n * (1 + length))


@size
def test_geodesic_shares_its_work(n):
    m, x, v, y = pair(n, 1.7, batch=(4,))
    t = np.array([1.0, -1.0, 0.0, 0.4])
    there = m.geodesic(x, v)(t)
    ahead, behind = m.exp_pair(x, v)
    close(ahead, y)
    close(behind, m.exp(x, -v))
    for i in range(4):
        close(there[i], m.geodesic(x[i], v[i])(float(t[i])))
    np.testing.assert_array_equal(there[2], x[2])
    close(m.geodesic(x[0], v[0])(t)[1], behind[0])
    np.testing.assert_array_equal(m.exp_pair(x, 0 * v)[1], x)


@size
def test_a_step_undoes_drift(n):
    """A point off by δ leads to one off by no more than δ²."""
    m, x, v, _ = pair(n)
    rng = np.random.default_rng(10)
    off = x + 1e-7 * rng.standard_normal((n, n))
    y = m.exp(off, 0.5 * v)
    assert np.abs(y.T @ y - np.eye(n)).max() < 1e-12
    np.testing.assert_array_equal(m.exp(off, 0 * v), off)


@size
def test_to_manifold_is_the_nearest(n):
    """R of the largest tr(Rᵀ A): Rᵀ A is symmetric, the sum of any two eigenvalues is positive."""
    rng = np.random.default_rng(11)
    m = Rotations(n)
    a = rng.standard_normal((20, n, n))
    r = m.to_manifold(a)
    m.check_point(r)
    s = r.mT @ a
    close(s, s.mT)
    least = np.linalg.eigvalsh((s + s.mT) / 2)[:, :2].sum(axis=-1)
    assert (least > 0).all()
    assert (np.linalg.det(a) < 0).any()
    close(m.to_manifold(r), r)


@size
def test_to_manifold_refuses_what_has_no_nearest(n):
    m = Rotations(n)
    reflection = np.diag([-1.0] + [1.0] * (n - 1))
    for a in (reflection, np.zeros((n, n)), np.full((n, n), math.nan)):
        with pytest.raises(NotOnManifoldError, match="to_manifold"):
            m.to_manifold(a)


@size
def test_random_points_are_uniform(n):
    """Haar: the trace has mean 0 and variance 1 (2 for n = 2), also after a translation."""
    m, count = Rotations(n), 20_000
    x = m.random_point(np.random.default_rng(12), (count,))
    for a in (np.eye(n), m.random_point(np.random.default_rng(13))):
        trace = np.einsum("ij,kij->k", a, x)
        variance = 2.0 if n == 2 else 1.0
        assert abs(trace.mean()) < 5 * math.sqrt(variance / count)
        fourth = (trace**4).mean()
        assert abs((trace**2).mean() - variance) < 5 * math.sqrt((fourth - variance**2) / count)


def test_curvature_is_that_of_commutators():
    """K(u, v) = |[u, v]|² / 4 for orthonormal u, v (Milnor 1976)."""
    rng = np.random.default_rng(14)
    for n in SIZES[1:]:
        m = Rotations(n)
        u, v = m.unit_tangent(rng, np.eye(n), (2, 300))
        x = np.eye(n)
        v = v - m.inner(x, u, v)[:, None, None] * u
        v = v / m.norm(x, v)[:, None, None]
        k = m.norm(x, u @ v - v @ u) ** 2 / 4
        low, high = k.min(), k.max()
        assert m.curvature[0] - 1e-12 <= low <= high <= m.curvature[1] + 1e-12
        if n == 3:
            close([low, high], [0.25, 0.25])
    # The bounds are attained from n = 4 on.
    e = np.eye(4)

    def plane(i, j):
        return np.outer(e[i], e[j]) - np.outer(e[j], e[i])

    u = (plane(0, 1) + plane(2, 3)) / math.sqrt(2)
    v = (plane(0, 2) - plane(1, 3)) / math.sqrt(2)
    bracket = u @ v - v @ u
    close(Rotations(4).norm(e, bracket) ** 2 / 4, Rotations(4).curvature[1])
    assert Rotations(2).curvature == (0.0, 0.0)


@size
def test_whole_numbers_are_numbers(n):
    x, v = np.eye(n, dtype=int), np.zeros((n, n), dtype=int)
    v[0, 1], v[1, 0] = 1, -1
    m = Rotations(n)
    close(m.exp(x, v), m.exp(x.astype(float), v.astype(float)))
    close(m.exp_pair(x, v), m.exp_pair(x.astype(float), v.astype(float)))


@size
def test_float32(n):
    m, x, v, y = pair(n, 1.0, batch=(5,))
    x32, v32, y32 = (a.astype(np.float32) for a in (x, v, y))
    for one, two in [
        (m.exp(x32, v32), y),
        (m.log(x32, y32), v),
        (m.dist(x32, y32), m.dist(x, y)),
        (m.dist(x32[0], y32[0]), m.dist(x[0], y[0])),
        (m.log(x32[0], y32[0]), v[0]),
        (m.transport(x32, y32, v32), m.transport(x, y, v)),
    ]:
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, two, atol=2e-5)


@size
def test_bad_points_and_vectors(n):
    m, x, _, _ = pair(n)
    mirror = x.copy()
    mirror[:, 0] *= -1
    with pytest.raises(NotOnManifoldError, match=r"determinant -1.*reflection"):
        m.check_point(mirror)
    with pytest.raises(NotOnManifoldError, match="xᵀx"):
        m.check_point(1.01 * x)
    with pytest.raises(NotTangentError, match="symmetric"):
        m.check_tangent(x, x)
    with pytest.raises(ArgumentError, match="shape"):
        m.check_point(x[:, :1])


@pytest.mark.parametrize("n", [1, 0, -3, 2.5, True, "3", None])
def test_bad_sizes(n):
    with pytest.raises(ArgumentError, match="n must be an integer >= 2"):
        Rotations(n)


def test_angle_helpers_are_for_the_plane():
    for call in (Rotations(3).from_angle, Rotations(3).to_angle):
        with pytest.raises(ArgumentError, match="Rotations\\(2\\)"):
            call(np.eye(3))


@size
def test_nan_stays_in_its_own_problem(n):
    """A batch may hold entries from the cut locus; the others are as they would be alone."""
    m, x, v, y = pair(n, 1.0, batch=(3,))
    v2, y2 = v.copy(), y.copy()
    v2[1], y2[1] = math.nan, math.nan
    for f, clean, spoilt in [
        (m.exp, v, v2),
        (m.log, y, y2),
        (m.dist, y, y2),
        (lambda a, b: m.transport(a, b, v), y, y2),
    ]:
        expected, result = f(x, clean), f(x, spoilt)
        assert np.isnan(result[1]).all()
        close(result[[0, 2]], expected[[0, 2]])


# -- torch ---------------------------------------------------------------------------------------


@size
@pytest.mark.parametrize("gap", [2.0, 1e-9])
def test_torch_agrees(n, gap):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(15)
    m = Rotations(n)
    x = m.random_point(rng, (3,))
    v = x @ np.stack([planes(rng, n, math.pi - gap) for _ in range(3)])
    y, w = m.exp(x, v), m.unit_tangent(rng, x)
    tx, tv, ty, tw = map(torch.asarray, (x, v, y, w))
    for a, b in [
        (m.exp(tx, tv), y),
        (m.exp(tx[0], tv[0]), y[0]),
        (m.log(tx, ty), v),
        (m.log(tx[0], ty[0]), v[0]),
        (m.dist(tx, ty), m.dist(x, y)),
        (m.transport(tx, ty, tw), m.transport(x, y, w)),
        (m.to_manifold(tx + 0.1 * tw), m.to_manifold(x + 0.1 * w)),
    ]:
        close(a.numpy(), b)


@size
@pytest.mark.parametrize("length", [0.0, 1e-9, 1.3, math.pi - 1e-3])
def test_gradients_are_derivatives(n, length):
    """Through exp, log, dist and transport; also at zero, where eigenvectors have none."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(16)
    m = Rotations(n)
    x = m.random_point(rng)
    v = x @ planes(rng, n, length)
    y, u = m.exp(x, v), m.unit_tangent(rng, x)
    at_y = m.transport(x, y, u)
    weight = rng.standard_normal((n, n))

    def check(f, point, direction, curve, h=1e-5):
        variable = torch.asarray(point).clone().requires_grad_()
        value = (torch.asarray(weight) * f(torch.asarray(x), variable)).sum()
        (gradient,) = torch.autograd.grad(value, variable)
        assert torch.isfinite(gradient).all()
        slope = (f(x, curve(h)) - f(x, curve(-h))) / (2 * h)
        np.testing.assert_allclose(
            (gradient.numpy() * direction).sum(), (weight * slope).sum(), atol=1e-6
        )

    def to_y(h):
        return m.exp(y, h * at_y)

    check(m.exp, v, u, lambda h: v + h * u)
    check(
        lambda a, b: m.transport_along(a, b, b + m.to_tangent(a, b @ b)), v, u, lambda h: v + h * u
    )
    check(m.log, y, at_y, to_y)
    check(lambda a, b: m.dist(a, b) ** 2, y, at_y, to_y)
    variable = torch.asarray(y).clone().requires_grad_()
    (gradient,) = torch.autograd.grad(m.dist(torch.asarray(x), variable), variable)
    assert torch.isfinite(gradient).all()
    if length == 1.3:
        toward = -m.inner(y, m.log(y, x), at_y) / m.dist(x, y)
        np.testing.assert_allclose((gradient.numpy() * at_y).sum(), toward, atol=1e-12)


def test_a_turn_that_is_stretched_is_no_reflection():
    """Its determinant is 1/8: what is wrong is the length of its columns."""
    with pytest.raises(NotOnManifoldError, match="largest entry of"):
        Rotations(3).check_point(0.5 * np.eye(3))
