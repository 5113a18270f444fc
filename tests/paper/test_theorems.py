"""The theorems' settings deliver what the theorems promise, on problems with known optima."""

import numpy as np

import geoduel as gd
from geoduel import theory


def run(oracle, manifold, x0, rule, seed, **options):
    return gd.minimize(
        oracle,
        manifold,
        x0,
        method="rdngd",
        iterations=rule.iterations,
        step_size=rule.step_size,
        radius=rule.radius,
        rng=seed,
        **options,
    )


def test_theorem_3_6_mean_gradient_on_the_sphere():
    """Sphere in R⁵, f = -x'Ax/2, A = diag(0..1), eps = 0.3: the notes give T = 742."""
    A = np.diag(np.linspace(0, 1, 5))
    sphere = gd.Sphere(5)
    rule = theory.nonconvex(d=4, L=1.0, D=(np.pi / 2) ** 2, eps=0.3, constant="worst")
    exact = theory.nonconvex(d=4, L=1.0, D=(np.pi / 2) ** 2, eps=0.3)
    assert exact.iterations == 742
    assert rule.iterations > exact.iterations  # the paper's worst-case constant costs more
    oracle = gd.from_objective(lambda x: -0.5 * float(x @ A @ x))
    norms = []
    for seed in range(5):
        x0 = sphere.random_point(np.random.default_rng(seed))
        run(
            oracle,
            sphere,
            x0,
            exact,
            seed,
            returns="last",
            callback=lambda p: (
                norms.append(np.linalg.norm(sphere.to_tangent(p.x, A @ p.x))) and None
            ),
        )
    assert np.mean(norms) <= 0.3  # E |grad f(x_R)| <= eps


def test_theorem_3_6_random_iterate():
    """The iterate x_R that the theorem is about, over many runs in one batch."""
    A = np.diag(np.linspace(0, 1, 5))
    sphere = gd.Sphere(5)
    rule = theory.nonconvex(d=4, L=1.0, D=(np.pi / 2) ** 2, eps=0.3)
    oracle = gd.from_objective(lambda x: -0.5 * np.sum((x @ A) * x, axis=-1), vectorized=True)
    x0 = sphere.random_point(np.random.default_rng(0), (64,))
    result = run(oracle, sphere, x0, rule, 1, returns="random")
    assert np.mean(np.linalg.norm(sphere.to_tangent(result.x, result.x @ A), axis=-1)) <= 0.3


def test_theorem_3_7_gap_on_a_ball():
    """f = x'x/2 in R², X the ball of radius 2, D = 1, eps = 0.1: T = 1007, gap below 1e-5."""
    plane = gd.Euclidean(2)
    ball = gd.Ball(plane, np.zeros(2), 2.0)
    rule = theory.convex(d=2, L=1.0, D=1.0, eps=0.1, kappa=0.0, diameter=4.0)
    assert rule.iterations == 1007
    oracle = gd.from_objective(lambda x: 0.5 * float(x @ x))
    gaps = [
        0.5 * float(np.sum(run(oracle, plane, np.array([1.0, 0.0]), rule, s, domain=ball).x ** 2))
        for s in range(5)
    ]
    assert np.mean(gaps) < 1e-5 < 0.1


def test_rdngd_on_euclidean_space_is_beta_ngd_of_saha_et_al():
    """β-NGD written out: w ← P(w - η sign(f(w+γu) - f(w-γu)) u), m ← the better of m and w."""
    target = np.array([0.3, -0.2, 0.5])
    f = lambda x: float(np.sum((x - target) ** 2))  # noqa: E731
    eta, gamma, T = 0.05, 1e-4, 150
    space = gd.Euclidean(3)

    rng = np.random.default_rng(11)
    w = best = np.zeros(3)
    for _ in range(T):
        u = space.unit_tangent(rng, w)
        w = w - eta * np.sign(f(w + gamma * u) - f(w - gamma * u)) * u
        if np.linalg.norm(w) > 1:
            w = w / np.linalg.norm(w)
        if f(w) < f(best):
            best = w

    result = gd.minimize(
        gd.from_objective(f),
        space,
        np.zeros(3),
        method="rdngd",
        iterations=T,
        step_size=eta,
        radius=gamma,
        domain=gd.Ball(space, np.zeros(3), 1.0),
        rng=11,
    )
    np.testing.assert_allclose(result.x, best, atol=1e-13)
    np.testing.assert_allclose(result.x_last, w, atol=1e-13)
