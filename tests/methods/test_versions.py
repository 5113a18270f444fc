"""What each version of a method asks, far beyond its first duels: errors, ties, sets, bad scales.

The answers of earlier runs and what was asked then are in ``asked.json``; ``test_replay.py`` has
the first duels on a sphere. Should one fail, a method has changed: raise its `version`, and write
the file anew:

    PYTHONPATH=src python tests/methods/test_versions.py [method ...]
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.named import METHODS

FILE = Path(__file__).with_name("asked.json")
EVERY = 5  # duels from one that is kept to the next
SPHERE, SPACE, CIRCLE = gd.Sphere(4), gd.Euclidean(5), gd.Torus(1)
CAP = gd.Ball(SPHERE, np.array([0.0, 0.6, 0.8, 0.0]), 1.0)
STEPS = {
    "rdngd": {"step_size": 0.1, "batch": 2},
    "rrdngd": {"phase_length": 5},
    "rdfw": {"domain": CAP, "iterations": 30},
    "scobo": {"samples": 4},
    "rank-sgd": {"directions": 4},
    "minibatch-stp": {"initial_step": 0.1},
    "comparison-ngd": {"initial_step": 0.2},
}
PEOPLE = ("bisection", "ideal-point", "ideal-direction")
NAMES = [name for name in METHODS if name != "auto"]  # which asks what duel-newton asks here
VERSIONS = {name: kind.version for name, kind in METHODS.items()}
DOMAINS = [name for name in NAMES if name not in (*PEOPLE, "order-acd", "rrdngd", "rdngd")]
CASES = [
    *(f"{name} errors" for name in NAMES),
    *(f"{name} ties" for name in NAMES if name not in PEOPLE),
    *(f"{name} set" for name in DOMAINS),
    *(f"{name} scales" for name in NAMES if name not in (*PEOPLE, "rdfw")),
]


def settings(case: str) -> dict[str, Any]:
    """What `minimize` is given, but for the oracle."""
    name, kind = case.split()
    more: dict[str, Any] = {"budget": 16 if name in PEOPLE else 60 if kind == "ties" else 150}
    if kind == "set":
        more["domain"] = CAP
    if kind == "scales":
        more |= {"manifold": SPACE, "x0": np.full(5, 3.0), "budget": 250}
    elif name == "bisection":
        more |= {"manifold": CIRCLE, "x0": np.array([2.0])}
    else:
        more |= {"manifold": SPHERE, "x0": np.array([0.0, 1.0, 0.0, 0.0])}
    return more | STEPS.get(name, {}) | {"method": name, "rng": 4}


def run(case: str, said: str | None = None) -> dict[str, Any]:
    """What is asked, and how it ends; ``said`` are the answers, by default those of an objective.

    Of every fifth duel two numbers are kept: a projection of its points, and the logarithm of how
    far they are apart.
    """
    options = settings(case)
    manifold, kind = options.pop("manifold"), case.split()[1]
    rng = np.random.default_rng(3)
    ideal = manifold.random_point(rng)
    scales = 10.0 ** np.arange(len(ideal)) if kind == "scales" else 1.0
    words, asked = [], []

    def oracle(x, y):
        k = len(words)
        if k % EVERY == 0:
            ahead = np.cos(1.0 + np.arange(len(x)))
            apart = float(np.linalg.norm(x - y))
            asked.append([float(ahead @ (x + 0.3 * y)), float(np.log10(max(apart, 1e-16)))])
        if said is None:
            better = np.sign(np.sum(scales * (x - ideal) ** 2) - np.sum(scales * (y - ideal) ** 2))
            if kind == "errors":
                better *= rng.choice([1, -1, 0], p=[0.8, 0.15, 0.05])
            words.append("+=-"[1 - int(better)] if kind != "ties" else "=+="[k % 3])
        else:
            words.append(said[k])
        return {"+": 1, "=": 0, "-": -1}[words[k]]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gd.errors.GeoduelWarning)
        result = gd.minimize(oracle, manifold, options.pop("x0"), **options)
    unsure = result.uncertainty
    return {
        "said": "".join(words),
        "asked": [[round(number, 7) for number in pair] for pair in asked],
        "x": [round(float(number), 9) for number in result.x],
        "end": [result.stop_reason, result.iterations],
        "unsure": None if unsure is None else round(float(np.log10(max(unsure, 1e-16))), 4),
    }


@pytest.mark.parametrize("case", CASES)
def test_methods_still_ask_what_their_version_asked(case):
    kept, name = json.loads(FILE.read_text()), case.split()[0]
    assert METHODS[name].version == kept["versions"][name]
    before = kept[case]
    now = run(case, before["said"])
    assert now["said"] == before["said"]
    assert now["end"] == before["end"]
    assert (now["unsure"] is None) == (before["unsure"] is None)
    if "ideal-point" in case:  # particles amplify rounding, until another question is the best one
        np.testing.assert_allclose(now["asked"][:2], before["asked"][:2], atol=0.02)
        return
    np.testing.assert_allclose(now["asked"], before["asked"], atol=1e-5)
    np.testing.assert_allclose(now["x"], before["x"], atol=1e-5)
    if now["unsure"] is not None:
        assert now["unsure"] == pytest.approx(before["unsure"], abs=1e-3)


def test_a_version_rises_with_what_is_kept_of_it_alone():
    """Studies store the version, and one that rose for nothing asks for an upgrade."""
    assert json.loads(FILE.read_text())["versions"] == VERSIONS


if __name__ == "__main__":
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    chosen = [case for case in CASES if case.split()[0] in (sys.argv[1:] or NAMES)]
    kept |= {case: run(case) for case in chosen} | {"versions": VERSIONS}
    rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(kept[k])}" for k in ("versions", *CASES))
    FILE.write_text(f"{{\n{rows}\n}}\n")
