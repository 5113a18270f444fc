"""Writes the logs in ``logs/``, which hold each method to what its version asks.

    PYTHONPATH=src python tests/study/make_logs.py [method ...]

Run it for a method whose `version` was raised, and for a new one; never to make a test pass. Logs
of some earlier versions, and of an earlier format, are in ``logs/older/``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import geoduel as gd

LOGS = Path(__file__).parent / "logs"
SPHERE = gd.Sphere(3)
SETTINGS: dict[str, dict[str, Any]] = {
    "rdngd": {"budget": 60},
    "rrdngd": {"phase_length": 5, "budget": 60},
    "rdfw": {"domain": gd.Ball(SPHERE, np.array([0.0, 0.6, 0.8]), 1.2), "iterations": 60},
    "duel-newton": {},
    "duel-csa": {},
    "block": {},
    "auto": {"method": gd.Auto()},
    "bisection": {"manifold": gd.Torus(1)},
    "ideal-point": {},
    "ideal-direction": {"manifold": gd.Sphere(8)},
    "stp": {},
    "minibatch-stp": {"initial_step": 0.1},
    "order-cd": {},
    "order-acd": {},
    "scobo": {"samples": 4},
    "rank-sgd": {"directions": 4},
    "comparison-ngd": {"initial_step": 0.2},
    "one-plus-one": {},
    "one-plus-one-cma": {},
    "nelder-mead": {},
    "mixed": {
        "manifold": gd.Product(gd.Categories("a", "b", "c"), gd.Integers(1, 8), gd.Torus(1)),
        "method": gd.methods.Mixed(gd.DuelNewton()),
    },
}


def make(name: str, count: int = 24) -> gd.Study:
    """A study with answers of all kinds."""
    given = {"manifold": SPHERE, "method": name, "study_name": name, "rng": 7, **SETTINGS[name]}
    study = gd.create_study(**given)
    ideal = study.manifold.random_point(np.random.default_rng(2))
    while len(study.duels) < count:
        duel = study.ask(rater="ann")
        closer = study.manifold.dist(duel.a, ideal) < study.manifold.dist(duel.b, ideal)
        word = {3: "tie", 8: "skip", 14: "skip"}.get(duel.id, "a" if closer else "b")
        study.tell(duel, word)
        if duel.id == 10:
            study.undo()
            study.tell(duel.id, word, rater="ann")
    study.set_user_attr("recommended", study.recommend().tolist())
    return study


if __name__ == "__main__":
    LOGS.mkdir(exist_ok=True)
    for name in sys.argv[1:] or SETTINGS:
        make(name).export(LOGS / f"{name}.jsonl")
        print(LOGS / f"{name}.jsonl")
