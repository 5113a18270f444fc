"""Sets known by a test: points end inside, on the way from a point of the set."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, EmptySetError

PLANE = gd.Euclidean(2)


def test_points_outside_end_where_the_way_from_inside_leaves_the_set():
    disc = gd.Where(PLANE, lambda x: x @ x <= 1, inside=[0, 0])
    y = np.random.default_rng(0).normal(scale=3, size=(4, 5, 2))
    z = disc.project(y)
    size = np.linalg.norm(y, axis=-1, keepdims=True)
    np.testing.assert_allclose(z, np.where(size > 1, y / size, y), atol=1e-14)
    assert disc.contains(z).all()
    np.testing.assert_array_equal(disc.contains(y), size[..., 0] <= 1)
    np.testing.assert_allclose(disc.violation(y), np.maximum(size[..., 0] - 1, 0), atol=1e-7)
    hair = np.array([1 + 1e-12, 0.0])
    assert disc.violation(hair) > 1e-8


def test_points_inside_stay_to_the_last_bit():
    disc = gd.Where(PLANE, lambda x: x @ x <= 1, inside=[0, 0])
    y = np.random.default_rng(1).uniform(-0.7, 0.7, (20, 2))
    np.testing.assert_array_equal(disc.project(y), y)
    assert disc.project(y[:0]).shape == (0, 2)


def test_from_the_antipode_of_the_point_inside_there_is_no_way():
    north = gd.Where(gd.Sphere(3), lambda x: x[2] > 0, inside=[0, 0, 1])
    np.testing.assert_array_equal(north.project(np.array([0.0, 0, -1])), [0, 0, 1])


def test_a_point_inside_is_found():
    """The middle first, then random points."""
    assert (gd.Where(PLANE, lambda x: x[0] == 0).inside == 0).all()
    assert gd.Where(PLANE, lambda x: x[0] > 1).inside[0] > 1
    with pytest.raises(EmptySetError, match="false of 1000 random points"):
        gd.Where(PLANE, lambda x: x[0] > 1e9)


def test_the_test_is_given_copies_by_their_names():
    """It may write to what it is given."""
    place = gd.space(gain=(-12, 12), mix=gd.Simplex(2)).manifold

    def test(p):
        holds = p["gain"] < 3 and p["mix"][0] > 0.2
        p["mix"][:] = 0
        return bool(holds)

    some = gd.Where(place, test, inside={"gain": 0, "mix": [0.5, 0.5]})
    z = place.unpack(some.project(place.pack({"gain": 12, "mix": [0.5, 0.5]})))
    assert z["gain"] == pytest.approx(3)
    assert (z["mix"] == 0.5).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ((gd.Euclidean, lambda x: True), "manifold must be a Manifold"),
        ((PLANE, 3), "test must be a function of a point"),
        ((PLANE, lambda x: 1.0), "must return a bool, it returned 1.0"),
        ((PLANE, lambda x: False, [0, 0]), "inside, must be in the domain"),
        ((PLANE, lambda x: True, [0, 0, 0]), "inside has shape"),
    ],
)
def test_bad_tests_are_refused(settings, words):
    with pytest.raises(ArgumentError, match=words):
        gd.Where(*settings)


def test_there_is_no_linear_minimiser():
    half = gd.Where(PLANE, lambda x: x[0] > 0, inside=[1, 0])
    with pytest.raises(ArgumentError, match="known by a test alone; take a method that projects"):
        half.linear_minimizer(np.ones(2), np.ones(2))
    assert not half.has_nearest
    assert half.diameter == np.inf


def test_it_works_on_torch():
    torch = pytest.importorskip("torch")
    half = gd.Where(PLANE, lambda x: bool(x[0] >= 0), inside=[1, 0])
    z = half.project(torch.tensor([[-1.0, 1.0], [2.0, 2.0]]))
    assert z.dtype == torch.float32
    np.testing.assert_allclose(z.numpy(), [[0, 0.5], [2, 2]], atol=1e-6)


HALF = (gd.Euclidean(6), lambda x: (np.arange(1, 7) * x * x).sum(), lambda x: bool(x.sum() >= 1))
CAP = (gd.Sphere(3), lambda x: -(x @ [0.6, 0, 0.8]), lambda x: bool(x[2] >= 0.9))
START = {6: [1, 1, 1, 0, 0, 0], 3: [0, 0, 1]}
LEAST = {6: 1 / (1 / np.arange(1, 7)).sum(), 3: -(0.6 * np.sqrt(1 - 0.81) + 0.8 * 0.9)}


@pytest.mark.parametrize("problem", [HALF, CAP], ids=["half-space", "cap"])
@pytest.mark.parametrize(
    ("method", "gap"), [("auto", 1e-7), ("duel-csa", 1e-7), ("rdngd", 0.1), ("block", 5e-3)]
)
def test_methods_find_the_optimum_of_a_convex_set(problem, method, gap):
    """Seen from inside, all of it; the answers lie in the set to the last bit."""
    manifold, f, test = problem
    n = manifold.point_shape[0]
    oracle = gd.from_objective(f)
    result = gd.minimize(oracle, manifold, START[n], domain=test, method=method, budget=600, rng=0)
    assert test(result.x)
    assert -1e-12 < f(result.x) - LEAST[n] < gap


@pytest.mark.parametrize("method", ["stp", "order-cd", "nelder-mead", "one-plus-one-cma"])
def test_methods_that_do_not_project_ask_about_feasible_points_alone(method):
    asked = []

    def oracle(a, b):
        asked.extend([a, b])
        return 1 if a @ a > b @ b else -1

    half = lambda x: bool(x.sum() >= 1)  # noqa: E731
    result = gd.minimize(oracle, PLANE, [2, 1], domain=half, method=method, budget=300, rng=0)
    assert all(map(half, asked))
    assert result.x.sum() >= 1 - 1e-9  # OrderCD returns an end that it has not asked about
    assert result.x @ result.x < 1.2


def test_methods_that_cannot_say_so():
    half = lambda x: bool(x.sum() >= 1)  # noqa: E731
    oracle = gd.from_objective(lambda x: x @ x)
    with pytest.raises(ArgumentError, match="OrderACD takes no domain"):
        gd.minimize(oracle, PLANE, [2, 1], domain=half, method="order-acd", budget=10)
    with pytest.raises(ArgumentError, match="linear_minimizer"):
        gd.minimize(oracle, PLANE, [2, 1], domain=half, method="rdfw", budget=10)
    with pytest.raises(ArgumentError, match="x0, or inside, must be in the domain"):
        gd.minimize(oracle, PLANE, [0, 0], domain=half)
