"""The suites by name."""

from ..case import Suite
from .bbob import BBOB
from .manifolds import MANIFOLDS
from .noise import NOISE
from .paper import PAPER
from .people import PEOPLE

__all__ = ["SUITES"]

SUITES: dict[str, Suite] = {
    "paper": PAPER,
    "bbob": BBOB,
    "manifolds": MANIFOLDS,
    "noise": NOISE,
    "people": PEOPLE,
}
