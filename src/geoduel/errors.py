"""Errors and warnings.

Every error is a `GeoduelError` and also the builtin that fits, so that ``except ValueError``
works as anyone would expect. Messages name the argument, its value or shape, and what was expected.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

__all__ = [
    "AlreadyAnsweredError",
    "ArgumentError",
    "BudgetExhaustedError",
    "CutLocusError",
    "DivergenceWarning",
    "DuplicateStudyError",
    "EmptySetError",
    "GeoduelError",
    "GeoduelWarning",
    "InfeasibleError",
    "MalformedExportError",
    "MissingExtraError",
    "MissingOperationError",
    "NotOnManifoldError",
    "NotTangentError",
    "NothingToAskError",
    "OlderStudyWarning",
    "OracleError",
    "OutOfRangeError",
    "PictureError",
    "RadiusWarning",
    "ReplayError",
    "StorageError",
    "StudyFinishedError",
    "TiesWarning",
    "UnknownStudyError",
]


class GeoduelError(Exception):
    """Base class of every error the package raises on purpose.

    They travel between processes with their message and what they carry. Errors that do not would
    stop a pool of workers for good.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        carried = {name: value for name, value in vars(self).items() if _travels(value)}
        return _again, (type(self), self.args, carried)


def _again(kind: type[GeoduelError], args: tuple[Any, ...], carried: dict[str, Any]) -> Any:
    """The error that was pickled; its constructor is not called, which takes other arguments."""
    error = kind.__new__(kind, *args)
    vars(error).update(carried)
    return error


def _travels(value: Any) -> bool:
    """Whether a value can be pickled: what a monitor returned may be anything."""
    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


class ArgumentError(GeoduelError, ValueError):
    """An argument is outside what the function accepts."""


class NotOnManifoldError(ArgumentError):
    """An array is not a point of the manifold, beyond what rounding explains."""


class OutOfRangeError(ArgumentError):
    """A geodesic ends beyond the numbers that the dtype holds."""


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
    result : Result, AttackResult or None
        What a run had found when the oracle failed; nothing is lost. None outside of a run. Any
        other error that ends a run has such an attribute, too.
    """

    result: Any = None  # an `AttackResult` is of a layer below


class InfeasibleError(GeoduelError, ValueError):
    """For an objective or a simulation to raise: the point is one that cannot be.

    It then loses against every feasible point, and two such points tie.
    """


class BudgetExhaustedError(GeoduelError, RuntimeError):
    """A `Counted` oracle was asked for more duels than its budget allows."""


class MissingExtraError(GeoduelError, ImportError):
    """An optional package is needed and not installed; the message names the extra."""


class MissingOperationError(GeoduelError, NotImplementedError):
    """A manifold of another package lacks an operation; the message names both."""


class PictureError(ArgumentError):
    """A file is no picture the package can read or write: damaged, too large, of another kind."""


class UnknownStudyError(ArgumentError, KeyError):
    """There is no study of that name in the storage."""

    def __init__(self, name: str, *, others: Sequence[str] = ()) -> None:
        few = ", ".join(map(repr, others[:8])) + ", ..." * (len(others) > 8)
        known = f", which has {few}" if others else ""
        super().__init__(f"study_name: there is no study {name!r} in the storage{known}")

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would print its repr


class DuplicateStudyError(ArgumentError):
    """There is a study of that name in the storage already."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"study_name: there is a study {name!r} already; create_study goes on with it by "
            "load_if_exists=True, and a copy needs another name"
        )


class AlreadyAnsweredError(ArgumentError):
    """A duel has its answer already, or was withdrawn when an answer before it was taken back."""


class NothingToAskError(GeoduelError, RuntimeError):
    """All questions a study could ask now are out: others have to answer first.

    Attributes
    ----------
    retry_after : float
        Seconds until the first of them may be asked again, if it stays without an answer.
    """

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class StudyFinishedError(GeoduelError, RuntimeError):
    """A study asks no more.

    Attributes
    ----------
    reason : str
        "budget", "iterations", the method's own word: "x_tol", "resolution"; or "items", if fewer
        than two items of a catalogue are feasible.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class ReplayError(GeoduelError, RuntimeError):
    """A log cannot be replayed: it, or the settings, were altered, or the method asks otherwise."""


class MalformedExportError(ArgumentError, ReplayError):
    """A file is no export of a study, or holds what no study writes; the message says where."""


class StorageError(GeoduelError, RuntimeError):
    """A database, or a file, failed. What was being written is not stored, not even in part."""


class GeoduelWarning(UserWarning):
    """Base class of the package's warnings.

    Attributes
    ----------
    result : Result, AttackResult or None
        What was found, where a filter makes an error of a warning at the end of a run; else None.
    """

    result: Any = None  # an `AttackResult` is of a layer below


class DivergenceWarning(GeoduelWarning):
    """Nothing stopped a descent: it led to the end of the manifold, or of what the dtype holds."""


class OlderStudyWarning(GeoduelWarning):
    """A study was made by another version of its method: it is as it was, and asks nothing."""


class RadiusWarning(GeoduelWarning):
    """A perturbation radius is below what the dtype resolves, or beyond the injectivity radius."""


class TiesWarning(GeoduelWarning):
    """More than one duel in twenty was a tie: the radius is below what the objective resolves."""
