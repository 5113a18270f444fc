"""RRDNGD: phases, restarts from the best point, and a squared distance that halves a phase."""

from itertools import pairwise

import numpy as np
import pytest

import geoduel as gd
from geoduel import theory
from geoduel.errors import ArgumentError
from geoduel.methods.paper import RDNGD


def test_one_phase_is_rdngd_with_a_constant_step():
    oracle = gd.from_objective(lambda x: float(x @ x))
    same = {"x0": np.ones(3), "rng": 5, "iterations": 30}
    a = gd.minimize(
        oracle,
        gd.Euclidean(3),
        method="rrdngd",
        phase_length=30,
        step_size=0.1,
        radius=1e-6,
        **same,
    )
    b = gd.minimize(oracle, gd.Euclidean(3), method=RDNGD(step_size=0.1, radius=1e-6), **same)
    assert np.array_equal(a.x, b.x)
    assert np.array_equal(a.x_last, b.x_last)


def test_each_phase_starts_from_the_best_point_and_shrinks_by_sqrt_two():
    plane = gd.Euclidean(2)
    steps = []

    def look(p):
        k = p.state.phase
        steps.append((k, p.state.inner.k, p.point, p.x))

    gd.minimize(
        gd.from_objective(lambda x: float(x @ x)),
        plane,
        np.array([3.0, 4.0]),
        method="rrdngd",
        phase_length=10,
        phases=4,
        step_size=0.8,
        rng=0,
        callback=look,
    )
    assert [k for k, *_ in steps] == [k for k in range(4) for _ in range(10)]
    for before, after in pairwise(steps):
        k, inner, point, _ = after
        start = before[3] if inner == 1 else before[2]  # x̂ of the last phase, or the last iterate
        assert np.linalg.norm(point - start) == pytest.approx(0.8 * 0.5 ** (k / 2), rel=1e-9)


@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")  # the optimum is reached
def test_the_theorem_halves_the_squared_distance_each_phase():
    """Theorem 3.10 on f = x²/2, X = [-2, 2], as worked out in the notes: t = 203 a phase."""
    rule = theory.strongly_convex(
        L=1.0, alpha=1.0, D=1.0, eps=1e-6, kappa=0.0, diameter=4.0, d=1, resolution=0.0
    )
    line = gd.Euclidean(1)
    phases = 8
    gaps = []

    def look(p):
        if p.state.inner.k == rule.phase_length:
            gaps.append(0.5 * float(p.x[0]) ** 2)

    gd.minimize(
        gd.from_objective(lambda x: float(x[0] ** 2) / 2),
        line,
        np.array([1.0]),
        method="rrdngd",
        domain=gd.Box(np.array([-2.0]), np.array([2.0])),
        phase_length=rule.phase_length,
        phases=phases,
        step_size=rule.step_size,
        radius=rule.radius,
        rng=1,
        callback=look,
    )
    assert rule.phase_length == 203
    assert len(gaps) == phases
    # Phase k ends with expected gap ε_k = α D / 2^{k+2}; measured gaps lie far below it.
    assert all(gap <= 1.0 / 2 ** (k + 2) for k, gap in enumerate(gaps))


def test_it_converges_linearly_on_spd():
    """The Karcher mean of two matrices: its midpoint in closed form."""
    spd = gd.SPD(2)
    a, b = np.diag([np.e**2, 1.0]), np.eye(2)
    result = gd.minimize(
        gd.from_objective(lambda x: float(spd.dist(x, a) ** 2 + spd.dist(x, b) ** 2)),
        spd,
        (a + b) / 2,
        method="rrdngd",
        phase_length=25,
        phases=26,
        step_size=0.5,
        rng=0,
    )
    assert spd.dist(result.x, np.diag([np.e, 1.0])) < 1e-3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"phase_length": 0, "phases": 1}, "phase_length must be"),
        ({"phase_length": 5, "phases": 0}, "phases must be"),
        ({"phase_length": 5}, "phases=, iterations= and budget="),
        ({"phase_length": 5, "phases": 2, "batch": -1}, "batch must be"),
        ({"phase_length": 5, "phases": 2, "step_size": 0}, "must be > 0"),
    ],
)
def test_bad_input_is_named(options, words):
    with pytest.raises(ArgumentError, match=words):
        gd.minimize(
            gd.from_objective(lambda x: 0.0),
            gd.Euclidean(1),
            np.zeros(1),
            method="rrdngd",
            **options,
        )
