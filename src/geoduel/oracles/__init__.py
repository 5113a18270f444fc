"""Duels: the protocol, where answers come from, and wrappers around them."""

from .base import Oracle, answers, answers_of
from .logged import Logged
from .noisy import Noisy
from .objective import from_objective
from .paired import paired
from .people import Person, draw_crowd, draw_person
from .preference import from_preference
from .ranking import Ranking, from_ranking
from .repeated import Repeated
from .retried import Retried
from .shuffled import PositionBias, Shuffled
from .wrappers import Counted, Record, Recorded, Reversed

__all__ = [
    "Counted",
    "Logged",
    "Noisy",
    "Oracle",
    "Person",
    "PositionBias",
    "Ranking",
    "Record",
    "Recorded",
    "Repeated",
    "Retried",
    "Reversed",
    "Shuffled",
    "answers",
    "answers_of",
    "draw_crowd",
    "draw_person",
    "from_objective",
    "from_preference",
    "from_ranking",
    "paired",
]
