"""Problems with known optima: what the methods are tried and measured on."""

from .base import Problem
from .euclidean import Quadratic, Rosenbrock
from .horizon import Leveling
from .karcher import Karcher
from .rayleigh import Rayleigh

__all__ = ["Karcher", "Leveling", "Problem", "Quadratic", "Rayleigh", "Rosenbrock"]
