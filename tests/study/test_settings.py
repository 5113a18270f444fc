"""What settings hold of a manifold and a method, and how it is checked against what is given."""

from __future__ import annotations

import json
import math
import re
from contextlib import nullcontext

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.settings import describe, method_version, part, read_settings, version_note


class Flat(gd.Euclidean):
    """A manifold of the user's own."""


def settings_of(manifold: gd.Manifold, method: object) -> dict:
    return {
        "format": 1,
        "geoduel": "0.1.0",
        "manifold": describe(manifold),
        "shape": [manifold.dim, list(manifold.point_shape)],
        "method": describe(method),
        "method_name": "auto",
        "method_version": method_version(method),
        "numpy": "2.4.6",
        "machine": "x86_64",
        "created": 1795905103.384,
        "asked": None,
        "seed": 7,
        "x0": None,
        "budget": None,
        "iterations": None,
        "lease": 600.0,
        "repeats": 0.0,
        "votes": 1,
    }


def test_parts_of_the_package_come_back():
    settings = json.loads(json.dumps(settings_of(gd.Sphere(3), gd.DuelCSA(initial_step=0.2))))
    assert part(settings, "manifold", None, "s") == gd.Sphere(3)
    assert part(settings, "method", None, "s") == gd.DuelCSA(initial_step=0.2)
    given = gd.Sphere(3)
    assert part(settings, "manifold", given, "s") is given
    with pytest.raises(errors.ArgumentError, match=r"manifold of study 's' is .*got Sphere\(4\)"):
        part(settings, "manifold", gd.Sphere(4), "s")


def test_another_version_may_have_had_other_settings():
    """A setting that is gone is left out of a method of another version, and of no other."""
    settings = json.loads(json.dumps(settings_of(gd.Sphere(3), gd.DuelCSA(initial_step=0.2))))
    settings["method"]["momentum"] = 0.9
    with pytest.raises(errors.ArgumentError, match="DuelCSA of this version does not take"):
        part(settings, "method", None, "s")
    settings["method_version"] -= 1
    assert part(settings, "method", None, "s") == gd.DuelCSA(initial_step=0.2)


def test_parts_of_the_users_own_are_given_anew():
    settings = settings_of(Flat(2), gd.Auto())
    assert settings["manifold"]["type"] == "foreign"
    given = Flat(2)
    assert part(settings, "manifold", given, "s") is given
    with pytest.raises(errors.ArgumentError, match="pass manifold= when loading it"):
        part(settings, "manifold", None, "s")
    for wrong in (Flat(3), gd.Euclidean(2)):  # another shape, another class
        with pytest.raises(errors.ArgumentError, match="manifold of study 's' is"):
            part(settings, "manifold", wrong, "s")


def test_classes_of_the_package_may_move():
    """Settings with a function in them name the module that the class was in."""
    method = gd.RDNGD(step_size=lambda k: 0.5 / (k + 1))
    settings = settings_of(gd.Sphere(3), method)
    settings["method"]["class"] = "geoduel.algorithms.rdngd.RDNGD"  # as in version 0.1.0
    assert part(settings, "method", method, "s") is method
    with pytest.raises(errors.ArgumentError, match="method of study 's' is"):
        part(settings, "method", gd.RRDNGD(phases=2, step_size=lambda k: 0.1), "s")
    settings["method"]["class"] = "elsewhere.rdngd.RDNGD"
    with pytest.raises(errors.ArgumentError, match="method of study 's' is"):
        part(settings, "method", method, "s")


def test_a_later_format_is_refused():
    settings = settings_of(gd.Sphere(3), gd.Auto())
    with pytest.raises(errors.ReplayError, match=r"study 's' has format 99, made by geoduel 0\.1"):
        read_settings(json.dumps(settings | {"format": 99}), "s")
    assert read_settings(json.dumps(settings), "s") == settings


def test_a_new_study_has_the_format_that_earlier_versions_read():
    """One that rises shuts them out."""
    assert gd.create_study(gd.Sphere(3)).settings["format"] == 2


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": "1"}', "{}"])
def test_damaged_settings_are_refused(text):
    with pytest.raises(errors.ReplayError, match="settings of study 's'"):
        read_settings(text, "s")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lease", "x"),
        ("lease", 0),
        ("lease", math.inf),
        ("votes", 0),
        ("votes", True),
        ("repeats", 2),
        ("seed", -1),
        ("seed", 1.5),
        ("budget", 0),
        ("budget", "10"),
        ("shape", [2]),
        ("shape", [2, [-3]]),
        ("manifold", None),
        ("method", {"type": "foreign"}),
        ("method_version", "5"),
        ("x0", [0, 0, 1]),
        ("created", None),
    ],
)
def test_settings_that_no_study_writes(key, value):
    settings = settings_of(gd.Sphere(3), gd.Auto()) | {key: value}
    with pytest.raises(errors.ReplayError, match=f"{key} is"):
        read_settings(json.dumps(settings), "s")
    del settings[key]
    with pytest.raises(errors.ReplayError, match=f"{key} is missing"):
        read_settings(json.dumps(settings), "s")


@pytest.mark.parametrize(("choices", "known"), [(2, False), (3, True), (6, True), (7, False)])
def test_questions_of_more_than_two_points_are_settings_of_their_own(choices, known):
    settings = settings_of(gd.Sphere(3), gd.IdealPoint()) | {"choices": choices}
    refused = pytest.raises(errors.ReplayError, match="choices is")
    with nullcontext() if known else refused:
        assert read_settings(json.dumps(settings), "s") == settings


def test_notes_name_a_remedy():
    """Which depends on whether the method can learn from the answers, and which is the later."""
    for method, remedy in (
        (gd.IdealPoint(), r"study\.upgrade\(\)"),
        (gd.DuelNewton(), r"x0=study\.recommend"),
    ):
        settings = settings_of(gd.Sphere(3), method)
        now = method_version(method)
        assert version_note(settings, method, now) is None
        earlier = str(version_note(settings, method, now - 1))
        assert f"made with version {now - 1} of" in earlier
        assert f"this is version {now}" in earlier
        assert re.search(remedy, earlier)
        assert "a later version of geoduel" in str(version_note(settings, method, now + 1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"choices": 1}, "choices must be"),
        ({"choices": 27}, "choices must be from 2 to"),
        ({"choices": 3, "method": "duel-csa"}, "choices=3 is for methods made for people"),
        ({"x0": [0.0, 2.0, 0.0]}, "x0"),
    ],
)
def test_what_no_study_can_be_made_with(options, words):
    with pytest.raises(errors.ArgumentError, match=words):
        gd.create_study(gd.Sphere(3), **options)


def test_a_catalogue_that_a_study_was_made_without_is_refused():
    study = gd.create_study(gd.Euclidean(2), "ideal-point")
    with pytest.raises(errors.ArgumentError, match="made without a catalogue"):
        gd.load_study(study.name, study.storage, among=np.eye(2))
