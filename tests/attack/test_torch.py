"""Torch is needed by an attack, and by nothing before it."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="needs the extra attack")

import geoduel as gd


def test_no_torch_no_attack(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "geoduel.attack._torch", raising=False)
    with pytest.raises(gd.errors.MissingExtraError, match="attack"):
        importlib.import_module("geoduel.attack._torch")


def test_the_import_is_light():
    code = "import sys, geoduel.attack; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
