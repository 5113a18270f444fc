"""The simulated people that the benchmarks of methods for people share, and the spaces they are on.

`people.py` asks them with this package, `people_rivals.py` with others; a cell and a seed make the
same person in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import geoduel as gd
from geoduel.methods.base import Method
from geoduel.oracles.people import HABITS, KINDS, Person, draw_person

__all__ = [
    "ANSWERS",
    "FAR",
    "GRID",
    "HABITUAL",
    "LATE",
    "START",
    "UNSEEN",
    "Cell",
    "asked_by",
    "degree",
    "missed",
    "person_of",
]

START = {
    "SO(2)": (gd.Rotations(2), np.eye(2)),
    "S^2": (gd.Sphere(3), np.eye(3)[0]),
    "SO(3)": (gd.Rotations(3), np.eye(3)),
    "S^5": (gd.Sphere(6), np.eye(6)[0]),
    "S^9": (gd.Sphere(10), np.eye(10)[0]),
    "S^31": (gd.Sphere(32), np.eye(32)[0]),
    "R^20": (gd.Euclidean(20), np.zeros(20)),
    "SPD(2)": (gd.SPD(2), np.eye(2)),
    "H^2": (gd.Hyperbolic(2), gd.Hyperbolic(2).random_point(np.random.default_rng(0))),
    "R^4": (gd.Euclidean(4), np.zeros(4)),
    "Simplex(4)": (gd.Simplex(4), np.full(4, 0.25)),
    "Gr(4, 1)": (gd.Grassmann(4, 1), np.eye(4)[:, :1]),
    "S^2 x S^2": (gd.Power(gd.Sphere(3), 2), np.eye(3)[[0, 0]]),
}


@dataclass(frozen=True)
class Cell:
    """One kind of experiment."""

    space: str
    answers: int
    must: str = ""
    person: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)  # of the method
    raters: int = 1
    method: str = ""  # by default the one for people
    kind: str = "fits the model"
    off: float = 20.0  # distance of the ideal from the start, in "degrees"
    wobble: float = 5.0  # in one dimension the ideal is up to so many "degrees" nearer or farther
    start: bool = True  # whether the method is told where to start; if not, any ideal is as likely


def degree(manifold: gd.Manifold) -> float:
    """The unit of length: a degree, on spheres."""
    return manifold.typical_dist / 90


def asked_by(method: Method) -> str:
    """Name and version of a method, as rows of results have them: "IdealPoint 10"."""
    return f"{type(method).__name__} {method.version}"


# -- kinds that are not in the package, so that no constant is tuned on them -----------------------


class SumOfCoordinates(Person):
    """The loss is the sum of the ideal's coordinates of x, without signs."""

    def _length(self, ideal: Any, x: Any) -> float:
        c = self.manifold.to_coords(ideal, self.manifold.log(ideal, x))
        return float(np.abs(c).sum())


class Kink(Person):
    """Beyond 10 JND the loss grows twice as fast."""

    def _length(self, ideal: Any, x: Any) -> float:
        length = super()._length(ideal, x)
        return length + max(0.0, length - 10 * self.jnd)


class Logarithmic(Person):
    """The loss is 3 log(1 + d/3) at a distance of d JND: it levels off, but never quite."""

    def _length(self, ideal: Any, x: Any) -> float:
        return 3 * self.jnd * float(np.log1p(super()._length(ideal, x) / (3 * self.jnd)))


class Stairs(Person):
    """The loss grows in steps of 2 JND, each where the middle of the step is."""

    def _length(self, ideal: Any, x: Any) -> float:
        return 2 * self.jnd * round(super()._length(ideal, x) / (2 * self.jnd))


@dataclass
class ChangedMind(Person):
    """After some answers the ideal is another one."""

    after: int = 0
    then: Any = None

    def compare(self, left: Any, right: Any) -> Any:
        if self.answers == self.after:
            self.ideal = self.then
        return super().compare(left, right)


class LargestCoordinate(Person):
    """The loss is the larger of two attributes, of the largest coordinate in general."""

    def _length(self, ideal: Any, x: Any) -> float:
        c = self.manifold.to_coords(ideal, self.manifold.log(ideal, x))
        return float(np.abs(c).max())


class FlatterOnOneSide(Person):
    """One coordinate counts 0.6 times as much where it is positive."""

    def _length(self, ideal: Any, x: Any) -> float:
        c = np.array(self.manifold.to_coords(ideal, self.manifold.log(ideal, x)))
        c[0] *= 0.6 if c[0] > 0 else 1.0
        return float(np.linalg.norm(c))


class TurningMetric(Person):
    """A metric 1 to 1/3 whose first two axes turn by a right angle every 20 JND."""

    def _length(self, ideal: Any, x: Any) -> float:
        c = np.array(self.manifold.to_coords(ideal, self.manifold.log(ideal, x)))
        angle = np.linalg.norm(c) / (20 * self.jnd) * np.pi / 2
        c[:2] = np.cos(angle) * c[:2] + np.sin(angle) * np.array([-c[1], c[0]])
        return float(np.linalg.norm(np.geomspace(1, 1 / 3, len(c)) * c))


@contextmanager
def for_now(person: Person, **changes: Any) -> Iterator[None]:
    """While one question is answered, the person is another one."""
    own = {name: getattr(person, name) for name in changes}
    vars(person).update(changes)
    yield
    vars(person).update(own)


@dataclass
class Anchored(Person):
    """The ideal is a fifth of the way nearer to what was chosen last."""

    chosen: Any = None

    def compare(self, left: Any, right: Any) -> Any:
        own = self.ideal
        if self.chosen is not None:
            self.ideal = self.manifold.exp(own, 0.2 * self.manifold.log(own, self.chosen))
        said = super().compare(left, right)
        self.ideal, self.chosen = own, left if said == "left" else right
        return said


class Learner(Person):
    """The JND is five times as large at first, and falls to its own in some fifteen answers."""

    def compare(self, left: Any, right: Any) -> Any:
        with for_now(self, jnd=self.jnd * (1 + 4 * np.exp(-self.answers / 15))):
            return super().compare(left, right)


class Arc(Person):
    """All points of an arc of 10 JND are as good as its middle; other points count from there."""

    def _length(self, ideal: Any, x: Any) -> float:
        along = np.zeros((17, self.manifold.dim))
        along[:, 0] = self.jnd * np.linspace(-5, 5, len(along))
        arc = self.manifold.exp(ideal, self.manifold.from_coords(ideal, along))
        return float(self.manifold.dist(arc, x[None]).min())


@dataclass
class LastPicture(Person):
    """One time in three the right picture is compared with what was chosen last, not with the left.

    They say "left" where the right one is worse than that.
    """

    chosen: Any = None

    def compare(self, left: Any, right: Any) -> Any:
        remembers = self.chosen is not None and self.rng.random() < 1 / 3
        said = super().compare(self.chosen if remembers else left, right)
        self.chosen = left if said == "left" else right
        return said


class Contrast(Person):
    """After a difference of 5 JND the JND is twice as large, and so on: small ones look smaller."""

    def compare(self, left: Any, right: Any) -> Any:
        with for_now(self, jnd=self.jnd * (1 + abs(self.seen or 0.0) / 5)):
            return super().compare(left, right)


@dataclass
class Bursts(Person):
    """Lapses come in bursts of some three answers, a sixth of all."""

    away: bool = False

    def compare(self, left: Any, right: Any) -> Any:
        self.away = self.rng.random() < (0.7 if self.away else 0.06)
        with for_now(self, lapse=1.0 if self.away else self.lapse):
            return super().compare(left, right)


class Hesitant(Person):
    """Hard questions take long, and the JND grows with the time: from their own to three times."""

    def compare(self, left: Any, right: Any) -> Any:
        hard = np.exp(-abs(self.loss(left) - self.loss(right)) / (3 * self.jnd))
        with for_now(self, jnd=self.jnd * (1 + 2 * hard)):
            return super().compare(left, right)


UNSEEN: dict[str, Callable[..., Person]] = {
    "sum of coordinates": SumOfCoordinates,
    "twice as steep beyond 10 JND": Kink,
    "logarithmic loss": Logarithmic,
    "steps of 2 JND": Stairs,
    "another ideal after half of the answers": ChangedMind,
    "largest coordinate": LargestCoordinate,
    "flatter on one side": FlatterOnOneSide,
    "a metric that turns": TurningMetric,
    "anchored to the last choice": Anchored,
    "learning": Learner,
    "20 % lapses": partial(Person, lapse=0.2),
    "any point of an arc": Arc,
    "compares with the last picture": LastPicture,
    "contrast with the last question": Contrast,
    "lapses in bursts": Bursts,
    "hesitant where it is hard": Hesitant,
}

# -- the cells -------------------------------------------------------------------------------------

ANSWERS = {"SO(2)": 10, "S^2": 20, "SO(3)": 30, "Simplex(4)": 40, "SPD(2)": 40} | {
    "S^5": 50,
    "R^4": 50,
}
DIRECTIONS = (  # need two
    "metric 1 to 1/3",
    "blind to a direction",
    "sum of coordinates",
    "largest coordinate",
    "a metric that turns",
)
MANY = "five directions"  # needs more than six; see many_dims.py
GRID = {
    f"{space}: {kind}": Cell(space, n, kind=kind)
    for space, n in ANSWERS.items()
    for kind in [*KINDS, *UNSEEN]
    if kind != MANY
    if START[space][0].dim > 1 or kind not in DIRECTIONS
}
FAR = {
    f"{space}: {off} off": Cell(space, n, off=off)
    for space, n, distances in (
        ("SO(2)", 25, (20, 60, 90, 180)),
        ("S^2", 40, (20, 90, 150)),
        ("SO(3)", 60, (20, 90, 150)),
    )
    for off in distances
} | {
    f"{space}: no x0": Cell(space, n, start=False)
    for space, n in (("SO(2)", 25), ("S^2", 40), ("SO(3)", 60), ("Simplex(4)", 60))
}
# After twice as many answers and more: who is narrow and wrong then?
LATE = {
    f"{space}: {kind}": Cell(space, 60, kind=kind)
    for space in ("SO(2)", "S^2", "SO(3)")
    for kind in (
        "fits the model",
        "asymmetric 20 %",
        "asymmetric 40 %",
        "saturating at 15 JND",
        "Weber fraction 0.15",
        "drifting",
        "largest coordinate",
        "flatter on one side",
        "a metric that turns",
        "anchored to the last choice",
        "learning",
        "20 % lapses",
        "compares with the last picture",
        "contrast with the last question",
        "lapses in bursts",
        "hesitant where it is hard",
    )
    if START[space][0].dim > 1 or kind not in DIRECTIONS
}
HABITUAL = {
    f"{space}: {kind}": Cell(space, 40, kind=kind)
    for space in ("SO(2)", "S^2", "SO(3)")
    for kind in (*HABITS, "fits the model")
}


# More points than one are as good as any.
FLAT = ("blind to a direction", "plateau of 2 JND", "any point of an arc")


def missed(cell: Cell, person: Person, x: Any) -> float:
    """Distance of x to the nearest point that is as good as the ideal, a geodesic length."""
    error = person.error(x)
    return min(error, person.loss(x)) if cell.kind in FLAT else error


def person_of(cell: Cell, rng: np.random.Generator) -> Person:
    """The one person of a cell; the same generator makes the same person."""
    manifold, x0 = START[cell.space]
    unit = degree(manifold)
    settings: dict[str, Any] = {"distance": cell.off * unit, "jnd": unit, **cell.person}
    if manifold.dim == 1:  # else a method whose first questions are always alike has luck or not
        settings["distance"] += rng.uniform(-1, 1) * cell.wobble * unit
    if not cell.start:
        return Person(manifold, manifold.random_point(rng), int(rng.integers(2**63)), jnd=unit)
    if cell.kind not in UNSEEN:
        return draw_person(manifold, x0, rng, kind=cell.kind, **settings)
    person = draw_person(manifold, x0, rng, **settings)
    if cell.kind == "another ideal after half of the answers":
        then = draw_person(manifold, person.ideal, rng, 15 * unit).ideal
        more = {"after": cell.answers // 2, "then": then}
    else:
        more = {}
    return UNSEEN[cell.kind](manifold, person.ideal, int(rng.integers(2**63)), jnd=unit, **more)
