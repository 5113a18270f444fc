"""Names load when they are used, and are listed once."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import geoduel
from geoduel._support.lazy import lazy

LAZY = ["geoduel.web", "geoduel.attack"]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a lazy name, and one that fails when it is loaded."""
    folder = tmp_path / "lazy_example"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from geoduel._support.lazy import lazy\n"
        "if TYPE_CHECKING:\n"
        "    from . import broken\n"
        "    from .room import thing\n"
        "__getattr__ = lazy(__name__, __file__)\n"
    )
    (folder / "room.py").write_text("thing = 'a thing'\n")
    (folder / "broken.py").write_text("raise RuntimeError('loaded')\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("lazy_example")
    for name in [n for n in sys.modules if n.split(".")[0] == "lazy_example"]:
        del sys.modules[name]


def test_a_name_loads_its_module_when_it_is_used(package):
    assert "lazy_example.room" not in sys.modules
    assert package.thing == "a thing"
    assert "lazy_example.room" in sys.modules


def test_a_module_loads_when_it_is_used(package):
    with pytest.raises(RuntimeError, match="loaded"):
        _ = package.broken


def test_other_names_are_attribute_errors(package):
    with pytest.raises(AttributeError, match="'lazy_example' has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("name", LAZY)
def test_what_is_lazy_is_what_is_public(name):
    """The block that type checkers read and ``__all__`` hold the same names."""
    module = import_module(name)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    names = {a.name for b in blocks for n in b.body for a in getattr(n, "names", ())}
    assert names == set(module.__all__)


def test_neither_the_web_nor_the_attack_is_loaded_with_the_package():
    code = "import sys, geoduel; print([m for m in ('fastapi', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert lazy("geoduel", str(geoduel.__file__))("serve") is geoduel.serve
