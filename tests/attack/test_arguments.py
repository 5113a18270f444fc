"""The arguments of an attack: what is wrong is named, what is too narrow is widened."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

import geoduel as gd  # noqa: E402
from geoduel.attack import attack  # noqa: E402
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
