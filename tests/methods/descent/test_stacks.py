"""Stacks of matrices: what they give each problem is what it gets alone, up to rounding."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.descent.fit import fit
from geoduel.methods.descent.memory import Memory, Stretch, Window
from geoduel.methods.descent.stacks import Frames, Quadratics, Seen, fits
from geoduel.methods.frame import Frame

RNG = np.random.default_rng
MANIFOLDS = [
    gd.Euclidean(3),
    gd.Sphere(4),
    gd.SPD(2),
    gd.SPD(2, metric="bures-wasserstein"),
    gd.Rotations(3),
    gd.Hyperbolic(3),
    gd.Simplex(4),
    gd.Product(gd.Sphere(3), gd.Euclidean(2)),
]


def close(a, b, eps=1e-10):
    np.testing.assert_allclose(a, b, rtol=eps, atol=eps)


def a_window(rng, d, blocks):
    """Duels of blocks with 1 to d + 2 of them, and a tie among them."""
    window = Window.empty(d)
    for _ in range(blocks):
        k = int(rng.integers(1, d + 3))
        s = rng.choice([-1.0, 0.0, 1.0], k)
        new = Window(
            rng.standard_normal((k, d)), rng.standard_normal((1, d)), np.zeros(k, int), s,
            rng.uniform(0.2, 0.5, k),
        )  # fmt: skip
        window = window.append(new)
    return window


def a_memory(rng, d, count):
    return Memory(
        rng.standard_normal((count, d)), rng.standard_normal((count, d)), rng.random(count),
        rng.random(count), float(rng.uniform(0, 0.3)),
    )  # fmt: skip


def problems(d, seed=0):
    """Windows, memories, new duels: of none, few, many blocks and gradients."""
    rng = RNG(seed)
    sizes = [(0, 0), (1, 0), (4, 3), (9, 20), (2, d + 3)]
    windows = [a_window(rng, d, k) for k, _ in sizes]
    memories = [a_memory(rng, d, m) for _, m in sizes]
    asked = np.arange(d + 2) < rng.integers(d, d + 3, len(sizes))[:, None]
    e = rng.standard_normal((len(sizes), d + 2, d))
    s = rng.choice([-1.0, 1.0], asked.shape)
    blur = rng.uniform(0.2, 0.5, len(sizes))
    seen = Seen.of(windows, memories, e, s, blur, asked)
    whole = []
    for j, (window, right) in enumerate(zip(windows, asked, strict=True)):
        k = right.sum()
        about, blurs = np.zeros(k, int), np.full(k, blur[j])
        whole.append(
            window.append(Window(e[j, right], np.zeros((1, d)), about, s[j, right], blurs))
        )
    return seen, whole, memories


def models(d, count, seed=1):
    """Gradients and positive matrices, and the same as stretches."""
    rng = RNG(seed)
    U = np.linalg.qr(rng.standard_normal((count, d, d)))[0]
    w = rng.uniform(0.5, 2, (count, d))
    H = Quadratics(w, U)
    return rng.standard_normal((count, d)), H, [Stretch(*one) for one in zip(w, U, strict=True)]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_windows_and_memories_come_back(d):
    seen, windows, memories = problems(d)
    for (window, memory), one, two in zip(seen.each(), windows, memories, strict=True):
        for a, b in zip((*window, *memory), (*one, *two), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("power", [1.0, 0.5, -1.0, -0.5])
def test_powers_of_quadratics(power):
    _, H, stretches = models(4, 3)
    x = RNG(0).standard_normal((3, 2, 4))
    for j, one in enumerate(stretches):
        alone = one._replace(w=one.w**power)
        close(H(x, power)[j], alone(x[j]), 1e-14)


@pytest.mark.parametrize("d", [1, 2, 5, 12])
@pytest.mark.parametrize("near", [0.0, 3.0])
def test_fits(d, near):
    """Also where there are fewer centres than dimensions, and where all duels are new."""
    seen, windows, memories = problems(d)
    n = len(windows)
    tau, lapse = RNG(2).uniform(0.05, 0.5, n), RNG(3).uniform(0.05, 0.3, n)
    g, H = fits(seen, tau, lapse, np.full(n, near))
    eye = np.broadcast_to(np.eye(d), (n, d, d))
    for j, (window, memory) in enumerate(zip(windows, memories, strict=True)):
        one, stretch = fit(window, tau[j], lapse[j], near, memory)
        close(g[j], one, 1e-9)
        close(H(eye)[j], stretch(np.eye(d)), 1e-9)


def test_a_fit_of_ties_is_flat():
    e = np.eye(3)[None]
    seen = Seen.of(
        [Window.empty(3)], [Memory.empty(3)], e, np.zeros((1, 3)), np.ones(1), np.ones((1, 3), bool)
    )
    g, H = fits(seen, np.array([0.1]), np.array([0.05]), np.zeros(1))
    assert not g.any()
    close(H.w, 1.0, 1e-15)


@pytest.mark.parametrize("precision", [1e-100, 1e-160, 1e-300])
def test_a_fit_of_next_to_nothing_is_flat(precision):
    memory = Memory(np.ones((2, 1)), np.ones((2, 1)), *np.full((2, 2), precision))
    seen = Seen.of(
        [Window.empty(1)], [memory], np.ones((1, 1, 1)), np.zeros((1, 1)), np.ones(1),
        np.ones((1, 1), bool),
    )  # fmt: skip
    g, H = fits(seen, np.array([0.5]), np.array([0.05]), np.zeros(1))
    assert abs(g).max() < 1e-50
    close(H.w, 1.0, 1e-15)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("recent", [0, 7, 1000])
def test_old_duels_become_gradients(d, recent):
    seen, windows, memories = problems(d)
    n = len(windows)
    g, H, stretches = models(d, n)
    lapse, most = np.full(n, 0.1), 6
    stacked = seen.judged(g, H).aged(g, H, lapse, np.full(n, recent), most).each()
    for j, (window, memory) in enumerate(zip(windows, memories, strict=True)):
        old = window.part(slice(0, max(0, len(window.answers) - recent)))
        memory = memory.judged(g[j], stretches[j])
        memory = memory.append(old, g[j], stretches[j], 0.1, most)
        kept = window.part(slice(-recent, None)) if recent else window.part(slice(0, 0))
        for a, b in zip((*stacked[j][0], *stacked[j][1]), (*kept, *memory), strict=True):
            close(a, b)


def test_what_is_remembered_moves_along():
    seen, windows, memories = problems(4)
    _, H, stretches = models(4, len(windows))
    p = RNG(4).standard_normal((len(windows), 4))
    for j, (window, memory) in enumerate(seen.moved(p, H).each()):
        L = stretches[j].root
        alone = (*windows[j].moved(p[j], L), *memories[j].moved(p[j], L))
        for a, b in zip((*window, *memory), alone, strict=True):
            close(a, b)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
@pytest.mark.parametrize("length", [1.0, 3.0, 1e3])
def test_frames(manifold, length):
    """Points, pairs, steps and transported bases, at lengths within reach and beyond.

    The bases are as if rounding had made them longer, which a move corrects now and then.
    """
    rng, d, n = RNG(0), manifold.dim, 3
    points = manifold.random_point(rng, batch=(n,))
    rotations = 1.0001 * np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    each = [Frame(points[j], rotations[j], 30 + j) for j in range(n)]
    frames = Frames.of(each)
    c = length * rng.standard_normal((n, d + 1, d)) / np.sqrt(d)
    c[0] /= 10
    factor = rng.uniform(1, 9, (n, d + 1))
    longer = frames.lengthened(manifold, c, factor)
    for j, frame in enumerate(each):
        close(longer[j], frame.lengthened(manifold, c[j], factor[j]))
    x, y = frames.pairs(manifold, c)
    at = frames.at(manifold, c[:, 0])
    moved, steps = frames.move(manifold, c[:, 0])
    eps = 1e-9 * max(1.0, float(abs(x).max()))
    for j, frame in enumerate(each):
        for a, b in zip((x, y), frame.pair(manifold, c[j]), strict=True):
            np.testing.assert_allclose(a[:, j], b, rtol=1e-9, atol=eps)
        np.testing.assert_allclose(at[j], frame.at(manifold, c[j, 0]), rtol=1e-9, atol=eps)
        step, end = frame.land(manifold, c[j, 0], None)
        alone, _ = frame.move(manifold, step, end=end)
        close(steps[j], step)
        np.testing.assert_allclose(moved.points[j], alone.point, rtol=1e-9, atol=eps)
        # Far out in hyperbolic space a fifth of the digits is left.
        np.testing.assert_allclose(moved.rotations[j], alone.rotation, atol=1e-6 * length**1.5)
    assert [frame.moves for frame in moved.each()] == [31, 32, 33]


BEYOND = {  # points with no room about them
    gd.Euclidean(2): np.array([6e102, 0.0]),
    gd.Hyperbolic(2): np.array([np.cosh(30.0), np.sinh(30.0), 0.0]),
    gd.SPD(2): np.diag([1e103, 1.0]),
}


@pytest.mark.parametrize("manifold", BEYOND, ids=repr)
def test_at_the_end_of_all_numbers_steps_stay_where_they_are(manifold):
    """And the problem beside is not disturbed."""
    d, end, fine = manifold.dim, BEYOND[manifold], manifold.random_point(RNG(0))
    assert manifold.room(end) == 0
    each = [Frame(end, np.eye(d)), Frame(fine, np.eye(d))]
    c = RNG(1).standard_normal((2, 3, d))
    frames = Frames.of(each)
    moved, steps = frames.move(manifold, c[:, 0])
    np.testing.assert_array_equal(steps[0], 0)
    np.testing.assert_array_equal(moved.points[0], end)
    one, other = frames.pairs(manifold, c)
    at = frames.at(manifold, c[:, 0])
    for point in (*one[:, 0], *other[:, 0], at[0], *each[0].at(manifold, c[0])):
        np.testing.assert_array_equal(point, end)
    step, landed = each[0].land(manifold, c[0, 0], None)
    np.testing.assert_array_equal(step, 0)
    np.testing.assert_array_equal(landed, end)
    close(one[:, 1], each[1].pair(manifold, c[1])[0])
    close(at[1], each[1].at(manifold, c[1, 0]))
    close(moved.points[1], each[1].land(manifold, c[1, 0], None)[1])
