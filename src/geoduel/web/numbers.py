"""Points and lengths as people read them: weights in percent, angles in degrees, matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..manifolds import (
    SPD,
    Categories,
    Grassmann,
    Integers,
    Line,
    Manifold,
    Product,
    Rotations,
    Simplex,
    Sphere,
    Torus,
)

__all__ = ["Numbers", "Row", "as_json", "in_units", "numbers", "unit", "within", "written"]

_DEGREES = (Rotations, Sphere, Torus, Grassmann)


@dataclass(frozen=True)
class Row:
    """One line of a point: its name, its values, and their unit; a category is a text."""

    name: str
    values: tuple[float | str, ...]
    unit: str = ""


@dataclass(frozen=True)
class Numbers:
    """A point as a table.

    Attributes
    ----------
    rows : tuple of Row
        Weights, angles, coordinates, or the rows of a matrix.
    columns : tuple of str
        Names of the columns, where there are several.
    words : str
        What the point is in a sentence; may be empty.
    """

    rows: tuple[Row, ...]
    columns: tuple[str, ...] = ()
    words: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each value: that of its row, and of its column if there are several."""
        made: list[str] = []
        for row in self.rows:
            count = len(row.values)
            columns = self.columns or range(1, count + 1)
            made += [row.name if count == 1 else f"{row.name} {c}" for c in columns][:count]
        return tuple(made)

    def as_json(self) -> dict[str, Any]:
        """Return what the page shows: numbers, and how they are written."""
        rows = [
            {
                "name": row.name,
                "values": list(row.values),
                "shown": [written(value, row.unit) for value in row.values],
                "unit": row.unit,
            }
            for row in self.rows
        ]
        return {"rows": rows, "columns": list(self.columns), "words": self.words}

    def __str__(self) -> str:
        lines = [
            f"{row.name}: " + "  ".join(written(value, row.unit) for value in row.values)
            for row in self.rows
        ]
        return "\n".join(filter(None, [self.words, *lines]))


def numbers(manifold: Manifold, point: Any, labels: Sequence[str] = ()) -> Numbers:
    """Return the numbers of a point that people understand.

    Parameters
    ----------
    manifold : Manifold
        Where the point lies. Points of the simplex are weights in percent; those of the torus and
        of ``Rotations(2)`` are angles in degrees.
    point : array_like of shape point_shape
        The point; a dictionary where its parts have names, which are then those of the rows.
    labels : sequence of str, optional
        Names of the rows: one for each weight, angle, coordinate, or row of a matrix.

    Raises
    ------
    ArgumentError
        If there are labels, but not one for each row.

    Examples
    --------
    >>> print(numbers(Simplex(3), np.array([0.5, 0.3, 0.2]), ("red", "green", "blue")))
    red: 50 %
    green: 30 %
    blue: 20 %
    >>> print(numbers(Rotations(2), Rotations(2).from_angle(np.radians(-3.5))))
    angle: -3.5°
    """
    found = _table(manifold, np.asarray(manifold.pack(point, "point"), dtype=float))
    if not labels:
        return found
    if isinstance(labels, str) or len(labels) != len(found.rows):
        raise ArgumentError(
            f"labels must name each of the {len(found.rows)} numbers or rows of a point of "
            f"{manifold}, got {labels!r}"
        )
    names = [str(label) for label in labels]
    named = zip(names, found.rows, strict=True)
    rows = tuple(Row(name, row.values, row.unit) for name, row in named)
    square = len(found.columns) == len(rows)
    return Numbers(rows, tuple(names) if square else found.columns, found.words)


def unit(manifold: Manifold) -> str:
    """Return what lengths are shown in: "degrees", "percentage points", "factor" or "distance"."""
    if isinstance(manifold, _DEGREES):
        return "degrees"
    if isinstance(manifold, Simplex):
        return "percentage points"
    return "factor" if isinstance(manifold, SPD) else "distance"


def in_units(manifold: Manifold, length: float) -> float:
    """Return a geodesic length in the manifold's `unit`.

    Within a length r of a point of the simplex no weight differs by more than r/2: the metric is
    that of the sphere of radius 2 with coordinates 2√x. Within r of a positive definite matrix no
    eigenvalue of the quotient leaves [exp(-r), exp(r)]. Both bounds are attained.

    Examples
    --------
    >>> in_units(Simplex(3), 0.1), round(in_units(SPD(2), 0.7))
    (5.0, 2)
    """
    shown_in = unit(manifold)
    if shown_in == "degrees":
        return math.degrees(length)
    if shown_in == "percentage points":
        return min(100.0, 50 * length)
    return math.exp(min(length, 700.0)) if shown_in == "factor" else length


def within(manifold: Manifold, length: float) -> str:
    """Return how near a length is, in words.

    Examples
    --------
    >>> within(Sphere(3), 0.1), within(Simplex(3), 0.1)
    ('within 5.7°', 'within 5 percentage points')
    >>> within(SPD(2), 0.7)
    'within a factor of 2'
    """
    shown_in, size = unit(manifold), f"{float(f'{in_units(manifold, length):.2g}'):g}"
    return {
        "degrees": f"within {size}°",
        "percentage points": f"within {size} percentage points",
        "factor": f"within a factor of {size}",
    }.get(shown_in, f"within a distance of {size}")


def written(value: float | str, unit: str = "") -> str:
    """Return a number with its unit, with as many digits as a person can use."""
    if isinstance(value, str | int):
        return f"{value} {unit}".rstrip()
    if unit == "%":
        return f"{value:.3g} %"
    if unit == "°":
        return f"{round(value, 1) + 0.0:g}°"
    return f"{value:.4g} {unit}".rstrip()


def as_json(point: Any) -> Any:
    """A point as JSON holds it: lists, by their names where its parts have any."""
    if isinstance(point, dict):
        return {name: as_json(part) for name, part in point.items()}
    return np.asarray(point).tolist()


def _table(manifold: Manifold, x: np.ndarray) -> Numbers:
    if isinstance(manifold, Product):
        parts = [_table(*pair) for pair in zip(manifold.factors, manifold.split(x), strict=True)]
        rows = tuple(
            Row(_label(manifold, n, len(part.rows), row.name), row.values, row.unit)
            for n, part in enumerate(parts)
            for row in part.rows
        )
        return Numbers(rows, (), "; ".join(part.words for part in parts if part.words))
    if isinstance(manifold, Simplex):
        return Numbers(_column(100 * x, "weight", "%"))
    if isinstance(manifold, Line):
        return Numbers((Row("value", (float(x[0]),), manifold.unit),))
    if isinstance(manifold, Integers):
        return Numbers((Row("value", (manifold.unpack(x),), manifold.unit),))
    if isinstance(manifold, Categories):
        return Numbers((Row("value", (str(manifold.unpack(x)),)),))
    if isinstance(manifold, Torus):
        return Numbers(_column(np.degrees(x), "angle", "°"))
    if isinstance(manifold, Rotations) and manifold.n == 2:
        return Numbers((Row("angle", (math.degrees(float(manifold.to_angle(x))),), "°"),))
    words = ""
    if isinstance(manifold, Rotations) and manifold.n == 3:
        words = _turn(x)
    elif isinstance(manifold, Sphere) and x.shape == (3,):
        east, up = math.degrees(math.atan2(x[1], x[0])), math.degrees(math.asin(_unit(x[2])))
        words = f"azimuth {written(east, '°')}, elevation {written(up, '°')}"
    elif isinstance(manifold, Sphere) and x.shape == (2,):
        words = f"direction {written(math.degrees(math.atan2(x[1], x[0])), '°')}"
    if x.ndim < 2:
        return Numbers(_column(np.atleast_1d(x), "x", ""), (), words)
    flat = x.reshape(len(x), -1)
    rows = tuple(Row(f"row {n}", tuple(map(float, row))) for n, row in enumerate(flat, 1))
    return Numbers(rows, tuple(str(n) for n in range(1, flat.shape[1] + 1)), words)


def _label(product: Product, n: int, rows: int, name: str) -> str:
    """Name of one of so many rows of the n-th part."""
    if product.names is None:
        return f"{n + 1}, {name}" if len(product.factors) > 1 else name
    return product.names[n] if rows == 1 else f"{product.names[n]}, {name}"


def _column(values: np.ndarray, name: str, unit: str) -> tuple[Row, ...]:
    return tuple(Row(f"{name} {n}", (float(v),), unit) for n, v in enumerate(values, 1))


def _turn(x: np.ndarray) -> str:
    """Return a rotation of space in words: an angle about an axis."""
    across = np.array([x[2, 1] - x[1, 2], x[0, 2] - x[2, 0], x[1, 0] - x[0, 1]]) / 2
    angle = math.atan2(float(np.linalg.norm(across)), (float(np.trace(x)) - 1) / 2)
    if angle < 1e-6:
        return "no turn"
    if angle < math.pi - 1e-3:
        axis = across / np.linalg.norm(across)
    else:  # near half a turn, where it vanishes: the axis is what x leaves in place
        axis = np.linalg.eigh(x + x.T)[1][:, -1]
    shown = ", ".join(f"{a + 0.0:.2f}" for a in axis)
    return f"a turn by {written(math.degrees(angle), '°')} about the axis ({shown})"


def _unit(value: float) -> float:
    return min(1.0, max(-1.0, float(value)))
