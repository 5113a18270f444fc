"""RDFW: it stays feasible, needs a linear minimiser, and follows the theorem's rates."""

import numpy as np
import pytest

import geoduel as gd
from geoduel import theory
from geoduel.errors import ArgumentError


def disc_run(iterations, seed, **options):
    plane = gd.Euclidean(2)
    disc = gd.Ball(plane, np.zeros(2), 1.0)
    target = np.array([0.4, 0.0])
    f = lambda x: 0.5 * np.sum((x - target) ** 2, axis=-1)  # noqa: E731
    result = gd.minimize(
        gd.from_objective(f, vectorized=True),
        plane,
        np.array([-1.0, 0.0]),
        method="rdfw",
        domain=disc,
        iterations=iterations,
        rng=seed,
        **options,
    )
    return result, float(f(result.x)), disc


def test_the_way_to_the_vertex_is_shared_as_the_algorithm_says():
    """By 2/(k + 3) of it: on a line the gap is 4/((k + 1)(k + 2)) after k steps."""
    line, points = gd.Euclidean(1), []
    gd.minimize(
        gd.from_objective(lambda x: x[0]), line, np.ones(1), method="rdfw",
        domain=gd.Ball(line, np.zeros(1), 1.0), iterations=6, rng=0,
        callback=lambda p: points.append(p.point[0]),
    )  # fmt: skip
    k = np.arange(1, 7)
    np.testing.assert_allclose(np.add(points, 1), 4 / ((k + 1) * (k + 2)))


def test_every_iterate_is_feasible_on_an_spd_interval():
    spd = gd.SPD(2)
    a = np.array([[2.0, 0.6], [0.6, 1.0]])
    b = np.array([[0.7, -0.2], [-0.2, 3.0]])
    upper, lower = (a + b) / 2, 2 * np.linalg.inv(np.linalg.inv(a) + np.linalg.inv(b))
    interval = gd.SPDInterval(lower, upper)
    f = lambda x: float(spd.dist(x, a) ** 2 + spd.dist(x, b) ** 2)  # noqa: E731
    inside = []
    result = gd.minimize(
        gd.from_objective(f),
        spd,
        upper,
        method="rdfw",
        domain=interval,
        iterations=150,
        batch=lambda k: 1 + k // 5,
        rng=0,
        callback=lambda p: inside.append(bool(interval.contains(p.point))) and None,
    )
    assert len(inside) == 150
    assert all(inside)
    mean = spd.exp(a, spd.log(a, b) / 2)  # the Karcher mean of two, in closed form
    assert spd.dist(result.x, mean) < 0.1 * spd.dist(upper, mean)


def test_theorem_4_1_on_the_disc():
    """Worked out in the notes: L = 1, eps = 1 gives T = 30 and a gap far below eps."""
    rule = theory.frank_wolfe(L=1.0, eps=1.0, diameter=2.0, d=2, gap=0.98, rule="printed")
    gaps = [
        disc_run(rule.iterations, seed, batch=rule.batch, radius=rule.radius)[1]
        for seed in range(5)
    ]
    assert np.mean(gaps) <= 1.0  # the theorem
    assert np.mean(gaps) < 0.02  # what happens


def test_duels_are_the_sum_of_the_batches():
    result, *_ = disc_run(20, 0, batch=lambda k: k + 1)
    assert result.duels == sum(range(1, 21))


def test_the_gap_falls_like_one_over_t():
    """Theorem 4.1: with growing batches, slope of log gap against log T at most -1."""
    horizons = [10, 20, 40, 80]
    gaps = [
        np.mean([disc_run(T, s, batch=lambda k: 20 * (k + 3))[1] for s in range(8)])
        for T in horizons
    ]
    slope = np.polyfit(np.log(horizons), np.log(gaps), 1)[0]
    assert slope <= -1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch": 0}, "batch must be"),
        ({"batch": lambda k: 0}, r"batch\(0\) must be"),
        ({"radius": -1.0}, "must be > 0"),
    ],
)
def test_bad_input_is_named(options, words):
    with pytest.raises(ArgumentError, match=words):
        disc_run(5, 0, **options)


def test_without_a_domain():
    with pytest.raises(ArgumentError, match="domain="):
        gd.minimize(
            gd.from_objective(lambda x: 0.0),
            gd.Euclidean(1),
            np.zeros(1),
            method="rdfw",
            iterations=1,
        )


def test_a_set_without_linear_minimisers_is_refused_before_any_duel():
    half = gd.Where(gd.Euclidean(2), lambda x: bool(x[0] > 0), inside=[1.0, 0.0])
    asked = []
    with pytest.raises(ArgumentError, match="take a method that projects"):
        gd.minimize(lambda x, y: asked.append(x) or 1, half.manifold, method="rdfw", domain=half)
    assert not asked
