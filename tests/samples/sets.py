"""Feasible sets that several tests use."""

import numpy as np

import geoduel as gd

RNG = np.random.default_rng


def orthogonal(rng, n):
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def spd(rng, n, spread=0.7):
    q = orthogonal(rng, n)
    a = (q * np.exp(spread * rng.standard_normal(n))) @ q.T
    return (a + a.T) / 2


def symmetric(rng, n, batch=()):
    a = rng.standard_normal((*batch, n, n))
    return a + a.mT


def interval(seed, n, spread=0.7):
    """Bounds that do not commute."""
    rng = RNG(seed)
    low = spd(rng, n, spread)
    return low, low + spd(rng, n, spread)


BALLS = {
    "plane": (gd.Euclidean(2), 1.5),
    "matrices": (gd.Euclidean(2, 3), 1.5),
    "circle": (gd.Sphere(2), 1.0),
    "sphere": (gd.Sphere(4), 0.7),
    "wide cap": (gd.Sphere(3), 1.55),
    "hyperbolic": (gd.Hyperbolic(3), 1.2),
    "wide hyperbolic": (gd.Hyperbolic(2), 5.0),
    "turns": (gd.Rotations(2), 1.0),
    "rotations": (gd.Rotations(3), 1.2),
    "torus": (gd.Torus(2), 1.0),
    "spd": (gd.SPD(2), 1.0),
    "product": (gd.Product(gd.Sphere(3), gd.Euclidean(2)), 0.8),
}


def ball_of(name, seed=0):
    space, radius = BALLS[name]
    rng = RNG(seed)
    center = space.random_point(rng)
    return space, gd.Ball(space, center, radius), center, radius, rng


POLYTOPES = {
    "box": gd.Box(np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.5, 2.0])),
    "l1": gd.L1Ball(4, 1.3, np.array([0.5, -1.0, 0.0, 2.0])),
    "simplex": gd.ProbabilitySimplex(4, 2.0),
    "point": gd.ProbabilitySimplex(1),
}


def _every_domain():
    low, up = interval(7, 3)
    yield "interval", gd.SPDInterval(low, up)
    yield "closed form", gd.SPDInterval(low, up, method="closed-form")
    for name in BALLS:
        yield name, ball_of(name)[1]
    yield from POLYTOPES.items()
    yield "ratios", gd.Interval(1e-3, 10.0, log=True)
    yield "space", gd.space(a=(-1, 3), b=ball_of("sphere")[1], c=(gd.Euclidean(3), [(0, 1)] * 3))
    yield "both", gd.Intersection(gd.domains.L2Ball(3, 9.0), gd.Box(np.zeros(3), np.ones(3)))


DOMAINS = dict(_every_domain())
