"""The paper's experiments, one a file: `geoduel reproduce` runs them."""

from typing import TYPE_CHECKING

from .._lazy import loader

if TYPE_CHECKING:
    from .experiment import Experiment, Plan
    from .registry import EXPERIMENTS

NAMES = (
    "rayleigh",
    "karcher",
    "karcher-toolbox",
    "karcher-uniform",
    "constrained",
    "constrained-uniform",
    "attack",
    "horizon",
    "rates",
    "lemmas",
    "amplification",
    "errata",
)
"""Names of the experiments, in the order of the report; loading the experiments takes longer."""

__getattr__ = loader(__name__, {"registry": ("EXPERIMENTS",), "experiment": ("Experiment", "Plan")})

__all__ = ["EXPERIMENTS", "NAMES", "Experiment", "Plan"]


def __dir__() -> list[str]:
    return __all__
