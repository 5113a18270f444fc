"""All experiments, in the order of the report."""

from .experiment import Experiment
from .experiments.amplification import AMPLIFICATION
from .experiments.attack import ATTACK
from .experiments.constrained import CONSTRAINED, CONSTRAINED_LOG_UNIFORM, CONSTRAINED_UNIFORM
from .experiments.errata import ERRATA
from .experiments.horizon import HORIZON
from .experiments.karcher import KARCHER, KARCHER_LOG_UNIFORM, KARCHER_UNIFORM
from .experiments.lemmas import LEMMAS
from .experiments.rates import RATES
from .experiments.rayleigh import RAYLEIGH
from .experiments.theorems import THEOREMS

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e
    for e in (
        RAYLEIGH,
        KARCHER,
        KARCHER_UNIFORM,
        KARCHER_LOG_UNIFORM,
        CONSTRAINED,
        CONSTRAINED_UNIFORM,
        CONSTRAINED_LOG_UNIFORM,
        ATTACK,
        HORIZON,
        RATES,
        THEOREMS,
        LEMMAS,
        AMPLIFICATION,
        ERRATA,
    )
}
"""The experiments by the name that the command line takes, in the order of the report."""
