"""Oracles around another oracle: turned round, counted, recorded."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._numerics.arrays import Array, copied, host, namespace
from .._numerics.batches import along_one_axis, leading_shape
from .._support.check import positive_int
from ..errors import ArgumentError, BudgetExhaustedError, OracleError
from .base import Oracle, OracleBase, answers, check_oracle, checked_answer, told

__all__ = ["Counted", "Record", "Recorded", "Reversed", "Wrapper"]

# One for all counters, since an oracle that holds a lock could not be sent to a process.
counting = threading.Lock()


class Wrapper(OracleBase):
    """An oracle around another; it sees whole batches, of oracles that take single pairs, too."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = check_oracle(oracle)

    @property
    def vectorized(self) -> bool:  # type: ignore[override]
        """Whether x and y may have leading axes: as the oracle inside."""
        return getattr(self.oracle, "vectorized", False)

    @property
    def awaited(self) -> bool:
        """Whether the duels of a batch are awaited together: as the oracle inside."""
        return getattr(self.oracle, "awaited", False)

    @property
    def point_ndim(self) -> int | None:  # type: ignore[override]
        """Number of axes of a point, once the oracle inside knows."""
        return getattr(self.oracle, "point_ndim", None)

    def hand(self, unpack: Callable[[Array], Any] | None) -> None:
        self.oracle = told(self.oracle, unpack)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.oracle!r})"


class Reversed(Wrapper):
    """The opposite preference: minimising with it maximises.

    Parameters
    ----------
    oracle : Oracle
        The oracle to turn around.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.oracles import from_objective
    >>> longest = Reversed(from_objective(lambda x: float(x @ x)))
    >>> longest(np.array([3.0]), np.array([1.0]))  # x is preferred
    -1
    """

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        return -answers(self.oracle, x, y, point_ndim, executor)


class Counted(Wrapper):
    """Count duels, and refuse to ask more than a budget; threads may share it.

    A batch that the rest of the budget does not cover is refused as a whole, before anything of it
    is asked.

    Parameters
    ----------
    oracle : Oracle
        The oracle to count.
    budget : int, optional
        Most duels; without it they are only counted.

    Attributes
    ----------
    duels : int
        Duels asked so far, ties included.
    ties : int
        Those of them that were answered with a tie.

    Raises
    ------
    BudgetExhaustedError
        On a duel beyond the budget.
    ArgumentError
        If the budget is no integer >= 0. On a duel, if a vectorized oracle is called directly
        before anything tells how many axes a point has: use ``answers(..., point_ndim=...)``.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.oracles import from_objective
    >>> oracle = Counted(from_objective(lambda x: float(x @ x)), budget=1)
    >>> oracle(np.ones(2), np.zeros(2)), oracle.duels, oracle.ties
    (1, 1, 0)
    >>> oracle(np.ones(2), np.zeros(2))
    Traceback (most recent call last):
    geoduel.errors.BudgetExhaustedError: 1 more duel asked for, 0 of the budget of 1 left
    """

    def __init__(self, oracle: Oracle, budget: int | None = None) -> None:
        super().__init__(oracle)
        self.budget = None if budget is None else positive_int(budget, "budget", least=0)
        self.duels = 0
        self.ties = 0

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        asked = self._asked(x, y, point_ndim)
        if self.budget is not None and asked is None:
            raise ArgumentError(
                f"cannot tell how many duels x of shape {tuple(x.shape)} holds: give the "
                "number of axes of a point, answers(oracle, x, y, point_ndim=...)"
            )
        self._take(asked or 0)  # before asking: what fails has been asked, too
        answer = answers(self.oracle, x, y, point_ndim, executor)
        if isinstance(answer, int):
            ties = int(answer == 0)
        else:
            ties = int(namespace(answer).count_nonzero(answer == 0))
        with counting:
            self.ties += ties
            if asked is None:
                self.duels += math.prod(getattr(answer, "shape", ()))
        return answer

    def _take(self, asked: int) -> None:
        """Count duels that are about to be asked, if the budget covers them."""
        with counting:
            if self.budget is not None and self.duels + asked > self.budget:
                raise BudgetExhaustedError(
                    f"{asked} more duel{'s' * (asked != 1)} asked for, "
                    f"{self.budget - self.duels} of the budget of {self.budget} left"
                )
            self.duels += asked

    def _asked(self, x: Array, y: Array, point_ndim: int | None) -> int | None:
        if point_ndim is None:
            if not self.vectorized or (x.ndim <= 1 and y.ndim <= 1):
                return 1
            if (point_ndim := self.point_ndim) is None:
                return None
        if x.ndim == point_ndim == y.ndim:
            return 1
        return math.prod(leading_shape(point_ndim, x, y))


class Record(NamedTuple):
    """A duel and its answer.

    Attributes
    ----------
    x, y : array
        The points, copied.
    answer : int
        -1, 0 or +1.
    """

    x: Array
    y: Array
    answer: int


class Recorded(Wrapper):
    """Keep every duel with its answer.

    Parameters
    ----------
    oracle : Oracle
        The oracle to listen to.

    Attributes
    ----------
    records : list of Record
        In the order of asking; the pairs of a batch one by one. The points are copies.

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.oracles import from_objective
    >>> oracle = Recorded(from_objective(lambda x: float(x @ x)))
    >>> oracle(np.array([2.0]), np.array([1.0]))
    1
    >>> oracle.records
    [Record(x=array([2.]), y=array([1.]), answer=1)]
    """

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self.records: list[Record] = []

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        # Copied first: the oracle might write to what it is given.
        x_copy, y_copy = copied(x), copied(y)
        answer = answers(self.oracle, x, y, point_ndim, executor)
        if isinstance(answer, int):
            self.records.append(Record(x_copy, y_copy, answer))
            return answer
        _, (xs, ys) = along_one_axis(max(x.ndim, y.ndim) - answer.ndim, x_copy, y_copy)
        each = host(answer).ravel().astype(int).tolist()
        self.records += [Record(xs[i], ys[i], a) for i, a in enumerate(each)]
        return answer

    def write(self, path: str | Path) -> None:
        """Write the records as JSON lines, ``{"x": ..., "y": ..., "answer": ...}``.

        Floats are written so that they are read back to the last bit.
        """
        with Path(path).open("w", encoding="utf-8") as file:
            for x, y, answer in self.records:
                x, y = host(x), host(y)
                line = {"x": x.tolist(), "y": y.tolist(), "answer": answer, "dtype": str(x.dtype)}
                file.write(json.dumps(line) + "\n")

    @staticmethod
    def read(path: str | Path) -> list[Record]:
        """Read what `write` wrote, as NumPy arrays.

        Raises
        ------
        ArgumentError
            If a line is not a record; the message gives its number.
        """
        records = []
        for number, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            try:
                line = json.loads(text)
                x, y = (np.asarray(line[name], dtype=line["dtype"]) for name in "xy")
                records.append(Record(x, y, checked_answer(line["answer"])))
            except (ValueError, TypeError, KeyError, OracleError) as error:
                raise ArgumentError(f"{path}, line {number}, is not a record: {error}") from error
        return records
