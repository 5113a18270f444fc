"""The paper's experiments, one a file: `geoduel reproduce` runs them."""

from .experiment import Experiment, Plan
from .registry import EXPERIMENTS

NAMES = tuple(EXPERIMENTS)
"""Names of the experiments, in the order of the report."""

__all__ = ["EXPERIMENTS", "NAMES", "Experiment", "Plan"]
