"""Feasible sets: nearest points, least linear forms, and the proofs that come with them."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize as general_solver

import geoduel as gd
from geoduel.domains import L2Ball
from geoduel.errors import ArgumentError, CutLocusError, EmptySetError, NotOnManifoldError

RNG = np.random.default_rng


def orthogonal(rng, n):
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def spd(rng, n, spread=0.7):
    q = orthogonal(rng, n)
    a = (q * np.exp(spread * rng.standard_normal(n))) @ q.T
    return (a + a.T) / 2


def symmetric(rng, n, batch=()):
    a = rng.standard_normal((*batch, n, n))
    return a + a.mT


def interval(seed, n, spread=0.7):
    """Bounds that do not commute."""
    rng = RNG(seed)
    low = spd(rng, n, spread)
    return low, low + spd(rng, n, spread)


def inside(rng, low, up, extreme=False):
    """A point of the interval; extreme: on the boundary in every direction."""
    n = len(low)
    width, axes = np.linalg.eigh(up - low)
    root = axes * np.sqrt(np.maximum(width, 0))
    q, w = orthogonal(rng, n), rng.random(n)
    z = low + root @ (q * (w.round() if extreme else w)) @ q.T @ root.T
    return (z + z.T) / 2


# -- the interval of positive definite matrices: linear minimiser ----------------------------------


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


# -- the interval of positive definite matrices: projection and size -------------------------------


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


# -- balls -----------------------------------------------------------------------------------------


SPACES = {
    "euclidean": lambda n: gd.Euclidean(n),
    "sphere": lambda n: gd.Sphere(n),
    "hyperbolic": lambda n: gd.Hyperbolic(n - 1),
    "spd": lambda n: gd.SPD(n),
}


def test_balls_match_the_golden_values(golden):
    for case in golden("lmo_projection")["balls"]:
        given = {k: np.array(v) for k, v in case["inputs"].items()}
        space = SPACES[case["kind"]](given["center"].shape[0])
        ball = gd.Ball(space, given["center"], float(given["radius"]))
        want = case["expected"]
        p, z = ball.project(given["y"]), ball.linear_minimizer(given["x"], given["h"])
        got = {
            "projection_of_y": p,
            "dist_to_set_y": space.dist(given["y"], p),
            "lmo_point": z,
            "lmo_value": space.inner(given["x"], given["h"], space.log(given["x"], z)),
        }
        for op, value in got.items():
            np.testing.assert_allclose(
                value, want[op]["value"], rtol=0, atol=want[op]["tol"], err_msg=f"{case['id']} {op}"
            )


BALLS = {
    "plane": (gd.Euclidean(2), 1.5),
    "matrices": (gd.Euclidean(2, 3), 1.5),
    "circle": (gd.Sphere(2), 1.0),
    "sphere": (gd.Sphere(4), 0.7),
    "wide cap": (gd.Sphere(3), 1.55),
    "hyperbolic": (gd.Hyperbolic(3), 1.2),
    "wide hyperbolic": (gd.Hyperbolic(2), 5.0),
    "turns": (gd.Rotations(2), 1.0),
    "rotations": (gd.Rotations(3), 1.2),
    "torus": (gd.Torus(2), 1.0),
    "spd": (gd.SPD(2), 1.0),
    "product": (gd.Product(gd.Sphere(3), gd.Euclidean(2)), 0.8),
}


def ball_of(name, seed=0):
    space, radius = BALLS[name]
    rng = RNG(seed)
    center = space.random_point(rng)
    return space, gd.Ball(space, center, radius), center, radius, rng


@pytest.mark.parametrize("name", BALLS)
def test_ball_projection_is_on_the_way_to_the_centre(name):
    space, ball, center, radius, rng = ball_of(name)
    u = space.unit_tangent(rng, center, (6,))
    far = min(2.0 * radius, 0.9 * space.injectivity_radius)
    y = space.exp(center, np.linspace(0.0, far, 6).reshape(-1, *(1,) * len(space.point_shape)) * u)
    p = ball.project(y)
    np.testing.assert_allclose(
        space.dist(center, p), np.minimum(np.linspace(0.0, far, 6), radius), atol=1e-12
    )
    np.testing.assert_allclose(
        space.dist(center, p) + space.dist(p, y), space.dist(center, y), atol=1e-12
    )
    assert np.all(ball.contains(p, 1e-12))
    np.testing.assert_allclose(ball.project(p), p, atol=1e-12)
    np.testing.assert_array_equal(p[0], y[0])  # inside: not touched
    np.testing.assert_array_equal(ball.project(y[1]), y[1])
    assert ball.diameter == 2 * radius


def boundary(space, center, radius, rng, count):
    u = space.unit_tangent(rng, center, (count,))
    return space.exp(center, radius * u)


@pytest.mark.parametrize("where", ["centre", "near the centre", "inside", "near the edge", "edge"])
@pytest.mark.parametrize("name", BALLS)
def test_ball_minimiser_beats_points_of_the_ball(name, where):
    space, ball, center, radius, rng = ball_of(name, seed=1)
    share = {"centre": 0, "near the centre": 1e-9, "inside": 0.6, "near the edge": 1 - 1e-9}
    x = space.exp(center, share.get(where, 1.0) * radius * space.unit_tangent(rng, center))
    for _ in range(2):
        h = 3 * space.unit_tangent(rng, x)
        z = ball.linear_minimizer(x, h)
        least = space.inner(x, h, space.log(x, z))
        assert ball.contains(z, 1e-12)
        assert least <= 1e-12  # standing still gives 0
        rivals = boundary(space, center, radius, rng, 400)
        assert least <= np.min(space.inner(x, h, space.log(x, rivals))) + 1e-12
        # and none of its neighbours on the boundary is better: a maximum to the second order
        w = space.log(center, z)
        for size in (1e-2, 1e-4):
            near = w + size * radius * space.unit_tangent(rng, center, (50,))
            length = space.norm(center, near).reshape(-1, *(1,) * len(space.point_shape))
            rivals = space.exp(center, radius * near / length)
            assert least <= np.min(space.inner(x, h, space.log(x, rivals))) + 1e-12


@pytest.mark.parametrize("name", ["plane", "sphere", "wide hyperbolic", "rotations", "torus"])
@pytest.mark.parametrize("sign", [1, -1])
def test_ball_minimiser_along_the_diameter_through_the_point(name, sign):
    """With h along the way to the centre the minimiser is an end of the diameter through x."""
    space, ball, center, radius, rng = ball_of(name, seed=2)
    u = space.unit_tangent(rng, center)
    x = space.exp(center, 0.4 * radius * u)
    h = sign * space.log(x, center)
    np.testing.assert_allclose(
        ball.linear_minimizer(x, h), space.exp(center, sign * radius * u), atol=1e-7
    )


def test_ball_minimiser_of_nothing_is_the_point():
    for name in BALLS:
        space, ball, center, radius, rng = ball_of(name)
        x = space.exp(center, 0.3 * radius * space.unit_tangent(rng, center))
        np.testing.assert_array_equal(ball.linear_minimizer(x, np.zeros_like(x)), x)


def test_numerical_minimiser_agrees_with_the_exact_one():
    """The same ascent as on general manifolds, where the answer is known."""
    for name in ("plane", "sphere", "wide hyperbolic", "rotations", "torus"):
        space, ball, center, radius, rng = ball_of(name, seed=3)
        x = space.exp(center, 0.7 * radius * space.unit_tangent(rng, center))
        h = space.unit_tangent(rng, x)
        exact, found = ball.linear_minimizer(x, h), ball._general(center, x, h)
        assert space.inner(x, h, space.log(x, found)) == pytest.approx(
            space.inner(x, h, space.log(x, exact)), abs=1e-12
        )


@pytest.mark.parametrize("name", ["plane", "hyperbolic", "spd"])
def test_ball_projection_in_hadamard_manifolds(name):
    """Obtuse angles at the projection, and shorter distances."""
    space, ball, center, radius, rng = ball_of(name)
    y = boundary(space, center, 2.5 * radius, rng, 40)
    z = boundary(space, center, radius, rng, 40)
    p = ball.project(y)
    assert np.all(space.inner(p, space.log(p, y), space.log(p, z)) <= 1e-10)
    assert np.all(space.dist(p[::2], p[1::2]) <= space.dist(y[::2], y[1::2]) + 1e-12)


def test_ball_projection_on_the_sphere():
    """It comes closer to points of a small cap, all that the proofs use; pairs may part."""
    sphere = gd.Sphere(3)
    pole = np.array([0.0, 0.0, 1.0])
    rng = RNG(0)
    small = gd.Ball(sphere, pole, math.pi / 4)
    y, z = sphere.random_point(rng, (2000,)), boundary(sphere, pole, math.pi / 4, rng, 2000)
    assert np.all(sphere.dist(small.project(y), z) <= sphere.dist(y, z) + 1e-12)
    a, b = sphere.exp(-pole, 0.1 * np.eye(3)[:2])  # near the antipode, a quarter turn apart
    p, q = small.project(a), small.project(b)
    assert sphere.dist(p, q) > 5 * sphere.dist(a, b)
    with pytest.raises(CutLocusError):
        small.project(-pole)


def test_ball_convexity_follows_curvature():
    pole = np.array([0.0, 0.0, 1.0])
    assert gd.Ball(gd.Sphere(3), pole, 1.57).convex
    wide = gd.Ball(gd.Sphere(3), pole, 1.6)
    assert not wide.convex
    assert wide.contains(np.array([1.0, 0.0, 0.0]))
    with pytest.raises(ArgumentError, match=r"convex ball; radius 1\.6"):
        wide.linear_minimizer(pole, np.array([1.0, 0.0, 0.0]))
    assert gd.Ball(gd.Hyperbolic(2), np.array([1.0, 0.0, 0.0]), 20.0).convex


def test_ball_of_radius_zero_is_its_centre():
    ball = gd.Ball(gd.Euclidean(2), np.ones(2), 0.0)
    np.testing.assert_array_equal(ball.project(np.zeros(2)), np.ones(2))
    np.testing.assert_array_equal(ball.linear_minimizer(np.ones(2), np.ones(2)), np.ones(2))
    assert ball.diameter == 0


def test_gradients_pass_through_a_ball_projection():
    ball = gd.Ball(gd.Sphere(3), np.array([0.0, 0.0, 1.0]), 0.5)
    y = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.6, 0.8], [0.0, 0.8, 0.6]], dtype=torch.float64)
    y.requires_grad_()
    ball.project(y).square().sum().backward()
    assert torch.isfinite(y.grad).all()


# -- sets of Euclidean space -----------------------------------------------------------------------


def vertices(domain):
    """All vertices of a small polytope."""
    if isinstance(domain, gd.Box):
        return np.array(list(itertools.product(*zip(domain.lower, domain.upper, strict=True))))
    n = domain.manifold.dim
    if isinstance(domain, gd.L1Ball):
        return domain.center + domain.radius * np.concatenate([np.eye(n), -np.eye(n)])
    return domain.scale * np.eye(n)


POLYTOPES = {
    "box": gd.Box(np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.5, 2.0])),
    "l1": gd.L1Ball(4, 1.3, np.array([0.5, -1.0, 0.0, 2.0])),
    "simplex": gd.ProbabilitySimplex(4, 2.0),
    "point": gd.ProbabilitySimplex(1),
}


@pytest.mark.parametrize("name", POLYTOPES)
def test_polytope_projection_minimiser_and_diameter(name):
    """Everything is decided by the vertices."""
    domain = POLYTOPES[name]
    corners, n, rng = vertices(domain), domain.manifold.dim, RNG(0)
    y, h = 3 * rng.standard_normal((200, n)), rng.standard_normal((200, n))
    p, z = domain.project(y), domain.linear_minimizer(y, h)
    assert np.all(domain.contains(p, 1e-13))
    assert np.all(domain.contains(corners, 1e-13))
    np.testing.assert_allclose(domain.project(p), p, atol=1e-14)
    assert np.max(np.einsum("ki,kji->kj", y - p, corners - p[:, None])) <= 1e-12
    np.testing.assert_allclose(np.sum(h * z, -1), np.min(h @ corners.T, axis=1), atol=1e-13)
    gaps = np.linalg.norm(corners[:, None] - corners, axis=-1)
    assert domain.diameter == pytest.approx(gaps.max(), rel=1e-14)


def test_l1_projection_against_a_general_solver():
    ball = gd.L1Ball(3, 1.0)
    rng = RNG(4)
    for y in 2 * rng.standard_normal((5, 3)):
        # |z|₁ <= 1 with z = a - b, a, b >= 0 is smooth.
        solved = general_solver(
            lambda ab, y=y: np.sum((ab[:3] - ab[3:] - y) ** 2),
            np.full(6, 0.1),
            method="SLSQP",
            bounds=[(0, None)] * 6,
            constraints={"type": "ineq", "fun": lambda ab: 1 - ab.sum()},
            options={"ftol": 1e-15},
        )
        np.testing.assert_allclose(ball.project(y), solved.x[:3] - solved.x[3:], atol=1e-6)


def test_points_inside_stay():
    for domain, y in [
        (gd.L1Ball(2, 1.0), np.array([0.3, -0.2])),
        (POLYTOPES["box"], np.array([0.1, 0.2, 2.0])),
        (L2Ball(2, 1.0), np.array([0.3, -0.2])),
    ]:
        np.testing.assert_array_equal(domain.project(y), y)
        np.testing.assert_array_equal(domain.linear_minimizer(y, np.zeros_like(y)), y)


def test_l2_ball_is_a_ball():
    ball = L2Ball(2, 2.0, center=np.array([1.0, 0.0]))
    assert isinstance(ball, gd.Ball)
    np.testing.assert_allclose(ball.project(np.array([5.0, 0.0])), [3.0, 0.0])
    np.testing.assert_allclose(ball.linear_minimizer(np.ones(2), np.array([0.0, 1.0])), [1.0, -2.0])


def test_box_may_be_unbounded():
    orthant = gd.Box(np.zeros(2), math.inf)
    np.testing.assert_array_equal(orthant.project(np.array([-1.0, 7.0])), [0.0, 7.0])
    assert orthant.contains(np.array([1e9, 0.0]))
    assert orthant.diameter == math.inf
    with pytest.raises(ArgumentError, match="bounded"):
        orthant.linear_minimizer(np.zeros(2), np.ones(2))
    matrices = gd.Box(np.zeros((2, 2)), 1.0)
    assert matrices.manifold == gd.Euclidean(2, 2)
    np.testing.assert_array_equal(matrices.project(np.full((5, 2, 2), 3.0)), np.ones((5, 2, 2)))


# -- intersections ---------------------------------------------------------------------------------


def test_dykstra_against_a_general_solver():
    ball, box = L2Ball(3, 1.0), gd.Box(np.full(3, -0.3), np.array([0.5, 2.0, 0.4]))
    both = gd.Intersection(ball, box)
    for y in 2 * RNG(0).standard_normal((6, 3)):
        solved = general_solver(
            lambda z, y=y: np.sum((z - y) ** 2),
            np.zeros(3),
            method="SLSQP",
            bounds=list(zip(box.lower, box.upper, strict=True)),
            constraints={"type": "ineq", "fun": lambda z: 1 - z @ z},
            options={"ftol": 1e-15},
        )
        p = both.project(y)
        np.testing.assert_allclose(p, solved.x, atol=1e-6)
        assert both.contains(p)
    assert both.diameter == min(ball.diameter, box.diameter)


def test_dykstra_finds_the_nearest_point_where_alternating_projections_do_not():
    """A half-plane and a slab through boxes: x + y is not met by either projection alone."""
    simplex, box = gd.ProbabilitySimplex(3), gd.Box(np.array([0.0, 0.5, 0.0]), np.ones(3))
    p = gd.Intersection(simplex, box).project(np.array([2.0, -1.0, 0.0]))
    np.testing.assert_allclose(p, [0.5, 0.5, 0.0], atol=1e-9)
    p = gd.Intersection(simplex, box).project(np.array([0.4, 0.1, 0.3]))
    np.testing.assert_allclose(p, [0.3, 0.5, 0.2], atol=1e-9)


def test_intersection_on_a_manifold():
    sphere = gd.Sphere(3)
    a, b = np.eye(3)[:2]
    both = gd.Intersection(gd.Ball(sphere, a, 1.0), gd.Ball(sphere, b, 1.0))
    y = sphere.random_point(RNG(0), (20,))
    p = both.project(y)
    assert np.all(both.contains(p))
    np.testing.assert_allclose(both.project(p), p, atol=1e-9)


def test_empty_intersections_are_found_out():
    apart = gd.Intersection(
        L2Ball(2, 1.0), gd.Box(np.full(2, 2.0), np.full(2, 3.0)), max_cycles=200
    )
    with pytest.raises(EmptySetError, match="no common point found in 200"):
        apart.project(np.zeros(2))
    sphere = gd.Sphere(3)
    caps = [gd.Ball(sphere, c, 0.5) for c in np.eye(3)[:2]]
    with pytest.raises(EmptySetError, match="outside Ball"):
        gd.Intersection(*caps, max_cycles=200).project(np.eye(3)[2])


def test_intersection_minimiser_is_that_of_a_member_inside_the_others():
    box = gd.Box(np.zeros(2), np.ones(2))
    h = np.array([1.0, -1.0])
    nested = gd.Intersection(L2Ball(2, 5.0), box)
    np.testing.assert_array_equal(nested.linear_minimizer(np.zeros(2), h), [0.0, 1.0])
    with_orthant = gd.Intersection(gd.Box(np.zeros(2), math.inf), box)
    np.testing.assert_array_equal(with_orthant.linear_minimizer(np.zeros(2), h), [0.0, 1.0])
    cut = gd.Intersection(L2Ball(2, 0.9), box)
    with pytest.raises(ArgumentError, match="project instead"):
        cut.linear_minimizer(np.zeros(2), np.array([-1.0, 0.2]))
    # In a batch each entry may be served by another member.
    lens = gd.Intersection(L2Ball(2, 1.0), L2Ball(2, 1.0, np.array([1.5, 0.0])))
    z = lens.linear_minimizer(np.array([0.75, 0.0]), np.array([[-1.0, 0.0], [1.0, 0.0]]))
    np.testing.assert_allclose(z, [[1.0, 0.0], [0.5, 0.0]])


# -- every domain ----------------------------------------------------------------------------------


def every_domain():
    low, up = interval(7, 3)
    yield "interval", gd.SPDInterval(low, up)
    yield "closed form", gd.SPDInterval(low, up, method="closed-form")
    for name in BALLS:
        yield name, ball_of(name)[1]
    yield from POLYTOPES.items()
    yield "both", gd.Intersection(L2Ball(3, 9.0), gd.Box(np.zeros(3), np.ones(3)))


DOMAINS = dict(every_domain())


def problem(domain, batch, seed=0):
    """Points x in the domain, tangent vectors h, points y anywhere near."""
    space, rng = domain.manifold, RNG(seed)
    if isinstance(domain, gd.Ball):
        y = space.exp(
            domain.center, 1.5 * domain.radius * space.unit_tangent(rng, domain.center, batch)
        )
    else:
        y = space.random_point(rng, batch)
    x = domain.project(y)
    return x, space.unit_tangent(rng, x), y


@pytest.mark.parametrize("name", DOMAINS)
def test_a_batch_is_a_loop(name):
    domain = DOMAINS[name]
    x, h, y = problem(domain, (2, 3))
    p, z, here = domain.project(y), domain.linear_minimizer(x, h), domain.contains(y)
    assert here.shape == (2, 3)
    for i in np.ndindex(2, 3):
        np.testing.assert_allclose(p[i], domain.project(y[i]), atol=1e-13)
        np.testing.assert_allclose(z[i], domain.linear_minimizer(x[i], h[i]), atol=1e-7)
        assert bool(here[i]) == bool(domain.contains(y[i]))
    one = domain.linear_minimizer(x[0, 0], domain.manifold.to_tangent(x[0, 0], h))
    assert one.shape == h.shape


@pytest.mark.parametrize("name", DOMAINS)
def test_inputs_stay_and_types_are_kept(name):
    domain = DOMAINS[name]
    for dtype in (np.float64, np.float32):
        x, h, y = (a.astype(dtype) for a in problem(domain, (3,)))
        for a in (x, h, y):
            a.flags.writeable = False
        assert domain.project(y).dtype == dtype
        assert domain.linear_minimizer(x, h).dtype == dtype
        assert domain.contains(x).dtype == bool
        assert np.all(domain.contains(domain.project(y)))


@pytest.mark.parametrize("name", DOMAINS)
def test_torch_gives_the_same(name):
    domain = DOMAINS[name]
    x, h, y = problem(domain, (3,))
    tx, th, ty = (torch.from_numpy(a) for a in (x, h, y))
    p, z = domain.project(ty), domain.linear_minimizer(tx, th)
    assert p.dtype == z.dtype == torch.float64
    np.testing.assert_allclose(p.numpy(), domain.project(y), atol=1e-12)
    np.testing.assert_allclose(z.numpy(), domain.linear_minimizer(x, h), atol=1e-7)
    assert domain.contains(ty).tolist() == domain.contains(y).tolist()
    assert isinstance(domain.contains(ty), torch.Tensor)
    single = domain.linear_minimizer(tx[0].float(), th[0].float())
    assert single.dtype == torch.float32


def test_torch_certificates():
    domain = DOMAINS["interval"]
    x, h, y = (torch.from_numpy(a) for a in problem(domain, (2,)))
    answer, nearest = domain.linear_minimum(x, h), domain.nearest(y)
    for number in (answer.value, answer.gap, answer.stationarity, nearest.error_bound):
        assert isinstance(number, torch.Tensor)
        assert number.shape == (2,)


def test_centres_and_bounds_may_be_batches():
    """Independent problems: each run has a set of its own."""
    rng = RNG(0)
    centers = rng.standard_normal((3, 2))
    y, h = rng.standard_normal((3, 2)), rng.standard_normal((3, 2))
    ball = gd.Ball(gd.Euclidean(2), centers, 0.5)
    for i in range(3):
        one = gd.Ball(gd.Euclidean(2), centers[i], 0.5)
        np.testing.assert_allclose(ball.project(y)[i], one.project(y[i]))
        np.testing.assert_allclose(ball.linear_minimizer(y, h)[i], one.linear_minimizer(y[i], h[i]))
    bounds = [interval(seed, 2) for seed in range(2)]
    rank1 = bounds[0][0] + np.outer([1.0, 2.0], [1.0, 2.0])  # one of them without width somewhere
    low, up = np.stack([bounds[0][0], bounds[1][0]]), np.stack([rank1, bounds[1][1]])
    many = gd.SPDInterval(low, up)
    y, h = spd(rng, 2), symmetric(rng, 2)
    answer = many.linear_minimum(y, h)
    for i in range(2):
        one = gd.SPDInterval(low[i], up[i])
        np.testing.assert_allclose(many.project(y)[i], one.project(y), atol=1e-12)
        assert answer.value[i] == pytest.approx(float(one.linear_minimum(y, h).value), abs=1e-12)
        assert many.diameter >= one.diameter


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: gd.Ball(gd.Euclidean(2), np.zeros(2), -1.0), EmptySetError, "radius must be >= 0"),
        (lambda: gd.Ball(gd.Euclidean(2), np.zeros(3), 1.0), ArgumentError, "center has shape"),
        (lambda: gd.Ball(gd.Sphere(2), np.ones(2), 1.0), NotOnManifoldError, "center is not on"),
        (lambda: gd.Ball(gd.Sphere(2), np.eye(2)[0], 3.2), ArgumentError, "injectivity radius"),
        (lambda: gd.Ball("plane", np.zeros(2), 1.0), ArgumentError, "manifold must be a Manifold"),
        (
            lambda: gd.Ball(gd.Euclidean(1), np.zeros(1), math.nan),
            ArgumentError,
            "radius must be a",
        ),
        (lambda: gd.SPDInterval(2 * np.eye(2), np.eye(2)), EmptySetError, "lower is not below"),
        (
            lambda: gd.SPDInterval(np.eye(2), np.diag([2.0, 0.9])),
            EmptySetError,
            r"inverse\(lower\) @ upper is 0\.9",
        ),
        (lambda: gd.SPDInterval(np.diag([1.0, -1.0]), np.eye(2)), NotOnManifoldError, "lower is"),
        (lambda: gd.SPDInterval(np.eye(2), np.eye(3)), ArgumentError, "upper has shape"),
        (lambda: gd.SPDInterval(np.ones(3), np.eye(3)), ArgumentError, "lower must be an array"),
        (lambda: gd.SPDInterval(np.eye(2), np.eye(2), starts=-1), ArgumentError, "starts"),
        (lambda: gd.SPDInterval(np.eye(2), np.eye(2), method="paper"), ArgumentError, "method"),
        (lambda: gd.Box(np.ones(2), np.array([2.0, 0.5])), EmptySetError, "exceeds upper by 0.5"),
        (lambda: gd.Box(np.ones(2), np.ones(3)), ArgumentError, "do not broadcast"),
        (lambda: gd.Box(0.0, 1.0), ArgumentError, "one must be an array"),
        (lambda: gd.Box(np.array([math.nan]), 1.0), ArgumentError, "lower holds NaN"),
        (lambda: gd.Box(np.array(["a"]), 1.0), ArgumentError, "lower must hold real numbers"),
        (lambda: L2Ball(2, -1.0), EmptySetError, "radius"),
        (lambda: L2Ball(0, 1.0), ArgumentError, "n must be an integer"),
        (lambda: gd.L1Ball(2, -1.0), EmptySetError, "radius"),
        (lambda: gd.L1Ball(2, 1.0, np.zeros(3)), ArgumentError, "center has shape"),
        (lambda: gd.ProbabilitySimplex(2, 0.0), ArgumentError, "scale must be > 0"),
        (lambda: gd.ProbabilitySimplex(2.5), ArgumentError, "n must be an integer"),
        (lambda: gd.Intersection(), ArgumentError, "at least one"),
        (lambda: gd.Intersection(gd.Euclidean(2)), ArgumentError, r"domains\[0\] must be a Domain"),
        (lambda: gd.Intersection(L2Ball(2, 1.0), L2Ball(3, 1.0)), ArgumentError, "one manifold"),
        (lambda: gd.Intersection(L2Ball(2, 1.0), tol=0.0), ArgumentError, "tol must be > 0"),
    ],
)
def test_bad_sets_are_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()


@pytest.mark.parametrize("name", DOMAINS)
def test_bad_shapes_are_refused(name):
    domain = DOMAINS[name]
    x, h, _ = problem(domain, ())
    bad = np.zeros((7,))
    for call in (domain.project, domain.contains):
        with pytest.raises(ArgumentError, match=r"must be an array of shape .* got \(7,\)"):
            call(bad)
    with pytest.raises(ArgumentError, match="h must be an array"):
        domain.linear_minimizer(x, bad)
    with pytest.raises(ArgumentError, match="x must be an array"):
        domain.linear_minimizer(bad, h)
    with pytest.raises(ArgumentError, match="got list"):
        domain.project([1.0])
    assert repr(domain)


@pytest.mark.parametrize(
    "domain",
    [
        gd.Ball(gd.Sphere(4), np.eye(4)[0], 0.4),
        gd.Box(-np.ones(3), np.ones(3)),
        gd.SPDInterval(np.diag([1.0, 2.0, 3.0]), 5 * np.eye(3) + np.ones((3, 3))),
    ],
    ids=str,
)
def test_violation_is_zero_inside_and_like_the_distance_outside(domain):
    """The distance itself, or for the interval of eigenvalues between a half and √2 of it."""
    x = domain.manifold.random_point(np.random.default_rng(0), (40,))
    nearest = np.stack([domain.project(one) for one in x])
    distance = domain.manifold.dist(x, nearest)
    assert (distance > 0.1).any()
    assert domain.violation(nearest).max() < 1e-7
    ratio = domain.violation(x)[distance > 1e-6] / distance[distance > 1e-6]
    assert ratio.min() > 0.5
    assert ratio.max() < np.sqrt(2) + 1e-9
