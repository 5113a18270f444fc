"""Methods that see comparisons alone, in three families: the paper's, descent's, and people's."""

from .auto import Auto
from .base import Method, State
from .descent.block import Block
from .descent.duel_csa import DuelCSA
from .descent.duel_newton import DuelNewton
from .mixed import Mixed
from .named import METHODS, named
from .paper.rdfw import RDFW
from .paper.rdngd import RDNGD
from .paper.rrdngd import RRDNGD
from .people.bisection import Bisection
from .people.choice import for_people
from .people.ideal_direction import IdealDirection
from .people.ideal_point import IdealPoint
from .people.observer import Observer
from .people.questions import QuestionMethod

__all__ = [
    "METHODS",
    "RDFW",
    "RDNGD",
    "RRDNGD",
    "Auto",
    "Bisection",
    "Block",
    "DuelCSA",
    "DuelNewton",
    "IdealDirection",
    "IdealPoint",
    "Method",
    "Mixed",
    "Observer",
    "QuestionMethod",
    "State",
    "for_people",
    "named",
]
