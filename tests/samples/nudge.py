"""A method for people of a user's own, cheap enough for thousands of studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from geoduel.methods.people.questions import QuestionMethod


class NudgeState(NamedTuple):
    point: Any
    scale: float
    heard: tuple[Any, ...] = ()
    stop: str | None = None
    noise = None

    @property
    def best(self) -> Any:
        return self.point

    @property
    def uncertainty(self) -> float:
        return self.scale


@dataclass(frozen=True)
class Nudge(QuestionMethod):
    """A method for people in ten lines: go to the winner, look less far."""

    shrink: float = 0.9

    def start(self, manifold, x0, rng):
        return NudgeState(x0, manifold.typical_dist / 5)

    def propose(self, manifold, state, rng, pending=()):
        scale = state.scale * (1 + len(pending))  # so that open questions can be seen to matter
        return manifold.exp_pair(state.point, scale * manifold.unit_tangent(rng, state.point))

    def update(self, manifold, state, a, b, answer, rng, *, left=0, rater=None):
        point = (a, state.point, b)[answer + 1]
        heard = (*state.heard, (answer, left, rater, rng.integers(1000)))
        scale = self.shrink * state.scale
        stop = "x_tol" if self.x_tol is not None and scale <= self.x_tol else None
        return NudgeState(point, scale, heard, stop)
