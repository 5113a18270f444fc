"""Old module paths: every one still works, says where it went, and gives the same objects."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec

import pytest

import geoduel as gd
from geoduel._support.moved import MOVED, NAMES, RENAMED

NEEDS = {"problems.attack": "torch", "reproduce.attack": "torch", "web": "fastapi"}


@pytest.mark.parametrize("old", [m for m in MOVED if m != "baselines.karcher_mean"])
def test_old_modules_pass_names_on(old):
    for prefix, package in NEEDS.items():
        if old.startswith(prefix) and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sys.modules.pop(f"geoduel.{old}", None)
        module = import_module(f"geoduel.{old}")
    told = [str(w.message) for w in caught if issubclass(w.category, DeprecationWarning)]
    assert any(f"geoduel.{old} has moved to geoduel.{MOVED[old][0]}" in words for words in told)
    for home in MOVED[old]:
        new = import_module(f"geoduel.{home}")
        for name in new.__all__:
            assert hasattr(module, name)


@pytest.mark.parametrize("old", RENAMED)
def test_old_modules_know_the_old_names(old):
    for prefix, package in NEEDS.items():
        if old.startswith(prefix) and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        module = import_module(f"geoduel.{old}")
    for before, now in RENAMED[old].items():
        assert getattr(module, before) is getattr(module, now)


@pytest.mark.parametrize("old", NAMES)
def test_old_names_pass_on(old):
    module, _, name = old.rpartition(".")
    for prefix, package in NEEDS.items():
        if old.startswith(prefix) and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    with pytest.warns(DeprecationWarning, match=rf"geoduel\.{old} has moved"):
        found = getattr(import_module(f"geoduel.{module}"), name)
    assert found is getattr(import_module(f"geoduel.{NAMES[old]}"), name)


def test_the_warning_points_at_the_import():
    code = "from geoduel.algorithms.rdngd import RDNGD\nimport geoduel.oracle\n"
    done = subprocess.run(
        [sys.executable, "-W", "always::DeprecationWarning", "-c", code],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "<string>:1: DeprecationWarning: geoduel.algorithms.rdngd has moved" in done.stderr
    assert "<string>:2: DeprecationWarning: geoduel.oracle has moved" in done.stderr


def test_what_never_was_is_an_import_error():
    with pytest.raises(ModuleNotFoundError):
        import_module("geoduel.algorithms.nothing")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = gd.theory.nothing
