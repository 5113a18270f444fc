"""What a descent doubts: that probes are right, longer or shorter, and that nothing is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...domains.base import Domain
from ...manifolds.base import Manifold
from ..base import default_radius
from ..duels import duels
from ..frame import Frame, reach
from .first_step import directions
from .noise import votes
from .rates import NOISY

__all__ = [
    "BEYOND",
    "CHECKED",
    "CLOSER",
    "ENDS",
    "LINES",
    "Anchor",
    "Claim",
    "Symmetry",
    "Trail",
    "beats",
    "both_sides",
    "doubted",
    "levelled",
    "look_around",
    "middle",
    "off_centre",
    "sloping",
]

FOLLOWS = 1.5  # the anchor follows where probes are shorter by this factor
UNEARNED = 2.0  # growth of the probes, times what chance makes of it, that no duel has to confirm
MOVED = 0.003  # share of the length of its first probes by which a descent moves from a false end
MOST = 10  # directions at each length
LAG = 4  # blocks of the way that is prolonged
BEYOND = 4.0  # how far it is prolonged, in its length
RARELY = 32  # duels, in low dimension, of which one is about the trail
FADES = 0.8  # factor on a doubt for each point beyond that was worse
CENTRED = 0.3  # the same where f is symmetric about x
CHECKED = 1e-3  # factor by which probes have shrunk from one question about symmetry to the next
ENDS = 6  # ends that were no minimum, after which the next one is believed
LINES = 5  # how many lines are asked about at an end
CLOSER = 5.0  # factor between the distances within which a middle is looked for
LEAST_DOUBTED = 0.2  # flip rate that is allowed for, at least, before an end is given up
STRIDE = 10.0  # ratio of the lengths at which a run looks around before it ends
SHRUNK = 0.3  # as `CHECKED`, of methods that have no second descent
LONG = 30.0  # longest distance from x, in the length of probes that counts as the first one checked
CLEARED = 3  # how often in a row f is symmetric, until that is believed again
OFF = 10.0  # how far off the middle may be, in probes
CURVED = 0.04  # longest distance along a boundary, in its radius
LEVEL = 3  # directions in which a point is compared with others, on what may be a plateau
TURNS = 4  # projections in turn that find where a domain lies to both sides of x


class Anchor(NamedTuple):
    """The last point from which probes were allowed to grow, and their length there.

    Where f is steeper on one side, a mirrored duel of length δ balances at a distance of about δ
    from the optimum. Then x has to move by the change of δ. New signs follow that displacement
    whichever way δ changes, so growth would feed itself. Only a duel with a point of the past
    can tell such growth from progress.
    """

    point: Array
    length: float

    def follow(self, point: Array, length: float) -> Anchor:
        """The anchor after a block: probes that have shrunk take it along."""
        return Anchor(point, length) if length < self.length / FOLLOWS else self

    def doubts(self, length: float, d: int, gain: float) -> bool:
        """Whether a duel has to confirm that probes have grown to that length."""
        return length > UNEARNED * math.exp(2 * gain / math.sqrt(d)) * self.length


class Trail(NamedTuple):
    """A point of four blocks ago, and what is known of points beyond x on the way from there.

    A descent that converges has left most of its way behind, so those are worse than x. Where one
    is better, the probes have contracted and the descent has not converged, as happens on a kink.
    The probes then say nothing of the distance to the optimum, until many such duels are lost.

    Attributes
    ----------
    point : array
        Where the descent was.
    age : int
        Blocks since then; below 0 the point is still to come.
    doubt : float
        1 after a point beyond has won; fades with each one that loses.
    """

    point: Array
    age: int = 0
    doubt: float = 0.0

    def older(self, point: Array) -> Trail:
        """The trail one block later; until it has begun, it begins at the present point."""
        return self._replace(point=point if self.age < 0 else self.point, age=self.age + 1)

    def asked(self, point: Array, better: bool, d: int) -> Trail:
        """After a duel. The next one is as many blocks away, or twice as many without a doubt."""
        new = Trail(point, doubt=1.0 if better else FADES * self.doubt)
        return new._replace(age=0 if new.lost else LAG - max(2 * LAG, RARELY // d))

    def centred(self, centred: bool) -> Trail:
        """After duels that have told whether f is symmetric about x."""
        return self._replace(doubt=CENTRED * self.doubt if centred else 1.0)

    @property
    def due(self) -> bool:
        """Whether it is time for a duel with a point beyond."""
        return self.age >= LAG

    @property
    def lost(self) -> bool:
        """Whether the probes do not tell the distance."""
        return self.doubt > 0.1


class Claim(NamedTuple):
    """The end of a run that is doubted, for the descent after it to beat.

    Attributes
    ----------
    point : array
        Where it was; it is returned until it is beaten.
    length, compared : float
        Length of the probes with which the descent after it began, and when the two were compared
        last.
    uncertainty : float or None
        What was stated there; None once it is known to be no minimum.
    survived : int
        Descents in a row, before the present one, that have ended without a better point.
    """

    point: Array
    length: float
    compared: float
    uncertainty: float | None
    survived: int = 0

    @classmethod
    def of(cls, point: Array, length: float, uncertainty: float | None) -> Claim:
        """Before the descent that doubts it."""
        return cls(point, length, length, uncertainty)

    def due(self, length: float) -> bool:
        """Whether probes have become short enough for another comparison."""
        return not self.compared / 3 <= length <= 3 * self.compared

    def asked(self, length: float, apart: float = 0.0) -> Claim:
        """After a comparison that it has not lost, with a point as far away.

        Where the descent has come to a place that is not the claim's, probes have contracted twice.
        How far apart the two places are is then the least that the optimum may be away.
        """
        known = self.uncertainty
        return self._replace(
            compared=length, uncertainty=None if known is None else max(known, apart)
        )

    @property
    def least(self) -> float:
        """Least distance of a point that shows it to be wrong, beyond what rounding does."""
        return MOVED * self.length


class Symmetry(NamedTuple):
    """What is known of f far about x: a minimum is in the middle of it, a slope has none.

    Attributes
    ----------
    checked : float
        Length of the probes when it was asked last whether f is symmetric about x.
    doubt : int
        How often it has to be, until the probes are believed to tell the distance.
    """

    checked: float
    doubt: int = 0

    @classmethod
    def begun(cls, longest: float) -> Symmetry:
        """Before a question: at first no pair of at most that length is long beside the probes."""
        return cls(longest / LONG)

    def due(self, size: float) -> bool:
        """Whether probes have shrunk so far that it has to be asked again."""
        return size < SHRUNK * self.checked

    def asked(self, size: float, sloping: bool) -> Symmetry:
        """After the answer."""
        return Symmetry(size, CLEARED if sloping else max(0, self.doubt - 1))


def beats(
    x: Array, y: Array, flip_rate: float, end: bool = False
) -> Generator[tuple[Array, Array], Any, float]:
    """Duels of x and y: positive if x is better, 0 for ties; with noise a majority, 19 of 20 right.

    Parameters
    ----------
    x, y : array
        Points.
    flip_rate : float
        Estimated probability of a wrong answer.
    end : bool
        Whether y is the end of a descent, which is not given up lightly. The answer is then wrong
        once in a thousand, also where the estimate is too low and one answer in five is wrong.
    """
    many = votes(max(flip_rate, LEAST_DOUBTED)) * 4 if end and flip_rate else votes(flip_rate)
    ahead = 0.0
    for _ in range(many):
        ahead -= float((yield x, y))
    return ahead


def off_centre(
    manifold: Manifold,
    frame: Frame,
    unit: np.ndarray,
    length: float,
    off: float,
    most: float,
    domain: Domain | None,
) -> Generator[tuple[Array, Array], Any, float]:
    """How far from x f is symmetric about a point of a line, to a length: inf if beyond ``most``.

    A mirrored pair at that length says to which side of x the middle is. Another one, about a point
    that far to that side, says whether it is beyond. Near a minimum of a smooth f it is not, if x
    is that near. On a slope along a ridge it is, however short the probes have become: a long pair
    about a point beside the ridge does not feel the ridge.

    Parameters
    ----------
    unit : ndarray of shape (d,)
        Coordinates of the line's direction.
    length : float
        Half the distance of a pair.
    off, most : float
        The distance that is asked about first, and the last one.
    """

    def ahead(middle: float, unit: np.ndarray) -> Generator[tuple[Array, Array], Any, float]:
        ends = (frame.at(manifold, (middle + r) * unit, domain) for r in (length, -length))
        return -float((yield tuple(ends)))

    unit = unit * (yield from ahead(0.0, unit))
    if not unit.any():
        return off
    while off <= most:
        if (yield from ahead(off, unit)) <= 0:
            return off
        off *= CLOSER
    return math.inf


def middle(
    manifold: Manifold,
    frame: Frame,
    line: np.ndarray,
    off: float,
    more: float,
    longest: float,
    domain: Domain | None,
) -> Generator[tuple[Array, Array], Any, float | None]:
    """`off_centre`, by pairs as long as they may be without telling that f is no quadratic.

    Infinite if the middle is ``more`` times as far as ``off``. None, without a question, where such
    pairs would hardly be longer than that. ``line`` may have any length; where it has none, both
    ends of a pair were projected on one point.
    """
    length = math.sqrt(off * longest)
    if length < 3 * off:
        return None
    if not line.any():
        return off
    unit, most = line / np.linalg.norm(line), min(more * off, length / 3)
    return (yield from off_centre(manifold, frame, unit, length, off, most, domain))


def sloping(
    manifold: Manifold,
    frame: Frame,
    size: float,
    longest: float,
    rng: np.random.Generator,
    domain: Domain | None,
) -> Generator[tuple[Array, Array], Any, bool]:
    """Whether the middle of f along a random line is many probes, of length ``size``, away.

    Two pairs of points, up to ``longest`` away; in a domain along a line that it holds to both
    sides of x. Not known, and False, where the domain ends too near.
    """
    off = OFF * size
    line = directions(rng, manifold.dim, 1)[0]
    if domain is not None:
        line, most = both_sides(manifold, frame, 1.5 * math.sqrt(off * longest) * line, domain)
        longest = min(longest, most, float(line @ line) / (1.5**2 * off))
    found = yield from middle(manifold, frame, line, off, 1.0, longest, domain)
    return found == math.inf


def both_sides(
    manifold: Manifold, frame: Frame, line: np.ndarray, domain: Domain
) -> tuple[np.ndarray, float]:
    """The part of a vector v for which the domain holds x + v and x - v, and what it may curve.

    Projections on the domain and on its mirror image about x, in turn, lead to both. On a face of
    the domain the result is along that, at a vertex zero. The number is a share of the radius of a
    curved boundary, on which f is not symmetric about its minimum; infinite where it is flat.
    """
    for _ in range(TURNS):
        line = -frame.land(manifold, line, domain)[0]
    there, back = (frame.land(manifold, way, domain)[0] for way in (line, -line))
    line, drop = (there - back) / 2, float(np.linalg.norm(there + back)) / 2
    return line, CURVED * float(line @ line) / max(1e-300, 2 * drop)


def look_around(
    manifold: Manifold,
    frame: Frame,
    shortest: float,
    longest: float,
    rng: np.random.Generator,
    domain: Domain | None,
    flip_rate: float,
) -> Generator[tuple[Array, Array], Any, np.ndarray | None]:
    """Duels of the base point with others at several distances, in up to ten directions each.

    Returns the coordinates of a point that is better, or None: the farthest of those that won,
    if it wins again where answers are noisy.
    """
    m, n = min(manifold.dim, MOST), 1 + math.ceil(math.log(max(1.0, longest / shortest), STRIDE))
    lengths = np.geomspace(longest, min(longest, shortest), n)
    c = np.concatenate([r * directions(rng, manifold.dim, m) for r in lengths])
    won = yield from duels(manifold, frame, c, 0 * c, domain)
    if not (won < 0).any():
        return None
    better = c[int(np.argmax(won < 0))]
    if flip_rate:
        point = frame.at(manifold, better, domain)
        ahead = yield from beats(point, frame.point, flip_rate, end=True)
        return better if ahead > 0 else None
    return better


def levelled(
    manifold: Manifold,
    state: Any,
    rng: np.random.Generator,
    min_radius: float,
    domain: Domain | None,
) -> Generator[tuple[Array, Array], Any, Any]:
    """Where the longest probes tie, asks if x ties with points as far away, as on a plateau.

    Near a minimum a mirrored pair ties as well, since its ends are equally bad. But x is better.
    """
    if not state.ties.unclear(state.longest):
        return state
    length = max(min_radius, min(state.longest, reach(manifold, domain, state.point) / 2))
    c = length * directions(rng, manifold.dim, min(manifold.dim, LEVEL))
    answers = yield from duels(manifold, state.frame, c, 0 * c, domain)
    level = 2 * int(np.count_nonzero(answers)) <= len(c)
    return state._replace(ties=state.ties._replace(level=level))


def doubted(
    manifold: Manifold,
    state: Any,
    rng: np.random.Generator,
    domain: Domain | None,
    asks: bool,
    begun: Callable[[Frame, float], Any],
) -> Generator[tuple[Array, Array], Any, Any]:
    """Asks, as probes shrink and at x_tol, if f is symmetric about x; doubts other ends.

    At a kink steps turn back and forth across it, and probes shrink before the valley is left. Then
    the descent begins again at a better point at some distance, if one is found at the end.

    Parameters
    ----------
    state : CSAState or BlockState
        After a step.
    asks : bool
        Whether symmetry is asked about; it is not where answers are wrong.
    begun : callable
        The state at the frame of a better point, so far away.
    """

    def slopes() -> Generator[tuple[Array, Array], Any, bool]:
        if not asks or state.noise > NOISY:
            return False
        longest = min(state.longest, reach(manifold) / 2)
        return (yield from sloping(manifold, state.frame, state.size, longest, rng, domain))

    if state.stop == "x_tol" or (state.stop is None and state.unchecked):
        found = yield from slopes()
        symmetry = state.symmetry.asked(state.size, found)
        return state._replace(symmetry=symmetry, stop=None if found else state.stop)
    if state.stop != "resolution" or state.ends >= ENDS:
        return state
    frame, shortest = state.frame, default_radius(manifold, state.point)
    better = yield from look_around(
        manifold, frame, shortest, state.longest, rng, domain, state.noise
    )
    if better is None:
        for _ in range(LINES):
            if (yield from slopes()):
                return state._replace(symmetry=state.symmetry.asked(state.size, True))
        return state
    step, end = frame.land(manifold, better, domain)
    frame, _ = frame.move(manifold, step, end=end)
    again = begun(frame, float(np.linalg.norm(better)))
    kept = {"answering": state.answering, "longest": state.longest}
    return again._replace(ends=state.ends + 1, **kept)
