"""The command: versions, and one line on standard error for bad input, never a traceback."""

from __future__ import annotations

import pytest

import geoduel as gd
from geoduel.cli import main


def test_versions(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"geoduel {gd.__version__}\n"
    assert main(["info"]) == 0
    shown = capsys.readouterr().out
    assert gd.__version__ in shown
    assert "numpy (cpu)" in shown


@pytest.mark.parametrize("columns", ["0", "00", ""])
@pytest.mark.parametrize("arguments", [["info"], ["--help"], ["level", "--help"]])
def test_a_screen_of_no_width_is_none(arguments, columns, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    main(arguments)
    usual = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", columns)
    main(arguments)
    assert capsys.readouterr().out == usual != ""


@pytest.mark.parametrize("command", ["reproduce", "level", "serve", "dashboard", "attack"])
def test_each_command_has_help(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"geoduel {command}" in capsys.readouterr().out


def test_without_arguments_there_is_help(capsys):
    assert main([]) == 2
    said = capsys.readouterr()
    assert "Usage" in said.out + said.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fly"], "fly"),
        (["info", "--colour"], "--colour"),
        (["reproduce", "everything"], "everything"),
        (["reproduce", "karcher", "--sizes", "some"], "--sizes must be first or all"),
        (["reproduce", "karcher", "--seeds", "0"], "seeds"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, says):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_an_interruption_is_no_error(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("geoduel.web.dashboard", interrupted, raising=False)
    assert main(["dashboard", "sqlite:///x.db"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_errors_of_the_program_keep_their_traceback(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("geoduel.web.dashboard", broken, raising=False)
    with pytest.raises(ZeroDivisionError):
        main(["dashboard", "sqlite:///x.db"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["serve", "study.txt:study"], "FILE.py:NAME"),
        (["serve", "none.py:study"], "none.py is not a file"),
        (["serve", "a.py:study", "--port", "0"], "port"),
        (["dashboard", "not a url"], "not a url"),
        (["serve", "caf\udce9.py:study"], "is not a file"),
        (["dashboard", "sqlite:///caf\udce9.db"], "caf"),
        (["level", "caf\udce9.jpg"], "is not a file"),
    ],
)
def test_bad_input_of_serve_and_dashboard(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
