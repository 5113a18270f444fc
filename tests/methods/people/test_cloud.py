"""The cloud of ideals before there is a chart: the prior, Bayes' rule, moves that keep both."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

import geoduel as gd
from geoduel.methods.people.cloud import Cloud, anywhere, deviation, hear_early, losses_of, middle
from geoduel.methods.people.observer import Raters
from geoduel.methods.people.perception import (
    OTHERS,
    Answers,
    Prior,
    log_prior_of_length,
    outcomes,
)
from geoduel.oracles import draw_person
from geoduel.oracles.people import DEGREE

SPHERE, NORTH = gd.Sphere(3), np.eye(3)[0]
FLAT, ZERO = gd.Euclidean(2), np.zeros(2)
PRIOR = Prior(0.8, 0.002, 0.2)
EVERYWHERE = PRIOR._replace(radius=math.inf)


def rng(seed=0):
    return np.random.default_rng(seed)


def share_within(r, d, most=math.inf):
    """Of the prior: the probability that the ideal lies within r of the start."""

    def density(x):
        return x ** (d - 1) * math.exp(log_prior_of_length(np.array([x * x]), PRIOR, d)[0][0])

    cuts = [0.0, *sorted({min(r, PRIOR.radius), PRIOR.radius, r, most})]
    parts = [quad(density, a, b)[0] for a, b in itertools.pairwise(cuts)]
    return sum(p for p, end in zip(parts, cuts[1:], strict=True) if end <= r) / sum(parts)


def of_points(points, w=None, manifold=FLAT):
    """A cloud of given points, equally likely unless their weights are given."""
    n = len(points)
    logw = np.zeros(n) if w is None else np.log(w)
    empty, start = np.zeros((n, 2, 0), np.float32), points[0]
    none = Answers.none(start)
    return Cloud(PRIOR, start, points, np.zeros((n, OTHERS)), logw, empty, none, Raters())


# -- the prior -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("manifold", "x0"), [(FLAT, ZERO), (SPHERE, NORTH)], ids=str)
def test_before_answers_the_cloud_is_the_prior(manifold, x0):
    """Distances are stratified: their shares are right to one point and the error of a grid."""
    cloud = anywhere(manifold, x0, PRIOR, rng())
    n, d = len(cloud.points), manifold.dim
    far = manifold.dist(cloud.points, x0)
    for r in (0.2, 0.8, 1.5):
        expected = share_within(r, d, manifold.injectivity_radius)
        assert np.mean(far < r) == pytest.approx(expected, abs=2 / n + 0.003)
    u = manifold.to_coords(x0, manifold.log(x0, cloud.points)) / far[:, None]
    assert np.all(abs(u.mean(axis=0)) < 4 / math.sqrt(n * d))
    assert np.all(abs(cloud.others.mean(axis=0)) < 4 / math.sqrt(n))
    assert np.allclose(cloud.weights, 1 / n)


def test_three_in_four_are_expected_within_the_radius_and_others_anywhere():
    """But for the core of the prior, which costs 3 %."""
    far = np.linalg.norm(anywhere(FLAT, ZERO, PRIOR, rng()).points, axis=1)
    assert np.mean(far < PRIOR.radius) == pytest.approx(3 / 4, abs=0.04)
    assert far.max() > 5 * PRIOR.radius
    antipodal = SPHERE.dist(anywhere(SPHERE, NORTH, PRIOR, rng()).points, NORTH)
    assert antipodal.max() > 150 * DEGREE


@pytest.mark.parametrize("d", [2, 300])
def test_in_any_dimension_ideals_lie_at_distances_that_are_numbers(d):
    cloud = anywhere(gd.Euclidean(d), np.zeros(d), PRIOR, rng())
    away = np.linalg.norm(cloud.points, axis=1)
    assert np.median(away) > 0.1 * PRIOR.radius
    assert np.all(away <= 1e4 * PRIOR.radius)


def test_without_a_start_the_cloud_is_uniform():
    """On the sphere: means are 0, and by Archimedes each coordinate is uniform."""
    cloud = anywhere(SPHERE, NORTH, EVERYWHERE, rng())
    n = len(cloud.points)
    assert np.all(abs(cloud.points.mean(axis=0)) < 4 / math.sqrt(3 * n))
    for x in cloud.points.T:
        assert kstest((x + 1) / 2, "uniform").pvalue > 1e-4


# -- answers ---------------------------------------------------------------------------------------


def test_losses_are_the_distances_by_loops():
    draw = rng(1)
    points, a, b = (SPHERE.random_point(draw, (n,)) for n in (4, 3, 3))
    found = losses_of(SPHERE, points, a, b)
    assert found.shape == (4, 2, 3)
    for i, point in enumerate(points):
        for k in range(3):
            both = [SPHERE.dist(point, a[k]), SPHERE.dist(point, b[k])]
            assert np.allclose(found[i, :, k], both, atol=1e-6)


def test_weighing_is_bayes_rule():
    """Two points a JND apart tell too little to resample."""
    cloud = anywhere(SPHERE, NORTH, EVERYWHERE, rng())
    a, b = SPHERE.exp_pair(NORTH, 0.01 * np.array([0.0, 1.0, 0.0]))
    losses = losses_of(SPHERE, cloud.points, a[None], b[None])
    chances = outcomes(losses.reshape(-1, 2), cloud.others, EVERYWHERE)
    after = hear_early(SPHERE, cloud, a, b, 1, 0, "ann", rng())
    assert np.array_equal(after.points, cloud.points)
    assert np.allclose(after.weights, chances[1, :, 0] / chances[1].sum(), rtol=1e-5)
    other = hear_early(SPHERE, cloud, a, b, -1, 0, "ann", rng())
    assert np.allclose(other.weights, chances[0, :, 0] / chances[0].sum(), rtol=1e-5)


def test_the_answers_are_kept_with_their_raters_and_losses():
    draw = rng(2)
    cloud = anywhere(SPHERE, NORTH, EVERYWHERE, draw)
    for rater, answer in (("ann", 1), ("bob", 0), ("ann", -1)):
        a, b = SPHERE.random_point(draw, (2,))
        cloud = hear_early(SPHERE, cloud, a, b, answer, 1, rater, draw)
        assert cloud.prior.ties == (len(cloud.answers.answer) > 1)
    assert cloud.answers.answer.tolist() == [1, 0, -1]
    assert cloud.answers.rater.tolist() == [0, 1, 0]
    assert cloud.raters == (("ann", "bob"), (2, 1), (2, 1))
    expected = losses_of(SPHERE, cloud.points, cloud.answers.a, cloud.answers.b)
    assert np.allclose(cloud.losses, expected, atol=1e-6)


@pytest.mark.parametrize("prior", [PRIOR, EVERYWHERE], ids=["a radius", "everywhere"])
def test_resampling_and_moving_leave_the_prior_as_it_is_where_answers_tell_nothing(prior):
    """Weights by chance make it resample; equal points tell nothing.

    On a flat space with a radius, and on the sphere where the prior is uniform. Weights exp(N(0,
    1)) leave n/e effective points.
    """
    manifold, x0 = (SPHERE, NORTH) if math.isinf(prior.radius) else (FLAT, ZERO)
    draw, moved = rng(3), []
    cloud = anywhere(manifold, x0, prior, draw)
    n = len(cloud.points)
    for _ in range(6):
        cloud = cloud._replace(logw=draw.standard_normal(n))
        before = cloud.points
        cloud = hear_early(manifold, cloud, x0, x0, 1, 0, "", draw)
        assert np.array_equal(cloud.weights, np.full(n, 1 / n))
        moved.append(1 - np.isin(cloud.points[:, 0], before[:, 0]).mean())
    assert min(moved) > 0.4  # of two moves one at least is accepted most of the time
    error = 4 * math.sqrt(math.e / n)  # standard errors of a share are half of that
    if manifold is FLAT:
        far = np.linalg.norm(cloud.points, axis=1)
        for r in (0.3, 0.8, 2.0):
            assert np.mean(far < r) == pytest.approx(share_within(r, 2), abs=error / 2)
    else:
        assert np.all(abs(cloud.points.mean(axis=0)) < error / math.sqrt(3))
        assert np.all(abs(np.mean(cloud.points**2, axis=0) - 1 / 3) < error * math.sqrt(4 / 45))
    assert np.all(abs(cloud.others.mean(axis=0)) < error)
    assert np.all(abs(cloud.others.std(axis=0) - 1) < error)


def test_resampling_keeps_the_mean():
    """A person's answers: before, by weights; after, by points that were drawn and moved."""
    draw = rng(4)
    cloud = anywhere(FLAT, ZERO, PRIOR, draw)
    person = draw_person(FLAT, ZERO, rng(5), 0.5, jnd=0.05)
    resampled = 0
    for _ in range(12):
        a, b = FLAT.exp_pair(draw.uniform(-0.5, 0.5, 2), 0.3 * FLAT.unit_tangent(draw, ZERO))
        answer = person.answer(a, b, 1)
        losses = losses_of(FLAT, cloud.points, a[None], b[None])
        prior = cloud.prior
        p = outcomes(losses.reshape(-1, 2), cloud.others, prior)[(answer + 1) // 2, :, 0]
        w = cloud.weights * p / (cloud.weights @ p)
        mean = w @ cloud.points
        deviations = np.sqrt(w @ (cloud.points - mean) ** 2)
        after = hear_early(FLAT, cloud, a, b, answer, 0, "", draw)
        shift = after.weights @ after.points - mean
        if not np.array_equal(after.points, cloud.points):
            resampled += 1
            assert np.all(abs(shift) < 5 * deviations * math.sqrt(w @ w))
        else:
            assert np.allclose(shift, 0, atol=1e-4)
        cloud = after
    assert resampled >= 3


def heard(turn=None, seed=0, n=10):
    """A person's answers about the sphere, or about a turned one."""
    turn = np.eye(3) if turn is None else turn
    draw, person = rng(7), draw_person(SPHERE, NORTH, rng(8), 1.0)
    cloud, noise = anywhere(SPHERE, turn @ NORTH, EVERYWHERE, rng(seed)), rng(seed + 50)
    for _ in range(n):
        a, b = SPHERE.random_point(draw, (2,))
        answer = person.answer(a, b, 1)
        cloud = hear_early(SPHERE, cloud, turn @ a, turn @ b, answer, 1, "", noise)
    return cloud, person


def test_the_cloud_gathers_about_the_ideal_wherever_it_is():
    cloud, person = heard(n=14)
    size = deviation(SPHERE, cloud, middle(SPHERE, cloud))
    assert size < 20 * DEGREE
    assert person.error(middle(SPHERE, cloud)) < 3 * size


def test_a_turned_sphere_gives_the_turned_cloud():
    """Up to the Monte Carlo error of the points."""
    turn = np.linalg.qr(rng(9).standard_normal((3, 3)))[0]
    (one, _), (two, _) = heard(), heard(turn, seed=1)
    centres = middle(SPHERE, one), middle(SPHERE, two)
    sizes = [deviation(SPHERE, c, x) for c, x in zip((one, two), centres, strict=True)]
    assert SPHERE.dist(turn @ centres[0], centres[1]) < sizes[0]
    assert 0.6 < sizes[1] / sizes[0] < 1.6


# -- what the cloud says ---------------------------------------------------------------------------


def test_the_middle_is_a_point_of_the_larger_group():
    points = np.concatenate([0.1 * rng().standard_normal((30, 2)), 5 + np.zeros((10, 2))])
    found = middle(FLAT, of_points(points))
    assert np.linalg.norm(found) < 0.2
    assert any(np.array_equal(found, x) for x in points)
    heavy = np.r_[np.full(30, 0.1 / 30), np.full(10, 0.09)]
    assert np.array_equal(middle(FLAT, of_points(points, heavy)), [5, 5])


def test_the_deviation_is_that_of_one_dimension():
    cross = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert deviation(FLAT, of_points(cross), ZERO) == pytest.approx(math.sqrt((9 + 1) / 2 / 2))
    w = np.array([0.4, 0.4, 0.1, 0.1])
    assert deviation(FLAT, of_points(cross, w), ZERO) == pytest.approx(math.sqrt(7.4 / 2))


def test_clouds_of_torch_points():
    torch = pytest.importorskip("torch")
    x0, draw = torch.eye(3, dtype=torch.float32)[0], rng()
    for prior in (PRIOR, EVERYWHERE):
        cloud = anywhere(SPHERE, x0, prior, draw)
        for _ in range(6):
            a, b = SPHERE.random_point(draw, (2,), like=x0)
            cloud = hear_early(SPHERE, cloud, a, b, 1, 1, "", draw)
        assert cloud.points.dtype == middle(SPHERE, cloud).dtype == torch.float32
        SPHERE.check_point(cloud.points)


def test_no_point_lies_beyond_the_end_of_a_manifold():
    """Geodesics of the Bures-Wasserstein metric end: lengths of the prior are cut short there."""
    manifold = gd.SPD(2, metric="bures-wasserstein")
    x0 = manifold.random_point(np.random.default_rng(0))
    prior = gd.IdealPoint().start(manifold, x0, np.random.default_rng(1)).belief.prior
    cloud = anywhere(manifold, x0, prior._replace(radius=10.0), np.random.default_rng(2))
    manifold.check_point(cloud.points)
    assert np.isfinite(np.asarray(manifold.dist(cloud.points, x0[None]))).all()
