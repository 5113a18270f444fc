"""What a run returns: a `Result` with its `History`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ._numerics.arrays import Array, host

__all__ = ["Each", "History", "Result", "shown"]

MESSAGES = {
    "x_tol": "The estimated distance to the optimum is below x_tol.",
    "resolution": "Points that are closer can no longer be told apart.",
    "iterations": "All iterations were made.",
    "budget": "The budget of duels is spent.",
    "timeout": "The time is over.",
    "callback": "The callback asked to stop.",
    "interrupted": "The run was interrupted.",
    "ties": "Hundreds of duels in a row were ties: f is flat here, as far as the duels reached.",
    "idle": "No duel was left to ask.",
    "items": "Every other item has lost a duel.",
    "diverges": "Nothing stopped the descent: f seems to have no minimum here.",
    "mixed": "The problems ended for different reasons: see each.stop_reason.",
}
"""What the stop reasons of `Result` mean; a method may have others."""
SUCCESS = ("x_tol", "resolution", "iterations", "items")
SMALL = 128
"""Numbers of a point, of all problems together, up to which a history keeps the points."""


@dataclass(eq=False)
class History:
    """What a run recorded, thinned so that it never grows beyond a few thousand entries.

    Attributes
    ----------
    iteration, duels : list of int
        Iterations finished and duels asked (of one problem) at each record.
    seconds : list of float
        Wall-clock time since the start of the run.
    monitor : list
        What ``monitor(x)`` returned at each record; empty without a monitor.
    points : list of array
        The best point at each record; empty where points hold more than `SMALL` numbers. There
        ``monitor=np.copy`` keeps them all the same.
    uncertainty, noise : list of float or None
        As in `Result`, at each record.
    """

    iteration: list[int] = field(default_factory=list)
    duels: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    monitor: list[Any] = field(default_factory=list)
    points: list[Array] = field(default_factory=list)
    uncertainty: list[float | None] = field(default_factory=list)
    noise: list[float | None] = field(default_factory=list)

    def at(self, iteration: int) -> int:
        """Index of the last record at or before the iteration."""
        return max(i for i, k in enumerate(self.iteration) if k <= iteration)


@dataclass(frozen=True, eq=False)
class Each:
    """What is known of each problem of a run of several; arrays of the shape of its leading axes.

    Attributes
    ----------
    duels, ties : ndarray of int
        Duels asked, and ties among them.
    stop_reason : ndarray of str
        As in `Result`; a problem that has ended is not asked about any more.
    noise, uncertainty : ndarray of float
        As in `Result`; NaN where it is not known.
    """

    duels: np.ndarray
    ties: np.ndarray
    stop_reason: np.ndarray
    noise: np.ndarray
    uncertainty: np.ndarray


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """What a run found. Two are equal only if they are one object.

    Attributes
    ----------
    x : array of shape (..., *point_shape), or dict
        Best point: what the method returns. It is a dictionary where its parts have names, as those
        of `geoduel.space`.
    x_last : array of shape (..., *point_shape), or dict
        Last iterate.
    iterations : int
        Iterations finished.
    duels : int
        Duels asked, ties included. Of one problem, the one with most, where leading axes hold
        several. A ranking that is told at once counts as the most duels that its sort may take.
    ties : int
        Duels answered with a tie, over all problems.
    rounds : int
        How often the oracle was asked, one duel or a batch at once, of rankings, too: what parallel
        duels save.
    stop_reason : str
        "iterations", "budget", "timeout", "callback", "interrupted", or the method's own words:
        "x_tol", "resolution". "ties" after 200 of them in a row; "idle" where a thousand times in
        a row there was no duel to ask. "items" where every other item of a catalogue has lost.
        "diverges" where nothing stopped the descent: x is the best point before the end of the
        manifold, or of what its dtype holds. "mixed" where several problems had several reasons.
        "oracle error" or "error" in the attribute ``result`` of the error that ended the run.
    seconds : float
        Wall-clock time.
    history : History
        Records along the way.
    noise : float or None
        Estimated probability that an answer is wrong, from duels asked twice; None if the method
        does not ask any. The mean over several problems.
    uncertainty : float or None
        Estimated distance of x to the optimum, a geodesic length, right to an order of magnitude;
        None if the method has no idea. The largest of several problems.
    index : int or None
        Which item of a catalogue x is; None without ``among``.
    runs : int
        Starts that the method made. The default begins again where a run has ended by itself and a
        budget is left, see `geoduel.Auto`; ``x`` is the best end.
    each : Each or None
        Where leading axes hold several problems and the method ran each for itself, as the default
        does: what is known of each of them.
    """

    x: Array
    x_last: Array
    iterations: int
    duels: int
    ties: int
    rounds: int
    stop_reason: str
    seconds: float
    history: History = field(repr=False)
    noise: float | None = None
    uncertainty: float | None = None
    index: int | None = None
    each: Each | None = field(default=None, repr=False)
    runs: int = 1

    @property
    def success(self) -> bool:
        """Whether the run came to its own end: the accuracy, the resolution, or all iterations.

        Of several problems, whether all did.
        """
        if self.stop_reason == "mixed" and self.each is not None:
            return bool(np.isin(self.each.stop_reason, SUCCESS).all())
        return self.stop_reason in SUCCESS

    @property
    def message(self) -> str:
        """The stop reason as a sentence."""
        return MESSAGES.get(self.stop_reason, f"The run ended with {self.stop_reason!r}.")

    @property
    def nit(self) -> int:
        """Iterations finished, by SciPy's name."""
        return self.iterations

    @property
    def nfev(self) -> int:
        """Duels asked, by SciPy's name for evaluations; no value of f was ever seen."""
        return self.duels

    def keys(self) -> list[str]:
        """Names of the fields, so that ``dict(result)`` works."""
        return [f.name for f in fields(self)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __getitem__(self, name: str) -> Any:
        if name in (*self.keys(), "success", "message", "nit", "nfev"):
            return getattr(self, name)
        raise KeyError(f"{name!r}: a Result has {', '.join(self.keys())}, and no values of f")

    def __repr__(self) -> str:
        return (
            f"Result(x={shown(self.x)}, stop_reason={self.stop_reason!r}, duels={self.duels}, "
            + (f"index={self.index}, " if self.index is not None else "")
            + f"ties={self.ties}, iterations={self.iterations}, rounds={self.rounds}, "
            f"uncertainty={_short(self.uncertainty)}, noise={_short(self.noise)}, "
            f"seconds={self.seconds:.3g})"
        )


def shown(x: Any) -> str:
    """A point in a line: its entries where they are few, else its shape; parts by their names.

    Examples
    --------
    >>> shown(np.array([0.25, 1 / 3])), shown(np.zeros((4, 5)))
    ('[0.25, 0.3333]', 'array of shape (4, 5)')
    >>> shown({"gain": 2 / 3, "mix": np.ones(2)})
    '{gain: 0.6667, mix: [1, 1]}'
    """
    if isinstance(x, dict):
        return f"{{{', '.join(f'{name}: {shown(part)}' for name, part in x.items())}}}"
    if isinstance(x, float):
        return f"{x:.4g}"
    if not hasattr(x, "shape"):  # a category, or a whole number
        return repr(x)
    if np.prod(x.shape, dtype=int) > 9:
        return f"array of shape {tuple(x.shape)}"
    entries = np.array2string(host(x), separator=", ", formatter={"all": "{:.4g}".format})
    return " ".join(entries.split())


def _short(value: float | None) -> str:
    return "None" if value is None else f"{value:.2g}"
