"""Block: duels needed where f is alike in all directions, and that no step goes up."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.descent.block import Block, BlockState
from geoduel.methods.descent.doubt import Symmetry
from geoduel.methods.frame import Frame

MEDIANS = {"karcher": 340, "rotation": 131}


@pytest.mark.parametrize("name", MEDIANS)
def test_duels_to_nine_digits(name, measure):
    assert np.median([measure(name, "block", s) for s in range(3)]) <= 1.3 * MEDIANS[name]


def test_isotropic_quadratic_in_three_times_the_bound():
    """d/2 log2(1e9) duels at least; 2.0 times that was measured."""
    oracle = gd.from_objective(lambda x: np.vecdot(x, x), vectorized=True)
    result = gd.minimize(oracle, gd.Euclidean(10), np.ones(10), method="block", budget=450, rng=0)
    assert result.x @ result.x < 1e-9 * 10


def test_every_accepted_step_goes_down(cases):
    case = cases["quadratic"](0)
    oracle = gd.from_objective(case.objective, vectorized=True)
    values = []
    gd.minimize(
        oracle, case.manifold, case.x0, method="block", budget=1000, rng=0,
        callback=lambda p: values.append(float(case.objective(p.x))),
    )  # fmt: skip
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


def a_step(state, answers, domain=None):
    """The first pairs of a step, and its end; what is asked beyond these is lost."""
    steps = Block(domain=domain).step(gd.Euclidean(2), state, np.random.default_rng(0))
    pairs = asked = next(steps)
    while True:
        try:
            asked = steps.send(answers if asked is pairs else np.ones(len(asked[0])))
        except StopIteration as end:
            return pairs, end.value


def test_where_all_probes_end_at_one_corner_it_looks_inside_again():
    """They tie: the next ones are half as long, about a point a quarter as far outside."""
    square, corner, outside = gd.Box(np.zeros(2), np.ones(2)), np.ones(2), np.array([0.4, 0.2])
    state = BlockState(Frame(corner, np.eye(2), moves=1), corner, 0.01, outside=outside)
    pairs, new = a_step(state, np.zeros(2), square)
    np.testing.assert_array_equal(pairs, np.ones((2, 2, 2)))
    assert new.length == 0.005
    np.testing.assert_array_equal(new.outside, [0.1, 0.05])
    np.testing.assert_array_equal(new.point, corner)
    assert new.stop is None


@pytest.mark.parametrize(("length", "stop"), [(1e-5, None), (1e-9, "resolution")])
def test_probes_that_tie_end_a_run_if_they_are_too_short_to_tell(length, stop):
    state = BlockState(Frame(np.ones(2), np.eye(2), moves=1), np.ones(2), length)
    assert a_step(state, np.zeros(2))[1].stop == stop


def test_where_answers_are_wrong_no_distance_is_stated():
    """They are believed, so that steps shrink anywhere. Without wrong ones it is within tenfold."""
    oracle = gd.from_objective(lambda x: float(x @ x))
    for flip in (0.0, 0.2):
        judge = gd.Noisy(oracle, flip=flip, rng=0)
        result = gd.minimize(
            judge, gd.Euclidean(10), np.ones(10), method="block", budget=600, rng=0
        )
        assert (result.noise == 0) == (flip == 0)
        if flip:
            assert result.uncertainty is None
        else:
            assert 1 < (result.uncertainty or 0) / np.linalg.norm(result.x) < 10


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("domain", [None, gd.Box(np.full(2, -1.0), np.full(2, 2.0))])
def test_beside_a_kink_no_distance_is_stated_that_is_far_too_small(domain, seed):
    """Steps turn back and forth across the kink of |x| + 10|y|, and get shorter too soon."""
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    oracle = gd.from_objective(lambda x: float(np.array([1, 10]) @ abs(turn @ x)))
    result = gd.minimize(
        oracle, gd.Euclidean(2), np.ones(2), method="block", domain=domain, budget=300, rng=seed
    )
    off = float(np.linalg.norm(result.x))
    assert result.uncertainty is None or result.uncertainty > 0.1 * off


def test_an_end_at_which_another_point_is_better_is_none():
    state = BlockState(
        Frame(np.ones(2), np.eye(2), moves=1), np.ones(2), 1e-9, longest=1.0,
        symmetry=Symmetry.begun(1.0),
    )  # fmt: skip
    steps = Block().step(gd.Euclidean(2), state, np.random.default_rng(0))
    next(steps)
    others, _ = steps.send(np.zeros(2))
    with pytest.raises(StopIteration) as end:
        steps.send(np.where(np.arange(len(others)) == 1, -1.0, 1.0))
    again = end.value.value
    assert (again.stop, again.ends, again.uncertainty) == (None, 1, None)
    np.testing.assert_allclose(again.point, others[1], rtol=1e-12)
    assert again.length == pytest.approx(np.linalg.norm(others[1] - 1))
