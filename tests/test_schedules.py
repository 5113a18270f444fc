"""Step-size schedules: values, plans, sums, and what they refuse."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from geoduel.errors import ArgumentError
from geoduel.schedules import (
    Constant,
    Cosine,
    Custom,
    Geometric,
    Schedule,
    as_schedule,
    constant,
    cosine,
    draw_iterate,
    geometric,
    iterate_probabilities,
    planned,
)

EPS = 2.0**-52

SCHEDULES = [
    constant(0.3),
    cosine(0.3, 0.01, total=7),
    cosine(0.3),
    geometric(0.3, 0.9),
    geometric(0.3, last=0.01, total=7),
    geometric(0.3, last=0.01),
    as_schedule(math.sqrt),
]


def test_constant_is_constant():
    assert {constant(0.25)(k) for k in (0, 1, 10**9)} == {0.25}


@pytest.mark.parametrize("total", [1, 2, 3, 12, 1000])
@pytest.mark.parametrize("last", [0.0, 1e-8, 0.1])
def test_cosine_is_the_definition(total, last):
    """Definition 3.5, in its half-angle form as the cosine itself loses digits near π."""
    eta = cosine(0.1, last, total)
    expected = [last + (0.1 - last) * math.cos(math.pi * k / total / 2) ** 2 for k in range(total)]
    # π k/T/2 is rounded, so near T the expected value is off by EPS, not by EPS times itself.
    np.testing.assert_allclose([eta(k) for k in range(total)], expected, rtol=8 * EPS, atol=EPS)


def test_cosine_keeps_its_digits_at_the_end():
    """The last step is about (π/2T)², far below the rounding of 1 + cos."""
    total = 10**8
    x = math.pi / (2 * total)
    assert cosine(1.0, 0.0, total)(total - 1) == pytest.approx(x**2 * (1 - x**2 / 3), rel=8 * EPS)


def test_cosine_runs_from_first_to_last_and_stays_there():
    eta = cosine(0.1, 1e-8, total=50)
    steps = [eta(k) for k in range(51)]
    assert steps[0] == pytest.approx(0.1, rel=2 * EPS)
    assert steps[25] == pytest.approx((0.1 + 1e-8) / 2, rel=8 * EPS)
    assert steps == sorted(steps, reverse=True)
    assert steps[50] == eta(51) == eta(10**6) == 1e-8


@pytest.mark.parametrize("total", [1, 2, 3, 10, 999])
@pytest.mark.parametrize("last", [0.0, 1e-8, 0.02, 0.1])
def test_cosine_sums_are_the_sums(total, last):
    eta = cosine(0.1, last, total)
    steps = [eta(k) for k in range(total)]
    # A term is right to a few EPS, and the closed form adds a few of its own.
    assert eta.sum == pytest.approx(math.fsum(steps), rel=16 * EPS)
    assert eta.sum_of_squares == pytest.approx(math.fsum(s * s for s in steps), rel=16 * EPS)


def test_cosine_sums_as_printed():
    """Lemma B.1: η_0 (T+1)/2 and η_0² (3T+4)/8 for a last step of zero."""
    eta = cosine(0.2, 0.0, total=40)
    assert eta.sum == pytest.approx(0.2 * 41 / 2, rel=8 * EPS)
    assert eta.sum_of_squares == pytest.approx(0.2**2 * 124 / 8, rel=8 * EPS)


def test_geometric_by_ratio():
    eta = geometric(0.8, 0.5)
    assert [eta(k) for k in range(4)] == [0.8, 0.4, 0.2, 0.1]
    assert eta(5000) == 0.0


def test_geometric_by_last_step():
    eta = geometric(1.0, last=1e-6, total=60)
    steps = [eta(k) for k in range(61)]
    ratios = np.divide(steps[1:], steps[:-1])
    np.testing.assert_allclose(ratios, 10**-0.1, rtol=64 * EPS)
    assert steps[0] == 1.0
    assert steps[60] == eta(61) == 1e-6


@pytest.mark.parametrize("unbound", [cosine(1e-1, 1e-8), geometric(1e-1, last=1e-8)])
def test_a_plan_may_come_later(unbound):
    with pytest.raises(ArgumentError, match=r"planned number of iterations.*bind\(total\)"):
        unbound(0)
    bound = unbound.bind(100)
    assert bound(100) == 1e-8
    assert bound.bind(7) is bound, "a plan once made is kept"
    assert unbound.total is None, "binding leaves the original as it was"


def test_sums_need_a_plan():
    for name in ("sum", "sum_of_squares"):
        with pytest.raises(ArgumentError, match="planned number"):
            getattr(cosine(0.1), name)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_one_interface(schedule):
    assert isinstance(schedule, Schedule)
    assert as_schedule(schedule) is schedule
    bound = schedule.bind(10)
    assert all(type(bound(k)) is float and bound(k) >= 0 for k in range(12))
    assert bound == schedule.bind(10)
    for copied in (copy.deepcopy(schedule), pickle.loads(pickle.dumps(schedule))):
        assert copied == schedule
        assert copied.bind(10)(3) == bound(3)


def test_frozen():
    with pytest.raises(AttributeError):
        cosine(0.1).first = 1.0


@pytest.mark.parametrize("number", [0.1, 1, np.float64(0.1), np.float32(0.5)])
def test_numbers_become_constants(number):
    schedule = as_schedule(number)
    assert type(schedule) is Constant
    assert schedule(3) == number


def test_callables_that_fail_are_named_as_they_were_given():
    with pytest.raises(ArgumentError, match=r"radius\(0\) must be a finite number >= 0, got -1"):
        as_schedule(lambda k: -1, "radius").bind(3)(0)
    with pytest.raises(ArgumentError, match="radius must be a function of the iteration k"):
        as_schedule(lambda: 1, "radius")


def test_callables_are_wrapped():
    schedule = as_schedule(lambda k: np.float64(1 / (k + 1)))
    assert type(schedule) is Custom
    assert [schedule(k) for k in range(3)] == [1, 1 / 2, 1 / 3]
    assert schedule.bind(10) is schedule


def test_callables_with_a_plan_of_their_own_receive_it():
    class Linear:
        def __init__(self, total=None):
            self.total = total

        def __call__(self, k):
            return 1 - k / self.total

        def bind(self, total):
            return Linear(total)

    assert as_schedule(Linear()).bind(4)(1) == 0.75


@pytest.mark.parametrize("answer", [math.nan, math.inf, -1e-9, None, "fast", [1.0, 2.0], 1j])
def test_a_bad_answer_is_named(answer):
    schedule = as_schedule(lambda k: answer)
    with pytest.raises(ArgumentError, match=r"step_size\(17\)") as error:
        schedule(17)
    assert repr(answer) in str(error.value)


def test_a_zero_step_is_an_answer():
    assert as_schedule(lambda k: 0)(5) == 0.0


@pytest.mark.parametrize("value", [0, -0.1, math.nan, math.inf, True, "0.1", None, [0.1]])
def test_bad_step_sizes(value):
    with pytest.raises(ArgumentError, match="step_size"):
        as_schedule(value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: constant(0.0), "value must be > 0, got 0.0"),
        (lambda: cosine(0.0), "first must be > 0"),
        (lambda: cosine(math.nan), "first must be a finite number, got nan"),
        (lambda: cosine(0.1, -1e-3), "last must be >= 0, got -0.001"),
        (lambda: cosine(0.1, 0.2), "last must be <= first, got first=0.1, last=0.2"),
        (lambda: cosine(0.1, 0.0, total=0), "total must be an integer >= 1, got 0"),
        (lambda: cosine(0.1, 0.0, total=10.0), "total must be an integer >= 1, got 10.0"),
        (lambda: cosine(0.1).bind(-3), "total must be an integer >= 1, got -3"),
        (lambda: geometric(0.1), "needs a ratio, or the last step"),
        (lambda: geometric(0.1, 0.5, last=0.01), "needs a ratio, or the last step"),
        (lambda: geometric(0.1, 1.5), r"ratio must be in \(0, 1\], got 1.5"),
        (lambda: geometric(0.1, 0.0), "ratio must be > 0"),
        (lambda: geometric(0.1, 0.5, total=10), "total goes with last"),
        (lambda: geometric(0.1, last=0.0, total=10), "last must be > 0"),
        (lambda: geometric(0.1, last=0.2, total=10), "last must be <= first"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_repr_can_be_read_back():
    for schedule in (constant(0.5), cosine(0.5, 0.1, 3), geometric(0.5, 0.1)):
        names = {"Constant": Constant, "Cosine": Cosine, "Geometric": Geometric}
        assert eval(repr(schedule), names) == schedule


# ---- The random iterate --------------------------------------------------------------------------


@pytest.mark.parametrize("T", [1, 2, 9, 1000])
def test_iterate_probabilities_add_up(T):
    """The misprint (a sum over 1..T) would give (T+1)/(T-1)."""
    for schedule in (cosine(0.3), constant(0.3), geometric(1.0, 0.9)):
        p = iterate_probabilities(schedule, T)
        assert p.shape == (T,)
        assert p.sum() == pytest.approx(1.0, abs=T * EPS)
    np.testing.assert_allclose(iterate_probabilities(constant(0.3), T), 1 / T, rtol=T * EPS)


def test_iterate_probabilities_follow_the_steps():
    eta = cosine(0.3, 0.01, total=20)
    p = iterate_probabilities(eta, 20)
    np.testing.assert_allclose(p * eta.sum, [eta(k) for k in range(20)], rtol=32 * EPS)


def test_draw_iterate_has_that_distribution():
    T, draws = 4, 20_000
    eta = cosine(1.0)
    rng = np.random.default_rng(7)
    counts = np.bincount([draw_iterate(eta, T, rng) for _ in range(draws)], minlength=T)
    p = iterate_probabilities(eta, T)
    assert counts.size == T
    assert np.all(np.abs(counts / draws - p) < 4 * np.sqrt(p * (1 - p) / draws))


def test_draw_iterate_never_leaves_the_run():
    class Top:
        def random(self):
            return 1 - EPS / 2

    for T in (1, 3, 7, 1000):
        assert draw_iterate(constant(0.1), T, Top()) == T - 1


def test_no_iterate_without_a_step():
    with pytest.raises(ArgumentError, match="step_size must be > 0 somewhere in 3 iterations"):
        iterate_probabilities(as_schedule(lambda k: 0.0), 3)


def test_a_plan_is_filled_in_or_asked_for():
    assert planned(0.1, None) == constant(0.1)
    assert planned(cosine(0.4), 10) == cosine(0.4, 0.0, 10)
    assert planned(cosine(0.4, 0.0, 5), None) == cosine(0.4, 0.0, 5)
    with pytest.raises(ArgumentError, match=r"give iterations= or budget=: Cosine"):
        planned(cosine(0.4), None)
