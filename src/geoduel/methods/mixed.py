"""Mixed: categories and whole numbers, by duels between the steps of a method that walks."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._numerics.arrays import Array
from ..domains.base import Domain
from ..domains.mixture import Mixture, is_mixed
from ..errors import ArgumentError
from ..manifolds.base import Manifold
from ..manifolds.discrete import Integers
from .auto import SAME, Auto
from .base import Method, default_radius, one_problem
from .descent.first_step import directions
from .descent.noise import lead
from .frame import Frame
from .restarts import LONGER, Restarted, elsewhere, judged, scale_of

__all__ = ["Mixed", "MixedState", "mixed_if_needed"]

# Frozen; docs/notebook/mixed.md says what they were tuned on.
ALONE = 10  # duels a dimension of the walk, after a change, before the first trial
SHARE = 1.25  # duels of the walk for each one about values, before the next ones about these
FIRST = 0.5  # first step of a whole number, where all of them are two units long
REACH = 0.2  # how far off, in typical distances, the optimum of another value is looked for
FAR = 0.3  # a value that is no better than the present one so far from its optimum has no trial
CLOSER = 0.7  # that distance shrinks so in a trial, for each duel a dimension
OWN = 6  # duels a dimension of a descent with another value
KICKED = 2  # values that are drawn anew before every other run that spends what is left

Duels = Generator[tuple[Array, Array], Any, Any]
Value = tuple[int, float]  # which factor, and its number


class MixedState(NamedTuple):
    """State of a run over values and points.

    Attributes
    ----------
    point, best : array of shape point_shape
        The point of the walk, and the one to return, with the present values.
    values : ndarray of shape (n,)
        The present number of each discrete factor.
    inner : State or None
        Of the method that walks on the continuous factors; None where there are none.
    walked, asked : int
        Duels of the walk, and duels about values.
    swept : int or None
        Duels of the walk when all values were asked about last; None before, and after a change.
    changed : int
        Duels of the walk when a value changed last.
    settled : bool
        Whether the last sweep has changed whole numbers alone: then the next one asks about these.
    lost, far, alike : tuple
        Values that have lost after a descent of their own, those too far behind for one, and those
        that tied with the present ones when all were asked about last.
    rounds : int
        How often all others had their trials; with each, values may be twice as far behind.
    """

    point: Array
    best: Array
    values: np.ndarray
    inner: Any
    walked: int = 0
    asked: int = 0
    swept: int | None = None
    changed: int = 0
    settled: bool = False
    lost: tuple[Value, ...] = ()
    far: tuple[Value, ...] = ()
    alike: tuple[Value, ...] = ()
    rounds: int = 0
    noise: float = 0.0
    stop: str | None = None


@dataclass(frozen=True)
class Mixed(Method):
    """Categories and whole numbers, beside a method that walks on all other factors.

        sweep
        repeat:
            steps of the method, at the present values, until they have asked five duels for
            each four about values;   then a trial if the last sweep has changed nothing, else
            a sweep, of the whole numbers alone if these alone were changed by the last one
        where it has ended: sweep; the end is believed if nothing changes, and no trial is left

        sweep: for each discrete factor, at the present point
            categories: each other value challenges the present one
            whole numbers: steps up and down, twice as long after each that wins, else half
        trial: another value gets a short descent of its own, as long as it is ahead of the present
            one at a point a first step away, and nearer with each step; its end challenges the
            present best point, and there the present value; none for values that tied with that
        what is left of a budget: all of it once more, in turns from the best end with two values
            drawn anew and from elsewhere, until no other minimum is to be expected; duels between
            the ends decide

    The method knows nothing of the values. What it has learned survives their change, and it goes
    on with longer probes. Values far from the best one cost a duel a sweep, and those whose optimum
    lies elsewhere are found by their trials. Pairs of values that are only better together are left
    to the runs that spend a budget. A tie keeps what there is. Where answers are wrong, a lead
    decides.

    `geoduel.minimize` and `geoduel.create_study` put it around the method that they are given,
    wherever a space has categories or whole numbers.

    Parameters
    ----------
    method : Method
        What walks: one that runs one problem, without a domain.
    domain : Domain, optional
        Feasible set, factor by factor; it restricts continuous factors alone.
    restarts : 0, math.inf or None
        ``math.inf`` begins again where a run has ended, as said above. None, the default, is that
        where a ``budget`` is given and the method has no ``x_tol``, no ``min_radius`` and no
        ``restarts`` of its own; else 0.

    Examples
    --------
    >>> import geoduel as gd
    >>> net = gd.space(kind=["a", "b", "c"], layers=range(1, 13), turn=gd.Torus(1))
    >>> def loss(p):
    ...     return (p["kind"] != "b") + abs(p["layers"] - 4) + 1 - np.cos(p["turn"] - 2)
    >>> result = gd.minimize(gd.from_objective(loss), net, budget=100, rng=0)
    >>> result.x["kind"], result.x["layers"], round(result.x["turn"], 3)
    ('b', 4, 2.0)
    """

    method: Method = field(default_factory=Auto)
    domain: Domain | None = None
    restarts: float | None = None

    version: ClassVar[int] = 7
    single: ClassVar[bool] = True
    state_has: ClassVar[tuple[str, ...]] = ("point", "best", "stop")

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            raise ArgumentError(f"Mixed method must be a Method, got {self.method!r:.80}")
        if self.method.domain is not None:
            raise ArgumentError("Mixed method has a domain of its own: give it to Mixed")
        if self.method.ranking is not None:
            raise ArgumentError(
                f"ranking={self.method.ranking} is for continuous factors alone: Mixed asks for "
                "duels"
            )
        if self.restarts not in (None, 0, math.inf):
            raise ArgumentError(f"Mixed restarts must be 0, inf or None, got {self.restarts!r:.80}")
        for name in ("parallel", "x_tol", "feasible_first", "projects"):
            object.__setattr__(self, name, getattr(self.method, name))

    def spending(self) -> Mixed:
        """With restarts as a budget allows, unless that is set or a run ends early."""
        given = self.restarts is not None or getattr(self.method, "restarts", None) is not None
        ends_early = self.x_tol is not None or getattr(self.method, "min_radius", 0) > 0
        return self if given or ends_early else replace(self, restarts=math.inf)

    def typical_answers(self, manifold: Manifold) -> int:
        """Those of the walk, and two for each other category or step of a whole number."""
        parts, asked = _parts(manifold), 0
        for factor in parts.factors:
            low, high = factor.bounds
            others = high - low
            asked += math.ceil(math.log2(1 + others)) if isinstance(factor, Integers) else others
        walk = 0 if parts.continuous is None else self.method.typical_answers(parts.continuous)
        return walk + 2 * asked

    def plan(
        self, manifold: Manifold, x0: Array, *, iterations: int | None, budget: int | None
    ) -> tuple[Method, int | None]:
        one_problem(self, manifold, x0)
        parts = _parts(manifold)
        if parts.continuous is None:
            return self, iterations
        start, _ = parts.split(x0)
        walker, _ = self._walker(parts).plan(
            parts.continuous, start, iterations=iterations, budget=budget
        )
        return replace(self, method=_without_domain(walker)), iterations

    def without_start(self, manifold: Manifold, rng: np.random.Generator) -> tuple[Method, Array]:
        """Random values; the continuous part as the method that walks has it."""
        parts, x = _parts(manifold), manifold.random_point(rng)
        if parts.continuous is None:
            return self, x
        walker, moving = self._walker(parts).without_start(parts.continuous, rng)
        return replace(self, method=_without_domain(walker)), parts.join(moving, parts.split(x)[1])

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> MixedState:
        parts = _parts(manifold)
        moving, values = parts.split(x0)
        inner = None
        if parts.continuous is not None:
            inner = self._walker(parts).start(parts.continuous, moving, rng)
        return MixedState(x0, x0, values, inner)

    def step(
        self, manifold: Manifold, state: MixedState | Restarted, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, MixedState | Restarted]:
        before = state if isinstance(state, Restarted) else None
        run: MixedState = state.local if isinstance(state, Restarted) else state
        local = yield from self._step(manifold, run, rng)
        if local.stop is None:
            return before._replace(local=local) if before else local
        if not self.restarts or local.stop == "diverges":
            return local
        parts = _parts(manifold)
        if before is None:
            moving = parts.continuous
            scale = scale_of(moving, self._walker(parts).domain, local.inner) if moving else 0.0
            ended = Restarted(local, local.best, scale, doubt=local.noise)
            ended = ended._replace(reason=local.stop, distance=self.uncertainty(local))
        else:
            ended = yield from self._judged(parts, before._replace(local=local))
        if ended.complete:
            return ended._replace(stop=ended.reason)
        return self._restarted(manifold, ended, rng)

    def _judged(self, parts: Mixture, state: Restarted) -> Duels:
        """At the end of a run: the better of its end and the champion, by duels."""
        _, worse, state = yield from judged(state, self.uncertainty(state.local))
        others = state.others
        if not any(_alike(parts, worse, x) for x in (state.champion, *others)):
            others = (*others, worse)
        return state._replace(others=others, alone=state.alone + (state.run % 2 == 0))

    def _restarted(
        self, manifold: Manifold, state: Restarted, rng: np.random.Generator
    ) -> Restarted:
        """The next run, before its first step."""
        parts, run = _parts(manifold), state.run + 1
        moving, values = parts.split(state.champion)
        if run % 2:
            for i in rng.permutation(len(values))[:KICKED]:
                low, high = parts.factors[i].bounds
                number = int(rng.integers(low, high))  # of the others: those above come one later
                values = _with(values, i, float(number + (number >= values[i])))
        else:
            values = parts.split(manifold.random_point(rng))[1]
            if parts.continuous is not None:
                length = state.scale * 2.0 ** (state.alone % LONGER)
                domain = self._walker(parts).domain
                moving = elsewhere(parts.continuous, moving, rng, length, domain)
        local = self.start(manifold, parts.join(moving, values), rng)
        return state._replace(local=local, run=run)

    def _step(
        self, manifold: Manifold, state: MixedState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, MixedState]:
        """A sweep, a step of the walk, or a trial."""
        parts = _parts(manifold)
        ended = state.inner is None or self._walker(parts).stop_reason(state.inner) is not None
        if not ended and state.walked < SHARE * state.asked:
            return (yield from self._walk(parts, state, rng))
        swept = state.swept
        if swept is None or (ended and swept < state.walked):
            return (yield from self._sweep(parts, state, rng))
        challenger = next(_others(parts, state, ended), None)
        if challenger is None and state.far and state.rounds == 0:
            state = state._replace(far=(), rounds=1)
            challenger = next(_others(parts, state, ended), None)
        alone = state.walked - state.changed >= ALONE * manifold.dim
        if challenger is not None and state.inner is not None and (ended or alone):
            return (yield from self._trial(parts, state, challenger, rng))
        if ended:
            return state._replace(stop=self._why(parts, state))
        if swept < state.walked / 2:
            return (yield from self._sweep(parts, state, rng))
        return (yield from self._walk(parts, state, rng))

    def _walk(self, parts: Mixture, state: MixedState, rng: np.random.Generator) -> Duels:
        """A step of the method at the present values."""
        walker = self._walker(parts)
        step = walker.step(_ground(parts), state.inner, rng)
        inner, duels = yield from _at(parts, state.values, step)
        noise = walker.noise(inner)
        state = state._replace(noise=state.noise if noise is None else noise)
        return _moved(parts, state._replace(inner=inner, walked=state.walked + duels))

    def _sweep(self, parts: Mixture, state: MixedState, rng: np.random.Generator) -> Duels:
        """Every value of every factor challenges the present one, at the present point."""
        numbers = _integers(parts)
        kinds = [i for i in range(len(parts.factors)) if i not in numbers]
        if state.settled:
            new = yield from _asked_about(parts, state, rng, numbers)
        elif state.asked:
            new = yield from _asked_about(parts, state, rng, numbers)
            values = new.values
            new = yield from _asked_about(parts, new, rng, kinds)
            if (new.values != values).any():
                new = yield from _asked_about(parts, new, rng, numbers)
        else:
            new = yield from _asked_about(parts, state, rng, kinds)
            new = yield from _asked_about(parts, new, rng, numbers, FIRST)
        if (new.values == state.values).all():
            return new._replace(swept=state.walked, settled=False)
        settled = state.asked > 0 and bool((new.values[kinds] == state.values[kinds]).all())
        new = new._replace(swept=None, changed=state.walked, settled=settled)
        return self._resumed(parts, new, rng)

    def _trial(
        self, parts: Mixture, state: MixedState, challenger: Value, rng: np.random.Generator
    ) -> Duels:
        """A descent with another value, as long as that is not too far behind."""
        walker, manifold = self._walker(parts), _ground(parts)
        x, _ = parts.split(state.best)
        frame = Frame(x, np.eye(manifold.dim))
        reach = REACH * manifold.typical_dist
        far = FAR * 2**state.rounds * manifold.typical_dist
        values = _with(state.values, *challenger)
        inner, walked, duels = walker.again(manifold, state.inner, rng, reach), 0, 0
        while True:
            u = directions(rng, manifold.dim, 1)[0]
            off = frame.at(manifold, far * CLOSER ** (walked / manifold.dim) * u, walker.domain)
            behind = parts.join(off, state.values)
            ahead, more = yield from _beats(parts.join(inner.best, values), behind, state.noise)
            won, duels = ahead > 0, duels + more
            if not won or walked >= OWN * manifold.dim or walker.stop_reason(inner) is not None:
                break
            inner, more = yield from _at(parts, values, walker.step(manifold, inner, rng))
            walked, duels = walked + more, duels + more
        if not (won or walked):
            return state._replace(far=(*state.far, challenger), asked=state.asked + duels)
        end = parts.join(inner.best, values)
        # It has to win against the present point, and there against the present value: a walk that
        # is still under way is beaten by any other.
        for other in (state.best, parts.join(inner.best, state.values)):
            ahead, more = (yield from _beats(end, other, state.noise)) if won else (-1, 0)
            won, duels = ahead > 0, duels + more
        old = (challenger[0], float(state.values[challenger[0]]))
        new = state._replace(
            lost=(*state.lost, old if won else challenger), asked=state.asked + duels
        )
        if not won:
            return new
        new = new._replace(
            inner=inner, values=values, swept=None, changed=state.walked, settled=False
        )
        new = yield from _asked_about(parts, _moved(parts, new), rng, _integers(parts))
        return _moved(parts, new)

    def _resumed(self, parts: Mixture, state: MixedState, rng: np.random.Generator) -> MixedState:
        """The walk goes on at other values: from where it is, with longer probes."""
        if state.inner is not None:
            walker, manifold = self._walker(parts), _ground(parts)
            reach, known = REACH * manifold.typical_dist, walker.uncertainty(state.inner)
            length = reach if known is None else math.sqrt(reach * known)  # of what may be to go
            inner = walker.again(manifold, state.inner, rng, length)
            state = state._replace(inner=inner)
        return _moved(parts, state)

    def _walker(self, parts: Mixture) -> Method:
        """The method on the part of the domain that is its own."""
        domain = parts.domain(self.domain)
        return self.method if domain is None else self.method.with_domain(domain)

    def _why(self, parts: Mixture, state: MixedState) -> str:
        if state.inner is None:
            return "values"
        return str(self._walker(parts).stop_reason(state.inner))

    def stop_reason(self, state: MixedState | Restarted) -> str | None:
        return state.stop

    def ended(self, state: MixedState | Restarted, reason: str) -> str:
        return state.ended(reason) if isinstance(state, Restarted) else reason

    def noise(self, state: MixedState | Restarted) -> float | None:
        local: MixedState = state.local if isinstance(state, Restarted) else state
        return None if local.inner is None else self.method.noise(local.inner)

    def uncertainty(self, state: MixedState | Restarted) -> float | None:
        """That of the continuous part, at the values of the best point."""
        if isinstance(state, Restarted):
            return state.distance
        return None if state.inner is None else self.method.uncertainty(state.inner)


def mixed_if_needed(method: Method, manifold: Manifold) -> Method:
    """The method; inside a `Mixed` that asks about values, where there are any."""
    if isinstance(method, Mixed) or not is_mixed(manifold):
        return method
    return Mixed(_without_domain(method), method.domain)


@lru_cache(maxsize=64)
def _parts(manifold: Manifold) -> Mixture:
    return Mixture(manifold)


def _without_domain(method: Any) -> Any:
    return method if method.domain is None else replace(method, domain=None)


def _ground(parts: Mixture) -> Manifold:
    """What is walked on, where there is anything."""
    assert parts.continuous is not None
    return parts.continuous


def _integers(parts: Mixture) -> list[int]:
    """Which factors are whole numbers."""
    return [i for i, factor in enumerate(parts.factors) if isinstance(factor, Integers)]


def _alike(parts: Mixture, x: Array, y: Array) -> bool:
    """Whether two ends are the same: the values, and the rest up to the dtype's resolution."""
    (u, values), (v, others) = parts.split(x), parts.split(y)
    if (values != others).any():
        return False
    ground = parts.continuous
    return ground is None or float(ground.dist(u, v)) <= SAME * default_radius(ground, u)


def _with(values: np.ndarray, i: int, number: float) -> np.ndarray:
    new = values.copy()
    new[i] = number
    return new


def _moved(parts: Mixture, state: MixedState) -> MixedState:
    """The state with the points that its values and the walk make."""
    if state.inner is None:
        moving, _ = parts.split(state.point)
        x = parts.join(moving, state.values)
        return state._replace(point=x, best=x)
    point, best = (parts.join(x, state.values) for x in (state.inner.point, state.inner.best))
    return state._replace(point=point, best=best)


def _others(parts: Mixture, state: MixedState, ended: bool) -> Iterator[Value]:
    """Values that may yet have a trial; in the end also the next whole numbers."""
    tried = state.lost + state.far + state.alike
    now_of = enumerate(zip(parts.factors, state.values.tolist(), strict=True))
    for i, (factor, now) in sorted(now_of, key=lambda item: isinstance(item[1][0], Integers)):
        if isinstance(factor, Integers) and not ended:
            return
        low, high = factor.bounds
        near = (now - 1, now + 1) if isinstance(factor, Integers) else range(low, high + 1)
        for number in map(float, near):
            if low <= number <= high and number != now and (i, number) not in tried:
                yield i, number


def _asked_about(
    parts: Mixture, state: MixedState, rng: np.random.Generator, some: list[int], way: float = 0.0
) -> Duels:
    """Challenges to the values of some factors, at the best point; whole numbers begin with a step.

    Returns the state with the values that are left.
    """
    x, _ = parts.split(state.best)
    values, asked = state.values, state.asked
    alike = {value for value in state.alike if value[0] not in some}

    def wins(i: int, number: float) -> Generator[tuple[Array, Array], Any, bool]:
        nonlocal values, asked, alike
        new = _with(values, i, number)
        ahead, duels = yield from _beats(parts.join(x, new), parts.join(x, values), state.noise)
        asked += duels
        if ahead > 0:
            values, alike = new, {value for value in alike if value[0] != i}
        elif ahead == 0:
            alike.add((i, number))
        return ahead > 0

    for i in rng.permutation(some).astype(int):
        factor = parts.factors[i]
        if isinstance(factor, Integers):
            yield from _along(factor, int(values[i]), way, partial(wins, i))
            continue
        for number in rng.permutation(factor.bounds[1] + 1):
            if number != values[i]:
                yield from wins(i, float(number))
    return state._replace(values=values, asked=asked, alike=tuple(sorted(alike)))


def _at(parts: Mixture, values: np.ndarray, step: Duels) -> Duels:
    """What a step of the walk asks, at these values; also how many duels these were."""
    answer, duels = None, 0
    while True:
        try:
            x, y = step.send(answer)
        except StopIteration as end:
            return end.value, duels
        duels += 1 if x.ndim == 1 else len(x)
        answer = yield parts.join(x, values), parts.join(y, values)


def _beats(x: Array, y: Array, noise: float) -> Duels:
    """Whether x is ahead of y by a lead: 1; 0 if neither is, else -1. And after how many duels."""
    enough, ahead, duels = lead(noise), 0.0, 0
    while True:
        ahead -= float((yield x, y))
        duels += 1
        if not 1 - enough < ahead < enough or duels >= 8 * enough:
            return (1 if ahead >= enough else 0 if ahead == 0 else -1), duels


def _along(factor: Integers, number: int, way: float, wins: Any) -> Duels:
    """Steps up and down from a whole number; twice as long after each that wins, else half."""
    tried, side = {number}, 1
    while True:
        for turn in (side, -side):
            new = factor.beyond(number, turn, way)
            if new in tried:
                continue
            tried.add(new)
            if (yield from wins(float(new))):
                way = 2 * float(factor.dist([number], [new]))
                number, side = new, turn
                break
        else:
            if {factor.beyond(number, turn) for turn in (1, -1)} <= tried:
                return
            way /= 2
