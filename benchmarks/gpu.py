"""What runs on a GPU: tests of all that claims to, and rates beside the processor's.

    python benchmarks/gpu.py [--full] [--save] [--data DIR --weights FILE] [--parts ...]

``tests`` are those of manifolds, domains, oracles and methods that put their points on the device.
``batches`` minimises many diagonal Rayleigh quotients in one call, by the processor and by the GPU.
``attack`` counts forward passes a second, of the bare network and of the attack around it, in
float32 and in bfloat16. DIR and FILE are those of `geoduel attack`; without them, digits.

Without ``--full`` the tests are left out. Without a GPU they run on a pretended device, and the
rates are the processor's; such rates are not saved.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np
import torch

import attack as attacks
import geoduel as gd
from geoduel.attack.command import prepared
from geoduel.attack import Pictures

ROOT = Path(__file__).resolve().parents[1]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TESTS = ("tests/test_accelerator.py", "tests/manifolds/test_base.py")
# Method, dimension, problems at once.
CASES = (("auto", 10, 200), ("duel-csa", 10, 50), ("rdngd", 10, 1000), ("rdngd", 3000, 1000))
SEED, BUDGET = 700, 300


def tests(results: Results, full: bool) -> None:
    """How many tests pass that put their points on the device."""
    marker = ["-m", "slow or not slow"] if full else []
    command = [sys.executable, "-m", "pytest", "-q", "-k", "accelerator", *marker, *TESTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    last = done.stdout.strip().splitlines()[-1]
    counts = {what: int(n) for n, what in re.findall(r"(\d+) (passed|failed|skipped)", last)}
    print(last, flush=True)
    if counts.get("failed"):
        print(done.stdout)
    results.add("tests", passed=counts.get("passed", 0), failed=counts.get("failed", 0))


def batches(results: Results, full: bool) -> None:
    """Milliseconds a problem, many problems at once."""
    for method, d, count in CASES:
        count = count if full else 3
        sphere, rng = gd.Sphere(d), np.random.default_rng(SEED)
        values, start = rng.uniform(size=(count, d)), sphere.random_point(rng, (count,))
        for dtype in (torch.float64, torch.float32):
            ms: dict[str, float] = {}
            gap = np.inf
            for device in dict.fromkeys(("cpu", DEVICE)):
                scale = torch.tensor(values, dtype=dtype, device=device)
                x0 = torch.tensor(start, dtype=dtype, device=device)
                oracle = gd.from_objective(
                    lambda x, scale=scale: (scale * x * x).sum(-1), vectorized=True
                )
                began = time.perf_counter()
                found = gd.minimize(oracle, sphere, x0, method=method, budget=BUDGET, rng=SEED)
                x = found.x.cpu().double().numpy()  # waits for the device
                ms[device] = 1e3 * (time.perf_counter() - began) / count
                gap = float(np.median((values * x * x).sum(-1) - values.min(-1)))
            name = f"{method}, d = {d}, {str(dtype).split('.')[1]}"
            words = ", ".join(f"{ms[device]:.3g} ms on {device}" for device in ms)
            print(f"{name}: {words} a problem, median gap {gap:.1e}", flush=True)
            results.add(name, ms=ms, gap=gap, problems=count, budget=BUDGET)


def attack(results: Results, full: bool, data: str, weights: str | None) -> None:
    """Forward passes a second: the bare network, and the attack around it, at equal batches."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    n, seconds = (500, 8.0) if full else (16, 0.2)
    network, pictures = prepared(data, weights, n)
    network.to(DEVICE)
    pictures = Pictures(pictures.images.to(DEVICE), pictures.labels.to(DEVICE), pictures.classes)
    pictures = pictures.take(torch.arange(n) % len(pictures))
    for name, dtype in (("float32", None), ("bfloat16", torch.bfloat16)):
        bare = attacks.bare_rate(network, pictures, dtype, seconds)
        ours = attacks.attack_rate(network, pictures, dtype, seconds, 2 * n)
        print(f"{name}: bare {bare:,.0f} passes a second, attack {ours:,.0f} ({ours / bare:.1%})")
        results.add(f"attack, {name}", bare=bare, attack=ours, batch=2 * n)


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--data", default="digits")
    parser.add_argument("--weights")
    parser.add_argument("--parts", nargs="+", choices=("tests", "batches", "attack"))
    given: Any = parser.parse_args()
    where = torch.cuda.get_device_name() if DEVICE == "cuda" else "no GPU: the processor"
    print(f"{describe_machine()}; {where}")
    results = Results(__file__, given.save and DEVICE == "cuda", device=where, seed=SEED)
    parts = given.parts or ("tests", "batches", "attack")[0 if given.full else 1 :]
    if "tests" in parts:
        tests(results, given.full)
    if "batches" in parts:
        batches(results, given.full)
    if "attack" in parts:
        attack(results, given.full, given.data, given.weights)


if __name__ == "__main__":
    main()
