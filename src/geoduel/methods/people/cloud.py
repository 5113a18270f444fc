"""What is believed of a person at first: ideals anywhere on the manifold, as points of a cloud.

Far apart, ideals see the points of a question in ways that no chart describes. So the first answers
weigh a cloud of points by exact distances, for people who see all directions alike. Once the cloud
is narrow enough for a chart, `particles.settle` goes on from it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._numerics.arrays import Array, device, expand, namespace
from ...manifolds.base import Manifold
from ..frame import to_numpy
from .observer import Raters
from .perception import OTHERS, Answers, Prior, log_prior_of_length, log_probability, usage_of
from .weights import drawn

__all__ = ["Cloud", "anywhere", "deviation", "hear_early", "losses_of", "middle"]

# Frozen; docs/notebook/ideal-point.md says what they were tuned on.
POINTS = 800  # of the cloud
EFFECTIVE = 0.5  # share of effective points below which they are resampled
SWEEPS = 2  # random steps of each point after that
STEPS = (0.15, 1.5)  # range of their lengths, in deviations of the cloud
CENTRES = 32  # points that are tried as the middle
JUDGES = 32  # points from which it is judged what raters mean by strengths
WITHIN = 0.9  # share of the way to the end of a manifold that a step may go
FARTHEST = 1e3  # lengths of ideals at first, in radii of the prior, at most


class Cloud(NamedTuple):
    """A posterior: weighted points, each a person who sees all directions alike.

    Attributes
    ----------
    prior : Prior
    start : array of shape point_shape
        Where the prior is centred.
    points : array of shape (n, *point_shape)
        Ideals.
    others : ndarray of shape (n, 6)
        The six numbers of `Traits`.
    logw : ndarray of shape (n,)
        Logarithms of weights.
    losses : ndarray of shape (n, 2, m)
        Distances of the first and the second points of the m questions from the ideals.
    answers : Answers
        The m answers; no chart sees them yet.
    raters : Raters
    """

    prior: Prior
    start: Array
    points: Array
    others: np.ndarray
    logw: np.ndarray
    losses: np.ndarray
    answers: Answers
    raters: Raters

    @property
    def weights(self) -> np.ndarray:
        """Weights that sum to 1."""
        w = np.exp(self.logw - self.logw.max())
        return w / w.sum()


def anywhere(manifold: Manifold, x0: Array, prior: Prior, rng: np.random.Generator) -> Cloud:
    """The prior: uniform on the manifold if its radius is infinite, else about the start."""
    others = rng.standard_normal((POINTS, OTHERS))
    if math.isinf(prior.radius):
        points = manifold.random_point(rng, (POINTS,), like=x0)
    else:
        points = manifold.exp(x0, _around(manifold, x0, _lengths(manifold, prior, rng), rng))
    empty = np.zeros((POINTS, 2, 0), np.float32)
    return Cloud(prior, x0, points, others, np.zeros(POINTS), empty, Answers.none(x0), Raters())


def hear_early(
    manifold: Manifold,
    cloud: Cloud,
    a: Array,
    b: Array,
    answer: int,
    left: int,
    rater: str,
    rng: np.random.Generator,
    sweeps: int = SWEEPS,
    strength: int = 0,
    more: bool = False,
) -> Cloud:
    """Weigh the points by an answer; resample and move them where few are effective.

    Raters are not told apart yet.
    """
    raters, r = cloud.raters.hear(rater, more=more)
    new = Answers.one(manifold, None, a, b, answer, left, r, strength)
    if strength:
        usage = _usage(cloud, r)
        cloud, new = _reheard(cloud, cloud.answers.meant(r, usage)), new.meant(r, usage)
    prior = cloud.prior._replace(ties=cloud.prior.ties or answer == 0)
    losses = losses_of(manifold, cloud.points, new.a, new.b)
    told = log_probability(losses.reshape(len(losses), -1), cloud.others, new, prior)
    cloud = cloud._replace(
        prior=prior,
        logw=cloud.logw + told,
        losses=np.concatenate([cloud.losses, losses], axis=2),
        answers=cloud.answers.append(new),
        raters=raters,
    )
    w = cloud.weights
    if w @ w * len(w) * EFFECTIVE < 1:
        return cloud
    pick = drawn(w, len(w), rng.random())
    cloud = cloud._replace(
        points=cloud.points[pick],
        others=cloud.others[pick],
        logw=np.zeros(len(w)),
        losses=cloud.losses[pick],
    )
    size = deviation(manifold, cloud, middle(manifold, cloud))
    for _ in range(sweeps):
        cloud = _moved(manifold, cloud, size, rng)
    return cloud


def _usage(cloud: Cloud, rater: int) -> np.ndarray:
    """What a rater has meant by strengths so far."""
    graded = np.flatnonzero((cloud.answers.rater == rater) & (cloud.answers.strength > 0))
    few = drawn(cloud.weights, JUDGES, 0.5)
    losses = cloud.losses[few][:, :, graded].reshape(JUDGES, -1)
    return usage_of(losses, cloud.others[few], cloud.prior, cloud.answers.part(graded))


def _reheard(cloud: Cloud, answers: Answers) -> Cloud:
    """The cloud weighed by the same answers, whose strengths mean something else by now."""
    graded = np.flatnonzero(answers.strength > 0)
    losses = cloud.losses[:, :, graded].reshape(len(cloud.others), -1)
    before, now = (
        log_probability(losses, cloud.others, heard.part(graded), cloud.prior)
        for heard in (cloud.answers, answers)
    )
    return cloud._replace(logw=cloud.logw + now - before, answers=answers)


def losses_of(manifold: Manifold, points: Array, a: Array, b: Array) -> np.ndarray:
    """Distances of m pairs from n points, shape (n, 2, m)."""
    both = [to_numpy(manifold.dist(points[:, None], x[None])) for x in (a, b)]
    return np.stack(both, axis=1).astype(np.float32)


def middle(manifold: Manifold, cloud: Cloud) -> Array:
    """The point of the cloud that is nearest to all, of some that are tried."""
    w = cloud.weights
    tried = cloud.points[drawn(w, CENTRES, 0.5)]
    some = cloud.points[drawn(w, 8 * CENTRES, 0.5)]
    apart = to_numpy(manifold.dist(tried[:, None], some[None]))
    return tried[int(np.argmin(apart.mean(axis=1)))]


def deviation(manifold: Manifold, cloud: Cloud, centre: Array) -> float:
    """Root mean square distance of the points from a centre, for one dimension of them."""
    away = to_numpy(manifold.dist(cloud.points, centre[None]))
    return math.sqrt(cloud.weights @ away**2 / manifold.dim)


# -- pieces ----------------------------------------------------------------------------------------


def _lengths(manifold: Manifold, prior: Prior, rng: np.random.Generator) -> np.ndarray:
    """Distances of ideals from the start, from the prior; stratified."""
    most = min(FARTHEST * prior.radius, manifold.injectivity_radius)
    grid = np.geomspace(1e-3 * prior.radius, most, 2001)
    logp, _ = log_prior_of_length(grid**2, prior, manifold.dim)
    density = np.exp(logp - logp.max()) * (grid / grid[-1]) ** (manifold.dim - 1)
    cumulated = np.cumsum(density * np.gradient(grid))
    stratified = (rng.permutation(POINTS) + rng.random(POINTS)) / POINTS
    return np.interp(stratified * cumulated[-1], cumulated, grid)


def _around(manifold: Manifold, x: Array, lengths: np.ndarray, rng: np.random.Generator) -> Array:
    """Tangent vectors of these lengths at one point or at as many, in random directions."""
    c = rng.standard_normal((len(lengths), manifold.dim))
    c *= (lengths / np.linalg.norm(c, axis=1))[:, None]
    xp = namespace(x)
    v = manifold.from_coords(x, xp.asarray(c, dtype=x.dtype, device=device(x)))
    if manifold.complete:
        return v
    share = xp.clip(WITHIN * manifold.extent(x, v), max=1.0)
    return expand(share, len(manifold.point_shape)) * v  # beyond, there are no points


def _moved(manifold: Manifold, cloud: Cloud, size: float, rng: np.random.Generator) -> Cloud:
    """A Metropolis step of each point, of any length up to the size of the cloud.

    The six numbers move along, in a way that leaves their normal distribution as it is.
    """
    n, d = len(cloud.others), manifold.dim
    lengths = (
        size
        * np.exp(rng.uniform(math.log(STEPS[0]), math.log(STEPS[1]), n))
        * rng.chisquare(d, n) ** 0.5
        / d**0.5
    )
    points = manifold.exp(cloud.points, _around(manifold, cloud.points, lengths, rng))
    keep = rng.uniform(0, 1, (n, 1))
    others = keep * cloud.others
    others += np.sqrt(1 - keep**2) * rng.standard_normal(others.shape)
    losses = losses_of(manifold, points, cloud.answers.a, cloud.answers.b)

    def density(points: Array, others: np.ndarray, losses: np.ndarray) -> np.ndarray:
        far = to_numpy(manifold.dist(points, cloud.start[None]))
        prior, _ = log_prior_of_length(far**2, cloud.prior, d)
        flat = losses.reshape(n, -1)
        return prior + log_probability(flat, others, cloud.answers, cloud.prior)

    gain = density(points, others, losses)
    gain = gain - density(cloud.points, cloud.others, cloud.losses)
    accept = np.log(rng.random(n)) < np.where(np.isfinite(gain), gain, -np.inf)
    xp = namespace(points)
    chosen = np.flatnonzero(accept)
    moved = xp.asarray(cloud.points, copy=True)
    moved[chosen] = points[chosen]
    return cloud._replace(
        points=moved,
        others=np.where(accept[:, None], others, cloud.others),
        losses=np.where(accept[:, None, None], losses, cloud.losses),
    )
