"""An oracle that puts several points in order at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Set
from concurrent.futures import Executor
from typing import Any

import numpy as np

from .._numerics.arrays import Array, copied, namespace
from .._numerics.batches import along_one_axis, as_like
from .._support.check import as_generator, function, is_bool, positive_int, truth
from .._support.pools import run_each
from ..errors import BudgetExhaustedError, OracleError
from .base import OracleBase

__all__ = ["Ranking", "from_ranking", "places_of"]


def from_ranking(
    rank: Callable[[Array], Any],
    *,
    most: int = 8,
    shuffle: bool = True,
    rng: np.random.Generator | int | None = 0,
) -> Ranking:
    """Oracle from a judge that puts several points in order: a tournament, a model, a person.

    `geoduel.minimize` then asks for rankings wherever the method has any use for them, as the
    default has. A pair is a ranking of two, so every other method works, too.

    Parameters
    ----------
    rank : callable
        ``rank(points)`` returns the indices of the points, the best first: ``[2, 0, 1]``, a list,
        an array or a tensor. Points that are alike stand together: ``[2, [0, 1]]``. It is given an
        array of shape (k, *point_shape), or a list of k dictionaries where the parts of a point
        have names.
    most : int
        Most points that it is given at once, at least 2.
    shuffle : bool
        Draw the order in which the points are given. What a judge that favours the first does is
        then noise.
    rng : int or numpy.random.Generator, optional
        Seed or generator of that order.

    Returns
    -------
    Oracle

    Raises
    ------
    OracleError
        On a question, if the judge raises, or returns anything but each index once.

    Examples
    --------
    >>> import numpy as np
    >>> oracle = from_ranking(lambda points: np.argsort(abs(points[:, 0])))
    >>> oracle(np.array([2.0]), np.array([1.0]))
    1
    >>> oracle.places(np.array([[[2.0], [-1.0], [3.0]]]))
    array([[1, 0, 2]])
    """
    function(rank, "rank", "several points")
    most = positive_int(most, "most", least=2)
    return Ranking(rank, most, truth(shuffle, "shuffle"), as_generator(rng))


class Ranking(OracleBase):
    """See `from_ranking`."""

    def __init__(
        self, rank: Callable[[Array], Any], most: int, shuffle: bool, rng: np.random.Generator
    ) -> None:
        self._rank, self.most, self._shuffle, self._rng = rank, most, shuffle, rng

    def __repr__(self) -> str:
        return f"from_ranking({self._rank!r})"

    def places(self, points: Array, executor: Executor | None = None) -> np.ndarray:
        """Places of points of shape (r, k, *point_shape): r rankings, shape (r, k).

        A place is the number of better points, so that points that are alike have the same.
        """
        r, k = points.shape[:2]
        shown = np.tile(np.arange(k), (r, 1))
        if self._shuffle:
            shown = self._rng.permuted(shown, axis=1)
        xp = namespace(points)
        rows = [(xp.stack([points[i, j, ...] for j in shown[i]]),) for i in range(r)]
        found = np.empty((r, k), dtype=int)
        for i, places in enumerate(run_each(self._places, rows, executor)):
            found[i, shown[i]] = places
        return found

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        axes: int = x.ndim if point_ndim is None else point_ndim
        lead, (x, y) = along_one_axis(axes, x, y)
        first, second = self.places(namespace(x).stack([x, y], axis=1), executor).T
        signs = np.sign(first - second)
        return as_like(np.reshape(signs, lead), x) if lead else int(signs[0])

    def _places(self, points: Array) -> np.ndarray:
        points = copied(points)
        given = points
        if self.unpack is not None:
            given = [self.unpack(points[i, ...]) for i in range(len(points))]
        try:
            order = self._rank(given)
        except (OracleError, BudgetExhaustedError):
            raise
        except Exception as error:
            raise OracleError(f"the ranking raised {type(error).__name__}: {error}") from error
        return places_of(order, len(points))


def places_of(order: Any, k: int) -> np.ndarray:
    """Places of k points in an order of their indices, those that are alike in a list.

    Raises
    ------
    OracleError
        If it does not hold each index once.

    Examples
    --------
    >>> places_of([2, [0, 1], 3], 4)
    array([1, 1, 0, 3])
    """
    places, before, wrong = np.full(k, -1), 0, ""
    try:
        if isinstance(order, Set | Mapping):
            raise TypeError
        groups = [list(entry) if np.ndim(entry) else [entry] for entry in order]
    except TypeError:
        groups, wrong = [], "is no order"
    for group in groups:
        for i in group:
            number = _index(i)
            if number is None:
                wrong = wrong or f"holds {i!r:.40}, which is no index"
            elif not 0 <= number < k:
                wrong = wrong or f"holds {number}"
            elif places[number] >= 0:
                wrong = wrong or f"holds {number} twice"
            else:
                places[number] = before
        before += len(group)
    if not wrong and before < k:
        wrong = f"lacks {int(np.argmin(places))}"
    if wrong:
        raise OracleError(
            f"the ranking answered {order!r:.80}, which {wrong}; expected each index from 0 to "
            f"{k - 1} once, the best first, and those that are alike in a list"
        )
    return places


def _index(value: Any) -> int | None:
    """A whole number of any library; None for what is none."""
    try:
        return None if is_bool(value) else operator.index(value)
    except TypeError:
        return None
