"""The paper's experiments, one a file: `geoduel reproduce` runs them."""

from .experiment import Experiment, Line, Run, run_all, summary, write
from .karcher import KARCHER, KARCHER_UNIFORM
from .rayleigh import RAYLEIGH

EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (RAYLEIGH, KARCHER, KARCHER_UNIFORM)}
"""The experiments by the name that the command line takes."""

__all__ = ["EXPERIMENTS", "Experiment", "Line", "Run", "run_all", "summary", "write"]
