"""Stacks of matrices, one for each of many problems, and the duels that these ask together.

What `DuelNewton` does with matrices is done here with stacks of matrices, one for each of b
problems, so that the interpreter works once for all of them. The steps have the same names. What
depends on what a problem has met so far (its noise, its doubts) is left to its own state.

In few dimensions there are more centres than dimensions, and a fit has a full Hessian. So the
coordinates of a fit are turned to the principal axes of the centres, in which all of it is simpler
than in `geoduel.methods.descent.fit`. Where that fit finds only a part of H, this one does, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._numerics.arrays import Array, device, namespace
from ...errors import CutLocusError, MissingOperationError
from ...manifolds.base import Manifold
from ..frame import RENEW, Frame, reach, to_numpy
from ..rounds import Round, Rounds
from .memory import CURVED, FAITH, Memory, Window, logistic
from .noise import Noise

__all__ = ["STACKED", "Frames", "Probes", "Quadratics", "Seen", "fits", "together"]

STACKED = 40  # most dimensions in which stacked matrices are faster than one by one
TOGETHER = 128  # problems whose matrices are stacked: more would not stay in the processor's cache


class Frames(NamedTuple):
    """A `Frame` of each problem; coordinates have shape (b, k, d), points (k, b, *point_shape)."""

    points: Array
    rotations: np.ndarray  # (b, d, d)
    moves: np.ndarray  # (b,)

    @classmethod
    def of(cls, frames: Sequence[Frame]) -> Frames:
        """Stack frames."""
        xp = namespace(frames[0].point)
        return cls(
            xp.stack([frame.point for frame in frames]),
            np.stack([frame.rotation for frame in frames]),  # type: ignore[arg-type]
            np.array([frame.moves for frame in frames]),
        )

    def each(self) -> list[Frame]:
        """The frames of the problems."""
        return [
            Frame(self.points[j, ...], rotation, moves)
            for j, (rotation, moves) in enumerate(
                zip(self.rotations, self.moves.tolist(), strict=True)
            )
        ]

    def within(
        self, manifold: Manifold, c: np.ndarray, radius: float | None, share: float = 0.9
    ) -> np.ndarray:
        """As `Frame.within`; without a radius that is the `reach` of each point."""
        length = np.sqrt(np.vecdot(c, c))
        if radius is None:
            longest: Any = reach(manifold, None, self.points)  # the least one
            if length.max(initial=0) > longest:
                longest = np.array([[reach(manifold, None, x)] for x in self.points])
        else:
            longest = radius
        over = (length > longest).any(axis=1)
        if over.any():
            factor = np.minimum(1.0, 0.999 * longest / np.maximum(length, 1e-300))
            c = np.where(over[:, None, None], c * factor[..., None], c)
        if manifold.complete:
            return c
        return c * np.minimum(1, share * self.extent(manifold, c))[..., None]

    def extent(self, manifold: Manifold, c: np.ndarray) -> np.ndarray:
        """As `Frame.extent`."""
        return np.swapaxes(to_numpy(manifold.extent(self.points, self.vectors(manifold, c))), 0, 1)

    def lengthened(self, manifold: Manifold, c: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """As `Frame.lengthened`."""
        return c * np.clip(self.extent(manifold, c) / 2, 1.0, factor)[..., None]

    def vectors(self, manifold: Manifold, c: np.ndarray, own: bool = False) -> Array:
        """Tangent vectors with these coordinates, in the frames or in the manifold's own bases."""
        c = c if own else c @ self.rotations.mT
        xp = namespace(self.points)
        c = np.ascontiguousarray(np.swapaxes(c, 0, 1))
        c = xp.asarray(c, dtype=self.points.dtype, device=device(self.points))
        return manifold.from_coords(self.points, c)

    def pairs(self, manifold: Manifold, c: np.ndarray) -> tuple[Array, Array]:
        """As `Frame.pair`."""
        with np.errstate(all="ignore"):
            v = self.vectors(manifold, self.within(manifold, c, None))
            y, z = manifold.exp_pair(self.points, v)
        return self.held(manifold, y), self.held(manifold, z)

    def held(self, manifold: Manifold, y: Array) -> Array:
        """As `Frame.held`."""
        if 0 in y.shape or manifold.room(y) > 0:
            return y
        xp = namespace(y)
        each = [Frame(x, None).held(manifold, y[:, j, ...]) for j, x in enumerate(self.points)]
        return xp.stack(each, axis=1)

    def at(self, manifold: Manifold, c: np.ndarray) -> Array:
        """As `Frame.at`, of one vector a problem: shape (b, d)."""
        c = self.within(manifold, c[:, None], None)
        with np.errstate(all="ignore"):
            y = self.held(manifold, manifold.exp(self.points, self.vectors(manifold, c)))
        return y[0, ...]

    def recommended(self, manifold: Manifold, to_mean: np.ndarray) -> Array:
        """As `geoduel.methods.descent.base.recommend`, without a domain."""
        if not to_mean.any():
            return self.points
        means, here = self.at(manifold, to_mean), self.points
        each = [(means if c.any() else here)[j, ...] for j, c in enumerate(to_mean)]
        return namespace(here).stack(each)

    def move(self, manifold: Manifold, c: np.ndarray) -> tuple[Frames, np.ndarray]:
        """As `Frame.land` and `Frame.move`: the frames there, and the steps made, (b, d)."""
        c = self.within(manifold, c[:, None], None)
        v = self.vectors(manifold, c)[0, ...]
        with np.errstate(all="ignore"):
            y = manifold.exp(self.points, v)
        if not manifold.room(y) > 0:
            room = np.array([manifold.room(point) > 0 for point in y])
            c = np.where(room[:, None, None], c, 0.0)
            keep = [y[j, ...] if fits else self.points[j, ...] for j, fits in enumerate(room)]
            y, v = namespace(y).stack(keep), self.vectors(manifold, c)[0, ...]
        own = np.ascontiguousarray(self.rotations.mT)
        try:
            w = manifold.transport_along(self.points, v, self.vectors(manifold, own, own=True))
            moved = np.swapaxes(to_numpy(manifold.to_coords(y, w)), 0, 1)
            good = np.isfinite(moved).all(axis=(1, 2), keepdims=True)
            R = np.where(good, moved, own).mT
        except (CutLocusError, MissingOperationError):
            R = own.mT
        moves = self.moves + 1
        late = moves % RENEW == 0
        if late.any():
            old = R[late]
            R = np.array(R)
            R[late] = old @ (1.5 * np.eye(old.shape[-1]) - 0.5 * (old.mT @ old))
        return Frames(y, R, moves), c[:, 0]


class Probes(NamedTuple):
    """What a stack of problems asks; n probes each, and some of them twice.

    Attributes
    ----------
    states : sequence of NewtonState or CSAState
        Of the problems before the block or the step.
    frames : Frames
        Their frames.
    e, steps : ndarray of shape (b, n, d)
        Whitened directions, and the probes along them.
    again : list of ndarray
        The rows asked twice.
    noises : list of Noise
        Which know that.
    """

    states: Sequence[Any]
    frames: Frames
    e: np.ndarray
    steps: np.ndarray
    again: list[np.ndarray]
    noises: list[Noise]

    @property
    def most(self) -> int:
        """Duels of the problem that asks most."""
        return self.e.shape[1] + max(map(len, self.again))

    def filled(self, rows: np.ndarray, k: int) -> np.ndarray:
        """The rows of each problem as they are asked, filled up to k with zeros."""
        b, n, d = rows.shape
        all_ = np.zeros((b, k, d))
        all_[:, :n] = rows
        for j, again in enumerate(self.again):
            if len(again):
                all_[j, n : n + len(again)] = rows[j, again]
        return all_

    def asked(self, k: int) -> np.ndarray:
        """Which of k duels are asked, shape (b, k)."""
        counts = self.e.shape[1] + np.array([len(again) for again in self.again])
        return np.arange(k) < counts[:, None]

    def heard(self, signs: np.ndarray) -> list[Noise]:
        """What the answers to duels asked twice add to the noises."""
        n = self.e.shape[1]
        return [
            noise.see(s[again], s[n : n + len(again)]) if len(again) else noise
            for noise, again, s in zip(self.noises, self.again, signs, strict=True)
        ]


def together(
    manifold: Manifold,
    states: Sequence[Any],
    rngs: Sequence[np.random.Generator],
    probe: Callable[[Sequence[Any], Sequence[np.random.Generator]], Probes],
    after: Callable[[Probes, np.ndarray, np.ndarray], list[Any]],
) -> Rounds:
    """One iteration of each problem, in stacks: the two ends of every probe are asked in one round.

    Parameters
    ----------
    manifold : Manifold
        Where the points live.
    states, rngs : sequence of state and of numpy.random.Generator
        One a problem.
    probe : callable
        What a stack of problems asks, from its states and generators.
    after : callable
        Its next states, from its probes, the answers and which of them were asked, shape (b, k).
    """
    parts = [slice(i, i + TOGETHER) for i in range(0, len(states), TOGETHER)]
    probes = [probe(states[part], rngs[part]) for part in parts]
    k = max(each.most for each in probes)
    pairs = [each.frames.pairs(manifold, each.filled(each.steps, k)) for each in probes]
    xp = namespace(pairs[0][0])
    x, y = (xp.concat(ends, axis=1) for ends in zip(*pairs, strict=True))
    asked = np.concatenate([each.asked(k) for each in probes])
    answers, served = yield Round(np.arange(len(states)), x, y, asked.T)

    axes = tuple(range(2, x.ndim))
    # Points that rounding makes equal tell nothing, whatever a noisy oracle says about them.
    signs = (to_numpy(answers) * to_numpy(xp.any(x != y, axis=axes))).T
    ends: list[Any] = []
    for part, each in zip(parts, probes, strict=True):
        ends += after(each, signs[part], asked[part])
    return [end if right else None for end, right in zip(ends, served, strict=True)]


class Quadratics(NamedTuple):
    """Symmetric matrices U diag(w) U', one a problem, as `Stretch` has one."""

    w: np.ndarray  # (b, d)
    U: np.ndarray  # (b, d, d)

    def __call__(self, x: np.ndarray, power: float = 1.0) -> np.ndarray:
        """A power of the matrices times the rows of x, shape (b, k, d)."""
        return x @ ((self.U * (self.w**power)[:, None]) @ self.U.mT)


class Seen(NamedTuple):
    """What the problems remember: the duels of each `Window` by centre, and its `Memory`.

    Arrays are filled up with duels of no direction and gradients of no weight.

    Attributes
    ----------
    e : ndarray of shape (b, K, n, d)
        Directions, by centre.
    s, blur : ndarray of shape (b, K, n)
        Answers and blurs.
    there : ndarray of bool, shape (b, K, n)
        Which of them are duels.
    z : ndarray of shape (b, K, d)
        Centres.
    centres, gradients : ndarray of shape (b, M, d)
        Of the memory.
    across, along : ndarray of shape (b, M)
        Their precisions.
    held : ndarray of bool, shape (b, M)
        Which of them are gradients.
    misfit : ndarray of shape (b,)
        Of the memory.
    """

    e: np.ndarray
    s: np.ndarray
    blur: np.ndarray
    there: np.ndarray
    z: np.ndarray
    centres: np.ndarray
    gradients: np.ndarray
    across: np.ndarray
    along: np.ndarray
    held: np.ndarray
    misfit: np.ndarray

    @classmethod
    def of(
        cls,
        windows: Sequence[Window],
        memories: Sequence[Memory],
        e: np.ndarray,
        s: np.ndarray,
        blur: np.ndarray,
        asked: np.ndarray,
    ) -> Seen:
        """Stack windows and memories, and add the new duels, about the origin.

        ``e`` has shape (b, k, d), ``s`` and ``asked`` (which of them there are) (b, k), and
        ``blur`` (b,).
        """
        b, k, d = e.shape
        blocks = np.array([len(window.centres) for window in windows])
        problem, about = (
            np.concatenate(a)
            for a in zip(
                *((np.full(len(w.about), j), w.about) for j, w in enumerate(windows)), strict=True
            )
        )
        place = _count_on(problem * (blocks.max() + 1) + about)
        shape = (b, int(blocks.max()) + 1, max(k, int(place.max(initial=0)) + 1))
        at = (problem, about, place)
        new = np.arange(b), blocks, slice(0, k)

        def stacked(name: str, recent: np.ndarray, empty: float = 0.0) -> np.ndarray:
            all_ = np.full((*shape, *recent.shape[2:]), empty)
            all_[at] = np.concatenate([getattr(window, name) for window in windows])
            all_[new] = recent
            return all_

        there = np.zeros(shape, dtype=bool)
        there[at], there[new] = True, asked
        e = np.where(asked[..., None], e, 0.0)
        z = np.zeros((b, shape[1], d))
        z[_rows(blocks)] = np.concatenate([window.centres for window in windows])
        counts = np.array([len(memory.centres) for memory in memories])
        rows = _rows(counts)

        def kept(name: str, *axes: int) -> np.ndarray:
            all_ = np.zeros((b, int(counts.max()), *axes))
            all_[rows] = np.concatenate([getattr(memory, name) for memory in memories])
            return all_

        held = np.zeros((b, int(counts.max())), dtype=bool)
        held[rows] = True
        return cls(
            stacked("directions", e),
            stacked("answers", np.where(asked, s, 0.0)),
            stacked("blurs", np.broadcast_to(blur[:, None], asked.shape), 1.0),
            there,
            z,
            kept("centres", d),
            kept("gradients", d),
            kept("across"),
            kept("along"),
            held,
            np.array([memory.misfit for memory in memories]),
        )

    def each(self) -> list[tuple[Window, Memory]]:
        """The windows and memories of the problems."""
        used = self.there.any(axis=2)
        about = np.broadcast_to((used.cumsum(axis=1) - 1)[..., None], self.there.shape)
        flat = [a[self.there] for a in (self.e, about, self.s, self.blur)]
        z = self.z[used]
        old = [a[self.held] for a in (self.centres, self.gradients, self.across, self.along)]
        ends = [0, *self.there.sum(axis=(1, 2)).cumsum().tolist()]
        spots = [0, *used.sum(axis=1).cumsum().tolist()]
        rests = [0, *self.held.sum(axis=1).cumsum().tolist()]
        found = []
        for j, misfit in enumerate(self.misfit.tolist()):
            i, k, m = slice(*ends[j : j + 2]), slice(*spots[j : j + 2]), slice(*rests[j : j + 2])
            e, about, s, blur = (a[i] for a in flat)
            window = Window(e, z[k], about, s, blur)
            found.append((window, Memory(*(a[m] for a in old), misfit=misfit)))
        return found

    @property
    def ways(self) -> np.ndarray:
        """The gradients, as unit vectors."""
        g = self.gradients
        return g / np.sqrt(np.maximum(np.vecdot(g, g), 1e-300))[..., None]

    def weighted(self, v: np.ndarray, ways: np.ndarray) -> np.ndarray:
        """As `Memory.weighted`; the `ways` may be in other coordinates than they are kept."""
        more = (self.along - self.across) * np.einsum("bki,bki->bk", v, ways)
        v = self.across[..., None] * v
        v += more[..., None] * ways
        return v

    def judged(self, g: np.ndarray, H: Quadratics) -> Seen:
        """As `Memory.judged`."""
        rest = self.gradients - g[:, None] - H(self.centres)
        ways = self.ways
        lost, explained = (
            np.vecdot(a, self.weighted(a, ways)).sum(axis=1) for a in (rest, self.gradients)
        )
        some = self.held.any(axis=1)
        misfit = 0.8 * self.misfit + 0.2 * lost / np.maximum(1e-300, explained)
        misfit = np.where(some, misfit, self.misfit)
        fade = np.exp(-CURVED[1] * np.maximum(0.0, misfit - CURVED[0]))
        fade = np.where(some, fade, 1.0)[:, None]
        return self._replace(across=fade * self.across, along=fade * self.along, misfit=misfit)

    def aged(
        self, g: np.ndarray, H: Quadratics, lapse: np.ndarray, recent: np.ndarray, most: int
    ) -> Seen:
        """As `Memory.append` of all duels but the last ``recent``, which stay."""
        b, K, n, d = self.e.shape
        left = self.there.reshape(b, K * n)[:, ::-1].cumsum(axis=1)[:, ::-1]  # from this one on
        old = self.there & (left > recent[:, None]).reshape(self.there.shape)
        there = self.there & ~old
        kept = there.any(axis=(0, 2))
        gone = old.any(axis=(0, 2))
        e, s, blur, z, old = (a[:, gone] for a in (self.e, self.s, self.blur, self.z, old))

        gradients = g[:, None] + H(z)
        slope = (e @ gradients[..., None])[..., 0]
        _, bend = logistic(1.7 * s * slope / blur, lapse[:, None, None])
        weight = FAITH * bend * (1.7 / blur) ** 2 * old
        total = (weight * slope**2).sum(axis=2)
        along = total / np.maximum(np.vecdot(gradients, gradients), 1e-300)
        across = (weight * np.vecdot(e, e)).sum(axis=2) - along
        across = np.maximum(across / max(1, d - 1), 0)

        held = np.concatenate([self.held, old.any(axis=2)], axis=1)
        held &= held[:, ::-1].cumsum(axis=1)[:, ::-1] <= most
        kept_too = held.any(axis=0)
        return self._replace(
            e=self.e[:, kept],
            s=self.s[:, kept],
            blur=self.blur[:, kept],
            there=there[:, kept],
            z=self.z[:, kept],
            centres=np.concatenate([self.centres, z], axis=1)[:, kept_too],
            gradients=np.concatenate([self.gradients, gradients], axis=1)[:, kept_too],
            across=np.concatenate([self.across, across], axis=1)[:, kept_too],
            along=np.concatenate([self.along, along], axis=1)[:, kept_too],
            held=held[:, kept_too],
        )

    def moved(self, p: np.ndarray, H: Quadratics) -> Seen:
        """As `Window.moved` and `Memory.moved`, by the root of H."""
        b, K, n, d = self.e.shape
        p = p[:, None]
        return self._replace(
            e=H(self.e.reshape(b, K * n, d), 0.5).reshape(b, K, n, d),
            z=H(self.z - p, 0.5),
            centres=H(self.centres - p, 0.5),
            gradients=H(self.gradients, -0.5),
        )


def fits(
    seen: Seen, tau: np.ndarray, lapse: np.ndarray, near: np.ndarray
) -> tuple[np.ndarray, Quadratics]:
    """`geoduel.methods.descent.fit.fit` of each problem: gradients (b, d) and Hessians.

    The unknowns are G = (g, S) with S = H - I, and a slope is e'(G x + c) for a centre c, with
    x = (1, c). Duels of one centre count together, as the matrix Σ weight e e'.
    """
    b, K, n, d = seen.e.shape
    slope = np.where(seen.there, 1.7 / seen.blur, 0.0)
    signed = seen.s * slope
    energy = np.vecdot(seen.e, seen.e) / d
    e, old, ways = seen.e, seen.gradients, seen.ways
    c = np.concatenate([seen.z, seen.centres], axis=1)
    G = np.zeros((b, d, d + 1))
    axes, shift = np.broadcast_to(np.eye(d), (b, d, d)), np.zeros((b, 1, d))
    prior = np.empty((b, d, d + 1))  # of G: its precision
    prior[..., 0], prior[..., 1:] = near[:, None], (1 / tau**2)[:, None, None]
    lapse = lapse[:, None, None]
    mass = np.empty((b, c.shape[1]))
    X = np.ones((b, c.shape[1], d + 1))
    for _ in range(2):
        X[..., 1:] = c
        v = X @ G.mT + c
        rise, bend = logistic(signed * (e @ v[:, :K, :, None])[..., 0], lapse)
        weight, force = bend * slope**2, rise * signed

        # Principal axes of the centres, about their mean.
        mass[:, :K] = (weight * energy).sum(axis=2)
        mass[:, K:] = seen.across
        total = np.maximum(1e-300, mass.sum(axis=1))
        mean = (mass[:, None] @ c) / total[:, None, None]
        c = c - mean
        m, V = np.linalg.eigh((c * (mass / d)[..., None]).mT @ c)
        G[..., 0] += ((G[..., 1:] + np.eye(d)) @ mean.mT)[..., 0]
        c, shift, axes, old, ways = (a @ V for a in (c, shift + mean, axes, old, ways))
        e = (e.reshape(b, K * n, d) @ V).reshape(b, K, n, d)
        G = V.mT @ G
        G[..., 1:] = G[..., 1:] @ V
        X[..., 1:] = c
        inverse = np.empty((b, d, d + 1))
        inverse[..., 0] = 1 / (total + near)[:, None]
        inverse[..., 1:] = 1 / (m[:, :, None] + m[:, None, :] + 2 * prior[..., 1:])

        # Conjugate gradients for the Newton step.
        W = (e * weight[..., None]).mT @ e
        v = X @ G.mT + c
        v[:, :K] = (force[:, :, None] @ e)[:, :, 0]
        v[:, K:] = seen.weighted(old - v[:, K:], ways)
        R = v.mT @ X - prior * G
        R[..., 0] += near[:, None] * shift[:, 0]
        P = _preconditioned(R, inverse)
        residual = first = np.einsum("bij,bij->b", R, P)
        going = first > 0
        for _ in range(7):
            v = X @ P.mT
            v[:, :K] = (W @ v[:, :K, :, None])[..., 0]
            v[:, K:] = seen.weighted(v[:, K:], ways)
            T = v.mT @ X + prior * P
            bent = np.einsum("bij,bij->b", P, T)
            going &= bent > 0  # elsewhere there is too little for numbers
            length = np.where(going, residual, 0.0) / np.where(going, bent, 1.0)
            G += length[:, None, None] * P
            R -= length[:, None, None] * T
            T = _preconditioned(R, inverse)
            new = np.einsum("bij,bij->b", R, T)
            going = going & ~(new < 1e-4 * first)
            if not going.any():
                break
            P = T + np.where(going, new / np.where(going, residual, 1.0), 0.0)[:, None, None] * P
            residual = new

    S = G[..., 1:]
    g = G[..., 0] - ((S + np.eye(d)) @ shift.mT)[..., 0]  # at the base point
    w, U = np.linalg.eigh((S + S.mT) / 2)
    return (axes @ g[..., None])[..., 0], Quadratics(1 + w, axes @ U)


def _preconditioned(F: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Of g a division; of S the symmetric X with (M X + X M)/2 + X/τ² = (F + F')/2."""
    X = F * inverse
    X[..., 1:] = (F[..., 1:] + F[..., 1:].mT) * inverse[..., 1:]
    return X


def _rows(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices (j, i) of the first ``counts[j]`` entries of each row j."""
    j, i = np.nonzero(np.arange(counts.max(initial=0)) < counts[:, None])
    return j, i


def _count_on(keys: np.ndarray) -> np.ndarray:
    """How many equal keys stand before each, where equal ones stand together."""
    i = np.arange(len(keys))
    first = np.concatenate([[True], keys[1:] != keys[:-1]]) if len(keys) else np.zeros(0, bool)
    return i - np.maximum.accumulate(np.where(first, i, 0))
