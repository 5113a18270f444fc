"""DuelNewton: duels as linear classification of a local gradient and Hessian."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...manifolds.base import Manifold
from ..base import DuelMethod, recommend, stop_reason
from ..frame import Frame, at_least, mirrored_duels, projected_duels, reach
from .face import Face, Ways, face_at
from .first_step import Begin, First, begin, directions, first_step
from .noise import Noise, lead

__all__ = ["DuelNewton", "Memory", "NewtonState", "Window", "fit"]

# Frozen. What they were tuned on, and what had been seen by then: docs/methods.md.
TAU = (0.06, 0.4)  # prior deviation of H from I: least, and per unit of contradiction
FAITH = 0.3  # precision of a remembered gradient, as a share of that of its answers
CURVED = (0.13, 10.0)  # misfit from which remembered gradients fade, and by how much a block
BLUR = 0.3  # width of the sigmoid of a duel, in probe lengths
GAIN = 1.2  # growth of log δ, per unit of contradiction, at most; see `_gain`
CLIP = 0.3  # eigenvalues of H are kept in [CLIP, 1/CLIP]
SHORT = 0.01  # length of the probes that look for the boundary, in those of duels
LAPSE = 0.05  # least probability of an answer that has nothing to do with the model


class Window(NamedTuple):
    """The recent duels, whitened: s_i tells the sign of the slope along e_i at the centre z_i.

    Attributes
    ----------
    directions : ndarray of shape (N, d)
        e_i, of unit length in the metric of their time.
    centres : ndarray of shape (K, d)
        The different z_i, relative to the present point: one a block, but for domains.
    about : ndarray of shape (N,)
        The row of ``centres`` that is z_i.
    answers, blurs : ndarray of shape (N,)
        s_i, and the width of the sigmoid.
    """

    directions: np.ndarray
    centres: np.ndarray
    about: np.ndarray
    answers: np.ndarray
    blurs: np.ndarray

    def append(
        self, e: np.ndarray, z: np.ndarray, about: np.ndarray, s: np.ndarray, blur: float
    ) -> Window:
        """Add duels."""
        return Window(
            np.concatenate([self.directions, e]),
            np.concatenate([self.centres, z]),
            np.concatenate([self.about, len(self.centres) + about]),
            np.concatenate([self.answers, s]),
            np.concatenate([self.blurs, np.full(len(s), blur)]),
        )

    def part(self, kept: slice | np.ndarray) -> Window:
        """Some of the duels, and their centres alone."""
        used, about = np.unique(self.about[kept], return_inverse=True)
        return Window(
            self.directions[kept], self.centres[used], about, self.answers[kept], self.blurs[kept]
        )

    def moved(self, p: np.ndarray, U: np.ndarray, w: np.ndarray) -> Window:
        """The same duels seen from the next point, whitened once more by I + U diag(1/w - 1) U'."""
        return self._replace(
            directions=_stretched(self.directions, U, w),
            centres=_stretched(self.centres - p, U, w),
        )

    def along(self, face: Face, A: np.ndarray) -> Window:
        """The duels along a face, flattened; those across it say little but where its inside is."""
        v = self.directions @ A.T
        flat = face.flatten(v)
        kept = np.vecdot(flat, flat) > 0.9 * np.vecdot(v, v)
        return Window(
            _whiten(A, flat[kept]),
            _whiten(A, face.flatten(self.centres @ A.T)),
            self.about[kept],
            self.answers[kept],
            self.blurs[kept],
        )


class Memory(NamedTuple):
    """What is left of the duels before the window: gradients, as fitted when it lost them.

    Each counts once, while answers are explained anew by every fit. Signs tell the direction of a
    gradient better than its length, so it has a precision of its own along itself. Where f is no
    quadratic, no fit explains all of them: ``misfit``, the share that is not explained, fades them.

    Attributes
    ----------
    centres, gradients : ndarray of shape (K, d)
        z_k, relative to the present point, and g + H z_k.
    across, along : ndarray of shape (K,)
        Precision of an entry of the gradient, orthogonally to it and along it.
    misfit : float
        Running mean of the share.
    """

    centres: np.ndarray
    gradients: np.ndarray
    across: np.ndarray
    along: np.ndarray
    misfit: float = 0.1

    @classmethod
    def empty(cls, d: int) -> Memory:
        """Of nothing."""
        return cls(np.zeros((0, d)), np.zeros((0, d)), np.zeros(0), np.zeros(0))

    def weighted(self, v: np.ndarray) -> np.ndarray:
        """Rows v_k, of shape (K, d), times their precisions."""
        g = self.gradients
        share = np.vecdot(v, g) / np.maximum(np.vecdot(g, g), 1e-300)
        return self.across[:, None] * v + ((self.along - self.across) * share)[:, None] * g

    def judged(self, g: np.ndarray, w: np.ndarray, U: np.ndarray) -> Memory:
        """Compared with a new fit, and faded if they contradict it."""
        if not len(self.centres):
            return self
        rest = self.gradients - g - _stretched(self.centres, U, w)
        lost, told = (float(np.vdot(a, self.weighted(a))) for a in (rest, self.gradients))
        misfit = 0.8 * self.misfit + 0.2 * lost / max(1e-300, told)
        fade = math.exp(-CURVED[1] * max(0.0, misfit - CURVED[0]))
        return self._replace(across=fade * self.across, along=fade * self.along, misfit=misfit)

    def append(
        self, old: Window, g: np.ndarray, w: np.ndarray, U: np.ndarray, lapse: float, n: int
    ) -> Memory:
        """Add the gradients at the centres of old duels, and keep the last n."""
        d = len(g)
        gradients = g + _stretched(old.centres, U, w)
        slope = np.vecdot(old.directions, gradients[old.about])
        _, bend = _logistic(1.7 * old.answers * slope / old.blurs, lapse)
        weight = FAITH * bend * (1.7 / old.blurs) ** 2

        def total(a: np.ndarray) -> np.ndarray:
            return np.bincount(old.about, a, len(gradients))

        along = total(weight * slope**2) / np.maximum(np.vecdot(gradients, gradients), 1e-300)
        across = (total(weight * np.vecdot(old.directions, old.directions)) - along) / max(1, d - 1)
        return self._replace(
            centres=np.concatenate([self.centres, old.centres])[-n:],
            gradients=np.concatenate([self.gradients, gradients])[-n:],
            across=np.concatenate([self.across, np.maximum(across, 0)])[-n:],
            along=np.concatenate([self.along, along])[-n:],
        )

    def moved(self, p: np.ndarray, U: np.ndarray, w: np.ndarray) -> Memory:
        """The same seen from the next point, whitened once more by I + U diag(1/w - 1) U'."""
        return self._replace(
            centres=_stretched(self.centres - p, U, w),
            gradients=_stretched(self.gradients, U, 1 / w),
        )


NOWHERE = Ways(np.zeros((0, 0)), np.zeros(0))


class NewtonState(NamedTuple):
    """State of DuelNewton after a block; coordinates are those of the transported frame."""

    frame: Frame
    best: Array
    scale: float  # δ, length of a probe in whitened coordinates
    metric: np.ndarray  # A, whitened coordinates to coordinates: AᵀHA ≈ I
    path: np.ndarray  # the last displacement in δ, whitened; with noise a sum of them that fades
    contradiction: float  # running mean of cos(new signs, last displacement)
    window: Window
    memory: Memory
    answering: Noise
    longest: float  # cap of a widened probe, a geodesic length
    behind: np.ndarray  # mean of the recent points, relative to the present one
    held: bool = False  # whether the domain keeps the steps back
    ways: Ways = NOWHERE  # what is known of steps back inside
    stop: str | None = None

    @property
    def point(self) -> Array:
        """The base point of the frame."""
        return self.frame.point

    @property
    def noise(self) -> float:
        """Estimated flip rate."""
        return self.answering.flip_rate

    @property
    def uncertainty(self) -> float:
        """Estimated distance to the optimum: δ√d in every whitened direction, mapped back."""
        length = self.scale * float(np.linalg.norm(self.metric))
        return self.answering.uncertainty(length, self.longest)


@dataclass(frozen=True)
class DuelNewton(DuelMethod):
    """Newton's method from duels.

    If f is quadratic about x with gradient g and Hessian H, a duel between Exp_x(c + v) and
    Exp_x(c - v) tells the sign of v'(g + Hc), whatever the length of v. So duels are a linear
    classification problem for (g, H): fit it by logistic regression, step like Newton, and whiten
    the coordinates by H^(-1/2), so that the next model is near the identity again.

        first step: see `geoduel.methods.descent.first_step`
        repeat, in coordinates of a transported frame, whitened by A:
            e_1..e_d random orthonormal, centres z_i = 0
            s_i = Q(Exp_x A(z_i + δe_i), Exp_x A(z_i - δe_i));   remember (e_i, z_i, s_i)
            g, H = argmax Σ_i log[ε + (1-2ε) σ(1.7 s_i e_i'(g + Hz_i)/w_i)]
                          - Σ_k |g_k - g - Hz_k|²_k/2 - |H - I|²/(2τ²) - |g|²/(2ρ²)
            of duels too old for Σ_i remember (z_k, g_k = g + Hz_k)
            p = -|H|⁻¹ g;   x = Exp_x(A p), frame transported;   A = A |H|^(-1/2)
            κ = cos(-Σ s_i e_i, p of last time);   δ = δ · shrink · exp(gain κ)

    κ is zero on average as long as the model is right, for new signs then have nothing to do with
    the last displacement: it drives the probe length and the freedom τ of H, and no step needs a
    duel to be accepted. Where answers are noisy, p of last time is a fading sum of displacements,
    in probe lengths. |H| has the absolute eigenvalues, so that saddles repel.

    The fit explains the answers of a window once more in every block, which learns quickly and
    forgets. Of older ones it keeps the gradients g_k that it had found at their centres, each as
    one observation with a precision. No H explains them along a curved valley: then they fade.
    The prior of g, of a width ρ of about δ, only holds back where answers are wrong: few of them
    then make long steps in poor directions. Without noise ρ is infinite.

    In a domain both points of a duel are projected, and what is remembered is where they were. Once
    a step has been projected, too, the optimum may lie on the boundary: directions, fit and step
    then keep to the face the point lies on (`geoduel.methods.descent.face`), and a duel or more a
    block asks whether a step back inside is better.

    The window keeps 4d to 7.5d answers, and three times as many are in the gradients. A block needs
    one QR, one LU and some products of d x d matrices; the fit, all answers of a block being about
    one centre, is cheap beside them (`geoduel.methods.descent.duel_newton.fit`). With all else
    but f a duel costs 0.10 ms for d = 30, 0.07 ms for d = 100, 0.12 ms for d = 300, 0.6 ms for
    d = 1000, and the memory is 0.3 GB for d = 1000; beyond that both grow as d². In a domain a
    projected duel has a centre of its own; where most are, the fit costs N d² operations, and a
    duel 0.3 ms for d = 100.

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

    Notes
    -----
    Stops with "resolution" once most duels tie at probes as short as
    `geoduel.methods.base.default_radius`, the dtype's limit.

    References
    ----------
    Jamieson, Nowak and Recht, Query complexity of derivative-free optimization, NIPS 2012, for what
    comparisons can tell; Dauphin et al., Identifying and attacking the saddle point problem, NIPS
    2014, for |H|; Hansen and Ostermeier, Evolutionary Computation 9 (2001), for the path.

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

    version: ClassVar[int] = 5

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> Begin:
        return begin(manifold, x0, self.initial_step)

    def step(
        self, manifold: Manifold, state: Begin | NewtonState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, Begin | NewtonState]:
        if isinstance(state, Begin):
            first = yield from first_step(manifold, state, rng, self.domain)
            return first if isinstance(first, Begin) else self._first_state(manifold, first)
        return (yield from self._block(manifold, state, rng))

    def _first_state(self, manifold: Manifold, first: First) -> NewtonState:
        d = manifold.dim
        delta = 1.25 * first.length / math.sqrt(d)
        return NewtonState(
            frame=first.frame,
            best=recommend(manifold, first.frame, None, self.domain),
            scale=delta,
            metric=np.eye(d),
            path=first.step / delta,
            contradiction=0.0,
            window=Window(
                first.directions,
                -first.step[None],
                np.zeros(d, dtype=int),
                first.answers,
                np.full(d, BLUR * delta),
            ),
            memory=Memory.empty(d),
            answering=Noise(),
            longest=2 * first.length,
            behind=np.zeros(d),
        )

    def _block(
        self, manifold: Manifold, state: NewtonState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, NewtonState]:
        frame, A, delta, kappa = state.frame, state.metric, state.scale, state.contradiction
        d = manifold.dim
        # On a sphere of radius 1, duels of points at a right angle.
        farthest = reach(manifold) / 4
        face = Face.none(d)
        if self.domain is not None:
            farthest = min(farthest, self.domain.diameter / 4)
            if state.held:
                probes = SHORT * delta * directions(rng, d, d) @ A.T
                face = face_at(manifold, frame, self.domain, probes)
        T = face.along(A)
        n = T.shape[1]  # d inside

        e = directions(rng, n, n)
        e = e @ T.T if n < d else e
        v = e @ A.T
        probe = frame.within(manifold, delta * v, farthest, 0.25)
        noise = state.answering
        if noise.widen > 1 and not state.held:  # longer ones would end on the boundary
            length = np.linalg.norm(probe, axis=1)
            probe *= np.maximum(1, np.minimum(noise.widen, state.longest / length))[:, None]
            probe = frame.within(manifold, probe, farthest, 0.25)
        probe = at_least(probe, self.min_radius)
        # Wrong answers let constraints go or keep them; so a lead decides, over several blocks.
        trials, enough = min(len(face.edges), 1 + (d - n) // 4), lead(noise.flip_rate)
        repeats, noise = noise.due(max(n, trials), d)
        often = min(4, max(enough, 2 if repeats and not n else 1))
        asked = np.r_[np.arange(n), rng.permutation(n)[:repeats]]
        told, v, probe = e[asked], v[asked], probe[asked]
        z, about = np.zeros((1, d)), np.zeros(len(asked), dtype=int)
        back, ways = np.zeros(d), NOWHERE  # steps inside that have won
        if self.domain is not None:
            ahead = state.ways.at(face.edges)
            tried = np.lexsort((rng.random(len(ahead)), -ahead))[:trials]
            tried = np.tile(tried, often)
            across = face.edges * (delta / np.linalg.norm(_whiten(A, face.edges), axis=1))[:, None]
            s, told, z, about, won = yield from self._projected_duels(
                manifold, frame, A, v, probe, across[tried]
            )
            np.add.at(ahead, tried, won)
            won = won.reshape(often, trials)
            noise = noise.see(won[:-1:2].ravel(), won[1::2].ravel())
            inside = ahead >= enough
            back = across[inside].sum(axis=0)
            ways = Ways(face.edges[~inside], np.maximum(ahead[~inside], 1 - enough))
        else:
            s = yield from mirrored_duels(manifold, frame, probe)
        noise = noise.see(s[asked[n:]], s[n:])
        window = state.window.append(told, z, about, s, BLUR * delta)

        # Gradient and Hessian that explain the answers, and a saddle-free Newton step.
        # Along a face the older gradients are of no use: its normal was in them.
        seen, memory = (window.along(face, A), Memory.empty(d)) if n < d else (window, state.memory)
        lapse = min(0.4, max(LAPSE, 1.2 * noise.flip_rate))
        g, w, U = fit(
            seen.directions,
            seen.centres,
            seen.about,
            seen.answers,
            seen.blurs,
            _freedom(d, kappa, noise),
            lapse,
            _nearness(d, noise) / delta**2,
            memory,
        )
        if n == d:
            old = window.part(slice(0, max(0, len(window.answers) - _recent(d))))
            memory = memory.judged(g, w, U).append(old, g, w, U, lapse, 3 * _recent(d) // d)
        window = window.part(slice(-_recent(d), None))
        w = np.clip(abs(w), CLIP, 1 / CLIP)
        p = -_stretched(g, U, 1 / w)
        p *= min(1.0, 3 * delta * math.sqrt(d) / max(1e-300, float(np.linalg.norm(p))))
        step = frame.within(manifold, A @ p + back, 2 * farthest, 0.5)
        frame, _ = frame.move(manifold, step)
        frame, inwards, _ = frame.enter(manifold, self.domain)
        held = n < d and (enough > 1 or not back.any())
        held = held or float(np.linalg.norm(inwards)) > 1e-3 * float(np.linalg.norm(step))
        step = step + inwards
        p = _whiten(A, step)
        root = np.sqrt(w)
        A = _stretched(A, U, 1 / root)

        # Signs that follow the last displacement contradict the model: longer probes, freer fits.
        cosine = _cosine(-s[:n] @ e, state.path)
        ties = float(np.mean(s[:n] == 0)) if n else 1.0
        kappa = 0.7 * kappa + 0.3 * cosine
        delta *= _shrink(d) ** noise.learned * math.exp(_gain(n, noise) * cosine)
        delta = min(delta, farthest * math.sqrt(d) / float(np.linalg.norm(A)))

        noise = noise.rescaled(delta / state.scale)
        forget = noise.capacity  # of an answer: without noise the mean is the base point itself
        behind = (1 - forget) * (state.behind - step)
        new = NewtonState(
            frame,
            recommend(manifold, frame, behind, self.domain),
            delta,
            A,
            _stretched(p / state.scale + (1 - forget) * state.path, U, root),
            kappa,
            window.moved(p, U, root),
            memory.moved(p, U, root),
            noise,
            state.longest,
            behind,
            held,
            ways,
        )
        longest = float(abs(probe).max()) if n else delta * float(abs(A).max())
        return new._replace(stop=stop_reason(manifold, new, self.x_tol, ties, longest))

    def _projected_duels(
        self,
        manifold: Manifold,
        frame: Frame,
        A: np.ndarray,
        v: np.ndarray,
        probe: np.ndarray,
        across: np.ndarray,
    ) -> Generator[tuple[Array, Array], Any, tuple[np.ndarray, ...]]:
        """Duels in a domain, and beside them duels of the base point with steps ``across`` a face.

        Returns the signs; the directions that they tell of, the centres and which is whose, after
        projection, whitened; and +1 for each step across that won, -1 where it lost.
        """
        assert self.domain is not None
        trials = at_least(across, self.min_radius)
        s, half, middle = yield from projected_duels(
            manifold,
            frame,
            np.concatenate([probe, np.zeros_like(trials)]),
            np.concatenate([-probe, trials]),
            self.domain,
        )
        m = len(probe)
        length = np.linalg.norm(probe, axis=1)
        scale = np.linalg.norm(v, axis=1) / length
        told = _whiten(A, half[:m] * scale[:, None])
        # Those that were projected have a centre of their own.
        own = np.linalg.norm(middle[:m], axis=1) > 1e-6 * length
        z = _whiten(A, np.concatenate([np.zeros((1, manifold.dim)), middle[:m][own]]))
        return s[:m], told, z, np.where(own, np.cumsum(own), 0), s[m:]


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b) / math.sqrt(max(1e-300, float(a @ a) * float(b @ b)))


def _whiten(A: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Coordinates, of shape (..., d), as whitened by A."""
    return np.linalg.solve(A, c.T).T


def _freedom(d: int, kappa: float, noise: Noise) -> float:
    """τ, of an entry: as 1/√d in high dimension, as for a norm of H - I; wider in low dimension."""
    tau = TAU[0] + TAU[1] * max(0.0, kappa)
    return tau * (1 + 6 * noise.capacity / d) * math.sqrt(min(1.0, 100 / d))


def _nearness(d: int, noise: Noise) -> float:
    """(δ/ρ)²: none where answers are right, nor in small d, where δ is no measure of |g|."""
    return (1 - noise.capacity) * max(0.0, 1 - 5 / d)


def _shrink(d: int) -> float:
    """Factor on δ a block, as long as answers do not contradict: larger models lag more."""
    return min(0.8, max(0.7, 0.7 * (d / 40) ** 0.12))


def _gain(d: int, noise: Noise) -> float:
    """Growth of log δ per unit of contradiction.

    Where the model is right, log δ drifts down by C log(1/shrink) a block and is spread by gain²/d,
    the variance of the cosine. A ratio of the two well above 1/2 keeps the tail of δ thin; it
    matters for d <= 3, and for noisy answers up to d = 10.
    """
    return min(GAIN, math.sqrt(0.7 * noise.capacity * d))


def _recent(d: int) -> int:
    """Duels in the window: 7.5d, and 4d in high dimension. Longer ones lag, with noise too."""
    return int(d * min(7.5, max(4.0, 7.5 * (30 / d) ** 0.7)))


def fit(
    E: np.ndarray,
    Z: np.ndarray,
    about: np.ndarray,
    s: np.ndarray,
    blur: np.ndarray,
    tau: float,
    lapse: float,
    near: float = 0.0,
    memory: Memory | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Most probable gradient and Hessian, given duels.

    Maximises Σ log[ε + (1-2ε) σ(1.7 s_i e_i'(g + H z_i)/w_i)] - |H - I|²/(2τ²) - |g|²/(2ρ²) over
    vectors g and symmetric H: logistic regression with lapses. Two Newton steps with the majorised
    Hessian of the logarithm, each by at most 7 steps of conjugate gradients. Remembered gradients
    g_k at z_k subtract |g_k - g - H z_k|²/2, in the norm of their precision.

    The answers depend on H only through S = (H - I) Q, with orthonormal columns Q that span the k
    centres, and the prior then makes H = I + SQ' + QS' - QQ'SQ'. So the unknowns are g and S, and
    all products cost N d k operations; k is about the number of blocks remembered.

    Centres taken relative to their weighted mean decouple g from S. The preconditioner for H - I is
    (M X + X M)/2 + X/τ² with M the weighted mean of z z'/d, of which Q is made the eigenbasis: it
    is exact for blocks of d orthonormal duels about one centre.

    Parameters
    ----------
    E : ndarray of shape (N, d)
        Directions e_i, whitened.
    Z : ndarray of shape (K, d)
        The different centres, whitened.
    about : ndarray of shape (N,)
        The row of Z that is z_i.
    s, blur : ndarray of shape (N,)
        Answers (+1: downhill is -e_i; 0: a tie, which says that the slope is small) and widths w_i.
    tau, lapse : float
        τ and ε.
    near : float
        1/ρ². The prior of g is that of H = I: it ties the gradient about the mean centre.
    memory : Memory, optional
        The remembered gradients.

    Returns
    -------
    g : ndarray of shape (d,)
    w : ndarray of shape (r,)
    U : ndarray of shape (d, r)
        Eigenvalues and orthonormal eigenvectors of H, r <= 2k, beside which H = I:
        H = I + U diag(w - 1) U'.

    Examples
    --------
    >>> import numpy as np
    >>> E, centre, answers = np.eye(2), np.zeros((1, 2)), np.array([1.0, -1.0])
    >>> g, w, U = fit(E, centre, np.zeros(2, dtype=int), answers, np.ones(2), 0.1, 0.05)
    >>> bool(g[0] > 0 > g[1]), w
    (True, array([1., 1.]))
    """
    d = E.shape[1]
    if not len(s):
        return np.zeros(d), np.ones(0), np.zeros((d, 0))
    slope = 1.7 / blur
    energy = np.vecdot(E, E) / d
    # Slopes are rows of E (G + Q) X', where G is g and S, and X is 1 and the centre's coordinates.
    memory = Memory.empty(d) if memory is None else memory
    Z, old = np.concatenate([Z, memory.centres]), len(Z)
    Q = np.concatenate([np.zeros((d, 1)), np.linalg.qr(Z.T)[0]], axis=1)
    C = Z @ Q
    C[:, 0] = 1
    G = np.zeros_like(Q)
    stiffness = np.full(Q.shape[1], 1 / tau**2)
    stiffness[0] = 0
    for _ in range(2):
        X = C[about]
        rise, bend = _logistic(s * slope * np.vecdot(E @ (G + Q), X), lapse)
        weight, force = bend * slope**2, rise * s * slope

        # Principal axes of the centres, about their mean.
        mass = np.bincount(about, weight * energy, len(C))
        mass[old:] += memory.across
        total = float(np.sum(mass))
        mean = mass @ C[:, 1:] / total
        C[:, 1:] -= mean
        m, V = np.linalg.eigh((C[:, 1:] * (mass / d)[:, None]).T @ C[:, 1:])
        G[:, 0] += (G + Q)[:, 1:] @ mean
        for a in (Q, C, G):
            a[:, 1:] = a[:, 1:] @ V
        X, Y = C[about], C[old:]
        spread = np.concatenate([[total + near], m]) + 2 * stiffness
        inside = np.zeros((len(spread), len(spread)))
        inside[1:, 1:] = 1 / (m[:, None] + spread[1:]) - 1 / spread[1:]

        # Conjugate gradients for the Newton step.
        R = E.T @ (X * force[:, None]) - _normal(G, Q) * stiffness
        R += memory.weighted(memory.gradients - Y @ (G + Q).T).T @ Y
        R[:, 0] -= near * (G[:, 0] + Q @ (C[0] - Z[0] @ Q))
        P = _precondition(R, Q, spread, inside)
        residual = first = float(np.vdot(R, P))
        if not first > 0:  # nothing but ties
            break
        for _ in range(7):
            T = E.T @ (X * (np.vecdot(E @ P, X) * weight)[:, None]) + _normal(P, Q) * stiffness
            T += memory.weighted(Y @ P.T).T @ Y
            T[:, 0] += near * P[:, 0]
            length = residual / float(np.vdot(P, T))
            G += length * P
            R -= length * T
            T = _precondition(R, Q, spread, inside)
            new = float(np.vdot(R, T))
            if new < 1e-4 * first:
                break
            P = T + new / residual * P
            residual = new

    g = (G + Q) @ (C[0] - Z[0] @ Q)  # at the base point
    Q, S = Q[:, 1:], G[:, 1:]
    basis = np.linalg.qr(np.concatenate([Q, S], axis=1))[0]
    a, b = basis.T @ Q, basis.T @ S
    w, V = np.linalg.eigh(b @ a.T + a @ (b - a @ (Q.T @ S)).T)
    return g, 1 + w, basis @ V


def _logistic(margin: np.ndarray, lapse: float) -> tuple[np.ndarray, np.ndarray]:
    """Derivative and majorised second derivative, negated, of log[ε + (1-2ε) σ(margin)]."""
    right = 1 / (1 + np.exp(-np.clip(margin, -40, 40)))
    rise = (1 - 2 * lapse) * right * (1 - right) / (lapse + (1 - 2 * lapse) * right)
    return rise, np.maximum(rise * (rise - (1 - 2 * right)), 0) + 1e-3 * rise + 1e-12


def _normal(S: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Gradient of |SQ' + QS' - QQ'SQ'|²/2 by S, for symmetric Q'S."""
    return 2 * S - Q @ (Q.T @ S)


def _precondition(
    F: np.ndarray, Q: np.ndarray, spread: np.ndarray, inside: np.ndarray
) -> np.ndarray:
    """X Q for the solution X of (M X + X M)/2 + X/τ² = (FQ' + QF')/2, where M Q = Q diag(m).

    What of F is orthogonal to Q is divided by ``spread`` = m + 2/τ², the rest by m_i + m_j + 2/τ².
    """
    a = Q.T @ F
    return F / spread + Q @ (a.T / spread + (a + a.T) * inside)


def _stretched(x: np.ndarray, U: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rows x times I + U diag(w - 1) U'."""
    y = ((x @ U) * (w - 1)) @ U.T
    y += x
    return y
