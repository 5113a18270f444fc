"""What every domain keeps: batches, types, inputs; bad sets and shapes are refused."""

import math

import numpy as np
import pytest
from samples.sets import DOMAINS, RNG, interval, spd, symmetric

import geoduel as gd
from geoduel.domains import L2Ball
from geoduel.errors import ArgumentError, EmptySetError, NotOnManifoldError


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", DOMAINS)
def test_what_wins_as_feasible_is_contained(name, dtype):
    """Methods go by the violation, and users by `contains`: both mean the same length."""
    domain = DOMAINS[name]
    x, _, y = (a.astype(dtype) for a in problem(domain, (50,), seed=4))
    tolerance = np.sqrt(np.finfo(dtype).eps)
    away = np.reshape(domain.manifold.dist(x, y), (50,) + (1,) * (x.ndim - 1))
    short = domain.manifold.log(x, y) / np.maximum(away, tolerance)
    for share in (0.5, 0.9, 0.99):
        near = domain.manifold.exp(x, (share * tolerance * short).astype(dtype))
        feasible = np.asarray(domain.violation(near)) <= tolerance
        assert np.all(domain.contains(near) >= feasible)


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
    torch = pytest.importorskip("torch")
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


def drawn(domain, seeds, **like):
    return np.stack([np.asarray(domain.random_point(seed, **like)) for seed in seeds])


@pytest.mark.parametrize("name", DOMAINS)
def test_random_points_are_all_over_the_set(name):
    """No corner of it is where all of them lie, and no boundary."""
    domain = DOMAINS[name]
    x = drawn(domain, range(20))
    assert x.dtype == np.float64
    assert x.shape[1:] == domain.manifold.point_shape
    assert np.all(domain.contains(x))
    far = np.max(domain.manifold.dist(x[:, None], x[None]))
    assert far >= 0.5 * domain.diameter
    np.testing.assert_array_equal(domain.random_point(3), x[3])
    single = drawn(domain, range(3), like=np.zeros(1, np.float32))
    assert single.dtype == np.float32
    assert np.all(domain.contains(single))


@pytest.mark.parametrize("name", ["sphere", "hyperbolic", "box", "l1", "simplex"])
def test_a_set_that_only_projects_can_be_drawn_from_too(name):
    domain = DOMAINS[name]
    x = np.stack([gd.Domain.random_point(domain, seed) for seed in range(20)])
    assert np.all(domain.contains(x))
    assert np.max(domain.manifold.dist(x[:, None], x[None])) >= 0.4 * domain.diameter


def test_random_points_are_uniform_where_that_is_meant():
    """Means and variances of known distributions."""
    rng = np.random.default_rng(0)
    box = gd.Box(
        np.array([100.0, -math.inf, 5.0, -math.inf]), np.array([110.0, 3.0, *2 * [math.inf]])
    )
    x = np.stack([box.random_point(rng) for _ in range(400)])
    half = math.sqrt(2 / math.pi)  # mean of the absolute value of a normal number
    np.testing.assert_allclose(x.mean(axis=0), [105, 3 - half, 5 + half, 0], atol=0.5)
    disc = np.stack([L2Ball(2, 2.0).random_point(rng) for _ in range(400)])
    assert np.mean(np.sum(disc**2, axis=1)) == pytest.approx(2.0, abs=0.25)  # r²/2 of the disc
    diamond = np.stack([gd.L1Ball(2, 1.0).random_point(rng) for _ in range(400)])
    assert np.mean(abs(diamond).sum(axis=1)) == pytest.approx(2 / 3, abs=0.06)
    corner = np.stack([gd.ProbabilitySimplex(3, 3.0).random_point(rng) for _ in range(400)])
    np.testing.assert_allclose(corner.std(axis=0), math.sqrt(0.5), atol=0.1)  # of Dirichlet(1)


def test_sets_of_several_problems_give_a_point_to_each():
    centers = np.array([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]])
    low = np.stack([np.eye(2), 2 * np.eye(2)])
    for many in (
        gd.Ball(gd.Euclidean(2), centers, 0.5),
        gd.L1Ball(2, 0.5, centers),
        gd.SPDInterval(low, 3 * low),
        gd.Intersection(gd.Ball(gd.Euclidean(2), centers, 0.5), L2Ball(2, 20.0)),
    ):
        x = many.random_point(0)
        assert x.shape[0] == (2 if x.ndim == 3 else 3)
        assert np.all(many.contains(x))


def test_torch_certificates():
    torch = pytest.importorskip("torch")
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
        with pytest.raises(ArgumentError, match=r"[xy] has shape \(7,\), expected"):
            call(bad)
    with pytest.raises(ArgumentError, match=r"h has shape \(7,\), expected"):
        domain.linear_minimizer(x, bad)
    with pytest.raises(ArgumentError, match=r"x has shape \(7,\), expected"):
        domain.linear_minimizer(bad, h)
    with pytest.raises(ArgumentError, match=r"shape \(7,\), expected"):
        domain.project([0.0] * 7)
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


@pytest.mark.parametrize(
    "make",
    [
        lambda a: gd.Box(a[0], 9.0),
        lambda a: gd.Box(-9.0, a[0]),
        lambda a: gd.Ball(gd.Euclidean(2), a[0], 1.0),
        lambda a: L2Ball(2, 1.0, a[0]),
        lambda a: gd.L1Ball(2, 1.0, a[0]),
        lambda a: gd.SPDInterval(a, 9 * np.eye(2)),
        lambda a: gd.Where(gd.Euclidean(2), lambda x: True, a[0]),
    ],
)
def test_arrays_may_be_overwritten_once_a_domain_is_made(make):
    given = np.eye(2)
    domain = make(given)
    kept = [array for array in vars(domain).values() if isinstance(array, np.ndarray)]
    assert kept
    assert not any(np.shares_memory(array, given) for array in kept)
