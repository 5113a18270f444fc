"""Intervals of SPD matrices: least linear forms, nearest points, and their proofs."""

import math

import numpy as np
import pytest
from samples.sets import RNG, interval, orthogonal, spd, symmetric
from scipy.optimize import minimize as general_solver

import geoduel as gd


def inside(rng, low, up, extreme=False):
    """A point of the interval; extreme: on the boundary in every direction."""
    n = len(low)
    width, axes = np.linalg.eigh(up - low)
    root = axes * np.sqrt(np.maximum(width, 0))
    q, w = orthogonal(rng, n), rng.random(n)
    z = low + root @ (q * (w.round() if extreme else w)) @ q.T @ root.T
    return (z + z.T) / 2


def golden_intervals(golden):
    for case in golden("lmo_projection")["spd_interval"]:
        yield case, *(np.array(case["inputs"][k]) for k in ("X", "S", "L", "U"))


def test_interval_minimiser_reaches_the_golden_optima(golden):
    for case, x, h, low, up in golden_intervals(golden):
        want = case["expected"]["min_value"]
        domain = gd.SPDInterval(low, up)
        answer = domain.linear_minimum(x, h)
        spd_n = domain.manifold
        reached = spd_n.inner(x, h, spd_n.log(x, answer.point))
        assert reached == pytest.approx(want["value"], abs=want["tol"]), case["id"]
        assert float(answer.value) == pytest.approx(reached, abs=1e-12), case["id"]
        assert domain.contains(answer.point, 1e-12), case["id"]
        assert answer.stationarity <= 1e-12, case["id"]
        assert 0 <= answer.gap < 0.2, case["id"]
        np.testing.assert_array_equal(domain.linear_minimizer(x, h), answer.point)


def test_published_closed_form_is_kept_for_reproductions(golden):
    worse = 0
    for case, x, h, low, up in golden_intervals(golden):
        if "rank1" in case["id"]:  # the sign of a zero eigenvalue is a matter of rounding
            continue
        domain = gd.SPDInterval(low, up, method="closed-form")
        answer = domain.linear_minimum(x, h)
        published = case["expected"]["closed_form_psd_sqrt"]
        assert float(answer.value) == pytest.approx(published, abs=1e-9), case["id"]
        worse += published > case["expected"]["min_value"]["value"] + 1e-4
        # Where it is not the minimiser, the gap says that it is not even stationary.
        assert (answer.stationarity > 1e-5) == (
            published > case["expected"]["min_value"]["value"] + 1e-7
        ), case["id"]
    assert worse >= 5


def brute_case(seed):
    """Intervals of size 2 and 3: wide and narrow, singular U - L, x inside, extreme or outside."""
    rng = RNG(seed)
    n, spread, kind = 2 + seed % 2, (0.5, 1.0, 2.0)[seed // 2 % 3], seed // 6 % 5
    low = spd(rng, n, spread)
    width = np.exp(spread * rng.standard_normal(n))
    if kind in (1, 2):
        width[: 1 + rng.integers(n - 1)] = 0.0
    root = orthogonal(rng, n) * np.sqrt(width)
    axes = orthogonal(rng, n)
    w = (rng.random(n) < 0.5) if kind in (2, 3) else rng.random(n)
    x = spd(rng, n, spread) if kind == 4 else low + root @ (axes * w) @ axes.T @ root.T
    return low, root, (x + x.T) / 2, symmetric(rng, n)


def brute_minimum(low, root, x, h, rng):
    """Least linear form among 3000 random points and 40 rounds of random search around the best."""
    whiten = np.linalg.inv(np.linalg.cholesky(x))
    s, low, root = whiten @ h @ whiten.T, whiten @ low @ whiten.T, whiten @ root
    root = root[:, np.any(root != 0, axis=0)]
    r = root.shape[1]

    def clipped(w):
        values, axes = np.linalg.eigh(w)
        return (axes * np.clip(values, 0, 1)[..., None, :]) @ axes.mT

    def form(w):
        values, axes = np.linalg.eigh(low + root @ w @ root.T)
        return np.sum((axes * np.log(values)[..., None, :]) @ axes.mT * s, axis=(-2, -1))

    axes = np.linalg.qr(rng.standard_normal((3000, r, r)))[0]
    w = clipped((axes * rng.uniform(-0.5, 1.5, (3000, 1, r))) @ axes.mT)
    w = w[np.argsort(form(w))[:8]]
    radius = 0.3
    for _ in range(40):
        step = rng.standard_normal((8, 16, r, r))
        tries = np.concatenate([w[:, None], clipped(w[:, None] + radius * (step + step.mT) / 2)], 1)
        w = tries[np.arange(8), np.argmin(form(tries), axis=1)]
        radius *= 0.8
    return form(w).min()


def against_brute_force(seeds):
    for seed in seeds:
        low, root, x, h = brute_case(seed)
        domain = gd.SPDInterval(low, low + root @ root.T)
        answer = domain.linear_minimum(x, h)
        brute = brute_minimum(low, root, x, h, RNG(10**6 + seed))
        scale = max(1.0, abs(brute))
        assert answer.value <= brute + 1e-9 * scale, seed
        assert answer.lower_bound <= brute + 1e-12 * scale, seed
        assert answer.stationarity <= 1e-9 * scale, seed
        assert domain.contains(answer.point, 1e-10), seed


def test_interval_minimiser_beats_brute_force():
    against_brute_force(range(20))


def test_interval_minimiser_finds_the_minimum_that_free_descents_miss():
    """Problems with two minima, where the descent from one start ends at the worse of them."""
    seeds = [1803, 2075, 5969]
    against_brute_force(seeds)
    worse = 0
    for seed in seeds:
        low, root, x, h = brute_case(seed)
        domains = [gd.SPDInterval(low, low + root @ root.T, starts=k) for k in (0, 4)]
        one, many = (domain.linear_minimum(x, h).value for domain in domains)
        worse += one > many + 1e-3
    assert worse >= 2


@pytest.mark.slow
def test_interval_minimiser_beats_brute_force_in_a_thousand_cases():
    against_brute_force(range(1000))


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_interval_lower_bound_is_one(n):
    low, up = interval(n, n)
    rng = RNG(1)
    domain = gd.SPDInterval(low, up)
    x, h = inside(rng, low, up), symmetric(rng, n)
    answer = domain.linear_minimum(x, h)
    for extreme in (False, True):
        z = np.stack([inside(rng, low, up, extreme) for _ in range(200)])
        forms = domain.manifold.inner(x, h, domain.manifold.log(x, z))
        assert forms.min() >= answer.lower_bound
        assert forms.min() >= answer.value - 1e-12  # and none is better than the minimiser
    span = answer.gap / (-domain.linear_minimum(x, -h).value - answer.value)
    assert 0 <= span < 0.05  # of the range of the linear form


def test_interval_minimum_is_certified_where_everything_commutes():
    rng = RNG(0)
    q = orthogonal(rng, 4)
    low, width, s = np.exp(rng.standard_normal(4)), rng.random(4), rng.standard_normal(4)
    up = low + width
    domain = gd.SPDInterval((q * low) @ q.T, (q * up) @ q.T)
    x = (q * (low + width / 3)) @ q.T
    answer = domain.linear_minimum(x, (q * s) @ q.T)
    np.testing.assert_allclose(answer.point, (q * np.where(s > 0, low, up)) @ q.T, atol=1e-13)
    assert answer.gap <= 1e-14


@pytest.mark.parametrize(("sign", "end"), [(1, 0), (-1, 1)])
@pytest.mark.parametrize("rank", [1, 3])
def test_definite_form_is_least_at_a_bound(sign, end, rank):
    """For a semidefinite h a bound is optimal, singular h included, and the bound proves it."""
    bounds = interval(4, 3)
    a = RNG(2).standard_normal((3, rank))
    domain = gd.SPDInterval(*bounds)
    x = inside(RNG(3), *bounds)
    answer = domain.linear_minimum(x, sign * a @ a.T)
    spd3 = domain.manifold
    least = spd3.inner(x, sign * a @ a.T, spd3.log(x, bounds[end]))
    assert float(answer.value) == pytest.approx(float(least), abs=1e-13)
    assert answer.gap <= 1e-13


def test_zero_form_leaves_the_point():
    low, up = interval(0, 3)
    domain = gd.SPDInterval(low, up)
    x = inside(RNG(0), low, up)
    np.testing.assert_allclose(domain.linear_minimizer(x, np.zeros((3, 3))), x, atol=1e-14)
    far = 5 * up
    np.testing.assert_allclose(
        domain.linear_minimizer(far, np.zeros((3, 3))), domain.project(far), atol=1e-13
    )


def test_interval_is_equivariant_under_congruence():
    """X -> G X Gᵀ is an isometry that maps intervals to intervals."""
    rng = RNG(5)
    low, up = interval(5, 4)
    g = np.eye(4) + 0.3 * rng.standard_normal((4, 4))

    def move(a):
        return (m := g @ a @ g.T) / 2 + m.T / 2

    here, there = gd.SPDInterval(low, up), gd.SPDInterval(move(low), move(up))
    y, h = spd(rng, 4), symmetric(rng, 4)
    assert there.diameter == pytest.approx(here.diameter, rel=1e-12)
    np.testing.assert_allclose(there.project(move(y)), move(here.project(y)), atol=1e-12)
    mine = here.linear_minimum(here.project(y), h)
    theirs = there.linear_minimum(move(here.project(y)), move(h))
    assert float(theirs.value) == pytest.approx(float(mine.value), abs=1e-11)
    np.testing.assert_allclose(theirs.point, move(mine.point), atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [2, 3])
def test_interval_projection_against_a_general_solver(n, seed):
    """SciPy's BFGS with difference quotients, the constraint removed by a substitution."""
    low, up = interval(100 + seed, n)
    rng = RNG(200 + seed)
    y = spd(rng, n, 1.5)
    whiten = np.linalg.inv(np.linalg.cholesky(y))
    seen, root = whiten @ low @ whiten.T, whiten @ np.linalg.cholesky(up - low)
    rows = np.triu_indices(n)

    def distance2(v):
        t = np.zeros((n, n))
        t[rows] = v
        angles, axes = np.linalg.eigh(t + np.triu(t, 1).T)
        half = root @ axes * np.sin(angles)
        return np.sum(np.log(np.linalg.eigvalsh(seen + half @ half.T)) ** 2)

    starts = [(q := orthogonal(rng, n)) * rng.uniform(0.3, 1.2, n) @ q.T for _ in range(4)]
    ends = [general_solver(distance2, t[rows], options={"gtol": 1e-8}).fun for t in starts]
    nearest = gd.SPDInterval(low, up).nearest(y)
    assert float(nearest.dist) == pytest.approx(math.sqrt(min(ends)), abs=1e-8)
    assert float(nearest.dist) == pytest.approx(float(gd.SPD(n).dist(y, nearest.point)), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10])
def test_interval_projection_is_proved(n):
    low, up = interval(n, n)
    domain, space = gd.SPDInterval(low, up), gd.SPD(n)
    rng = RNG(n)
    for _ in range(5):
        y = spd(rng, n, 1.5)
        nearest = domain.nearest(y)
        # d(y, Z)² >= d(y, P)² - 2 gap for all Z; the distance is right to 1e-8 and better.
        assert nearest.gap <= 1e-12 * max(1, nearest.dist**2)
        assert nearest.error_bound <= 1e-6 * max(1, nearest.dist)
        assert domain.contains(nearest.point, 1e-12)
        np.testing.assert_array_equal(domain.project(nearest.point), nearest.point)
        for extreme in (False, True):
            z = np.stack([inside(rng, low, up, extreme) for _ in range(50)])
            turn = space.inner(
                nearest.point, space.log(nearest.point, y), space.log(nearest.point, z)
            )
            assert np.all(turn <= 1e-9)  # obtuse: the variational inequality


def test_interval_projection_where_everything_commutes():
    rng = RNG(3)
    q = orthogonal(rng, 5)
    low, width, y = np.exp(rng.standard_normal(5)), rng.random(5), np.exp(rng.standard_normal(5))
    domain = gd.SPDInterval((q * low) @ q.T, (q * (low + width)) @ q.T)
    want = (q * np.clip(y, low, low + width)) @ q.T
    np.testing.assert_allclose(domain.project((q * y) @ q.T), want, atol=1e-10)


def test_interval_of_multiples_is_clipped_at_the_eigenvalues():
    """L ⪯ Z ⪯ cL: the closed form is the point that Newton steps find for bounds nearly the same.

    A bound moved by 1e-9 moves the projection by as much times what its curvature multiplies.
    """
    rng = RNG(0)
    low, y = spd(rng, 4), np.stack([spd(rng, 4) for _ in range(5)])
    exact = gd.SPDInterval(low, 1.5 * low)
    near = gd.SPDInterval(low, 1.5 * low + 1e-9 * spd(rng, 4))
    found = exact.nearest(y)
    assert np.all(exact.contains(found.point, 1e-12))
    assert not np.any(found.gap)
    assert np.allclose(exact.manifold.dist(found.point, near.project(y)), 0, atol=1e-6)
    assert np.allclose(found.dist, exact.manifold.dist(y, found.point), rtol=1e-10)
    inside = 1.2 * low
    assert np.array_equal(exact.project(inside), inside)


def test_interval_projection_shortens_distances():
    low, up = interval(1, 3)
    domain, space = gd.SPDInterval(low, up), gd.SPD(3)
    rng = RNG(1)
    y = np.stack([spd(rng, 3, 1.5) for _ in range(40)])
    p = domain.project(y)
    assert np.all(space.dist(p[::2], p[1::2]) <= space.dist(y[::2], y[1::2]) + 1e-10)


def test_interval_with_no_width_in_some_direction():
    rng = RNG(0)
    low = spd(rng, 3)
    v = rng.standard_normal((3, 1))
    domain, space = gd.SPDInterval(low, low + v @ v.T), gd.SPD(3)
    y = spd(rng, 3)
    nearest = domain.nearest(y)
    assert domain.contains(nearest.point, 1e-12)
    along = low + np.linspace(0, 1, 2001)[:, None, None] * (v @ v.T)
    assert nearest.dist <= space.dist(y, along).min() + 1e-12
    point = gd.SPDInterval(low, low)
    np.testing.assert_allclose(point.project(y), low, atol=1e-14)
    np.testing.assert_allclose(point.linear_minimizer(y, symmetric(rng, 3)), low, atol=1e-14)
    assert point.diameter == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_interval_diameter_is_the_distance_of_the_bounds(n):
    low, up = interval(n, n, spread=1.5)
    domain = gd.SPDInterval(low, up)
    assert domain.diameter == pytest.approx(float(domain.manifold.dist(low, up)), rel=1e-12)
    rng = RNG(n)
    a, b = (np.stack([inside(rng, low, up, extreme=True) for _ in range(500)]) for _ in range(2))
    assert domain.manifold.dist(a, b).max() <= domain.diameter * (1 + 1e-12)


def test_interval_contains_with_a_tolerance():
    domain = gd.SPDInterval(np.eye(2), 2 * np.eye(2))
    assert domain.contains(np.eye(2))
    assert domain.contains((1 - 1e-9) * np.eye(2))
    assert not domain.contains((1 - 1e-9) * np.eye(2), tol=1e-10)
    assert not domain.contains(np.diag([1.5, 2.1]))
    batch = np.stack([np.eye(2), 3 * np.eye(2)])
    assert domain.contains(batch).tolist() == [True, False]


def test_interval_of_the_karcher_experiment():
    """Harmonic to arithmetic mean of matrices of condition 1e6: as wide as intervals get."""
    rng = RNG(0)
    data = []
    for _ in range(20):
        q = orthogonal(rng, 5)
        data.append((q * np.logspace(-6, 0, 5)) @ q.T)
    data = np.stack([(a + a.T) / 2 for a in data])
    up, low = data.mean(0), np.linalg.inv(np.linalg.inv(data).mean(0))
    low = (low + low.T) / 2
    domain, space = gd.SPDInterval(low, up), gd.SPD(5)
    for x in (up, low, space.exp(low, space.log(low, up) / 2)):
        h = space.to_tangent(x, -space.log(x, data).mean(0))
        answer = domain.linear_minimum(x, h)
        assert domain.contains(answer.point)
        assert answer.stationarity <= 1e-8 * abs(answer.value) + 1e-12
        assert answer.value <= -1e-3 * space.norm(x, h)
    nearest = domain.nearest(data[0])
    assert domain.contains(nearest.point)
    assert nearest.error_bound <= 1e-4
