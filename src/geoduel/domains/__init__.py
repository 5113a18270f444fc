"""Feasible sets: one kind a file; `base` states what they can do."""

from .ball import Ball
from .base import Domain
from .bounds import Interval
from .catalogue import Catalogue
from .factors import Space
from .feasibility import feasible_first
from .flat import Box, L1Ball, L2Ball, ProbabilitySimplex
from .given import space
from .intersection import Intersection
from .predicate import Where
from .spd_interval import LinearMinimum, Nearest, SPDInterval

__all__ = [
    "Ball",
    "Box",
    "Catalogue",
    "Domain",
    "Intersection",
    "Interval",
    "L1Ball",
    "L2Ball",
    "LinearMinimum",
    "Nearest",
    "ProbabilitySimplex",
    "SPDInterval",
    "Space",
    "Where",
    "feasible_first",
    "space",
]
