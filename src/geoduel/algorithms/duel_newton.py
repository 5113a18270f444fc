"""DuelNewton: duels as linear classification of a local gradient and Hessian."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array
from ..manifolds.base import Manifold
from .base import DuelMethod, recommend, stop_reason
from .first_step import Begin, First, begin, directions, first_step
from .frame import Frame, at_least, duels, mirrored_duels, reach, within
from .noise import Noise

__all__ = ["DuelNewton", "NewtonState", "Window", "fit"]

# Frozen. What they were tuned on, and what had been seen by then: docs/methods.md.
TAU = (0.06, 0.4)  # prior deviation of H from I: least, and per unit of contradiction
BLUR = 0.3  # width of the sigmoid of a duel, in probe lengths
OFF_CENTRE = 6.0  # scatter of the centres of exploring duels, in probe lengths
OFF_BLUR = 3.0  # their width, in those of centred duels
EXPLORE = 0.6  # probability of an exploring block, per unit of contradiction
GAIN = 1.5  # growth of log δ, per unit of contradiction, at most; see `_gain`
CLIP = 0.3  # eigenvalues of H are kept in [CLIP, 1/CLIP]
LAPSE = 0.05  # least probability of an answer that has nothing to do with the model


class Window(NamedTuple):
    """The recent duels: s_i tells the sign of the slope along v_i at the centre c_i.

    Attributes
    ----------
    directions, centres : ndarray of shape (N, d)
        v_i (of unit length in the metric of their time) and c_i, relative to the present point, in
        coordinates of the frame.
    answers, blurs : ndarray of shape (N,)
        s_i, and the width of the sigmoid.
    """

    directions: np.ndarray
    centres: np.ndarray
    answers: np.ndarray
    blurs: np.ndarray

    def append(self, v: np.ndarray, c: np.ndarray, s: np.ndarray, blur: float, n: int) -> Window:
        """Add duels and keep the last n."""
        return Window(
            np.concatenate([self.directions, v])[-n:],
            np.concatenate([self.centres, c])[-n:],
            np.concatenate([self.answers, s])[-n:],
            np.concatenate([self.blurs, np.full(len(s), blur)])[-n:],
        )

    def moved(self, step: np.ndarray) -> Window:
        """The same duels seen from the next point."""
        return self._replace(centres=self.centres - step)


class NewtonState(NamedTuple):
    """State of DuelNewton after a block; coordinates are those of the transported frame."""

    frame: Frame
    best: Array
    scale: float  # δ, length of a probe in whitened coordinates
    metric: np.ndarray  # A, whitened coordinates to coordinates: AᵀHA ≈ I
    path: np.ndarray  # the last displacement, whitened
    contradiction: float  # running mean of cos(new signs, last displacement)
    window: Window
    answering: Noise
    longest: float  # cap of a widened probe, a geodesic length
    behind: np.ndarray  # mean of the recent points, relative to the present one
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

        first step: see `geoduel.algorithms.first_step`
        repeat, in coordinates of a transported frame, whitened by A:
            e_1..e_d random orthonormal, centres z_i = 0 (or, exploring, orthogonal to e_i)
            s_i = Q(Exp_x A(z_i + δe_i), Exp_x A(z_i - δe_i));   remember (e_i, z_i, s_i)
            g, H = argmax Σ log[ε + (1-2ε) σ(1.7 s_i e_i'(g + Hz_i)/w_i)] - |H - I|²/(2τ²)
            p = -|H|⁻¹ g;   x = Exp_x(A p), frame transported;   A = A |H|^(-1/2)
            κ = cos(-Σ s_i e_i, p of last time);   δ = δ · shrink · exp(gain κ)

    κ is zero on average as long as the model is right, for new signs then have nothing to do with
    the last displacement: it drives the probe length, the freedom τ of H and the exploration, and
    no step needs a duel to be accepted. |H| has the absolute eigenvalues, so that saddles repel.

    The window keeps 5d to 10d answers. A fit costs about 300 d² operations a duel: with all else,
    0.15 ms for d = 30, 0.2 ms for d = 100 and 3 ms for d = 300. Beyond that see `DuelCSA`.

    Parameters
    ----------
    domain : Domain, optional
        Feasible set: an infeasible point loses against a feasible one and against one that
        violates the set less, without asking; such duels are not counted.
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
    `geoduel.algorithms.base.default_radius`, the dtype's limit.

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
        centres = np.zeros((d, d)) - first.step
        return NewtonState(
            frame=first.frame,
            best=recommend(manifold, first.frame, None, self.domain),
            scale=delta,
            metric=np.eye(d),
            path=first.step,
            contradiction=0.0,
            window=Window(first.directions, centres, first.answers, np.full(d, BLUR * delta)),
            answering=Noise(),
            longest=2 * first.length,
            behind=np.zeros(d),
        )

    def _block(
        self, manifold: Manifold, state: NewtonState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, NewtonState]:
        frame, A, delta, kappa = state.frame, state.metric, state.scale, state.contradiction
        d = manifold.dim

        # d duels about the base point, or about centres beside it that tell more of H.
        e = directions(rng, d, d)
        exploring = rng.random() < min(0.7, EXPLORE * kappa)
        z = np.zeros((d, d))
        if exploring:
            z = OFF_CENTRE * delta * rng.standard_normal((d, d))
            z -= np.sum(z * e, axis=1)[:, None] * e
        v, c = e @ A.T, z @ A.T
        farthest = reach(manifold) / 4  # on a sphere of radius 1, duels of points at a right angle
        c, probe = within(c, farthest), within(delta * v, farthest)
        noise = state.answering
        if noise.widen > 1:
            length = np.linalg.norm(probe, axis=1)
            probe *= np.maximum(1, np.minimum(noise.widen, state.longest / length))[:, None]
            probe = within(probe, farthest)
        probe = at_least(probe, self.min_radius)
        repeats, noise = noise.due(d)
        asked = np.r_[np.arange(d), rng.permutation(d)[:repeats]]
        if exploring:
            s = yield from duels(manifold, frame, (c + probe)[asked], (c - probe)[asked])
        else:
            s = yield from mirrored_duels(manifold, frame, probe[asked])
        noise = noise.see(s[asked[d:]], s[d:])
        blur = BLUR * delta * (OFF_BLUR if exploring else 1.0)
        window = state.window.append(v[asked], c[asked], s, blur, _memory(d))

        # Gradient and Hessian that explain the answers, and a saddle-free Newton step.
        whiten = np.linalg.inv(A)
        wrong = noise.flip_rate
        g, H = fit(
            window.directions @ whiten.T,
            window.centres @ whiten.T,
            window.answers,
            window.blurs,
            TAU[0] + TAU[1] * max(0.0, kappa),
            min(0.4, max(LAPSE, 1.2 * wrong)),
        )
        w, U = np.linalg.eigh(H)
        w = np.clip(abs(w), CLIP, 1 / CLIP)
        p = -(U / w) @ (U.T @ g)
        p *= min(1.0, 3 * delta * math.sqrt(d) / max(1e-300, float(np.linalg.norm(p))))
        step = within(A @ p, 2 * farthest)
        frame, _ = frame.move(manifold, step)
        frame, inwards, _ = frame.enter(manifold, self.domain)
        step = step + inwards
        p = whiten @ step
        A = A @ ((U / np.sqrt(w)) @ U.T)
        root = (U * np.sqrt(w)) @ U.T  # old whitened coordinates to new

        # Signs that follow the last displacement contradict the model: longer probes, freer fits.
        cosine = _cosine(-s[:d] @ e, state.path)
        ties = float(np.mean(s[:d] == 0))
        if exploring:
            path = root @ (state.path + p)
        else:
            path = root @ p
            kappa = 0.7 * kappa + 0.3 * cosine
            delta *= _shrink(d) ** noise.capacity * math.exp(_gain(d, noise) * cosine)
            delta = min(delta, farthest * math.sqrt(d) / float(np.linalg.norm(A)))

        forget = noise.capacity  # of an answer: without noise the mean is the base point itself
        behind = (1 - forget) * (state.behind - step)
        new = NewtonState(
            frame,
            recommend(manifold, frame, behind, self.domain),
            delta,
            A,
            path,
            kappa,
            window.moved(step),
            noise,
            state.longest,
            behind,
        )
        return new._replace(stop=stop_reason(manifold, new, self.x_tol, ties, abs(probe).max()))


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b) / math.sqrt(max(1e-300, float(a @ a) * float(b @ b)))


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


def _memory(d: int) -> int:
    """Duels in the window: 10d, and 5d in high dimension. Longer ones lag, with noise too."""
    return int(d * min(10.0, max(5.0, 10 * (30 / d) ** 0.7)))


def fit(
    E: np.ndarray, Z: np.ndarray, s: np.ndarray, blur: np.ndarray, tau: float, lapse: float
) -> tuple[np.ndarray, np.ndarray]:
    """Most probable gradient and Hessian, given duels.

    Maximises Σ log[ε + (1-2ε) σ(1.7 s_i e_i'(g + H z_i)/w_i)] - |H - I|²/(2τ²) over vectors g and
    symmetric H: logistic regression with lapses. Two Newton steps with the majorised Hessian of the
    logarithm, each by at most 7 steps of conjugate gradients.

    Centres taken relative to their weighted mean decouple g from H. The preconditioner
    (M X + X M)/2 + X/τ² with M the weighted mean of z z'/d, inverted in the eigenbasis of M, is
    exact for blocks of d orthonormal duels about one centre.

    Parameters
    ----------
    E, Z : ndarray of shape (N, d)
        Directions e_i and centres z_i, whitened.
    s, blur : ndarray of shape (N,)
        Answers (+1: downhill is -e_i; 0: a tie, which says that the slope is small) and widths w_i.
    tau, lapse : float
        τ and ε.

    Returns
    -------
    g : ndarray of shape (d,)
    H : ndarray of shape (d, d)

    Examples
    --------
    >>> import numpy as np
    >>> E = np.eye(2)
    >>> g, H = fit(E, np.zeros((2, 2)), np.array([1.0, -1.0]), np.ones(2), 0.1, 0.05)
    >>> bool(g[0] > 0 > g[1]), bool(np.allclose(H, np.eye(2)))
    (True, True)
    """
    d = E.shape[1]
    identity = np.eye(d)
    g, H = np.zeros(d), np.eye(d)
    stiffness = 1 / tau**2
    slope = 1.7 / blur
    energy = np.einsum("ij,ij->i", E, E) / d
    for _ in range(2):
        margin = s * slope * (E @ g + np.einsum("ij,ij->i", E @ H, Z))
        right = 1 / (1 + np.exp(-np.clip(margin, -40, 40)))
        rise = (1 - 2 * lapse) * right * (1 - right) / (lapse + (1 - 2 * lapse) * right)
        bend = np.maximum(rise * (rise - (1 - 2 * right)), 0) + 1e-3 * rise + 1e-12
        weight, force = bend * slope**2, rise * s * slope

        total = float(np.sum(weight * energy))
        centre = (weight * energy) @ Z / total
        Y = Z - centre
        m, T = np.linalg.eigh((Y * (weight * energy / d)[:, None]).T @ Y)
        spread = (m[:, None] + m) / 2 + stiffness

        # Conjugate gradients for the Newton step (xg, XH), in centred unknowns.
        rg, RH = _gather(E, Y, force)
        RH -= (H - identity) * stiffness
        xg, XH = np.zeros(d), np.zeros((d, d))
        pg, PH = rg / total, T @ ((T.T @ RH @ T) / spread) @ T.T
        residual = first = float(rg @ pg + np.vdot(RH, PH))
        if not first > 0:  # nothing but ties
            break
        for _ in range(7):
            hg, HH = _gather(E, Y, (E @ pg + np.einsum("ij,ij->i", E @ PH, Y)) * weight)
            HH += PH * stiffness
            length = residual / float(pg @ hg + np.vdot(PH, HH))
            xg, XH = xg + length * pg, XH + length * PH
            rg, RH = rg - length * hg, RH - length * HH
            yg, YH = rg / total, T @ ((T.T @ RH @ T) / spread) @ T.T
            new = float(rg @ yg + np.vdot(RH, YH))
            if new < 1e-4 * first:
                break
            pg, PH = yg + new / residual * pg, YH + new / residual * PH
            residual = new
        g, H = g + xg - XH @ centre, H + XH
    return g, (H + H.T) / 2


def _gather(E: np.ndarray, Y: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ u_i e_i and the symmetric part of Σ u_i e_i y_i'."""
    outer = (E * u[:, None]).T @ Y
    return E.T @ u, (outer + outer.T) / 2
