"""Fixtures for every test: reference data, one thread, fixed seeds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# Before NumPy or torch is imported: BLAS threads make small problems slower and timings erratic.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

hypothesis.settings.register_profile("geoduel", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("geoduel")


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what geoduel keeps between runs out of the user's own folder."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


_SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of reference data beside the repository."""
    if not _SHARED.is_dir():
        pytest.skip("no reference data: ../shared is absent")
    return _SHARED


@pytest.fixture(scope="session")
def golden(shared: Path) -> Callable[[str], Any]:
    """Loader of reference values: ``golden("spd")`` reads ``../shared/golden/spd.json``."""

    @cache
    def load(name: str) -> Any:
        path = shared / "golden" / f"{name}.json"
        if not path.is_file():
            pytest.skip(f"no reference values: ../shared/golden/{path.name} is absent")
        return json.loads(path.read_text(encoding="utf-8"))

    return load
