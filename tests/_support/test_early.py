"""Ctrl-C while the command loads is one line; for others who import it, an exception."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import geoduel as gd

PRESS = """
import os, signal, sys


class Press:  # Ctrl-C at the moment when a module is looked for
    def find_spec(name, *_):
        if name == os.environ["PRESS_AT"]:
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Press)
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
SCRIPT = "import sys\nfrom geoduel.__main__ import main\nsys.exit(main())\n"


@pytest.fixture
def pressed(tmp_path):
    """Runs a program, and presses Ctrl-C when it begins to import a module."""

    def run(module, *arguments):
        (tmp_path / "sitecustomize.py").write_text(PRESS, encoding="utf-8")
        path = os.pathsep.join([str(tmp_path), str(Path(gd.__file__).parents[1])])
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": path, "PRESS_AT": module},
            # A shell that runs the tests in the background has them ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
        )

    return run


@pytest.mark.parametrize("module", ["numpy", "scipy", "geoduel.oracles", "geoduel.cli", "typer"])
@pytest.mark.parametrize("start", ["module", "script"])
def test_ctrl_c_at_any_moment_of_the_start_is_one_line(pressed, tmp_path, module, start):
    script = tmp_path / "geoduel"
    script.write_text(SCRIPT, encoding="utf-8")
    done = pressed(module, *(["-m", "geoduel"] if start == "module" else [script]), "--version")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "geoduel: interrupted\n")


def test_ctrl_c_while_others_import_the_package_is_theirs(pressed, tmp_path):
    script = tmp_path / "own.py"
    script.write_text(
        "try:\n    import geoduel\nexcept KeyboardInterrupt:\n    print('theirs')\n",
        encoding="utf-8",
    )
    done = pressed("geoduel.oracles", script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "theirs\n", "")


def test_ctrl_c_is_an_exception_again_once_the_package_is_there(pressed, tmp_path):
    script = tmp_path / "geoduel"
    script.write_text(
        "import geoduel, signal\nprint(signal.getsignal(2) is signal.default_int_handler)\n",
        encoding="utf-8",
    )
    assert pressed("nothing", script).stdout == "True\n"
