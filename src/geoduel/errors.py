"""Errors and warnings.

Every error is a `GeoduelError` and also the builtin that fits, so that ``except ValueError``
works as anyone would expect. Messages name the argument, its value or shape, and what was expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .optimize import Result

__all__ = [
    "ArgumentError",
    "BudgetExhaustedError",
    "CutLocusError",
    "EmptySetError",
    "GeoduelError",
    "GeoduelWarning",
    "MissingExtraError",
    "MissingOperationError",
    "NotOnManifoldError",
    "NotTangentError",
    "OracleError",
    "RadiusWarning",
    "TiesWarning",
]


class GeoduelError(Exception):
    """Base class of every error the package raises on purpose."""


class ArgumentError(GeoduelError, ValueError):
    """An argument is outside what the function accepts."""


class NotOnManifoldError(ArgumentError):
    """An array is not a point of the manifold, beyond what rounding explains."""


class NotTangentError(ArgumentError):
    """An array is not a tangent vector at the given point, beyond what rounding explains."""


class EmptySetError(ArgumentError):
    """A domain has no point, for example an interval whose lower bound is not below its upper."""


class CutLocusError(GeoduelError, ValueError):
    """The minimising geodesic between two points is not unique, so `log` has no single value."""


class OracleError(GeoduelError, RuntimeError):
    """An oracle raised, or answered something that is not -1, 0 or +1.

    Attributes
    ----------
    result : Result or None
        What a run had found when the oracle failed; nothing is lost. None outside of a run.
    """

    result: Result | None = None


class BudgetExhaustedError(GeoduelError, RuntimeError):
    """A `Counted` oracle was asked for more duels than its budget allows."""


class MissingExtraError(GeoduelError, ImportError):
    """An optional package is needed and not installed; the message names the extra."""


class MissingOperationError(GeoduelError, NotImplementedError):
    """A manifold of another package lacks an operation; the message names both."""


class GeoduelWarning(UserWarning):
    """Base class of the package's warnings."""


class RadiusWarning(GeoduelWarning):
    """A perturbation radius is below what the dtype resolves, or beyond the injectivity radius."""


class TiesWarning(GeoduelWarning):
    """More than one duel in twenty was a tie: the radius is below what the objective resolves."""
