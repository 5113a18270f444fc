"""Module paths of version 0.1 that have moved: they work for one more release, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["MOVED", "forward_old_modules", "moved_names"]

_PAPER = dict.fromkeys(("rdngd", "rrdngd", "rdfw"), "paper")
_DESCENT = dict.fromkeys(
    ("block", "duel_csa", "duel_newton", "face", "first_step", "noise"), "descent"
)
_PEOPLE = dict.fromkeys(("bisection", "chart", "ideal_point", "observer", "perception"), "people")
_FIGURES = ("rayleigh", "karcher", "constrained", "attack", "horizon")
_EVIDENCE = ("rates", "lemmas", "amplification", "errata")
_ATTACK = ("adapters", "command", "data", "figures", "methods", "networks", "threat")

MOVED: dict[str, tuple[str, ...]] = {
    "algorithms": ("methods",),
    "algorithms.asking": ("methods.people.questions",),
    "algorithms.auto": ("methods.auto",),
    "algorithms.base": ("methods.base", "methods.people.questions"),
    "algorithms.frame": ("methods.frame", "methods.duels"),
    "algorithms.human": ("methods.people.choice",),
    **{
        f"algorithms.{name}": (f"methods.{family}.{name}",)
        for name, family in (_PAPER | _DESCENT | _PEOPLE).items()
    },
    "algorithms.duel_newton": tuple(
        f"methods.descent.{name}" for name in ("duel_newton", "memory", "fit")
    ),
    "baselines.karcher_mean": ("problems.karcher_mean",),
    "direction": ("methods.paper.direction",),
    "oracle": ("oracles", "oracles.wrappers", "domains"),
    "problems.attack": ("attack",),
    "problems.attack.core": ("attack.run", "attack.result", "attack.arguments"),
    "problems.attack.oracles": ("attack.judge", "attack.remote"),
    "problems.attack.shapes": ("attack.priors",),
    **{f"problems.attack.{name}": (f"attack.{name}",) for name in _ATTACK},
    **{f"reproduce.{name}": (f"reproduce.experiments.{name}",) for name in _FIGURES + _EVIDENCE},
    "study.parts": ("study.settings",),
    "study.people": ("oracles.people",),
    "study.sql": ("study.storage.sql",),
    "web.leveller": ("level",),
}
"""Old module, relative to the package, and the modules that hold its names now."""

NAMES = {
    "plotting.convergence_figure": "reproduce.convergence",
    "theory.draw_iterate": "schedules",
    "theory.iterate_probabilities": "schedules",
    "web.level": "level",
}
"""Names that left a module which is still there, and where they live now."""

ELSEWHERE = {
    **dict.fromkeys(("maximize", "maximise"), "minimize, of from_objective(f, maximize=True)"),
    **dict.fromkeys(("minimise", "optimize", "fmin"), "minimize"),
    **dict.fromkeys(
        ("SO", "SO3", "SO2", "Rotation", "SpecialOrthogonal", "SpecialOrthogonalGroup"),
        "Rotations(n)",
    ),
    **dict.fromkeys(("SE3", "SE2", "SpecialEuclidean"), "SE(n)"),
    **dict.fromkeys(("Hypersphere", "UnitSphere"), "Sphere(n)"),
    **dict.fromkeys(("PoincareBall", "Lorentz", "Hyperboloid"), "Hyperbolic(n)"),
    **dict.fromkeys(("SymmetricPositiveDefinite", "SPDMatrices", "PositiveDefinite"), "SPD(n)"),
    **dict.fromkeys(("Angle", "Angles", "Circle"), "Torus(n)"),
    **dict.fromkeys(("Bounds", "bounds"), "Box(lower, upper)"),
    **dict.fromkeys(("plot", "plot_optimization_history"), "plotting.convergence(result)"),
    "Categorical": "Categories",
    "Choice": "Categories",
    "Int": "Integers",
}
"""What SciPy, pymanopt, geomstats, Optuna and others call some of these."""

RENAMED = {
    "problems.attack": {"METHODS": "ATTACKS"},
    "problems.attack.methods": {"METHODS": "ATTACKS"},
}
"""Old module: names that are called otherwise where it has moved to."""

_ROOT = __name__.split(".")[0]


def forward_old_modules() -> None:
    """Let ``import geoduel.algorithms.rdngd`` and its like find what has moved."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())  # an old folder may have been left behind, empty


def moved_names(module: str) -> Any:
    """``__getattr__`` of a module for the names that have left it."""

    def find(name: str) -> Any:
        home = NAMES.get(f"{module.removeprefix(_ROOT + '.')}.{name}")
        if home is None:
            hint = f"; perhaps {_ROOT}.{ELSEWHERE[name]} is meant" if name in ELSEWHERE else ""
            raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")
        _warn(f"{module}.{name}", f"{_ROOT}.{home}.{name}", stacklevel=4)
        return getattr(import_module(f"{_ROOT}.{home}"), name)

    return find


class _Finder:
    """Finds old modules, as modules that pass names on.

    It has what the import system calls, and no base class of `importlib.abc`, which loads long.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.removeprefix(_ROOT + ".") not in MOVED:
            return None
        loader: Any = self  # it has what a loader needs
        return ModuleSpec(fullname, loader, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        """None: as any other module."""

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        homes = [f"{_ROOT}.{home}" for home in MOVED[old.removeprefix(_ROOT + ".")]]
        _warn(old, " and ".join(homes), stacklevel=3)
        for home in reversed(homes):
            new = import_module(home)
            names = [n for n in getattr(new, "__all__", vars(new)) if not n.startswith("__")]
            vars(module).update({name: getattr(new, name) for name in names})
        for before, now in RENAMED.get(old.removeprefix(_ROOT + "."), {}).items():
            setattr(module, before, getattr(module, now))


def _warn(old: str, new: str, stacklevel: int) -> None:
    words = f"{old} has moved to {new}; the old name goes with the next release"
    warnings.warn(words, DeprecationWarning, stacklevel=stacklevel)
