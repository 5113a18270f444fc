"""Feasible sets: one kind a file; `base` states what they can do."""

from .ball import Ball
from .base import Domain
from .catalogue import Catalogue
from .feasibility import feasible_first
from .flat import Box, L1Ball, L2Ball, ProbabilitySimplex
from .intersection import Intersection
from .spd_interval import LinearMinimum, Nearest, SPDInterval

__all__ = [
    "Ball",
    "Box",
    "Catalogue",
    "Domain",
    "Intersection",
    "L1Ball",
    "L2Ball",
    "LinearMinimum",
    "Nearest",
    "ProbabilitySimplex",
    "SPDInterval",
    "feasible_first",
]
