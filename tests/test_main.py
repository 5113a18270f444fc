"""``python -m geoduel`` is the command."""

from __future__ import annotations

import runpy
import subprocess
import sys

import pytest

import geoduel as gd


def test_the_module_is_the_command():
    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "geoduel", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )

    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"geoduel {gd.__version__}\n")
    bad = run("fly")
    assert bad.returncode == 2
    assert bad.stderr.startswith("geoduel: ")
    assert bad.stderr.count("\n") == 1


def test_importing_it_runs_nothing():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("geoduel.cli.main", lambda *_: pytest.fail("the command ran"))
        runpy.run_module("geoduel.__main__", run_name="imported")
