"""OrderRCD: the rate of coordinate descent with exact line searches."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.methods.rivals.order_cd import OrderCD


def test_the_gap_falls_at_least_as_the_theorem_says(bowl):
    """E f(x_k) <= (1 - μ/(d L_max))^k f(x_0); L_max is the largest H_ii."""
    f, d = bowl(6, 30), 6
    ratio = 1 - f.mu / (d * f.H.diagonal().max())
    rows = [f.run("order-cd", 2000, seed)[1] for seed in range(3)]
    for k in (30, 60, 120):
        assert np.mean([r[k, 2] for r in rows]) <= ratio**k * f(f.x0)


def test_a_sum_of_one_variable_each_takes_one_search_each(bowl):
    f = bowl(4)._replace(H=np.diag([1.0, 1e2, 1e4, 1e6]))  # conditions do not matter then
    _, rows = f.run("order-cd", 300, accuracy=1e-3)
    assert rows[-1, 2] < 1e-5 * rows[0, 2]


def test_a_line_search_leads_upwards_by_no_more_than_its_accuracy(bowl):
    _, rows = bowl(5, 100).run("order-cd", 1000)
    slack = 1e-4 * rows[:-1, 2]  # a hundredth of the bracket, squared
    assert (np.diff(rows[:, 2]) <= slack).all()


@pytest.mark.parametrize("accuracy", [0.0, -1.0, np.nan])
def test_the_accuracy_is_positive(accuracy):
    with pytest.raises(ArgumentError, match="accuracy must be"):
        OrderCD(accuracy=accuracy)


@pytest.mark.parametrize(
    ("manifold", "domain"),
    [
        (gd.Euclidean(2), gd.Ball(gd.Euclidean(2), np.zeros(2), 1.0)),
        (gd.Euclidean(3), gd.Box([0.0, 1.0, 0.0], [0.0, 1.0, 1.0])),  # two coordinates are fixed
        (gd.Sphere(3), gd.Ball(gd.Sphere(3), np.array([0.0, 0.6, 0.8]), 0.5)),
    ],
    ids=str,
)
def test_each_step_ends_in_the_domain(manifold, domain):
    """Wherever the best point of its bracket is: here the middle of the bracket is outside."""
    goal = manifold.random_point(np.random.default_rng(0))
    points = []
    gd.minimize(
        gd.from_objective(lambda x: float(x @ goal)), manifold, method="order-cd", domain=domain,
        budget=150, rng=1, accuracy=0.3, callback=lambda p: points.append(p.x) and None,
    )  # fmt: skip
    assert len(points) >= 10
    assert all(domain.contains(x) for x in points)
