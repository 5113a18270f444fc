"""Methods that learn the curvature of the objective from duels."""

from .block import Block
from .duel_csa import DuelCSA
from .duel_newton import DuelNewton

__all__ = ["Block", "DuelCSA", "DuelNewton"]
