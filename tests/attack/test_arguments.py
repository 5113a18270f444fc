"""The arguments of an attack: what is wrong is named, what is too narrow is widened."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

import geoduel as gd  # noqa: E402
from geoduel.attack import (  # noqa: E402
    Directions,
    Judge,
    Remote,
    ShapedSphere,
    Threat,
    attack,
    prior,
    resolved_radius,
)
from geoduel.errors import ArgumentError, RadiusWarning, TiesWarning  # noqa: E402

SHAPE = (3, 6, 6)
GREY = torch.full((3, *SHAPE), 0.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"images": GREY[0]}, "shape"),
        ({"images": torch.zeros(1, *SHAPE)}, "zero everywhere"),
        ({"images": torch.zeros(1, *SHAPE, dtype=torch.uint8)}, "floating"),
        ({"images": 6 * GREY}, "within clip"),
        ({"images": math.nan * GREY}, "within clip"),
        ({"labels": torch.zeros(2, dtype=torch.int64)}, "labels"),
        ({"labels": torch.zeros(3)}, "labels"),
        ({"labels": torch.full((3,), -1)}, "labels"),
        ({"labels": torch.full((3,), 2)}, "labels must be below"),
        ({"eps": -1.0}, "eps"),
        ({"radius": torch.tensor([1.0, 0.0, 1.0])}, "radius"),
        ({"budget": 0}, "budget"),
        ({"budget": 2.5}, "budget"),
        ({"method": "newton"}, "method"),
        ({"oracle": "entropy"}, "oracle"),
        ({"clip": (1, 0)}, "clip"),
        ({"directions": "high"}, "directions"),
        ({"model": None}, "model"),
        ({"model": "vgg"}, "model"),
        ({"dtype": torch.bfloat16, "model": lambda z: z}, "dtype"),
        ({"rng": -1}, "rng"),
        ({"method": "rgd", "oracle": lambda a, b: 0}, "gradients"),
        ({"method": "zo-rgd", "oracle": "label"}, "scores, not labels"),
        ({"norm": "l1"}, "norm"),
        ({"norm": "linf", "eps": 0.0}, "eps"),
        ({"model": None, "oracle": lambda a, b: 0, "smallest": True}, "smallest"),
        ({"dtype": torch.bfloat16, "oracle": "label"}, "dtype"),
        ({"dtype": torch.int32}, "dtype must be one of floating-point numbers"),
        ({"dtype": torch.complex64}, "dtype must be one of floating-point numbers"),
    ],
)
def test_bad_arguments_are_named(change, words, linear):
    good = {"model": linear(), "images": GREY, "labels": torch.zeros(3, dtype=torch.int64)}
    arguments = {"budget": 5, **good, **change}
    with pytest.raises(ArgumentError, match=words):
        attack(**arguments)


def test_narrow_probes_are_widened_and_published_ones_are_not(linear, grey):
    narrow = gd.RDNGD(0.1, radius=1e-9, batch=4, returns="last")
    with pytest.warns(RadiusWarning, match="radius=1e-09"):
        result = attack(linear(), grey(), radius=0.19, method=narrow, budget=40, rng=0)
    assert result.ties == 0
    with pytest.warns(TiesWarning):
        stalls = attack(linear(), grey(), radius=0.19, method="rdngd-released", budget=40, rng=0)
    assert stalls.ties >= 12


RED = torch.ones(3, 2, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: prior("natural", GREY[0]), r"images has shape \(3, 6, 6\)"),
        (lambda: prior("natural", GREY.int()), "images must be .* got torch.int32"),
        (lambda: prior("fitted", GREY[..., :0]), r"images has shape \(3, 3, 6, 0\)"),
        (lambda: Directions(RED, (6, 6)), "shape must be channels, height and width"),
        (lambda: Directions(RED, "red"), "shape must be"),
        (lambda: Directions(None, SHAPE), "weights must be a torch tensor"),
        (
            lambda: Directions(RED[:2], SHAPE),
            r"weights has shape \(2, 2, 2\), expected",
        ),
        (lambda: Directions(torch.ones(3, 7, 2), SHAPE), "weights has shape"),
        (lambda: Directions(RED, SHAPE, torch.eye(2)), r"colour has shape \(2, 2\)"),
        (lambda: Directions(RED, SHAPE, None, torch.ones(3, 1, 5, 5)), "mask has shape"),
        (lambda: ShapedSphere(RED), "directions must be Directions"),
        (lambda: Threat(GREY[0], torch.ones(3)), "x has shape"),
        (lambda: Threat(GREY, torch.ones(2)), "radius must be a tensor of one number an image"),
        (lambda: Threat(GREY, 0.5), "radius must be"),
        (lambda: Threat(GREY, torch.ones(3), 1.0), "clip must be"),
        (lambda: Threat(GREY, torch.ones(3), norm="l1"), "norm must be"),
        (lambda: resolved_radius(GREY, torch.float32), "threat must be a Threat"),
        (lambda: resolved_radius(Threat(GREY, torch.ones(3)), torch.int8), "dtype must be"),
        (lambda: resolved_radius(Threat(GREY, torch.ones(3)), "float"), "dtype must be"),
        (lambda: Judge(len, torch.zeros(3)), "labels must be class numbers"),
        (lambda: Judge(len, torch.zeros(3, 1, dtype=torch.int64)), "labels must be class numbers"),
        (lambda: Remote(max, log="."), "log .* is no file"),
        (lambda: Remote(max)(GREY, GREY[:2]), "images_a and images_b must be pairs of one shape"),
        (lambda: Remote(max)(GREY, "b"), "images_b must be a torch tensor"),
        (lambda: Remote(max)(GREY, GREY, torch.arange(2)), "index must be one number a pair"),
    ],
)
def test_what_the_parts_of_an_attack_are_made_of_is_named(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()
