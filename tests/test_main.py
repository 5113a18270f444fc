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


def test_an_interrupt_while_it_loads_ends_it_quietly(monkeypatch, capsys):
    class Interrupted:
        @staticmethod
        def find_spec(name, *_):
            if name == "geoduel.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "geoduel.cli", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted, *sys.meta_path])
    assert runpy.run_module("geoduel.__main__", run_name="imported")["main"]() == 130
    assert capsys.readouterr().err == "geoduel: interrupted\n"


def test_importing_it_runs_nothing():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("geoduel.cli.main", lambda *_: pytest.fail("the command ran"))
        runpy.run_module("geoduel.__main__", run_name="imported")
