"""Nelder-Mead: the order is kept by few duels, and quadratics of few variables are solved."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.rivals.nelder_mead import NelderMead


@pytest.mark.parametrize(("d", "condition"), [(1, 1), (2, 100), (4, 100)])
def test_quadratics_of_few_variables(d, condition, bowl):
    _, rows = bowl(d, condition).run("nelder-mead", 300 * d)
    assert rows[-1, 2] < 1e-12 * rows[0, 2]


def test_the_simplex_is_sorted_and_never_gets_worse(bowl):
    f, d = bowl(3, 30), 3
    worst = []

    def see(progress):
        values = [float(f(x)) for x in progress.state.vertices]
        assert len(values) in (1, d + 1)
        assert values == sorted(values)
        worst.append(values[-1])

    gd.minimize(
        gd.from_objective(f), gd.Euclidean(d), f.x0, method="nelder-mead", budget=300, rng=0,
        callback=see,
    )  # fmt: skip
    assert worst[-1] < 1e-3 * worst[0]


def test_an_iteration_takes_few_duels(bowl):
    result, _ = bowl(8, 10).run("nelder-mead", 3000)
    assert result.duels / result.iterations < 4 + np.log2(8)


def test_a_turn_of_the_axes_turns_the_run():
    """On a sphere, what a rotation does to f and the start it does to the result."""
    sphere, goal = gd.Sphere(3), np.array([0.0, 0.6, 0.8])
    result = gd.minimize(
        gd.from_objective(lambda x: -float(x @ goal)), sphere, np.array([1.0, 0.0, 0.0]),
        method="nelder-mead", budget=300, rng=0,
    )  # fmt: skip
    assert sphere.dist(result.x, goal) < 1e-6  # f is flat to √eps around its least value


@pytest.mark.parametrize(
    ("answers", "place"),
    [
        ((-1, -1), 1 + 2 / 3),  # better than the best: expanded, in multiples of the reflection
        ((1, 1, -1, -1), 0.75 - 1 / 6),  # better than the worst alone: contracted outside
        ((1, 1, 1, -1), -(0.75 - 1 / 6)),  # no better: contracted inside
        ((0, 0, 0, -1), -(0.75 - 1 / 6)),  # as good is no better
    ],
)
def test_the_worst_vertex_goes_where_gao_and_han_send_it(answers, place):
    """Factors for d = 3, along the line from the worst vertex through the centre of the rest."""
    space, method = gd.Euclidean(3), NelderMead()
    rest = np.vstack([np.zeros(3), np.eye(3)[:2]])
    worst = np.array([0.0, 0.0, 2.0])
    state = method.start(space, rest[0], np.random.default_rng(0))
    steps = method.step(space, state._replace(vertices=(*rest, worst)), np.random.default_rng(0))
    asked = steps.send(None)
    for answer in answers[:-1]:
        asked = steps.send(answer)
    centre = rest.mean(axis=0)
    np.testing.assert_allclose(asked[0], centre + place * (centre - worst), atol=1e-15)


def test_vertices_half_a_world_apart_begin_anew():
    sphere = gd.Sphere(3)
    method = NelderMead()
    north = np.array([0.0, 0.0, 1.0])
    state = method.start(sphere, north, np.random.default_rng(0))
    state = state._replace(vertices=(north, -north, np.array([1.0, 0.0, 0.0])))
    steps, answer = method.step(sphere, state, np.random.default_rng(0)), None
    try:
        while True:
            steps.send(answer)
            answer = -1
    except StopIteration as done:
        state = done.value
    assert len(state.vertices) == 3
    assert max(sphere.dist(x, y) for x in state.vertices for y in state.vertices) < 2
