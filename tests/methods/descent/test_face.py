"""Faces of a domain, found by projection alone, and optima on the boundary."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.descent.duel_newton import Trials
from geoduel.methods.descent.face import NO_EXITS, Exits, face_at
from geoduel.methods.descent.first_step import directions
from geoduel.methods.descent.noise import lead
from geoduel.methods.frame import Frame


def face_of(domain, x, size=1e-3, seed=0):
    rng, d = np.random.default_rng(seed), domain.manifold.dim
    frame = Frame(np.asarray(x, float), np.eye(d))
    return face_at(domain.manifold, frame, domain, size * directions(rng, d, d))


def test_inside_there_is_no_face():
    face = face_of(gd.Box(np.zeros(3), np.ones(3)), [0.5, 0.2, 0.9])
    assert face.normals.shape == face.edges.shape == (0, 3)
    np.testing.assert_array_equal(face.along(np.diag([1.0, 2.0, 3.0])), np.eye(3))


@pytest.mark.parametrize("tight", [1, 2, 4, 7])
def test_a_box_has_the_axes_of_its_tight_sides_as_normals_and_edges(tight):
    x = np.full(7, 0.5)
    x[:tight] = 1.0
    face = face_of(gd.Box(np.zeros(7), np.ones(7)), x)
    projector = face.normals.T @ face.normals
    np.testing.assert_allclose(
        projector, np.diag(np.r_[np.ones(tight), np.zeros(7 - tight)]), atol=1e-9
    )
    # Where many sides meet some edges leave two of them, none leads out.
    assert np.all(face.edges[:, :tight] <= 1e-9)
    np.testing.assert_allclose(face.edges[:, tight:], 0, atol=1e-9)
    # No duel is lost to a vertex, and T keeps to the face in any metric.
    A = np.random.default_rng(1).standard_normal((7, 7))
    T = face.along(A)
    assert T.shape == (7, 7 - tight)
    np.testing.assert_allclose(T.T @ T, np.eye(7 - tight), atol=1e-12)
    np.testing.assert_allclose(face.normals @ A @ T, 0, atol=1e-12)


@pytest.mark.parametrize("manifold", [gd.Euclidean(4), gd.Sphere(5), gd.Hyperbolic(4)], ids=str)
def test_the_normal_of_a_ball_is_the_radius_and_the_edge_leads_to_the_centre(manifold):
    rng, d = np.random.default_rng(2), manifold.dim
    centre = manifold.random_point(rng)
    x = manifold.exp(centre, 0.7 * manifold.unit_tangent(rng, centre))
    frame = Frame(x, np.eye(d))
    face = face_at(manifold, frame, gd.Ball(manifold, centre, 0.7), 1e-3 * directions(rng, d, d))
    inwards = frame.coordinates(manifold, centre) / 0.7
    assert len(face.normals) == 1
    # Across a length of 1e-3 the boundary turns by about as much.
    np.testing.assert_allclose(abs(face.normals @ inwards), 1, atol=1e-5)
    np.testing.assert_allclose(face.edges @ inwards, 1, atol=1e-5)


def test_an_equation_is_a_face_without_a_way_back():
    x = np.array([0.2, 0.3, 0.5])
    face = face_of(gd.ProbabilitySimplex(3), x)
    np.testing.assert_allclose(abs(face.normals), np.full((1, 3), 3**-0.5), atol=1e-9)
    assert face.edges.shape == (0, 3)


def bowl(seed, d, condition=10.0):
    """A quadratic in R^d, with what it needs to be checked."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    H = (Q * condition ** rng.random(d)) @ Q.T
    goal = rng.standard_normal(d)
    return lambda x: float(0.5 * (x - goal) @ H @ (x - goal)), lambda x: H @ (x - goal), goal


DOMAINS = {
    "ball": lambda goal: gd.Ball(gd.Euclidean(6), np.zeros(6), 0.6 * np.linalg.norm(goal)),
    "box": lambda goal: gd.Box(np.full(6, -0.5), np.full(6, 0.5)),
    "half-space": lambda goal: gd.Box(
        np.full(6, -np.inf), np.r_[goal[0] - 0.3, np.full(5, np.inf)]
    ),
    "simplex": lambda goal: gd.ProbabilitySimplex(6),
    "inside": lambda goal: gd.Ball(gd.Euclidean(6), np.zeros(6), 1.1 * np.linalg.norm(goal)),
}


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_optima_on_the_boundary(name, seed):
    """Nine digits; 95 to 350 duels were measured, inside the ball 300 to 400."""
    f, gradient, goal = bowl(seed, 6)
    domain = DOMAINS[name](goal)
    start = domain.project(0.3 * np.random.default_rng(seed).standard_normal(6))
    result = gd.minimize(
        gd.from_objective(f), domain.manifold, start, domain=domain, budget=900, rng=seed
    )
    # Stationary: a projected gradient step stays. Gaps of 1e-9 leave steps of a few 1e-5.
    assert domain.contains(result.x)
    step = domain.project(result.x - gradient(result.x) / 10) - result.x
    assert np.linalg.norm(step) < 1e-4


def test_an_optimum_at_a_vertex_ends_the_run():
    box = gd.Box(-np.ones(3), np.ones(3))
    result = gd.minimize(
        gd.from_objective(lambda x: float(np.sum((x - 2) ** 2))), box.manifold, np.zeros(3),
        domain=box, budget=600, rng=0,
    )  # fmt: skip
    assert result.stop_reason == "resolution"
    np.testing.assert_allclose(result.x, 1, atol=1e-7)


def test_a_constraint_that_held_by_mistake_is_left():
    """From a vertex, with the optimum inside."""
    box = gd.Box(np.zeros(4), np.ones(4))
    goal = np.array([0.4, 0.5, 0.6, 0.7])
    result = gd.minimize(
        gd.from_objective(lambda x: float(np.sum((x - goal) ** 2))), box.manifold, np.ones(4),
        domain=box, budget=300, rng=1, initial_step=5.0,
    )  # fmt: skip
    np.testing.assert_allclose(result.x, goal, atol=1e-5)


def test_a_step_that_often_lost_needs_as_many_wins_as_two_leads_less_one():
    """Of two steps the first has won, and one has lost a fourth time; a lead of three decides."""
    lost = Trials(np.eye(2), 0.1 * np.eye(2), np.array([2.0, -2.0]), np.array([0, 1]), 3)
    back, left = lost.decided(np.array([1.0, -1.0]))
    np.testing.assert_array_equal(back, [0.1, 0.0])
    np.testing.assert_array_equal(left.ahead, [-2.0])


def test_tallies_are_found_again_by_direction():
    exits = Exits(np.eye(3)[:2], np.array([2.0, -1.0]))
    turned = np.array([0.1, 0.995, 0.0])
    np.testing.assert_array_equal(
        exits.at(np.stack([turned, np.eye(3)[0], np.eye(3)[2]])), [-1, 2, 0]
    )
    np.testing.assert_array_equal(exits.at(np.zeros((0, 3))), [])
    np.testing.assert_array_equal(NO_EXITS.at(np.eye(3)), np.zeros(3))


@pytest.mark.parametrize("p", [0.1, 0.2, 0.3, 0.45])
def test_a_lead_is_wrong_once_in_twenty(p):
    """Of a walk that steps back with probability p, (p/(1-p))^n reach -n before n, about."""
    odds = p / (1 - p)
    assert odds ** lead(p) <= 1 / 19 < odds ** (lead(p) - 1)


def test_a_corner_is_kept_although_answers_are_wrong():
    """Ten sides meet there, and every tenth answer would let one of them go.

    Of 336 runs 16 had lost a side when the budget ended, and had not found it again.
    """
    box = gd.Box(np.zeros(10), np.ones(10))
    oracle = gd.from_objective(lambda x: np.sum((x - 1.5) ** 2, axis=-1), vectorized=True)
    ends = [
        gd.minimize(
            gd.Noisy(oracle, flip=0.1, rng=seed), box.manifold, np.full(10, 0.3),
            domain=box, budget=800, rng=seed,
        ).x
        for seed in range(5)
    ]  # fmt: skip
    assert np.mean(np.max(np.abs(np.array(ends) - 1), axis=1) < 2e-2) >= 0.8


@pytest.mark.parametrize("corner", [[1.0, 0.5], [1.0, 1.0]])
def test_a_face_does_not_depend_on_the_length_of_the_probes(corner):
    """The square looks alike at all lengths, up to rounding of the points: 1e-16 of 1e-7."""
    frame = Frame(np.array(corner), np.eye(2))
    square = gd.Box(np.zeros(2), np.ones(2))
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])
    near, nearer = (face_at(gd.Euclidean(2), frame, square, r * turn) for r in (1e-2, 1e-7))
    assert len(near.normals) == (2 if corner[1] == 1 else 1)
    np.testing.assert_allclose(nearer.normals, near.normals, atol=1e-7)
    np.testing.assert_allclose(nearer.edges, near.edges, atol=1e-7)


def test_a_side_that_probes_leave_by_little_counts_as_much_as_another():
    """Of a corner whose probes lie nearly along one side, both sides are normals."""
    corner, square = Frame(np.ones(2), np.eye(2)), gd.Box(np.zeros(2), np.ones(2))
    probes = 1e-3 * np.array([[1.0, 0.06], [-1.0, 0.06]])
    face = face_at(gd.Euclidean(2), corner, square, probes)
    np.testing.assert_allclose(face.normals.T @ face.normals, np.eye(2), atol=1e-9)
