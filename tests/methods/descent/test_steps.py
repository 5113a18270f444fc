"""Steps of DuelCSA on many problems: each asks the duels it would ask alone, up to rounding."""

import numpy as np
import pytest
from samples.together import runs

import geoduel as gd
from geoduel.methods.descent.duel_csa import CSAState

RNG = np.random.default_rng


def agree(together, alone, eps=1e-6):
    for many, one in zip(together, alone, strict=True):
        assert isinstance(many, CSAState)
        for name in ("point", "best", "sigma", "path", "to_mean", "draws"):
            np.testing.assert_allclose(
                getattr(many, name), getattr(one, name), rtol=eps, atol=eps, err_msg=name
            )
        for a, b in zip(many.metric, one.metric, strict=True):
            np.testing.assert_allclose(a, b, rtol=eps, atol=eps)
        assert many.ties.level == one.ties.level
        ties = [each.ties._replace(level=0) for each in (many, one)]
        np.testing.assert_allclose(*ties, rtol=eps, atol=eps)
        assert many.answering.total == one.answering.total
        assert (many.k, many.stop) == (one.k, one.stop)


@pytest.mark.parametrize(
    "manifold",
    [
        *(gd.Euclidean(1), gd.Euclidean(7), gd.Sphere(4), gd.SPD(2), gd.Rotations(3)),
        *(gd.Hyperbolic(2), gd.Simplex(4)),
    ],
    ids=repr,
)
def test_the_same_states(manifold):
    rng = RNG(1)
    goal = manifold.random_point(rng)
    x0 = manifold.random_point(rng, batch=(3,))
    method = gd.DuelCSA()
    agree(*runs(method, manifold, lambda x: manifold.dist(x, goal) ** 2, x0, steps=40))


@pytest.mark.parametrize("settings", [{}, {"min_radius": 0.1}, {"parallel": 3}])
def test_the_same_states_where_answers_are_wrong(settings):
    """Probes are then widened, asked again more often, and the mean of points is returned."""
    scales = np.array([1.0, 5.0, 25.0] * 3)
    x0 = RNG(2).standard_normal((4, 9))
    together, alone = runs(
        gd.DuelCSA(**settings), gd.Euclidean(9), lambda x: x**2 @ scales, x0, flip=0.4, steps=120
    )
    agree(together, alone)
    assert any(state.answering.widen > 1 for state in together)
    assert any(np.any(state.to_mean) for state in together)


@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")
def test_the_same_states_where_answers_tie():
    """Then probes are widened, and the widest ones are asked about."""
    x0 = RNG(3).standard_normal((4, 5))
    # A state in which a problem has ended is its last one.
    together, alone = runs(
        gd.DuelCSA(), gd.Euclidean(5), lambda x: np.floor(8 * np.vecdot(x, x)), x0, steps=110
    )
    agree(together, alone)
    assert any(state.ties.widen > 100 for state in together)
    assert any(state.ties.level is False for state in together)


def test_a_run_to_infinity_ends_without_the_others():
    """One of three problems has no minimum, and its steps grow until no number holds them."""
    slopes = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])

    def f(x):
        return np.vecdot(x, slopes) + np.vecdot(x, x) * (slopes[:, 0] == 0)

    plane = gd.Euclidean(2)
    oracle = gd.from_objective(f, vectorized=True)
    x0 = np.ones((3, 2), dtype=np.float32)
    with pytest.warns(gd.errors.DivergenceWarning):
        result = gd.minimize(oracle, plane, x0, method="duel-csa", budget=2_000, rng=0)
    assert result.each.stop_reason[0] == "diverges"
    assert np.isfinite(result.x).all()
    assert np.linalg.norm(result.x[1:], axis=1).max() < 1e-3
