"""Whether raters share a taste: what one rater's answers tell, and evidence of one camp or more."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import geoduel as gd
from geoduel.methods.frame import Frame
from geoduel.study.crowd import (
    SCATTER,
    SURE,
    Disagreement,
    Heard,
    Own,
    Sums,
    log_likelihood,
    own_ideal,
    partition,
    rarer,
    shrunk,
)

UNIT = math.pi / 4
DEGREE = math.pi / 180
SPACES = [gd.Sphere(3), gd.Rotations(2), gd.Rotations(3), gd.Euclidean(4), gd.SPD(2)]


def owns(means, sd: float = 3 * DEGREE) -> list[Own]:
    return [Own(np.array(m) * DEGREE, sd**2 * np.eye(len(m))) for m in means]


@pytest.mark.parametrize("manifold", SPACES, ids=str)
def test_own_ideals_are_found(manifold):
    """From pairs all about: within three of the stated deviations, and no more than it says."""
    rng = np.random.default_rng(0)
    unit, d = manifold.typical_dist / 2, manifold.dim
    frame = Frame(manifold.origin(), np.eye(d))
    ideal = frame.at(manifold, 0.4 * unit * np.eye(d)[:1])[0]
    a, b = (frame.at(manifold, 0.5 * unit * rng.standard_normal((20 * d, d))) for _ in range(2))
    answers = np.where(manifold.dist(a, ideal) < manifold.dist(b, ideal), -1, 1)
    own = own_ideal(manifold, frame, Heard(a, b, answers), rng)
    error = own.mean - 0.4 * unit * np.eye(d)[0]
    assert error @ np.linalg.solve(own.cov, error) < 9 * d
    assert np.sqrt(np.trace(own.cov) / d) < 0.2 * unit
    ties = own_ideal(manifold, frame, Heard(a[:3], b[:3], np.zeros(3)), rng)
    assert np.trace(ties.cov) > np.trace(own.cov)


def test_a_side_alone_does_not_say_how_far():
    """All answers for one side of the common result: the ideal may as well be near it."""
    sphere, rng = gd.Sphere(3), np.random.default_rng(0)
    frame = Frame(np.eye(3)[2], np.eye(2))
    h = 20 * DEGREE * np.array([[np.cos(t), np.sin(t)] for t in np.linspace(-1, 1, 20)])
    heard = Heard(frame.at(sphere, h), frame.at(sphere, -h), -np.ones(20))
    own = own_ideal(sphere, frame, heard, rng)
    assert own.mean[0] > 0
    assert own.mean[0] < 3 * math.sqrt(own.cov[0, 0])


def test_the_probabilities_of_all_answers_sum_to_one():
    """For every ideal, the JND being the same in all of a rater's answers."""
    plane, rng = gd.Euclidean(2), np.random.default_rng(0)
    a, b, ideals = rng.standard_normal((3, 3, 2))
    total, first = 0.0, 0.0
    for answers in product([-1, 1], repeat=3):
        found = np.exp(log_likelihood(plane, ideals, Heard(a, b, np.array(answers)), 1.0))
        total, first = total + found, first + found * (answers[0] < 0)
    np.testing.assert_allclose(total, 1.0)
    alone = Heard(a[:1], b[:1], np.array([-1]))
    np.testing.assert_allclose(np.exp(log_likelihood(plane, ideals, alone, 1.0)), first)
    nearer = plane.dist(ideals, a[0]) < plane.dist(ideals, b[0])
    np.testing.assert_array_equal(first > 0.5, nearer)


def test_evidence_is_that_of_the_gaussian():
    """The closed form is the density of all means together, under one taste."""
    rng = np.random.default_rng(1)
    for d, n in ((1, 2), (2, 3), (3, 4)):
        some = []
        for _ in range(n):
            root = rng.standard_normal((d, d)) / 5
            some.append(Own(rng.standard_normal(d) / 2, root @ root.T + 0.01 * np.eye(d)))
        total = Sums.of(some[0], UNIT)
        for own in some[1:]:
            total = total + Sums.of(own, UNIT)
        for tau, evidence in zip(SCATTER, total.evidences(UNIT), strict=True):
            cov = np.kron(np.ones((n, n)), UNIT**2 * np.eye(d))
            for i, own in enumerate(some):
                block = slice(i * d, i * d + d)
                cov[block, block] += own.cov + (tau * UNIT) ** 2 * np.eye(d)
            means = np.concatenate([own.mean for own in some])
            assert evidence == pytest.approx(multivariate_normal.logpdf(means, cov=cov))


def test_camps_are_those_that_are_apart():
    split = partition(owns([(0, 0), (30, 0), (2, 1), (29, -2), (-1, 2), (31, 1)]), UNIT)
    assert split.camps == [[0, 2, 4], [1, 3, 5]]
    assert split.log_odds > 10
    three = partition(owns([(0, 0), (40, 0), (0, 40)] * 3), UNIT)
    assert three.camps == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert partition(owns([(0, 0)]), UNIT).camps == [[0]]


def test_the_odds_are_those_of_the_likeliest_camps():
    """Of three raters: each alone, or two of them together in one of three ways."""
    for means in ([(0, 0), (30, 0), (31, 1)], [(0, 0), (30, 0), (0, 40)]):
        some = [Sums.of(own, UNIT) for own in owns(means)]
        alone = [one.evidence(UNIT) for one in some]
        together = (some[0] + some[1] + some[2]).evidence(UNIT)
        pairs = [
            (some[i] + some[j]).evidence(UNIT) + alone[k]
            for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0))
        ]
        odds = max(sum(alone), *pairs) - math.log(2) - together  # the prior: 1/2 of one camp's
        assert partition(owns(means), UNIT).log_odds == pytest.approx(odds)


def test_one_taste_is_one_camp():
    """Scattered by a few degrees, and told to within a few more."""
    rng = np.random.default_rng(0)
    for n in (2, 6, 12):
        for _ in range(50):
            split = partition(owns(4 * rng.standard_normal((n, 2))), UNIT)
            assert len(split.camps) == 1
            assert split.log_odds < SURE - 1
            assert min(SCATTER) * UNIT <= split.scatters[0] <= max(SCATTER) * UNIT


def test_those_who_say_nothing_are_in_no_camp_of_their_own():
    silent = [Own(np.zeros(2), UNIT**2 * np.eye(2))] * 4
    assert len(partition([*owns([(0, 0), (2, 0)]), *silent], UNIT).camps) == 1


def test_many_raters_are_split_in_seconds():
    rng = np.random.default_rng(0)
    means = 2 * rng.standard_normal((50, 2)) + [[30 * (i % 2), 0] for i in range(50)]
    split = partition(owns(means), UNIT)
    assert split.camps == [list(range(0, 50, 2)), list(range(1, 50, 2))]


def test_raters_join_camps_as_guests_join_tables():
    """The Chinese restaurant process is a distribution, and a lone rater is one seat in n - 1."""

    def seated(n):
        """Sizes of the camps in every split of n raters."""
        for sizes in seated(n - 1) if n > 1 else [()]:
            yield (*sizes, 1)
            for i, size in enumerate(sizes):
                yield (*sizes[:i], size + 1, *sizes[i + 1 :])

    splits = list(seated(6))
    assert len(splits) == 203  # Bell's number
    assert sum(math.exp(-rarer(sizes)) for sizes in splits) == pytest.approx(6)  # 6!/5!
    assert rarer([6]) == 0
    assert rarer([5, 1]) == pytest.approx(math.log(5))


def test_own_results_are_drawn_to_the_common_one():
    """By the variances: nothing told is the common point, all told the rater's own."""
    plane = gd.Euclidean(1)
    x, y = np.array([1.0]), np.array([0.0])
    holds = 1.2815515655446004  # the 80 % interval of a Gaussian, in deviations
    point, radius = shrunk(plane, (x, holds), (y, 0.0), 1.0)
    assert point == pytest.approx(0.5)
    assert radius == pytest.approx(holds / math.sqrt(2))
    assert shrunk(plane, (x, math.inf), (y, 0.0), 1.0) == (y, pytest.approx(holds))
    assert shrunk(plane, (x, 0.5), (y, math.inf), 1.0) == (x, 0.5)
    points = [float(shrunk(plane, (x, r), (y, 0.1), 0.1)[0][0]) for r in (0.01, 0.1, 1.0)]
    assert all(near > far for near, far in pairwise(points))
    sphere = gd.Sphere(3)
    x, y = np.eye(3)[2], -np.eye(3)[2]  # no single geodesic between them
    assert np.array_equal(shrunk(sphere, (x, 0.01), (y, 0.1), 0.1)[0], x)
    assert np.array_equal(shrunk(sphere, (x, 9.0), (y, 0.1), 0.1)[0], y)


def test_distances_are_compared_with_what_explains_them():
    words = [Disagreement.of(d, 3.0, 4.0).words for d in (0.0, 5.0, 7.0, 11.0)]
    assert words[0] == words[1] != words[2] != words[3]
    assert "another taste" in words[3]
    assert Disagreement.of(7.0, 3.0, 4.0).explained == 5.0


def test_who_only_skips_has_no_taste_nor_has_anybody_without_a_name():
    study = gd.create_study(gd.Euclidean(1), gd.Bisection(prior_radius=45.0, jnd=1.0), rng=0)
    for rater, answer in (("ann", "a"), (None, "b"), ("bob", "skip"), ("ann", "b")):
        study.tell(study.ask(rater=rater), answer, rater=rater)
    assert set(study.disagreement()) == {"ann"}
