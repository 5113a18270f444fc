"""Simulated people, to test a study with before anyone is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from .._numerics.arrays import Array, copied, device, host, namespace
from .._support.check import (
    as_generator,
    instance,
    nonnegative,
    one_of,
    positive,
    positive_int,
    real,
)
from ..errors import ArgumentError
from ..manifolds.base import Manifold

__all__ = ["DEGREE", "HABITS", "KINDS", "SLOPE", "Person", "draw_crowd", "draw_person"]

DEGREE = math.pi / 180
SLOPE = math.log(3)  # of the logistic: a difference of one JND is told right 3 times out of 4
# Noise in JND, by its law; each lies within one JND above its median one time in four.
NOISES: dict[str, Callable[[np.random.Generator], float]] = {
    "logistic": lambda rng: rng.logistic() / SLOPE,
    "normal": lambda rng: rng.standard_normal() / 0.6744897501960817,
    "cauchy": lambda rng: rng.standard_cauchy(),
}
# Noise of each of several points, so that the difference of two has the law above.
ALONE: dict[str, Callable[[np.random.Generator], float]] = {
    "logistic": lambda rng: rng.gumbel() / SLOPE,
    "normal": lambda rng: rng.standard_normal() / 0.6744897501960817 / math.sqrt(2),
    "cauchy": lambda rng: rng.standard_cauchy() / 2,
}

# Kinds of people, as settings of `draw_person`; lengths are in JND.
KINDS: dict[str, dict[str, Any]] = {
    "fits the model": {},
    "metric 1 to 1/3": {"spread": 3.0},
    "blind to a direction": {"spread": math.inf},
    "five directions": {"directions": 5},
    "asymmetric 10 %": {"asymmetry": 0.1},
    "asymmetric 20 %": {"asymmetry": 0.2},
    "asymmetric 40 %": {"asymmetry": 0.4},
    "saturating at 40 JND": {"saturation": 40.0},
    "saturating at 15 JND": {"saturation": 15.0},
    "Weber fraction 0.06": {"weber": 0.06},
    "Weber fraction 0.15": {"weber": 0.15},
    "heavy-tailed noise": {"noise": "cauchy"},
    "JND a third of that assumed": {"jnd": 1 / 3},
    "JND three times that assumed": {"jnd": 3.0},
    "5 % lapses": {"lapse": 0.05},
    "tiring": {"fatigue": 0.02},
    "drifting": {"drift": 0.1},
    "plateau of 2 JND": {"plateau": 2.0},
    "two ideals": {"apart": 50.0},
    "squared loss": {"power": 2.0},
    "root loss": {"power": 0.5},
}
# Kinds that do not look at what they are shown.
HABITS: dict[str, dict[str, Any]] = {
    "coin flips": {"lapse": 1.0},
    "always left": {"always_left": 1.0},
    "alternating": {"alternate": 1.0, "lapse": 0.0},
}
LENGTHS = ("jnd", "saturation", "drift", "plateau", "apart")
FAINT = 0.03  # sensitivity to the directions that a person hardly cares about


@dataclass(eq=False)
class Person:
    """A simulated person who compares two pictures.

    The loss of x is the distance to the person's ideal, as far as they see it: |W log(ideal, x)|
    with the sensitivities W. Of two points shown left and right they see the difference of the
    losses in units of their just-noticeable difference (JND), plus logistic noise, and say which
    is better:

        P("left") = lapse/2 + (1 - lapse) σ(ln 3 · ((loss(right) - loss(left))/JND + bias))

    so that a difference of one JND is told right three times out of four, apart from lapses. The
    other settings bend this rule, since no method knows beforehand how a person differs from it.

    Parameters
    ----------
    manifold : Manifold
        Where the points live.
    ideal : array of shape point_shape
        The point they like best.
    rng : numpy.random.Generator or int
        Draws their noise and lapses. The same seed and questions give the same answers.
    jnd : float
        Just-noticeable difference, a geodesic length; by default one degree, as radians.
    lapse : float
        Share of answers that are given by a coin; 1: they do not look.
    always_left, alternate : float
        Share of answers that are "left", and that are the side not chosen last, whatever is shown.
    bias : float
        Advantage of the left picture, in JND.
    tie : float
        Perceived differences of less than this many JND are called a tie; 0: never.
    clear : float
        Perceived differences of more than this many JND are called clear, by who is asked for the
        strength of a preference.
    arbitrary : float
        Share of strengths that are drawn, whatever is seen.
    fatigue : float
        Growth of the JND by each answer, as a fraction of the first one.
    weber : float
        Growth of the JND with the mean loss of the two points shown, a fraction: people tell less
        of points far from their ideal.
    noise : {"logistic", "normal", "cauchy"}
        Law of the noise; all tell a difference of one JND right three times out of four.
    sensitivity : ndarray of shape (dim, dim), optional
        W, in the manifold's coordinates at the ideal; by default the identity.
    asymmetry : ndarray of shape (dim,), optional
        A vector α in these coordinates: the length l of v = log(ideal, x) counts as
        l (1 + α·v/|v|), so that one side of the ideal is worse than the other.
    plateau : float
        Points within this distance are as good as the ideal, a geodesic length.
    saturation : float
        The length l counts as s (1 - exp(-l/s)) with this s, a geodesic length: what is far is
        just bad. Infinite: no saturation.
    power : float
        The loss is the length to this power, over (20 JND)^(power - 1); 1 is the length.
    drift : ndarray of shape (dim,), optional
        By how much each answer moves the ideal, in its coordinates.
    other : array of shape point_shape, optional
        A second ideal, as good as the first: the loss is the smaller one of the two. Drift moves
        the first only.

    Raises
    ------
    ArgumentError
        If a number is out of range, or an ideal not on the manifold.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> plane = gd.Rotations(2)
    >>> person = Person(plane, plane.from_angle(0.3), rng=0, lapse=0.0)
    >>> person.answer(plane.from_angle(0.25), plane.from_angle(-0.5))  # the first is preferred
    -1
    >>> gd.minimize(person, plane, np.eye(2), method="bisection", budget=15, rng=1).duels
    15
    """

    manifold: Manifold
    ideal: Array
    rng: Any = 0
    jnd: float = DEGREE
    lapse: float = 0.02
    always_left: float = 0.0
    alternate: float = 0.0
    bias: float = 0.0
    tie: float = 0.0
    clear: float = 4.0
    arbitrary: float = 0.0
    fatigue: float = 0.0
    weber: float = 0.0
    noise: Literal["logistic", "normal", "cauchy"] = "logistic"
    sensitivity: np.ndarray | None = None
    asymmetry: np.ndarray | None = None
    plateau: float = 0.0
    saturation: float = math.inf
    power: float = 1.0
    drift: np.ndarray | None = None
    other: Array | None = None
    answers: int = field(default=0, init=False)
    last: Literal["left", "right", "tie"] = field(default="right", init=False)
    seen: float | None = field(default=None, init=False)  # last difference in JND, if they looked

    vectorized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        instance(self.manifold, "manifold", Manifold, "a Manifold such as Sphere(3)")
        self.ideal = copied(self.manifold.pack(self.ideal, "ideal"))
        self.manifold.check_point(self.ideal, "ideal")
        if self.other is not None:
            self.other = copied(self.manifold.pack(self.other, "other"))
            self.manifold.check_point(self.other, "other")
        self.rng = as_generator(self.rng)
        positive(self.jnd, "jnd")
        positive(self.power, "power")
        if self.saturation != math.inf:
            positive(self.saturation, "saturation")
        real(self.bias, "bias")
        one_of(self.noise, "noise", tuple(NOISES))
        for name in ("tie", "clear", "fatigue", "weber", "plateau"):
            nonnegative(getattr(self, name), name)
        for name in ("lapse", "always_left", "alternate", "arbitrary"):
            if not 0 <= real(getattr(self, name), name) <= 1:
                raise ArgumentError(f"{name} must be from 0 to 1, got {getattr(self, name)!r}")
        d = self.manifold.dim
        for name, shape in {"sensitivity": (d, d), "asymmetry": (d,), "drift": (d,)}.items():
            value = getattr(self, name)
            if value is not None and np.shape(value) != shape:
                raise ArgumentError(f"{name} must have shape {shape}, got {np.shape(value)}")

    def loss(self, x: Array) -> float:
        """How far ``x`` seems from the ideal, a geodesic length."""
        ideals = [self.ideal] if self.other is None else [self.ideal, self.other]
        length = min(self._length(ideal, x) for ideal in ideals)
        length = max(length - self.plateau, 0.0)
        if self.saturation < math.inf:
            length = self.saturation * -math.expm1(-length / self.saturation)
        return length**self.power * (20 * self.jnd) ** (1 - self.power)

    def regret(self, x: Array) -> float:
        """Loss of ``x`` beyond that of the ideal, in JND: what the person would feel of it."""
        return self.loss(x) / self.jnd

    def error(self, x: Array) -> float:
        """Distance of ``x`` to the ideal, or to the nearer one, a geodesic length."""
        ideals = [self.ideal] if self.other is None else [self.ideal, self.other]
        return min(float(self.manifold.dist(ideal, x)) for ideal in ideals)

    def _length(self, ideal: Array, x: Array) -> float:
        """Length of log(ideal, x) as they see it, with sensitivities and asymmetry."""
        if self.sensitivity is None and self.asymmetry is None:
            return float(self.manifold.dist(ideal, x))
        v = self.manifold.log(ideal, x)
        c = np.asarray(host(self.manifold.to_coords(ideal, v)), dtype=np.float64)
        length = float(np.linalg.norm(c if self.sensitivity is None else self.sensitivity @ c))
        if self.asymmetry is not None and length > 0:
            length *= max(0.0, 1 + float(self.asymmetry @ c) / float(np.linalg.norm(c)))
        return length

    def compare(self, left: Array, right: Array) -> Literal["left", "right", "tie"]:
        """Their verdict on two points, shown left and right."""
        self.last = self._verdict(left, right)
        self._answered()
        return self.last

    def _answered(self) -> None:
        """Get tired, and drift."""
        self.answers += 1
        if self.drift is not None:
            xp = namespace(self.ideal)
            c = xp.asarray(self.drift, dtype=self.ideal.dtype, device=device(self.ideal))
            step = self.manifold.from_coords(self.ideal, c)
            self.ideal = self.manifold.exp(self.ideal, step)

    def _verdict(self, left: Array, right: Array) -> Literal["left", "right", "tie"]:
        rng = self.rng
        losses = self.loss(left), self.loss(right)
        jnd = self.jnd * (1 + self.fatigue * self.answers) + self.weber * sum(losses) / 2
        self.seen = None
        if rng.random() < self.always_left:
            return "left"
        if rng.random() < self.lapse:
            return "left" if rng.random() < 0.5 else "right"
        if self.alternate > 0 and rng.random() < self.alternate:
            return "left" if self.last == "right" else "right"
        self.seen = seen = (losses[1] - losses[0]) / jnd + self.bias + NOISES[self.noise](rng)
        if abs(seen) < self.tie:
            return "tie"
        return "left" if seen > 0 else "right"

    def answer(self, a: Array, b: Array, left: int = 1) -> int:
        """Their answer as methods take it: -1 if a is preferred, +1 if b is, 0 for a tie.

        ``left``: +1 if a is shown on the left, -1 if b is.
        """
        said = self.compare(a, b) if left > 0 else self.compare(b, a)
        return {"left": -left, "right": left, "tie": 0}[said]

    def graded(self, a: Array, b: Array, left: int = 1) -> tuple[int, int]:
        """Their answer as in `answer`, and its strength: 1 slightly, 2 clearly, 0 for a tie."""
        said = self.answer(a, b, left)
        if said == 0:
            return 0, 0
        drawn = self.seen is None or (self.arbitrary > 0 and self.rng.random() < self.arbitrary)
        clear = self.rng.random() < 0.5 if drawn else abs(self.seen or 0.0) > self.clear
        return said, 2 if clear else 1

    def __call__(self, x: Array, y: Array) -> int:
        """As an oracle; the sides are drawn."""
        return self.answer(x, y, 1 if self.rng.random() < 0.5 else -1)

    def rank(self, points: Sequence[Array]) -> list[int]:
        """Their ranking of several points, from the best: indices of these.

        They see each loss in JND, plus noise of its own, so that two of the points are told apart
        as in a duel. In a lapse the ranking is drawn. With habits it is the order of the points.
        """
        rng = self.rng
        losses = np.array([self.loss(x) for x in points])
        jnd = self.jnd * (1 + self.fatigue * self.answers) + self.weber * losses.mean()
        seen = -losses / jnd + np.array([ALONE[self.noise](rng) for _ in points])
        seen[0] += self.bias
        if rng.random() < max(self.always_left, self.alternate):
            seen = -np.arange(len(points), dtype=float)
        elif rng.random() < self.lapse:
            seen = rng.random(len(points))
        self._answered()
        return [int(i) for i in np.argsort(-seen)]

    def rate(self, duel: Any, form: Literal["best", "both", "ranking", "strength"] = "best") -> str:
        """As a rater: the answer to tell a study about a duel with ``a``, ``b`` and ``left``.

        With the form "strength" it says how much better a point of a pair is, such as "a clearly".
        Of a duel of more points the answer names the best, the best and the worst, or all, as
        ``form`` says.
        """
        one_of(form, "form", ("best", "both", "ranking", "strength"))
        if not getattr(duel, "more", ()):
            ask = self.graded if form == "strength" else lambda *pair: (self.answer(*pair), 0)
            said, strength = ask(duel.a, duel.b, 1 if duel.left == "a" else -1)
            return {-1: "a", 1: "b", 0: "tie"}[said] + ("", " slightly", " clearly")[strength]
        found = [duel.shown[i] for i in self.rank(duel.in_order)]
        if form in ("best", "strength"):
            return found[0]
        return ">".join(found if form == "ranking" else [found[0], "".join(found[1:-1]), found[-1]])


def draw_person(
    manifold: Manifold,
    x0: Array,
    rng: np.random.Generator,
    distance: float = 20 * DEGREE,
    spread: float = 1.0,
    asymmetry: float = 0.0,
    drift: float = 0.0,
    apart: float = 0.0,
    kind: str | None = None,
    jnd: float = DEGREE,
    directions: int | None = None,
    **settings: Any,
) -> Person:
    """A person whose ideal lies in a random direction from ``x0``.

    The directions of all that has one are random, too.

    Parameters
    ----------
    manifold : Manifold
    x0 : array of shape point_shape
    rng : numpy.random.Generator
        Draws the ideal, the axes of the sensitivities and the person's seed.
    distance : float
        Distance of the ideal from ``x0``, a geodesic length.
    spread : float
        Sensitivities run geometrically from 1 to 1/spread, along random axes. Infinite: they are
        blind to one direction, and see the others alike.
    asymmetry, drift : float
        Lengths of the vectors of these names of `Person`: a share, and a geodesic length an answer.
    apart : float
        Distance of a second ideal from the first, a geodesic length; 0: there is none.
    kind : str, optional
        A kind in `KINDS` or `HABITS`, which gives settings beside those given here.
    jnd : float
        Just-noticeable difference, a geodesic length; kinds state theirs, and lengths, in it.
    directions : int, optional
        They care about so many directions alike, and hardly about the others: a thirtieth as much.
        By default about all.
    **settings
        Other settings of `Person`.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> sphere = gd.Sphere(3)
    >>> person = draw_person(sphere, np.eye(3)[0], np.random.default_rng(0), distance=0.5)
    >>> round(person.error(np.eye(3)[0]), 9)
    0.5

    Kinds have names; `regret` counts in their JND, whatever the kind:

    >>> rng = np.random.default_rng(0)
    >>> person = draw_person(sphere, np.eye(3)[0], rng, kind="saturating at 15 JND", jnd=0.01)
    >>> round(person.saturation, 9), person.regret(person.ideal), person.regret(-person.ideal) < 15
    (0.15, 0.0, True)
    >>> sorted(HABITS)
    ['alternating', 'always left', 'coin flips']
    """
    if kind is not None:
        kinds = KINDS | HABITS
        more = {
            name: value * jnd if name in LENGTHS else value
            for name, value in kinds[one_of(kind, "kind", tuple(kinds))].items()
        }
        given = {"spread": spread, "asymmetry": asymmetry, "drift": drift, "apart": apart}
        everything: dict[str, Any] = {"jnd": jnd, "directions": directions}
        everything |= given | settings | more
        return draw_person(manifold, x0, rng, distance, **everything)
    instance(manifold, "manifold", Manifold, "a Manifold such as Sphere(3)")
    x0, rng, d = manifold.pack(x0, "x0"), as_generator(rng), manifold.dim
    if directions is not None and spread != 1:
        raise ArgumentError(
            f"spread={spread} and directions={directions} each say how sensitive people are: give "
            "one of them"
        )
    v = rng.standard_normal(d)
    v *= positive(distance, "distance") / np.linalg.norm(v)
    xp = namespace(x0)
    c = xp.asarray(v, dtype=x0.dtype, device=device(x0))
    ideal = manifold.exp(x0, manifold.from_coords(x0, c))
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    if spread == math.inf:
        settings["sensitivity"] = np.r_[np.ones(d - 1), 0.0][:, None] * axes
    elif positive(spread, "spread") != 1:
        settings["sensitivity"] = np.geomspace(1, 1 / spread, d)[:, None] * axes
    elif directions is not None:
        cared = np.arange(d) < positive_int(directions, "directions")
        settings["sensitivity"] = np.where(cared, 1.0, FAINT)[:, None] * axes
    seed = int(rng.integers(2**63))
    vectors = {"asymmetry": asymmetry, "drift": drift, "apart": apart}
    for name, length in vectors.items():
        if nonnegative(length, name) > 0:
            u = rng.standard_normal(d)
            settings[name] = length * u / np.linalg.norm(u)
    if (c := settings.pop("apart", None)) is not None:
        c = xp.asarray(c, dtype=x0.dtype, device=device(x0))
        settings["other"] = manifold.exp(ideal, manifold.from_coords(ideal, c))
    return Person(manifold, ideal, seed, jnd=jnd, **settings)


def draw_crowd(
    manifold: Manifold,
    x0: Array,
    rng: np.random.Generator,
    n: int,
    distance: float = 20 * DEGREE,
    disagreement: float = 0.0,
    varied: float = 0.0,
    **settings: Any,
) -> list[Person]:
    """Several raters about one ideal.

    Parameters
    ----------
    manifold, x0, rng, distance, **settings
        As in `draw_person`.
    n : int
        Number of raters.
    disagreement : float
        Distance of each rater's own ideal from the common one, a geodesic length.
    varied : float
        The JNDs of the raters differ by factors exp(varied · N(0, 1)).

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> sphere = gd.Sphere(3)
    >>> crowd = draw_crowd(sphere, np.eye(3)[0], np.random.default_rng(0), n=3, disagreement=0.1)
    >>> [round(float(sphere.dist(crowd[0].ideal, rater.ideal)), 2) > 0 for rater in crowd]
    [False, True, True]
    """
    rng = as_generator(rng)
    common = draw_person(manifold, x0, rng, distance).ideal
    jnd = settings.pop("jnd", DEGREE)
    crowd = []
    for _ in range(positive_int(n, "n")):
        own = jnd * math.exp(nonnegative(varied, "varied") * rng.standard_normal())
        if nonnegative(disagreement, "disagreement") > 0:
            crowd.append(draw_person(manifold, common, rng, disagreement, jnd=own, **settings))
        else:
            seed = int(rng.integers(2**63))
            crowd.append(Person(manifold, common, seed, jnd=own, **settings))
    return crowd
