"""Methods that see comparisons alone, one a file, each reading like its pseudo-code."""

from .auto import Auto
from .base import Method, QuestionMethod, State
from .bisection import Bisection
from .block import Block
from .duel_csa import DuelCSA
from .duel_newton import DuelNewton
from .human import for_people
from .ideal_point import IdealPoint
from .observer import Observer
from .rdfw import RDFW
from .rdngd import RDNGD
from .rrdngd import RRDNGD

METHODS: dict[str, type[Method]] = {
    "auto": Auto,
    "duel-newton": DuelNewton,
    "duel-csa": DuelCSA,
    "block": Block,
    "rdngd": RDNGD,
    "rrdngd": RRDNGD,
    "rdfw": RDFW,
    "bisection": Bisection,
    "ideal-point": IdealPoint,
}
"""The methods by the name that `geoduel.minimize` takes."""

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
    "IdealPoint",
    "Method",
    "Observer",
    "QuestionMethod",
    "State",
    "for_people",
]
