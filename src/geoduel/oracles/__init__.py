"""Duels: the protocol, where answers come from, and wrappers around them."""

from .base import Oracle, answers, answers_of
from .noisy import Noisy
from .objective import from_objective
from .people import Person, draw_crowd, draw_person
from .preference import from_preference
from .repeated import Repeated
from .wrappers import Counted, Record, Recorded, Reversed

__all__ = [
    "Counted",
    "Noisy",
    "Oracle",
    "Person",
    "Record",
    "Recorded",
    "Repeated",
    "Reversed",
    "answers",
    "answers_of",
    "draw_crowd",
    "draw_person",
    "from_objective",
    "from_preference",
]
