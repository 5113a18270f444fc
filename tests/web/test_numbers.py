"""Points and lengths as people read them, against the geometry that they stand for."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError
from geoduel.web.numbers import as_json, in_units, numbers, unit, within, written

MANIFOLDS = [
    gd.Simplex(4),
    gd.Sphere(2),
    gd.Sphere(3),
    gd.Sphere(5),
    gd.Rotations(2),
    gd.Rotations(3),
    gd.Rotations(4),
    gd.Torus(3),
    gd.SPD(2),
    gd.Euclidean(3),
    gd.Euclidean(2, 3),
    gd.Euclidean(2, 2, 2),
    gd.Hyperbolic(2),
    gd.Grassmann(4, 2),
    gd.Stiefel(4, 2),
    gd.Power(gd.Sphere(3), 2),
    gd.Product(gd.Simplex(3), gd.Torus(1), gd.SPD(2)),
]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_every_point_has_numbers(manifold, rng):
    x = manifold.random_point(rng)
    found = numbers(manifold, x)
    values = [value for row in found.rows for value in row.values]
    assert len(values) == (1 if manifold == gd.Rotations(2) else x.size)
    assert len(found.names) == len(values) == len(set(found.names))
    said = found.as_json()
    json.dumps(said, allow_nan=False)
    assert [row["name"] for row in said["rows"]] == [row.name for row in found.rows]
    labels = [f"label {n}" for n in range(len(found.rows))]
    named = numbers(manifold, x, labels)
    assert [row.name for row in named.rows] == labels
    assert [row.values for row in named.rows] == [row.values for row in found.rows]
    for wrong in (labels[1:], [*labels, "more"], "x" * len(labels)):
        if wrong:
            with pytest.raises(ArgumentError, match="labels must name each"):
                numbers(manifold, x, wrong)


def test_units_of_numbers():
    weights = numbers(gd.Simplex(3), np.array([0.5, 0.25, 0.25]))
    assert [row.values for row in weights.rows] == [(50.0,), (25.0,), (25.0,)]
    assert str(weights).splitlines()[0] == "weight 1: 50 %"
    angles = numbers(gd.Torus(2), np.radians([90.0, -45.0]))
    assert [row.values[0] for row in angles.rows] == pytest.approx([90, -45])
    assert numbers(gd.Rotations(2), gd.Rotations(2).from_angle(0.1)).rows[0].unit == "°"
    square = numbers(gd.SPD(2), np.eye(2), ("x", "y"))
    assert square.columns == ("x", "y")
    assert square.names == ("x x", "x y", "y x", "y y")


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 0.5, 2.0, math.pi - 1e-5, math.pi])
def test_a_turn_in_space_is_told_by_its_axis(angle):
    axis = np.array([2.0, -1.0, 2.0]) / 3
    skew = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    turn = np.eye(3) + math.sin(angle) * skew + (1 - math.cos(angle)) * skew @ skew  # Rodrigues
    words = numbers(gd.Rotations(3), turn).words
    if angle < 1e-6:
        assert words == "no turn"
        return
    found = np.array([float(v) for v in words.partition("(")[2].rstrip(")").split(",")])
    sign = np.sign(found @ axis) if angle > 3 else 1  # at half a turn both ends are right
    assert np.abs(sign * found - axis).max() < 0.006  # of two digits
    assert written(math.degrees(angle), "°") in words


def test_directions_are_told_by_their_angles():
    assert numbers(gd.Sphere(3), np.array([0.0, 0.0, 1.0])).words.endswith("elevation 90°")
    assert numbers(gd.Sphere(3), np.array([0.0, 1.0, 0.0])).words.startswith("azimuth 90°")
    assert numbers(gd.Sphere(2), np.array([-1.0, 0.0])).words == "direction 180°"


def test_no_weight_is_farther_away_than_is_said(rng):
    """|x_i - y_i| <= 50 points a unit of Fisher-Rao length; nearly attained around 1/2."""
    simplex = gd.Simplex(3)
    x, y = (np.array([simplex.random_point(rng) for _ in range(2000)]) for _ in range(2))
    off = 100 * np.abs(x - y).max(axis=1)
    said = np.array([in_units(simplex, r) for r in simplex.dist(x, y)])
    assert (off <= said + 1e-9).all()
    near, far = np.array([0.49, 0.02, 0.49]), np.array([0.51, 0.02, 0.47])
    assert 2 / in_units(simplex, float(simplex.dist(near, far))) > 0.98


def test_no_eigenvalue_is_farther_away_than_is_said(rng):
    """Those of x⁻¹y lie within exp(±r); r is attained where x and y differ along one axis."""
    spd = gd.SPD(3)
    for _ in range(50):
        x, y = spd.random_point(rng), spd.random_point(rng)
        values = np.linalg.eigvals(np.linalg.solve(x, y)).real
        factor = in_units(spd, float(spd.dist(x, y)))
        assert np.abs(np.log(values)).max() <= math.log(factor) + 1e-9
    assert in_units(spd, float(spd.dist(np.eye(3), np.diag([3.0, 1, 1])))) == pytest.approx(3)


def test_every_length_has_a_unit():
    for manifold in MANIFOLDS:
        assert within(manifold, 0.1).startswith("within ")
    assert unit(gd.Hyperbolic(2)) == "distance"
    assert within(gd.Euclidean(2), 0.123) == "within a distance of 0.12"
    assert within(gd.Rotations(2), math.radians(12.34)) == "within 12°"
    assert in_units(gd.Simplex(3), 100.0) == 100.0
    assert math.isfinite(in_units(gd.SPD(2), 1e6))


@pytest.mark.parametrize(
    ("value", "sign", "said"),
    [(-0.0, "°", "0°"), (-0.04, "°", "0°"), (12.34, "°", "12.3°"), (8.951, "%", "8.95 %"),
     (123456.0, "", "1.235e+05")],
)  # fmt: skip
def test_numbers_have_as_many_digits_as_help(value, sign, said):
    assert written(value, sign) == said


def test_named_parameters_have_their_names_and_units():
    sound = gd.space(gain=gd.Interval(-12, 12, unit="dB"), mix=gd.Simplex(2), turn=gd.Torus(1))
    point = {"gain": 3.5, "mix": [0.25, 0.75], "turn": np.pi / 2}
    assert str(numbers(sound.manifold, point)).splitlines() == [
        "gain: 3.5 dB",
        "mix, weight 1: 25 %",
        "mix, weight 2: 75 %",
        "turn: 90°",
    ]
    assert numbers(sound.manifold, sound.manifold.pack(point)) == numbers(sound.manifold, point)
    found = numbers(sound.manifold, point, ("g", "a", "b", "t"))
    assert found.names == ("g", "a", "b", "t")


def test_values_are_shown_as_they_are():
    net = gd.space(kind=["a", "b"], steps=gd.Integers(1, 99999, unit="steps"), on=(True, False))
    shown = numbers(net.manifold, {"kind": "b", "steps": 12345, "on": False})
    assert str(shown) == "kind: b\nsteps: 12345 steps\non: False"
    assert shown.as_json()["rows"][1]["values"] == [12345]


def test_points_as_json_keep_their_names():
    point = {"gain": 3.5, "at": {"mix": np.array([0.25, 0.75])}}
    assert as_json(point) == {"gain": 3.5, "at": {"mix": [0.25, 0.75]}}
    assert as_json(np.eye(2)) == [[1.0, 0.0], [0.0, 1.0]]
