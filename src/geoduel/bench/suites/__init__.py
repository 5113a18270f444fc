"""The suites by name."""

from ..case import Suite
from .bbob import BBOB, MIXINT
from .manifolds import MANIFOLDS
from .noise import NOISE
from .paper import PAPER
from .people import PEOPLE

__all__ = ["SUITES"]

SUITES: dict[str, Suite] = {
    "paper": PAPER,
    "bbob": BBOB,
    "mixint": MIXINT,
    "manifolds": MANIFOLDS,
    "noise": NOISE,
    "people": PEOPLE,
}
