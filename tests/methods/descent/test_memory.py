"""Window and Memory: what is remembered stays true as the point and its coordinates move."""

import numpy as np

import geoduel as gd
from geoduel.methods.descent.face import face_at
from geoduel.methods.descent.first_step import directions
from geoduel.methods.descent.memory import Memory, Stretch, Window, logistic, whitened
from geoduel.methods.frame import Frame


def test_a_duel_of_any_two_points_is_one_of_mirrored_ends():
    """e along the first less the second, z in their middle; a blur for half their distance."""
    z, e = np.array([1.0, -2.0]), np.array([0.6, 0.8])
    pair = Window.of_pair(z + 0.5 * e, z - 0.5 * e, -1, 0.3)
    expected = Window(e[None], z[None], np.zeros(1, int), np.array([-1.0]), np.array([0.15]))
    for found, wanted in zip(pair, expected, strict=True):
        assert np.allclose(found, wanted)
    turned = Window.of_pair(z - 0.5 * e, z + 0.5 * e, 1, 0.3)  # the same said the other way round
    assert np.allclose(turned.directions * turned.answers, pair.directions * pair.answers)


def remembered(d, k, g, H, precision):
    """Gradients of a quadratic at k centres, equally sure in all directions."""
    Z = np.random.default_rng(5).standard_normal((k, d))
    sure = np.full(k, precision)
    return Memory(Z, g + Z @ H, sure, sure)


def test_gradients_fade_where_a_fit_contradicts_them():
    g, H = np.array([0.3, -0.2, 0.1]), np.diag([1.0, 2.0, 0.5])
    memory = remembered(3, 4, g, H, 2.0)
    w, U = np.diag(H), np.eye(3)
    right, wrong = memory, memory
    for _ in range(10):
        right = right.judged(g, Stretch(w, U))
        wrong = wrong.judged(-g, Stretch(2 - w, U))
    assert right.misfit < 0.02
    assert np.array_equal(right.across, memory.across)
    assert (wrong.across < 0.01 * memory.across).all()
    assert (wrong.along < 0.01 * memory.along).all()


def test_gradients_are_covectors():
    """Seen from another point, and whitened: still g + Hz, with the same slopes."""
    rng = np.random.default_rng(6)
    g, p = rng.standard_normal((2, 3))
    memory = remembered(3, 5, g, np.eye(3), 1.0)
    stretch = Stretch(np.array([0.5, 2.0, 3.0]), np.linalg.qr(rng.standard_normal((3, 3)))[0])
    moved = memory.moved(p, stretch)
    L = stretch(np.eye(3))  # new coordinates are L times old ones, and the Hessian is L^-2 in them
    inverse = np.linalg.inv(L)
    assert np.allclose(moved.centres, (memory.centres - p) @ L)
    there = (g + p) @ inverse
    assert np.allclose(moved.gradients, there + moved.centres @ inverse @ inverse)


def test_a_remembered_gradient_has_the_precision_of_its_answers():
    """FAITH times the sum over its duels, across and along it."""
    d, g = 4, np.array([1.0, 0.0, 0.0, 0.0])
    E, s, one = np.eye(d), np.ones(d), Stretch(np.ones(d), np.eye(d))
    old = Window(E, np.zeros((1, d)), np.zeros(d, dtype=int), s, np.full(d, 0.5))
    memory = Memory.empty(d).append(old, g, one, 0.05, 10)
    assert np.array_equal(memory.gradients, g[None])
    # Three answers about slopes 0, which say most; one about a slope of two widths.
    assert memory.across[0] > 3 * memory.along[0] > 0
    both = Window(*(np.concatenate([a, a]) for a in old[:2]), np.repeat([0, 1], d), *(
        np.concatenate([a, a]) for a in old[3:]
    ))  # fmt: skip
    twice = Memory.empty(d).append(both, g, one, 0.05, 10)
    assert np.array_equal(twice.across, np.repeat(memory.across, 2))


def test_the_last_gradients_are_kept():
    d, one = 2, Stretch(np.ones(2), np.eye(2))
    memory = Memory.empty(d)
    for k in range(5):
        old = Window(np.eye(d), np.full((1, d), float(k)), np.zeros(d, int), np.ones(d), np.ones(d))
        memory = memory.append(old, np.ones(d), one, 0.05, 3)
    assert memory.centres[:, 0].tolist() == [2.0, 3.0, 4.0]
    assert np.array_equal(memory.gradients, 1 + memory.centres)


def random_window(d, n, k, seed=0):
    rng = np.random.default_rng(seed)
    E, Z = rng.standard_normal((n, d)), rng.standard_normal((k, d))
    return Window(E, Z, rng.integers(0, k, n), np.sign(rng.standard_normal(n)), np.ones(n))


def slopes(window, g, H):
    """What the answers are about: e_i'(g + H z_i)."""
    return np.vecdot(window.directions, g + window.centres[window.about] @ H)


def test_appended_duels_keep_their_centres():
    g, H = np.array([1.0, 2.0, 3.0]), np.diag([1.0, 2.0, 0.5])
    one, two = random_window(3, 7, 2), random_window(3, 5, 4, seed=1)
    both = one.append(two)
    expected = np.concatenate([slopes(one, g, H), slopes(two, g, H)])
    assert np.array_equal(slopes(both, g, H), expected)
    part = both.part(slice(-5, None))
    assert np.array_equal(slopes(part, g, H), slopes(two, g, H))
    assert len(part.centres) <= 4


def test_slopes_do_not_depend_on_the_point_they_are_seen_from():
    """Directions and centres are vectors: g at p is g + Hp, and both change with coordinates."""
    rng = np.random.default_rng(2)
    g, p = rng.standard_normal((2, 3))
    H = np.diag([1.0, 2.0, 0.5])
    L = Stretch(np.array([0.5, 2.0, 3.0]), np.linalg.qr(rng.standard_normal((3, 3)))[0])
    window, inverse = random_window(3, 7, 2), L.inverse(np.eye(3))
    there = slopes(window.moved(p, L), (g + H @ p) @ inverse, inverse @ H @ inverse)
    np.testing.assert_allclose(there, slopes(window, g, H), atol=1e-13)


def test_stretches_have_roots_and_inverses():
    H = Stretch(np.array([4.0, 0.25]), np.linalg.qr(np.random.default_rng(3).random((5, 2)))[0])
    x = np.random.default_rng(4).standard_normal((6, 5))
    dense = np.eye(5) + (H.U * (H.w - 1)) @ H.U.T
    np.testing.assert_allclose(H(x), x @ dense, atol=1e-14)
    np.testing.assert_allclose(H.root(H.root(x)), H(x), atol=1e-14)
    np.testing.assert_allclose(H.inverse(H(x)), x, atol=1e-14)


def test_along_a_face_nothing_points_out_of_it():
    box = gd.Box(np.zeros(3), np.ones(3))
    frame = Frame(np.array([1.0, 0.5, 0.5]), np.eye(3))
    face = face_at(box.manifold, frame, box, 0.01 * directions(np.random.default_rng(0), 3, 3))
    A = np.diag([1.0, 2.0, 3.0])
    E = np.array([[1.0, 0.0, 0.0], [0.1, 1.0, 0.0], [0.0, 0.6, 0.8]])
    window = Window(E, np.ones((1, 3)), np.zeros(3, int), np.array([1.0, -1.0, 1.0]), np.ones(3))
    along = window.along(face, A)
    assert along.answers.tolist() == [-1.0, 1.0]  # the first points out
    np.testing.assert_allclose((along.directions @ A.T)[:, 0], 0, atol=1e-9)
    np.testing.assert_allclose((along.centres @ A.T)[:, 0], 0, atol=1e-9)


def test_whitened_coordinates_are_mapped_back_by_the_metric():
    A, c = np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(whitened(A, c) @ A.T, c, atol=1e-15)


def test_logistic_is_the_derivative_of_the_likelihood():
    """Against differences; the second derivative is that of the concave part, at least."""
    margin, lapse, h = np.linspace(-5, 5, 21), 0.05, 1e-4

    def value(m):
        return np.log(lapse + (1 - 2 * lapse) / (1 + np.exp(-m)))

    rise, bend = logistic(margin, lapse)
    np.testing.assert_allclose(rise, (value(margin + h) - value(margin - h)) / (2 * h), atol=1e-8)
    second = (value(margin + h) - 2 * value(margin) + value(margin - h)) / h**2
    assert (bend > np.maximum(0, -second) - 1e-6).all()
    np.testing.assert_allclose(bend[second < 0], -second[second < 0], atol=2e-3)


def test_pooled_duels_have_the_mean_of_their_centres():
    rng = np.random.default_rng(0)
    E, Z = rng.standard_normal((2, 5, 3))
    duels = Window(E, Z, np.arange(5), np.ones(5), np.ones(5)).pooled(2)
    np.testing.assert_allclose(duels.centres, [Z[:2].mean(0), Z[2:4].mean(0), Z[4]])
    assert duels.about.tolist() == [0, 0, 1, 1, 2]
