"""What the tests know and benchmarks measure at length: their modules, loaded by path."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

__all__ = ["test_module"]

TESTS = Path(__file__).resolve().parents[1] / "tests"


def test_module(path: str) -> Any:
    """A module of the tests, such as ``study/test_intake.py``."""
    if str(TESTS) not in sys.path:
        sys.path.insert(0, str(TESTS))  # they share modules in samples/
    name = "of_tests_" + Path(path).stem
    spec: Any = importlib.util.spec_from_file_location(name, TESTS / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
