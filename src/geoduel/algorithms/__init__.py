"""Methods that see comparisons alone, one a file, each reading like its pseudo-code."""

from .auto import Auto
from .base import Method, State
from .block import Block
from .duel_csa import DuelCSA
from .duel_newton import DuelNewton
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
}
"""The methods by the name that `geoduel.minimize` takes."""

__all__ = [
    "METHODS",
    "RDFW",
    "RDNGD",
    "RRDNGD",
    "Auto",
    "Block",
    "DuelCSA",
    "DuelNewton",
    "Method",
    "State",
]
