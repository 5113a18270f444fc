"""Duels in a frame: which points are compared, and what equal points tell."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.duels import duels, mirrored_duels, projected_duels
from geoduel.methods.frame import Frame

SPHERE = gd.Sphere(3)
NORTH = Frame(np.array([0.0, 0.0, 1.0]), np.eye(2))


def answered(questions, answers):
    """The pairs that a generator asks, and what it makes of the answers."""
    x, y = next(questions)
    with pytest.raises(StopIteration) as stopped:
        questions.send(np.asarray(answers))
    return x, y, stopped.value.value


def test_mirrored_duels_are_between_the_ends_of_geodesics():
    c = np.array([[0.3, 0.0], [0.1, -0.2]])
    x, y, answers = answered(mirrored_duels(SPHERE, NORTH, c), [1, -1])
    np.testing.assert_array_equal(answers, [1.0, -1.0])
    np.testing.assert_allclose(SPHERE.dist(x, y), 2 * np.linalg.norm(c, axis=1))
    np.testing.assert_allclose(SPHERE.dist(x, NORTH.point), np.linalg.norm(c, axis=1))


def test_duels_are_between_the_points_with_the_coordinates_given():
    a, b = np.array([[0.3, 0.0]]), np.array([[0.0, 0.4]])
    x, y, _ = answered(duels(SPHERE, NORTH, a, b), [1])
    np.testing.assert_array_equal(x, NORTH.at(SPHERE, a))
    np.testing.assert_array_equal(y, NORTH.at(SPHERE, b))


def test_equal_points_tell_nothing_whatever_is_answered():
    a, b = np.array([[0.3, 0.0], [0.1, 0.1]]), np.array([[0.3, 0.0], [0.2, 0.1]])
    _, _, answers = answered(duels(SPHERE, NORTH, a, b), [1, 1])
    np.testing.assert_array_equal(answers, [0.0, 1.0])


def test_no_pairs_ask_nothing():
    with pytest.raises(StopIteration) as stopped:
        next(duels(SPHERE, NORTH, np.zeros((0, 2)), np.zeros((0, 2))))
    assert stopped.value.value.shape == (0,)


def test_projected_duels_tell_where_they_took_place():
    disc = gd.Ball(gd.Euclidean(2), np.zeros(2), 1.0)
    frame = Frame(np.array([0.9, 0.0]), np.eye(2))
    run = projected_duels(
        disc.manifold, frame, np.array([[0.6, 0.0]]), np.array([[-0.3, 0.0]]), disc
    )
    x, y = next(run)
    np.testing.assert_allclose(x, [[1.0, 0.0]])
    np.testing.assert_allclose(y, [[0.6, 0.0]])
    with pytest.raises(StopIteration) as stopped:
        run.send(np.array([-1.0]))
    answers, half, middle = stopped.value.value
    np.testing.assert_array_equal(answers, [-1.0])
    np.testing.assert_allclose(half, [[0.2, 0.0]])
    np.testing.assert_allclose(middle, [[-0.1, 0.0]])
