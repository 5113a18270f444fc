"""Among: a run over the items of a catalogue, by a method for people and a knock-out."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...domains.catalogue import Catalogue
from ...manifolds.base import Manifold
from ..base import Method
from .questions import QuestionMethod

__all__ = ["Among", "AmongState"]

FIRST = (15, 5)  # questions for information, or so many a dimension, before the knock-out
LEAD = 5  # duels that a challenger has to be ahead; the champion needs one, or a draw later


class AmongState(NamedTuple):
    """State of a run over items.

    Attributes
    ----------
    inner : State
        Of the method, which has learned from all questions before the knock-out.
    best : array of shape point_shape
        The item that is recommended.
    item : int
        Its index.
    lost : ndarray of bool
        Which items have lost a duel.
    asked : int
        Questions so far.
    challengers : ndarray of int or None
        Items that have yet to challenge the champion, in the knock-out.
    """

    inner: Any
    best: Array
    item: int
    lost: np.ndarray
    asked: int = 0
    challengers: np.ndarray | None = None
    stop: str | None = None

    @property
    def point(self) -> Array:
        """The item that is recommended."""
        return self.best


@dataclass(frozen=True)
class Among(Method):
    """A run over the items of a catalogue; `geoduel.minimize` makes it where there is ``among``.

        ask what tells most, as a person is asked, and learn from it (15 or 5 d questions)
        the item ranked first becomes the champion
        for each item that has not lost yet, in the order of its rank:
            duels with the champion, until the item is not ahead any more, or ahead by 5
            then it becomes the champion
        end when all others have lost

    The first questions are about few items and tell of all, as far as the loss grows with the
    distance from an ideal. The knock-out believes nothing but duels: where answers are consistent,
    no item is better than its champion, whatever the function. Where one answer in ten is wrong,
    a worse item becomes the champion once in 70,000 challenges, and a better one in four of five.
    Catalogues of no more items than there are first questions begin with the knock-out.

    Parameters
    ----------
    method : QuestionMethod
        The method that learns from any pair.
    items : Catalogue
        The items.
    """

    method: QuestionMethod
    items: Catalogue

    version: ClassVar[int] = 1
    state_has: ClassVar[tuple[str, ...]] = ("point", "best", "item", "stop")

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> AmongState:
        inner = self.method.start(manifold, x0, rng)
        lost = np.ones(len(self.items), dtype=bool)  # those at the point of an earlier item are out
        lost[self.items.distinct] = False
        return self._ranked(manifold, AmongState(inner, x0, 0, lost))

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Method, int | None]:
        inner, iterations = self.method.plan(manifold, x0, iterations=iterations, budget=budget)
        return replace(self, method=inner), iterations

    def without_start(self, manifold: Manifold, rng: np.random.Generator) -> tuple[Method, Array]:
        inner, x0 = self.method.without_start(manifold, rng)
        return replace(self, method=inner), x0

    def step(
        self, manifold: Manifold, state: AmongState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, AmongState]:
        if state.challengers is not None:
            return (yield from self._challenge(state))
        first = max(FIRST[0], FIRST[1] * manifold.dim)
        if state.asked >= first or len(self.items.distinct) <= first:
            return self._knock_out(manifold, state)
        a, b = self.method.propose_among(manifold, state.inner, rng, self.items)
        answer = int((yield a, b))
        inner = self.method.update(manifold, state.inner, a, b, answer, rng)
        lost = state.lost.copy()
        if answer:
            lost[self.items.index(a if answer > 0 else b)] = True
        state = state._replace(inner=inner, lost=lost, asked=state.asked + 1)
        return self._ranked(manifold, state)._replace(stop=self.method.stop_reason(inner))

    def _ranked(self, manifold: Manifold, state: AmongState) -> AmongState:
        """The state with the item that its belief ranks first."""
        index = int(self.method.rank(manifold, state.inner, self.items, 1)[0])
        return state._replace(best=self.items[index], item=index)

    def _knock_out(self, manifold: Manifold, state: AmongState) -> AmongState:
        """The state with all challengers, those first that the belief ranks first."""
        order = self.method.rank(manifold, state.inner, self.items, len(self.items))
        order = order[~state.lost[order] & (order != state.item)]
        return state._replace(challengers=order, stop=None if len(order) else "items")

    def _challenge(self, state: AmongState) -> Generator[tuple[Array, Array], Any, AmongState]:
        """One challenger against the champion."""
        assert state.challengers is not None
        index, left = int(state.challengers[0]), state.challengers[1:]
        challenger, ahead = self.items[index], 0
        while True:
            ahead -= int((yield challenger, state.best))
            if not 0 < ahead < LEAD:
                break
        state = state._replace(challengers=left, stop=None if len(left) else "items")
        return state._replace(best=challenger, item=index) if ahead > 0 else state

    def stop_reason(self, state: AmongState) -> str | None:
        return state.stop

    def noise(self, state: AmongState) -> float | None:
        return self.method.noise(state.inner)

    def uncertainty(self, state: AmongState) -> float | None:
        return self.method.uncertainty(state.inner)
