"""What is written down: settings for people and later versions, states to the last bit."""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import is_dataclass
from typing import NamedTuple

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.methods.descent.duel_newton import NewtonState
from geoduel.methods.named import METHODS
from geoduel.study.codec import (
    NotStorableError,
    check_json,
    decode_settings,
    decode_state,
    encode_settings,
    encode_state,
    is_text,
)
from geoduel.study.settings import part as stored_part

PARTS = [
    gd.Euclidean(2, 3),
    gd.Sphere(3),
    gd.Sphere(2, 2),
    gd.SPD(3),
    gd.SPD(2, metric="bures-wasserstein"),
    gd.Rotations(2),
    gd.Stiefel(4, 2, metric="canonical"),
    gd.Grassmann(4, 2),
    gd.Hyperbolic(3),
    gd.Simplex(4),
    gd.Correlation(3),
    gd.Unitary(2),
    gd.Torus(2),
    gd.Power(gd.Product(gd.Sphere(3), gd.Torus(1), weights=[1.0, 0.1]), 3),
    gd.Product(gd.Sphere(3), gd.Euclidean(2, 2)),
    gd.Product(gd.Sphere(3), gd.Torus(1), names=["view", "zoom"]),
    gd.manifolds.Line(1, 10, ratios=True, unit="Hz"),
    gd.Interval(-3, 3, manifold=gd.manifolds.Line(-12, 12)),
    gd.space(gain=(-12, 12), mix=gd.Simplex(3), arm=gd.space(a=(0, 1), b=gd.Torus(1))),
    gd.Categories("a", 3, None, True, 0.5),
    gd.Integers(1, 64, ratios=True, unit="px"),
    gd.Mixed(gd.DuelNewton(x_tol=0.1)),
    gd.Ball(gd.Sphere(3), np.array([0.0, 0.6, 0.8]), 1.2),
    gd.Box(np.array([-np.inf, 0.1]), np.array([1.0, np.inf])),
    gd.L1Ball(2, 1.5),
    gd.ProbabilitySimplex(3, 2.0),
    gd.SPDInterval(np.eye(2), 2 * np.eye(2), starts=2),
    gd.Intersection(gd.L2Ball(2, 1.0), gd.L1Ball(2, 1.2), tol=1e-8),
    gd.RDNGD(step_size=gd.cosine(0.1, 0.01), radius=1e-3, batch=2),
    gd.RRDNGD(phases=3, step_size=gd.geometric(0.5, 0.7)),
    gd.RDFW(domain=gd.L2Ball(2, 1.0), batch=3),
    gd.Auto(x_tol=0.1),
    gd.DuelNewton(),
    gd.DuelCSA(initial_step=0.2),
    gd.Block(),
    gd.Bisection(jnd=0.1),
    gd.IdealPoint(),
    gd.IdealDirection(jnd=0.1),
    *(
        METHODS[name](initial_step=0.5)
        for name in (
            "stp",
            "minibatch-stp",
            "order-cd",
            "order-acd",
            "scobo",
            "rank-sgd",
            "comparison-ngd",
            "one-plus-one",
            "one-plus-one-cma",
            "nelder-mead",
        )
    ),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda p: f"{type(p).__name__}")
def test_settings_come_back(part):
    """Through JSON text, equal, and of the same behaviour."""
    described = json.loads(json.dumps(encode_settings(part), allow_nan=False))
    again = decode_settings(described)
    assert type(again) is type(part)
    assert encode_settings(again) == described
    if isinstance(part, gd.Manifold):
        assert again == part
        x = part.random_point(np.random.default_rng(0))
        assert np.array_equal(again.random_point(np.random.default_rng(0)), x)


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_numbers_come_back(kind):
    for number in (0.5, math.inf, -math.inf, math.nan):
        again = decode_settings(json.loads(json.dumps(encode_settings(kind(number)))))
        assert type(again) is float
        assert again == number or (math.isnan(again) and math.isnan(number))
    assert type(encode_settings(np.int64(3))) is int
    again = decode_settings(encode_settings([np.int64(3), np.array([1, -math.inf])]))
    assert again[0] == 3
    np.testing.assert_array_equal(again[1], [1, -math.inf])


def test_every_class_has_settings():
    """None of the package's geometries, sets and methods is forgotten above.

    `Where` holds a function, which no log can hold.
    """
    tested = {type(p) for p in PARTS}
    assert {*METHODS.values()} <= tested
    results = {gd.domains.LinearMinimum, gd.domains.Nearest}  # what sets return, no settings
    for room in (gd.manifolds, gd.domains):
        for name in room.__all__:
            kind = getattr(room, name)
            if kind in (*results, gd.Where) or not inspect.isclass(kind):
                continue
            if is_dataclass(kind) and not inspect.isabstract(kind):
                assert kind in tested, f"{name} is not in the list"


def test_settings_of_an_earlier_version_that_were_left_out():
    """Bisection and IdealPoint once had a setting ``initial_step`` that had to be null."""
    text = """{"type": "IdealPoint", "domain": null, "initial_step": null, "x_tol": 0.1,
        "parallel": null, "min_radius": 0.0, "jnd": null, "prior_radius": 0.5,
        "half_width": null}"""
    described = json.loads(text)
    method = gd.IdealPoint(x_tol=0.1, prior_radius=0.5)
    assert decode_settings(described) == method
    assert stored_part({"method": described}, "method", method, "old") is method
    with pytest.raises(errors.ArgumentError, match="prior_radius"):
        stored_part({"method": described}, "method", gd.IdealPoint(x_tol=0.1), "old")
    with pytest.raises(errors.ArgumentError, match="initial_step"):
        decode_settings(described | {"initial_step": 0.2})


def test_settings_that_cannot_be_stored():
    for thing in (lambda k: k, {"a": 1}, np.array([1 + 2j]), gd.RDNGD(step_size=lambda k: 0.1)):
        with pytest.raises(NotStorableError):
            encode_settings(thing)
    with pytest.raises(errors.ArgumentError, match="nothing called 'Klein'"):
        decode_settings({"type": "Klein", "n": 2})
    with pytest.raises(errors.ArgumentError, match="Sphere of this version does not take"):
        decode_settings({"type": "Sphere", "shape": [3], "colour": "red"})


def same(a, b) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.strides == b.strides and a.tobytes() == b.tobytes()
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


def test_states_come_back_to_the_last_bit():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((4, 6))
    state = (
        matrix,
        matrix.T,  # products round differently in another layout
        matrix[:, ::2],
        matrix[::-1],
        np.broadcast_to(matrix[0], (3, 6)),
        np.zeros((0, 3)),
        np.array(1.5),
        np.float32(0.1),
        np.arange(3, dtype=np.int8),
        np.array([True, False]),
        [1, 2**200, -0.0, math.inf, math.nan, None, "ä", True],
        {"k": (1,), 2: rng.bit_generator.state},
        gd.DuelNewton().start(gd.Sphere(3), np.array([0.0, 0.0, 1.0]), rng),
    )
    again = decode_state(json.loads(json.dumps(encode_state(state), allow_nan=False)))
    assert same(state[:-2], again[:-2])
    assert again[-2] == state[-2]
    assert type(again[-1]) is type(state[-1])
    assert NewtonState.__module__.startswith("geoduel.")


def test_states_that_are_dataclasses_come_back():
    method = gd.DuelNewton(min_radius=0.5)
    assert decode_state(json.loads(json.dumps(encode_state(method)))) == method


class Foreign(NamedTuple):
    x: float


def test_only_the_packages_states_are_made():
    for thing in (Foreign(1.0), object(), np.array([object()]), {1, 2}):
        with pytest.raises(NotStorableError):
            encode_state(thing)
    for where in ("os:system", "geoduel.cli:main", "geoduel.optimize:minimize"):
        with pytest.raises((NotStorableError, AttributeError)):
            decode_state({"of": where, "items": []})


def test_what_users_attach():
    value = {"a": [1, 2.5, None, True, ("x", {"deep": "ä"})]}
    assert check_json(value, "value") == {"a": [1, 2.5, None, True, ["x", {"deep": "ä"}]]}
    for bad, where in (
        ({"a": [1, math.inf]}, r"value\['a'\]\[1\]"),
        ({1: 2}, "value"),
        (np.float64("nan"), "value"),
        (np.zeros(2), "value"),
    ):
        with pytest.raises(errors.ArgumentError, match=where + " must be what JSON can hold"):
            check_json(bad, "value")


def test_texts_are_those_that_databases_hold():
    assert is_text("")
    assert is_text("ä\N{SNOWMAN}\n")
    assert not is_text("a\0b")
    assert not is_text("\ud800")  # half a character
