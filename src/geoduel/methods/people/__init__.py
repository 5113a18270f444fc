"""Methods for questions that a person answers."""

from .bisection import Bisection
from .choice import for_people
from .ideal_direction import IdealDirection
from .ideal_point import IdealPoint
from .observer import Observer

__all__ = ["Bisection", "IdealDirection", "IdealPoint", "Observer", "for_people"]
