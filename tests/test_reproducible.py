"""The same seed gives the same duels, whatever does the arithmetic.

That stored studies replay with other versions of NumPy and SciPy is tested by ``test_replay.py``,
which ``make lowest`` runs with the lowest versions.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

import geoduel as gd

METHODS = {
    "auto": {},
    "rankings": {"method": "auto", "ranking": 8},
    "duel-csa": {},
    "block": {},
    "rdngd": {"step_size": 0.05, "radius": 0.01},
}


def duels_of(manifold: gd.Manifold, x0, f, method: str, n: int) -> tuple[np.ndarray, list[int]]:
    """Points and answers of the first n duels of a run."""
    points: list[np.ndarray] = []
    answers: list[int] = []

    def oracle(a, b):
        difference = float(f(a)) - float(f(b))
        points.append(np.array([a.tolist(), b.tolist()]))
        answers.append(int(difference > 0) - int(difference < 0))
        return answers[-1]

    settings = {"method": method, "budget": n, "rng": 0} | METHODS[method]
    gd.minimize(oracle, manifold, x0, **settings)
    return np.array(points), answers


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["Sphere(60)", "SPD(8)"])
def test_torch_asks_the_same_as_numpy(name, method):
    """1,000 duels are alike but for rounding, far from where values differ by rounding alone."""
    torch = pytest.importorskip("torch")
    manifold: gd.Manifold = {"Sphere(60)": gd.Sphere(60), "SPD(8)": gd.SPD(8)}[name]
    rng = np.random.default_rng(1)
    target, x0 = manifold.random_point(rng), manifold.random_point(rng)
    there = torch.from_numpy(target)

    points, answers = duels_of(manifold, x0, lambda x: manifold.dist(x, target), method, 1000)
    others, heard = duels_of(
        manifold, torch.from_numpy(x0), lambda x: manifold.dist(x, there), method, 1000
    )
    assert heard == answers
    scale = np.abs(points).max()
    np.testing.assert_allclose(others, points, rtol=0, atol=1e-9 * scale)


PROGRAM = """
import hashlib, numpy as np, geoduel as gd
A = np.random.default_rng(0).standard_normal((20, 20))
A = A + A.T
seen = hashlib.sha256()
def f(x):
    seen.update(x.tobytes())
    return float(x @ (A @ x))
gd.minimize(gd.from_objective(f), gd.Sphere(20), np.eye(20)[0], budget=1000, rng=0)
m = gd.SPD(5)
f0 = lambda x: (seen.update(x.tobytes()), float(m.dist(x, 2 * np.eye(5))))[1]
gd.minimize(gd.from_objective(f0), m, np.eye(5), budget=400, rng=0)
print(seen.hexdigest())
"""


def test_the_number_of_threads_changes_nothing():
    """In up to 20 dimensions the points are the same, bit for bit, with one thread and two.

    Beyond, BLAS shares out sums of a fit among threads, and rounds them in another order.
    """
    said = set()
    for threads in ("1", "2"):
        env = os.environ | {f"{name}_NUM_THREADS": threads for name in ("OMP", "OPENBLAS", "MKL")}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True
        )
        said.add(run.stdout.strip())
    assert len(said) == 1
    assert len(said.pop()) == 2 * hashlib.sha256().digest_size
