"""How a run ends: what it has found is kept, whatever ends it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError, GeoduelWarning

__all__ = ["carry", "listen", "wants_to_stop", "warn"]


def carry(error: BaseException, result: Any, iterations: int, asked: str) -> None:
    """Put into an error what the run that it ends has found, and a note that says so."""
    error.result = result  # type: ignore[attr-defined]
    error.add_note(
        f"the run had finished {iterations} iterations, with {asked} asked; "
        "what it had found is in the attribute `result` of this error"
    )


def warn(category: type[GeoduelWarning], message: str, result: Any) -> None:
    """Warn whoever called the caller; where warnings are errors, the error has the result."""
    try:
        warnings.warn(message, category, stacklevel=3)
    except GeoduelWarning as error:
        error.result = result
        error.add_note("what the run has found is in the attribute `result` of this warning")
        raise


def listen(listener: Callable[[Any], Any], what: Any, name: str) -> Any:
    """Call what a user gave to be told of a run.

    Raises
    ------
    ArgumentError
        For StopIteration, which a loop over questions would take for its own end, and for what has
        to be awaited, which counts as true.
    """
    try:
        said = listener(what)
    except StopIteration as error:
        way = "; a callback that returns True ends the run" if name == "callback" else ""
        raise ArgumentError(f"{name} raised StopIteration{way}") from error
    if inspect.isawaitable(said):
        if inspect.iscoroutine(said):
            said.close()  # without a warning that it was never awaited
        raise ArgumentError(f"{name} must answer at once, it returned {said!r:.80}")
    return said


def wants_to_stop(said: Any) -> bool:
    """Whether what a callback returned is true.

    Raises
    ------
    ArgumentError
        If it is neither true nor false, as an array of several numbers.
    """
    try:
        return bool(said)
    except Exception as error:
        raise ArgumentError(
            "callback must return something true to end the run, or something false, such as "
            f"None, to go on; got {said!r:.80}"
        ) from error
