"""Symmetric positive definite matrices, with three metrics."""

from .spd import SPD

__all__ = ["SPD"]
