"""DuelNewton: duels as linear classification of a local gradient and Hessian."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ..._support.check import nonnegative
from ...errors import CutLocusError, OutOfRangeError
from ...manifolds.base import Manifold
from ..base import default_radius
from ..duels import mirrored_duels, projected_duels
from ..frame import Frame, at_least, reach
from ..rounds import Rounds, in_lock_step, renumbered
from .base import RankedMethod, beyond_digits, converged, recommend
from .blocks import blocks
from .doubt import (
    BEYOND,
    CHECKED,
    CLOSER,
    ENDS,
    LINES,
    Anchor,
    Claim,
    Trail,
    beats,
    levelled,
    look_around,
    middle,
)
from .face import NO_EXITS, Exits, Face, face_at
from .first_step import POINT, Begin, First, begin, directions, first_step
from .fit import fit
from .golden import golden_section
from .memory import Memory, Stretch, Window, whitened
from .noise import Noise, lead
from .ranked import APART, FASTER, STEPS, SURE, corners_of_block, coverage, heard, ranked, scores
from .rates import (
    BLUR,
    CLIP,
    GAIN,
    NOISY,
    freedom,
    gain,
    lapse_of,
    nearness,
    recent,
    shrink,
)
from .stacks import STACKED
from .ties import Ties

__all__ = ["DuelNewton", "NewtonState"]

# Frozen; docs/notebook/duel-newton.md says what they were tuned on.
SHORT = 0.01  # length of the probes that look for the boundary, in those of duels
LOST = 0.7  # factor on the patience where growth of the probes was not earned
LEAST = 0.2  # patience that is never lost
AGAIN = 1e4  # length of the probes that doubt an end, in those of the end
UNBEATEN = 1  # descents without a better point before the last one
FAR_APART = 10.0  # distance of the places of two descents, in probes, from which they contradict
SOON = 100.0  # of the same factor, where the distance is not known
OFF = 2.0  # how far off the middle may be, in probes, at first
RIDGE = 1e-4  # accuracy of a search along a ridge, in its length
COARSE = 0.05  # length of the probes up to which ripples are smoothed, in that of the first

BEYOND_DIGITS = (np.linalg.LinAlgError, OutOfRangeError)  # of steps, or of a metric


class NewtonState(NamedTuple):
    """State of DuelNewton after a block; coordinates are those of the transported frame."""

    frame: Frame
    recommended: Array  # of the present descent
    scale: float  # δ, length of a probe in whitened coordinates
    metric: np.ndarray  # A, whitened coordinates to coordinates: AᵀHA ≈ I
    path: np.ndarray  # the last displacement in δ, whitened; with noise a sum of them that fades
    contradiction: float  # running mean of cos(new signs, last displacement)
    window: Window
    memory: Memory
    answering: Noise
    longest: float  # cap of a widened probe, a geodesic length
    to_mean: np.ndarray  # from the present point to the mean of the recent ones
    anchor: Anchor
    trail: Trail
    held: bool = False  # whether the domain keeps the steps back
    exits: Exits = NO_EXITS  # what is known of steps back inside
    ties: Ties = Ties()
    patience: float = 1.0  # power of the factor by which probes shrink
    claim: Claim | None = None  # where a doubted run has ended
    refuted: bool = False  # whether such an end was no minimum
    checked: float = 0.0  # length of the probes from which the next question about symmetry counts
    ends: int = 0  # ends so far that were no minimum
    stop: str | None = None

    @property
    def point(self) -> Array:
        """The base point of the frame."""
        return self.frame.point

    @property
    def best(self) -> Array:
        """The point to return; that of a doubted end, as long as it has not been beaten."""
        return self.recommended if self.claim is None else self.claim.point

    @property
    def noise(self) -> float:
        """Estimated flip rate."""
        return self.answering.flip_rate

    @property
    def noisy(self) -> bool:
        """Whether a single answer is not believed."""
        return self.answering.astray > NOISY

    @property
    def size(self) -> float:
        """Length of the probes: δ√d in every whitened direction, mapped back."""
        entries = self.metric.ravel()
        return self.scale * math.sqrt(entries @ entries)

    @property
    def uncertainty(self) -> float | None:
        """Estimated distance to the optimum, the length of the probes.

        None after a false end, and where probes have contracted faster than the descent. None, too,
        where f is not symmetric about x, as on a slope along a ridge, and on a plateau.
        """
        if self.trail.lost or self.refuted:
            return None
        if self.claim is not None:
            return self.claim.uncertainty
        return self.reached if self.reached < math.inf else None

    @property
    def reached(self) -> float:
        """The distance that the probes tell, wherever the minimum is.

        Answers of capacity C know it 1/√C as well, and their mean is a little better than that.
        Where most duels tie, probes have grown since they were as short as differences can be
        noticed. At length L₀ that was a distance about L₀. Where f is smooth, L tell L₀²/L, and at
        a kink still L₀: the stated distance lies between. It is infinite on a plateau, where probes
        as long as the first ones tie, and their ends with x.
        """
        length, ties = self.size, self.ties
        if ties.lost(self.longest):
            return math.inf
        if ties.many >= 1 and ties.least < length:
            length = ties.least**1.5 / length**0.5
        return length / max(0.05, self.answering.capacity) ** 0.4

    def ended(
        self, manifold: Manifold, x_tol: float | None, ties: float, longest: float, n: int
    ) -> NewtonState:
        """With a reason to stop, after a block of n probes, the longest of that length."""
        size = self.size
        self = self._replace(checked=max(size, self.checked), ties=self.ties.before(size))
        if self.answering.coarse:
            self = self._replace(answering=self.answering.at(self.size))
        stop = converged(manifold, self, x_tol, ties, longest)
        if stop == "resolution" and n and self.ties.many * n < 4:
            stop = None
        if stop is None and self.ties.endless:
            stop = "ties"
        return self if stop is None else self._replace(stop=stop)

    @property
    def unchecked(self) -> bool:
        """Whether probes have shrunk so far that symmetry has to be asked about."""
        return not self.noisy and self.size < CHECKED * self.checked

    def undoubted(self, d: int) -> NewtonState | None:
        """After a block with nothing to ask: anchor and trail one block later. Else None.

        What is asked, and when, is said by `DuelNewton`; this only saves it the trouble.
        """
        if self.stop is not None:
            return None
        size, noisy = self.size, self.noisy
        anchor = self.anchor.follow(self.point, size)
        trail = Trail(self.point) if noisy else self.trail.older(self.point)
        asks = not noisy and (trail.due or anchor.doubts(size, d, GAIN) or self.unchecked)
        asks = asks or self.ties.unclear(self.longest)
        if asks or (self.claim is not None and self.claim.due(size)):
            return None
        return self._replace(anchor=anchor, trail=trail)


class Place(NamedTuple):
    """Where a block asks.

    Attributes
    ----------
    farthest : float
        Length of the longest probes.
    face : Face
        The face of the domain that the point is held on.
    along : ndarray of shape (d, n)
        Orthonormal columns T such that A T lies along the face; n = d inside.
    """

    farthest: float
    face: Face
    along: np.ndarray

    @property
    def n(self) -> int:
        """Dimension of the face."""
        return self.along.shape[1]


class Trials(NamedTuple):
    """Steps across the face of a domain, back inside, that duels with the base point decide.

    Attributes
    ----------
    edges, steps : ndarray of shape (m, d)
        Unit vectors, and the steps along them.
    ahead : ndarray of shape (m,)
        Duels won so far, less those lost.
    tried : ndarray of shape (often, k)
        Rows of ``steps`` that are tried now, each ``often`` times.
    enough : int
        The lead that decides.
    """

    edges: np.ndarray
    steps: np.ndarray
    ahead: np.ndarray
    tried: np.ndarray
    enough: int

    def decided(self, won: np.ndarray) -> tuple[np.ndarray, Exits]:
        """The sum of the steps that have won, and what is known of the others.

        ``won``, of the shape of ``tried``, is +1 for each step that won and -1 where it lost.
        """
        ahead = self.ahead.copy()
        np.add.at(ahead, self.tried, won)
        inside = ahead >= self.enough
        left = Exits(self.edges[~inside], np.maximum(ahead[~inside], 1 - self.enough))
        return self.steps[inside].sum(axis=0), left


class Probes(NamedTuple):
    """What a block asks.

    Attributes
    ----------
    e, v, steps : ndarray of shape (n, d)
        Whitened directions, the same in coordinates, and the probes along them. A duel compares the
        ends of a probe and of its negative.
    asked : ndarray of int
        The rows asked: all, and some of them twice.
    noise : Noise
        Which knows that.
    trials : Trials or None
        Steps back inside, where there is a domain.
    """

    e: np.ndarray
    v: np.ndarray
    steps: np.ndarray
    asked: np.ndarray
    noise: Noise
    trials: Trials | None = None


class Duels(NamedTuple):
    """What the answers were.

    Attributes
    ----------
    signs : ndarray of shape (n,)
        Answers to the probes, the first time; of rankings their `scores`.
    ties : float
        Share of ties.
    window : Window
        All duels of the block.
    noise : Noise
        The estimated flip rate, after the duels asked twice.
    back : ndarray of shape (d,)
        Sum of the steps back inside that have won.
    exits : Exits
        What is known of the other ways back.
    """

    signs: np.ndarray
    ties: float
    window: Window
    noise: Noise
    back: np.ndarray
    exits: Exits


class Model(NamedTuple):
    """The quadratic that explains the answers, |H| in place of H, and what is remembered."""

    g: np.ndarray
    H: Stretch
    window: Window
    memory: Memory


class Move(NamedTuple):
    """The frame after the step, the step, and whether the domain held it back."""

    frame: Frame
    step: np.ndarray
    held: bool


@dataclass(frozen=True)
class DuelNewton(RankedMethod):
    """Newton's method from duels.

    If f is quadratic about x with gradient g and Hessian H, a duel between Exp_x(c + v) and
    Exp_x(c - v) tells the sign of v'(g + Hc). So duels are a linear classification problem for
    (g, H): fit it by logistic regression and step like Newton. Coordinates are then whitened by
    H^(-1/2), so that the next model is near the identity again.

        first step: see `geoduel.methods.descent.first_step`
        repeat, in coordinates of a transported frame, whitened by A:
            e_1..e_d random orthonormal, centres z_i = 0
            s_i = Q(Exp_x A(z_i + δe_i), Exp_x A(z_i - δe_i));   remember (e_i, z_i, s_i)
            g, H = argmax Σ_i log[ε + (1-2ε) σ(1.7 s_i e_i'(g + Hz_i)/w_i)]
                          - Σ_k |g_k - g - Hz_k|²_k/2 - |H - I|²/(2τ²) - |g|²/(2ρ²)
            of duels too old for Σ_i remember (z_k, g_k = g + Hz_k)
            p = -|H|⁻¹ g;   x = Exp_x(A p), frame transported;   A = A |H|^(-1/2)
            κ = cos(-Σ s_i e_i, p of last time);   δ = δ · shrink^(1 - 2 ties) · exp(gain κ)
            where δ has grown by a factor: back to the point where it was shortest, if that wins
        where that has ended: once more from longer probes; the end is believed if it still wins
        a descent from elsewhere has ended, too: line search along the geodesic through both ends

    κ is zero on average as long as the model is right, for new signs then have nothing to do with
    the last displacement. It drives the probe length and the freedom τ of H, so that no step needs
    a duel to be accepted. Where answers are noisy, p of last time is a fading sum of displacements,
    in probe lengths. |H| has the absolute eigenvalues, so that saddles repel.

    The fit explains the answers of a window once more in every block, which learns quickly and
    forgets. Of older ones it keeps the gradients g_k that it had found at their centres, each as
    one observation with a precision. No H explains them along a curved valley: then they fade.
    The prior of g, of a width ρ of about δ, only holds back where answers are wrong: few of them
    then make long steps in poor directions. Without noise ρ is infinite.

    Growth of δ has to be earned by a duel, since it would feed itself where f is steeper on one
    side (`geoduel.methods.descent.doubt`). Ends are doubted: at a kink κ is zero, too, and δ
    shrinks before the valley is left. A second descent that finds a better point shows that. The
    next ones shrink half as fast each, and the line through two such ends is the ridge, where that
    is straight. Now and then, and at an end, pairs far longer than the probes tell whether f is
    symmetric about x. Beside a ridge they feel the slope along it.

    With ``ranking=k`` a block has groups of k points, the corners of a regular simplex in k - 1
    whitened directions. Neighbours in the order of a group are duels to the fit, each with a centre
    of its own (`geoduel.methods.descent.ranked`); the others follow.

    In a domain both points of a duel are projected, and the projections are remembered. Once a step
    has been projected, too, the optimum may lie on the boundary. Directions, fit and step then keep
    to the face the point lies on (`geoduel.methods.descent.face`), and a duel or more a block asks
    whether a step back inside is better.

    The window keeps 4d to 7.5d answers, and three times as many are in the gradients. A block needs
    one QR, one LU and some products of d x d matrices. The fit (`geoduel.methods.descent.fit`) is
    cheap beside them, since all answers of a block are about one centre. In a domain a projected
    duel has a centre of its own; where most are, the fit costs N d² operations. Time a duel and
    memory grow as d²; docs/notebook/duel-newton.md has the numbers.

    Parameters
    ----------
    domain : Domain, optional
        Feasible set. Only feasible points are compared.
    initial_step : float, optional
        Geodesic length of the first trial; by default a fifth of the manifold's typical distance.
        A wrong one costs log2 of its error in duels.
    x_tol : float, optional
        Stop once the estimated distance to the optimum is below this geodesic length.
    parallel : int, optional
        Most duels asked at once. A block asks d of them, and nothing is lost by that.
    min_radius : float
        Least length of a probe, a geodesic length; the steps may be shorter. For people, who cannot
        tell points that are closer; see `geoduel.for_people`.
    smoothing : float
        For functions with many small minima on a large shape. Above 0, a run begins with probes of
        length ``initial_step``, by default half of the manifold's typical distance. It takes a
        fifth of the answers for accidents of the small minima, until probes are a twentieth of that
        length. Probes shrink ``smoothing`` times seven as slowly meanwhile. On smooth functions 1
        costs up to half as many duels more.
    ranking : int, optional
        Put so many points in order at once, at least 3, in place of duels. An oracle of
        `geoduel.from_ranking` does it in one round; others are asked pairs, as few as a sort needs.
        That saves rounds and costs duels. For runs without a domain.

    Notes
    -----
    Stops with "resolution" once most duels tie at probes as short as
    `geoduel.methods.base.default_radius`, the dtype's limit, and with "ties" once probes that have
    grown still tie. In both cases points at several distances and a second descent have found
    nothing better. After an end that was refuted the uncertainty is None: not known.

    References
    ----------
    Jamieson, Nowak and Recht, Query complexity of derivative-free optimization, NIPS 2012, for what
    comparisons can tell; Dauphin et al., Identifying and attacking the saddle point problem, NIPS
    2014, for |H|; Hansen and Ostermeier, Evolutionary Computation 9 (2001), for the path; Blake and
    Zisserman, Visual Reconstruction, MIT Press 1987, for minima that are smoothed away at first.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: (x[0] - 1) ** 2 + 10 * (x[1] - x[0]) ** 2)
    >>> result = gd.minimize(oracle, gd.Euclidean(2), np.array([-3.0, 5.0]), method="duel-newton",
    ...                      budget=200, rng=0)
    >>> bool(np.linalg.norm(result.x - 1) < 1e-4)
    True
    """

    smoothing: float = 0.0

    version: ClassVar[int] = 12

    def __post_init__(self) -> None:
        super().__post_init__()
        nonnegative(self.smoothing, "smoothing")

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Begin:
        wide = manifold.typical_dist / 2 if self.smoothing else None
        return begin(manifold, x0, self.initial_step or wide)

    def step(
        self, manifold: Manifold, state: Begin | NewtonState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Begin | NewtonState]:
        if isinstance(state, Begin):
            if not self.smoothing:
                first = yield from first_step(manifold, state, rng, self.domain, self.min_radius)
                return first if isinstance(first, Begin) else self._first_state(manifold, first)
            if self.domain is not None and self.domain.diameter < POINT:
                return state._replace(stop="resolution")
            state = self._smoothed(manifold, state)
        try:
            state = yield from self._block(manifold, state, rng)
        except BEYOND_DIGITS:
            state = state._replace(stop=beyond_digits(manifold, state))
        return (yield from self._questioned(manifold, state, rng))

    def steps(
        self, manifold: Manifold, states: list[Any], rngs: list[np.random.Generator]
    ) -> Rounds:
        """Blocks of all problems together, where stacked matrices are faster than one by one.

        After them most have nothing to ask; the others do what they would do alone.
        """
        if self.domain is not None or self.ranking or manifold.dim > STACKED:
            return (yield from super().steps(manifold, states, rngs))
        new = states.copy()
        begun = [j for j, state in enumerate(states) if isinstance(state, NewtonState)]
        rest: dict[int, Any] = dict.fromkeys(range(len(states)), self.step)  # what is left to do
        if begun:
            these = [states[j] for j in begun], [rngs[j] for j in begun]
            ends = yield from renumbered(blocks(self, manifold, *these), begun)
            for j, end in zip(begun, ends, strict=True):
                quiet = None if end is None else end.undoubted(manifold.dim)
                new[j], rest[j] = end if quiet is None else quiet, self._questioned
                if end is None or quiet is not None:
                    del rest[j]
        each = (do(manifold, new[j], rngs[j]) for j, do in rest.items())
        ends = yield from renumbered(in_lock_step(each, len(manifold.point_shape)), list(rest))
        for j, end in zip(rest, ends, strict=True):
            new[j] = end
        return new

    def learns(self, manifold: Manifold) -> bool:
        return True

    def learn(self, manifold: Manifold, state: Any, a: Array, b: Array, answer: int) -> Any:
        """One more duel for the fit, which takes those of any two points; not before it begins."""
        if not isinstance(state, NewtonState):
            return None
        try:
            one, other = (
                whitened(state.metric, state.frame.coordinates(manifold, x)) for x in (a, b)
            )
        except CutLocusError:
            return state
        if not np.isfinite(one - other).all() or np.array_equal(one, other):
            return state
        pair = Window.of_pair(one, other, answer, BLUR)
        return state._replace(window=state.window.append(pair))

    def again(
        self,
        manifold: Manifold,
        state: Begin | NewtonState,
        rng: np.random.Generator,
        length: float,
    ) -> Begin | NewtonState:
        """With the same metric, and probes so long; as it is, where they are long enough."""
        longer = 0.0 if isinstance(state, Begin) else min(length, state.longest) / state.size
        if isinstance(state, Begin) or (longer <= 1 and state.stop is None):
            return state
        return self._begun(manifold, state.frame, longer * state.scale, state.metric, state)

    def _questioned(
        self, manifold: Manifold, state: NewtonState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, NewtonState]:
        """After a block: what it has found is doubted."""
        if state.stop == "diverges":
            return state
        try:
            state = yield from self._earned(manifold, state)
            state = yield from self._prolonged(manifold, state)
            state = yield from self._centred(manifold, state)
            state = yield from levelled(manifold, state, rng, self.min_radius, self.domain)
        except BEYOND_DIGITS:
            return state._replace(stop=beyond_digits(manifold, state))
        if state.stop in ("x_tol", "diverges"):
            return state
        if state.claim is not None:
            return (yield from self._contested(manifold, state))
        return state if state.stop is None else (yield from self._doubted(manifold, state, rng))

    def _first_state(self, manifold: Manifold, first: First) -> NewtonState:
        d = manifold.dim
        delta = 1.25 * first.length / math.sqrt(d)
        about, blurs = np.zeros(d, dtype=int), np.full(d, BLUR * delta)
        window = Window(first.directions, -first.step[None], about, first.answers, blurs)
        state = self._begun(manifold, first.frame, delta, np.eye(d))
        longest = min(2 * first.length, 4 * self._farthest(manifold))
        return state._replace(path=first.step / delta, window=window, longest=longest)

    def _smoothed(self, manifold: Manifold, state: Begin) -> NewtonState:
        """At the start, with long probes: a first step would end behind the nearest ripple."""
        length = min(state.length, 2 * self._farthest(manifold))
        d, noise = manifold.dim, Noise().smoothed(COARSE * length, self.smoothing)
        new = self._begun(manifold, state.frame, length / math.sqrt(d), np.eye(d))
        return new._replace(longest=2 * length, answering=noise)

    def _begun(
        self,
        manifold: Manifold,
        frame: Frame,
        scale: float,
        metric: np.ndarray,
        before: NewtonState | None = None,
    ) -> NewtonState:
        """A state that remembers no duels; of the one before it keeps what is known of answers."""
        d = manifold.dim
        new = NewtonState(
            frame=frame,
            recommended=recommend(manifold, frame, None, self.domain),
            scale=scale,
            metric=metric,
            path=np.zeros(d),
            contradiction=0.0,
            window=Window.empty(d),
            memory=Memory.empty(d),
            answering=Noise(),
            longest=math.inf,
            to_mean=np.zeros(d),
            anchor=Anchor(frame.point, scale * float(np.linalg.norm(metric))),
            trail=Trail(frame.point),
        )
        if before is None:
            return new
        kept = ("answering", "longest", "patience", "refuted", "ends")
        trail = new.trail._replace(doubt=before.trail.doubt)
        return new._replace(trail=trail, **{name: getattr(before, name) for name in kept})

    def _block(
        self, manifold: Manifold, state: NewtonState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, NewtonState]:
        place = self._place(manifold, state, rng)  # how far, along which face
        probes = self._probes(manifold, state, place, rng)  # directions and steps
        ask = self._ranked if self.ranking else self._duels
        duels = yield from ask(manifold, state, probes, rng)
        model = self._model(manifold, state, place, duels)  # g, |H|, what is remembered
        move = self._move(manifold, state, place, duels, model)
        return self._adapted(manifold, state, place, probes, duels, model, move)

    def _earned(
        self, manifold: Manifold, state: NewtonState
    ) -> Generator[tuple[Array, Array], Any, NewtonState]:
        """Growth of the probes has to be earned, or it is back to the anchor, and shrink slower."""
        anchor = state.anchor.follow(state.point, state.size)
        if state.noisy or not anchor.doubts(state.size, manifold.dim, GAIN):
            return state._replace(anchor=anchor)
        worse, state = yield from self._worse(manifold, state, state.point, anchor.point)
        if not worse:
            return state._replace(anchor=Anchor(state.point, state.size))
        home = state.frame.coordinates(manifold, anchor.point)
        p = whitened(state.metric, home)
        same = Stretch.identity(manifold.dim)
        frame, _ = state.frame.move(manifold, home)
        return state._replace(
            frame=frame,
            recommended=recommend(manifold, frame, None, self.domain),
            scale=state.scale * anchor.length / state.size,
            patience=max(LEAST, LOST * state.patience),
            path=state.path + p / state.scale,
            contradiction=0.0,
            window=state.window.moved(p, same),
            memory=state.memory.moved(p, same),
            anchor=anchor,
        )

    def _worse(
        self, manifold: Manifold, state: NewtonState, x: Array, y: Array, end: bool = False
    ) -> Generator[tuple[Array, Array], Any, tuple[bool, NewtonState]]:
        """Whether x is worse than y, against expectation; if so, it is asked again.

        Where no answer is known to be wrong, this one is the first suspect. Points that are too
        close to be told apart are not asked about.
        """
        if self.min_radius and float(manifold.dist(x, y)) < 1.99 * self.min_radius:
            return False, state
        ahead = yield from beats(x, y, state.noise, end)
        if ahead < 0 and not state.noisy:
            again = yield from beats(x, y, state.noise, end)
            noise = state.answering.see(np.array([ahead]), np.array([again]))
            ahead, state = max(ahead, again), state._replace(answering=noise)
        return ahead < 0, state

    def _prolonged(
        self, manifold: Manifold, state: NewtonState
    ) -> Generator[tuple[Array, Array], Any, NewtonState]:
        """A duel with a point far beyond x, on the way of the last blocks.

        It is asked now and then, and at x_tol. If it wins, the distance to the optimum is unknown.
        """
        if state.noisy:  # the answers that were doubtful may have been wrong
            return state._replace(trail=Trail(state.point))
        trail = state.trail.older(state.point)
        if not (trail.due or state.stop == "x_tol"):
            return state._replace(trail=trail)
        way = state.frame.coordinates(manifold, trail.point)
        step = state.frame.within(manifold, -BEYOND * way, 2 * self._farthest(manifold), 0.5)
        step = at_least(step[None], 2 * self.min_radius)[0]  # as far apart as a mirrored pair
        beyond = state.frame.at(manifold, step, self.domain)
        better, state = yield from self._worse(manifold, state, state.point, beyond)
        stop = None if better and state.stop == "x_tol" else state.stop
        return state._replace(trail=trail.asked(state.point, better, manifold.dim), stop=stop)

    def _centred(
        self, manifold: Manifold, state: NewtonState
    ) -> Generator[tuple[Array, Array], Any, NewtonState]:
        """Asks if f is symmetric about x, as often as probes have shrunk to a thousandth."""
        if not state.unchecked or state.held or self.min_radius or state.stop:
            return state
        off = yield from self._off_centre(manifold, state, -1, CLOSER)
        trail = state.trail.centred(off < math.inf)
        soon = SOON if trail.lost else 1.0
        return state._replace(checked=soon * state.size, trail=trail)

    def _off_centre(
        self, manifold: Manifold, state: NewtonState, which: int, more: float
    ) -> Generator[tuple[Array, Array], Any, float]:
        """How far x is from the middle of f, along one of the last probes; inf if ``more`` so."""
        off, longest = OFF * state.size, min(state.longest, 2 * self._farthest(manifold))
        line = state.metric @ state.window.directions[which]
        found = yield from middle(manifold, state.frame, line, off, more, longest, self.domain)
        if found is None:  # probes are as long as that themselves, and tell it, if anything does
            return off if state.size > default_radius(manifold, state.point) else math.inf
        return found

    def _doubted(
        self, manifold: Manifold, state: NewtonState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, NewtonState]:
        """An end becomes a claim, for a second descent to beat.

        Points at distances from the longest probes to the shortest are compared with it. If one is
        better, the second descent begins there. Else it begins at the end, with the same metric
        and probes ten thousand times as long as the last, or the longest after ties. Long pairs
        about the end tell first whether it lies on a slope, and how far off it may be.
        """
        if state.ends >= ENDS:  # what has been better since is so by what the dtype resolves
            return state._replace(refuted=True)
        shortest = max(default_radius(manifold, state.point), 2 * self.min_radius)
        better = yield from look_around(
            manifold, state.frame, shortest, state.longest, rng, self.domain, state.noise
        )
        if better is not None:
            step, end = state.frame.land(manifold, better, self.domain)
            frame, _ = state.frame.move(manifold, step, end=end)
            return self._afresh(manifold, state, frame, state.best)
        length = AGAIN * state.size if state.stop == "resolution" else math.inf
        if self.domain is not None:  # which may contain points that are outside by rounding
            length = max(length, 1e3 * shortest)
        known = state.reached
        if not (state.noisy or state.held or self.min_radius):
            for k in range(min(manifold.dim, LINES, len(state.window.directions))):
                off = yield from self._off_centre(manifold, state, -1 - k, math.inf)
                known = max(known, off) if off > OFF * state.size else known
        # On a slope it is not known, and the next descent has to go on.
        longer = max(1.0, min(length, state.longest) / state.size)
        again = self._begun(manifold, state.frame, longer * state.scale, state.metric, state)
        sloping = known == math.inf
        claim = Claim.of(state.best, longer * state.size, None if sloping else known)
        return again._replace(claim=claim, held=state.held, ends=state.ends + sloping)

    def _contested(
        self, manifold: Manifold, state: NewtonState
    ) -> Generator[tuple[Array, Array], Any, NewtonState]:
        """From time to time a duel with the claim; if that loses, it was no minimum.

        Then the probes had shrunk too soon. So they begin again with the first length, and shrink
        half as fast. A claim that still stands when the second descent ends is believed. So is one
        that is known to be on a slope, once two descents and the line through their ends have found
        nothing better: then its distance is not known.
        """
        claim = state.claim
        assert claim is not None
        if state.stop is None and not claim.due(state.size):
            return state
        beaten, state = yield from self._worse(
            manifold, state, claim.point, state.recommended, end=True
        )
        if claim.uncertainty is None:
            if beaten:
                return state._replace(claim=None)
            if state.stop is not None:
                frame = Frame(claim.point, np.eye(manifold.dim))
                found = yield from self._along_ridge(manifold, state, frame)
                if found is not None:
                    return self._afresh(manifold, state, found, found.point)
                if claim.survived >= UNBEATEN:
                    return state
                again = self._afresh(manifold, state, frame, claim.point, refuted=True)
                assert again.claim is not None
                return again._replace(claim=again.claim._replace(survived=claim.survived + 1))
        elif beaten and manifold.dist(state.point, claim.point) > claim.least:
            return self._afresh(manifold, state, state.frame, claim.point, refuted=True)
        apart = float(manifold.dist(state.point, claim.point))
        apart = apart if apart > FAR_APART * state.size else 0.0
        return state._replace(claim=claim.asked(state.size, apart))

    def _along_ridge(
        self, manifold: Manifold, state: NewtonState, best: Frame
    ) -> Generator[tuple[Array, Array], Any, Frame | None]:
        """A better point on the line through two ends that are no minima, if there is one.

        On a ridge probes contract before it has been followed. But two points where they have done
        so tell its direction.
        """
        if state.noisy or self.min_radius:
            return None
        try:
            way = -best.coordinates(manifold, state.recommended)
        except (CutLocusError, *BEYOND_DIGITS):
            return None
        length = float(np.linalg.norm(way))
        if not 0 < length < math.inf:
            return None
        unit, most = way / length, 2 * self._farthest(manifold)
        found = yield from golden_section(
            lambda t: best.at(manifold, t * unit, self.domain), min(length, most), RIDGE, most
        )
        if abs(found) < 2 * RIDGE * length:  # no farther than the search is accurate
            return None
        step, end = best.land(manifold, found * unit, self.domain)
        if (yield from beats(end, best.point, state.noise)) <= 0:
            return None
        return best.move(manifold, step, end=end)[0]

    def _afresh(
        self,
        manifold: Manifold,
        state: NewtonState,
        frame: Frame,
        before: Array,
        refuted: bool = False,
    ) -> NewtonState:
        """With probes of the first length and no metric, from a point that has to be beaten.

        Where answers are wrong, that is the one before: what seemed better may be much worse.
        """
        d, length = manifold.dim, 0.6 * state.longest
        again = self._begun(manifold, frame, length / math.sqrt(d), np.eye(d), state)
        return again._replace(
            claim=Claim.of(before if state.noisy else frame.point, length, None),
            patience=again.patience / (2 if refuted else 1),
            refuted=again.refuted or refuted,
            ends=again.ends + 1,
        )

    def _place(self, manifold: Manifold, state: NewtonState, rng: np.random.Generator) -> Place:
        d, A = manifold.dim, state.metric
        face = Face.none(d)
        if self.domain is not None and state.held:
            short = SHORT * state.scale * directions(rng, d, d) @ A.T
            face = face_at(manifold, state.frame, self.domain, short)
        return Place(self._farthest(manifold), face, face.along(A))

    def _farthest(self, manifold: Manifold) -> float:
        """Length of the longest probes."""
        farthest = reach(manifold) / 4  # on a sphere of radius 1, duels of points at a right angle
        return farthest if self.domain is None else min(farthest, self.domain.diameter / 4)

    def _probes(
        self, manifold: Manifold, state: NewtonState, place: Place, rng: np.random.Generator
    ) -> Probes:
        noise, frame, farthest = state.answering, state.frame, place.farthest
        n, d = place.n, manifold.dim
        if self.ranking:
            e = corners_of_block(rng, self.ranking, d).reshape(-1, d)
        else:
            e = directions(rng, n, n)
            e = e @ place.along.T if n < d else e
        v = e @ state.metric.T
        steps = frame.within(manifold, state.scale * v, farthest, 0.25)
        if noise.widen > 1 and not state.held:  # longer ones would end on the boundary
            length = np.linalg.norm(steps, axis=1)
            factor = np.maximum(1, np.minimum(noise.widen, state.longest / length))
            steps = frame.lengthened(manifold, steps, factor)
            steps = frame.within(manifold, steps, farthest, 0.25)
        steps = at_least(steps, self.min_radius)
        if self.ranking:
            return Probes(e, v, steps, np.arange(len(e)), noise)

        edges = place.face.edges
        trials = min(len(edges), 1 + (d - n) // 4)
        repeats, noise = noise.due(max(n, trials), d)
        asked = np.r_[np.arange(n), rng.permutation(n)[:repeats]]
        if self.domain is None:
            return Probes(e, v, steps, asked, noise)

        # Wrong answers let constraints go or keep them; so a lead decides, over several blocks.
        enough = lead(noise.flip_rate)
        often = min(4, max(enough, 2 if repeats and not n else 1))
        ahead = state.exits.at(edges)
        tried = np.lexsort((rng.random(len(ahead)), -ahead))[:trials]
        size = state.scale / np.linalg.norm(whitened(state.metric, edges), axis=1)
        back = Trials(edges, edges * size[:, None], ahead, np.tile(tried, (often, 1)), enough)
        return Probes(e, v, steps, asked, noise, back)

    def _duels(
        self, manifold: Manifold, state: NewtonState, probes: Probes, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Duels]:
        (n, d), asked, noise, trials = probes.e.shape, probes.asked, probes.noise, probes.trials
        e, z, about = probes.e[asked], np.zeros((1, d)), np.zeros(len(asked), dtype=int)
        back, exits = np.zeros(d), NO_EXITS
        if trials is None:
            s = yield from mirrored_duels(manifold, state.frame, probes.steps[asked])
        else:
            s, e, z, about, won = yield from self._projected_duels(manifold, state, probes, trials)
            noise = noise.see(won[:-1:2].ravel(), won[1::2].ravel())
            back, exits = trials.decided(won)
        noise = noise.see(s[asked[n:]], s[n:])
        blurs = np.full(len(s), BLUR * state.scale)
        ties = float(np.mean(s[:n] == 0)) if n else 1.0
        return Duels(s[:n], ties, Window(e, z, about, s, blurs), noise, back, exits)

    def _ranked(
        self, manifold: Manifold, state: NewtonState, probes: Probes, rng: np.random.Generator
    ) -> Generator[Any, Any, Duels]:
        """Rankings of groups of points, which are heard as duels between neighbours.

        Where answers are wrong, neighbours change places: then those beyond them are heard.
        """
        d, k = manifold.dim, self.ranking or 0
        groups, steps = (a.reshape(-1, k, d) for a in (probes.e, probes.steps))
        places, noise = yield from ranked(manifold, state.frame, steps, probes.noise, rng)
        apart = APART if noise.flip_rate > NOISY else 1
        window, signs = heard(groups, places, state.scale, apart), scores(places).ravel()
        ties = float(np.mean(window.answers == 0))
        return Duels(signs, ties, window, noise, np.zeros(d), NO_EXITS)

    def _projected_duels(
        self, manifold: Manifold, state: NewtonState, probes: Probes, trials: Trials
    ) -> Generator[tuple[Array, Array], Any, tuple[np.ndarray, ...]]:
        """Duels in a domain, and beside them duels of the base point with steps back inside.

        Returns the signs; the directions that they tell of, the centres and which is whose, after
        projection, whitened; and +1 for each step back that won, -1 where it lost.
        """
        v, steps, A = probes.v[probes.asked], probes.steps[probes.asked], state.metric
        across = at_least(trials.steps[trials.tried.ravel()], 2 * self.min_radius)
        s, half, middle = yield from projected_duels(
            manifold,
            state.frame,
            np.concatenate([steps, np.zeros_like(across)]),
            np.concatenate([-steps, across]),
            self.domain,
        )
        m = len(steps)
        length = np.linalg.norm(steps, axis=1)
        scale = np.linalg.norm(v, axis=1) / length
        e = whitened(A, half[:m] * scale[:, None])
        # Those that were projected have a centre of their own.
        own = np.linalg.norm(middle[:m], axis=1) > 1e-6 * length
        z = whitened(A, np.concatenate([np.zeros((1, manifold.dim)), middle[:m][own]]))
        return s[:m], e, z, np.where(own, np.cumsum(own), 0), s[m:].reshape(trials.tried.shape)

    @np.errstate(over="ignore", under="ignore", invalid="ignore")  # what overflows ends a run
    def _model(self, manifold: Manifold, state: NewtonState, place: Place, duels: Duels) -> Model:
        """Gradient and Hessian that explain the answers."""
        n, d, noise = place.n, manifold.dim, duels.noise
        window, memory = state.window.append(duels.window), state.memory
        seen = window
        if n < d:  # along a face the older gradients are of no use: its normal was in them
            seen, memory = window.along(place.face, state.metric), Memory.empty(d)
        lapse, steps = (lapse_of(noise, SURE), STEPS) if self.ranking else (lapse_of(noise), 2)
        tau, near = freedom(d, state.contradiction, noise), nearness(d, noise) / state.scale**2
        g, H = fit(seen, tau, lapse, near, memory, steps)
        kept = recent(d) if noise.astray > NOISY else recent(d, memory.misfit)
        if n == d:
            old = window.part(slice(0, max(0, len(window.answers) - kept)))
            if self.ranking:
                old = old.pooled(len(duels.window.answers))
            memory = memory.judged(g, H).append(old, g, H, lapse, 3 * recent(d) // d)
        positive = Stretch(np.clip(abs(H.w), CLIP, 1 / CLIP), H.U)
        return Model(g, positive, window.part(slice(-kept, None)), memory)

    def _move(
        self, manifold: Manifold, state: NewtonState, place: Place, duels: Duels, model: Model
    ) -> Move:
        """A saddle-free Newton step, with the steps back inside that have won."""
        d = manifold.dim
        p = -model.H.inverse(model.g)
        p *= min(1.0, 3 * state.scale * math.sqrt(d) / max(1e-300, float(np.linalg.norm(p))))
        step = state.frame.within(manifold, state.metric @ p + duels.back, 2 * place.farthest, 0.5)
        moved, end = state.frame.land(manifold, step, self.domain)
        frame, _ = state.frame.move(manifold, moved, end=end)
        held = place.n < d and (lead(state.noise) > 1 or not duels.back.any())
        held = held or float(np.linalg.norm(moved - step)) > 1e-3 * float(np.linalg.norm(step))
        return Move(frame, moved, held)

    def _adapted(
        self,
        manifold: Manifold,
        state: NewtonState,
        place: Place,
        probes: Probes,
        duels: Duels,
        model: Model,
        move: Move,
    ) -> NewtonState:
        """Scale, metric and memory for the next block."""
        n, d, noise = place.n, manifold.dim, duels.noise
        p = whitened(state.metric, move.step)
        L = model.H.root
        A = L.inverse(state.metric)  # A L⁻¹, since a `Stretch` acts on rows

        # Signs that follow the last displacement contradict the model: longer probes, freer fits.
        # Ties say that probes are too short: with half of them, the length stays.
        cosine = _cosine(-duels.signs @ probes.e, state.path)
        learned, rate = noise.learned * state.patience, noise.slow * noise.capacity * state.patience
        if n and (duels.ties <= 0.5 or state.size < state.longest):
            learned *= 1 - 2 * duels.ties
        if self.ranking:
            learned *= FASTER * coverage(d, self.ranking)
        delta = state.scale * (shrink(d) ** learned * math.exp(gain(n, rate) * cosine))
        spread = float(np.linalg.norm(A))
        delta = min(delta, place.farthest * math.sqrt(d) / spread)
        if state.ties.many:  # long probes may all say that x is off by less than is noticed
            delta = min(delta, max(state.scale, state.longest / spread))

        noise = noise.rescaled(delta / state.scale)
        forget = noise.capacity  # of an answer: without noise the mean is the base point itself
        to_mean = (1 - forget) * (state.to_mean - move.step)
        new = NewtonState(
            frame=move.frame,
            recommended=recommend(manifold, move.frame, to_mean, self.domain),
            scale=delta,
            metric=A,
            path=L(p / state.scale + (1 - forget) * state.path),
            contradiction=0.7 * state.contradiction + 0.3 * cosine,
            window=model.window.moved(p, L),
            memory=model.memory.moved(p, L),
            answering=noise,
            longest=state.longest,
            to_mean=to_mean,
            anchor=state.anchor,
            trail=state.trail,
            held=move.held,
            exits=duels.exits,
            ties=state.ties.after(duels.ties if n else 0.0, state.size),
            patience=state.patience,
            claim=state.claim,
            refuted=state.refuted,
            checked=state.checked,
            ends=state.ends,
        )
        longest = float(abs(probes.steps).max()) if n else delta * float(abs(A).max())
        return new.ended(manifold, self.x_tol, duels.ties, longest, n)


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b) / math.sqrt(max(1e-300, float(a @ a) * float(b @ b)))
