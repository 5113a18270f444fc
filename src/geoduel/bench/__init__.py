"""Benchmarks of comparison-only methods: suites of problems, rivals, and what is drawn from runs.

The command ``geoduel bench`` measures what is here. Ten lines add a method or problems of your own:

>>> import numpy as np
>>> import geoduel as gd
>>> from geoduel.bench import Case, Suite, areas, plan, run
>>> def cone(seed):
...     goal = np.random.default_rng(seed).standard_normal(3)
...     return Case(gd.Euclidean(3), lambda x: float(np.linalg.norm(x - goal)), np.zeros(3), 0.0)
>>> mine = {"cones": Suite("Norms", {"cone": cone}, budget=200, seeds=(0, 2))}
>>> methods = {"auto": gd.Auto(), "short steps": gd.DuelCSA(initial_step=0.01)}
>>> records = list(run(plan(mine, methods)))
>>> areas(records)["all"]["auto"] > 0.3
True
"""

from .against import Change, changes
from .case import SHARES, Case, Suite
from .measures import area, areas, distribution, expected, profiles, share
from .meter import Meter
from .others import OTHERS
from .runs import Task, load, plan, run, run_one
from .suites import SUITES

__all__ = [
    "OTHERS",
    "SHARES",
    "SUITES",
    "Case",
    "Change",
    "Meter",
    "Suite",
    "Task",
    "area",
    "areas",
    "changes",
    "distribution",
    "expected",
    "load",
    "plan",
    "profiles",
    "run",
    "run_one",
    "share",
]
