"""All experiments, in the order of the report."""

from .amplification import AMPLIFICATION
from .attack import ATTACK
from .constrained import CONSTRAINED, CONSTRAINED_UNIFORM
from .errata import ERRATA
from .experiment import Experiment
from .horizon import HORIZON
from .karcher import KARCHER, KARCHER_TOOLBOX, KARCHER_UNIFORM
from .lemmas import LEMMAS
from .rates import RATES
from .rayleigh import RAYLEIGH

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e
    for e in (
        RAYLEIGH,
        KARCHER,
        KARCHER_TOOLBOX,
        KARCHER_UNIFORM,
        CONSTRAINED,
        CONSTRAINED_UNIFORM,
        ATTACK,
        HORIZON,
        RATES,
        LEMMAS,
        AMPLIFICATION,
        ERRATA,
    )
}
"""The experiments by the name that the command line takes, in the order of the report."""
