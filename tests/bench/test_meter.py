"""The meter: every duel counts, the budget holds, hits are first or lasting visits."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.bench import Case, Meter
from geoduel.bench.meter import ReachedError
from geoduel.errors import BudgetExhaustedError
from geoduel.methods.rivals.ranking import top


def meter(budget=5, **more):
    case = Case(gd.Euclidean(1), lambda x: float(x[0]), np.ones(1), 0.0, **more)
    return Meter(case, budget, np.random.default_rng(0))


def at(x):
    return np.array([float(x)])


def test_duels_and_evaluations_are_counted_and_the_budget_ends_the_run():
    m = meter(budget=2)
    assert m.better(at(1), at(2))
    assert not m.better(at(2), at(2))
    with pytest.raises(BudgetExhaustedError):
        m.better(at(1), at(2))
    assert (m.duels, m.evaluations) == (2, 2)  # both points were remembered


def test_a_ranking_is_paid_in_duels():
    m = meter(budget=99)
    assert m.settle(top([at(3), at(1), at(2)], 3)) == [1, 2, 0]
    assert m.duels == 3


def test_hits_are_noted_once():
    m = meter()
    for duels, x in ((3, 0.2), (4, 0.5), (7, 0.01)):
        assert not m.recommend(at(x), duels)
    assert m.hits[:4] == [3, 7, 7, 7]
    assert (m.best, m.last) == (0.01, 0.01)
    assert m.recommend(at(1e-10), 9)
    with pytest.raises(ReachedError):
        m.returns(at(1e-10))


def test_with_noise_only_lasting_visits_count():
    m = meter(noise={"flip": 0.1})
    for duels, x in ((3, 0.01), (4, 0.2), (7, 0.05)):
        assert not m.recommend(at(x), duels)
    assert m.hits[:4] == [3, 7, None, None]
    assert (m.best, m.last) == (0.01, 0.05)
    assert not m.recommend(at(0.0), 9)  # it may still get worse


def test_a_domain_decides_without_a_duel():
    m = meter(domain=gd.Box(np.array([0.5]), np.array([2.0])))
    assert m.better(at(0.6), at(0.1))
    assert m.duels == 0
    assert m.better(at(0.6), at(1.0))
    assert m.duels == 1


def test_coordinates_are_normal_and_kept_within_reach():
    sphere = gd.Sphere(3)
    case = Case(sphere, lambda x: 1 - x[0], np.array([0.0, 1.0, 0.0]), 0.0)
    m = Meter(case, 9, np.random.default_rng(0))
    c = np.array([0.3, -0.4])
    assert sphere.dist(case.x0, m.point(c)) == pytest.approx(0.5)
    sphere.check_point(m.point(1e300 * c))
    assert sphere.dist(case.x0, m.point(m.another_start())) < np.pi
    assert m.sigma == pytest.approx(sphere.typical_dist / 5 / np.sqrt(2))


def test_coordinates_of_whole_numbers_are_rounded_and_end_with_the_last():
    space = gd.Product(gd.Integers(0, 3), gd.Integers(2, 9), gd.Euclidean(2))
    x0 = np.array([1.0, 4.0, 0.5, -0.5])
    case = Case(space, lambda x: float(x @ x), x0, -1.0)
    m = Meter(case, 9, np.random.default_rng(0))
    assert (case.dim, m.whole) == (4, 2)
    assert m.sigma == pytest.approx(space.typical_dist / 5 / 2)
    for c, x in (
        ([0.4, -0.4, 1.0, 2.0], [1.0, 4.0, 1.5, 1.5]),
        ([0.6, 1.6, 0.0, 0.0], [2.0, 6.0, 0.5, -0.5]),
        ([1e200, -1e200, 0.0, 0.0], [3.0, 2.0, 0.5, -0.5]),
    ):
        np.testing.assert_allclose(m.point(np.array(c)), x)
    for _ in range(20):
        space.check_point(m.point(m.another_start()))
