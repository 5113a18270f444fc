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
    assert main([]) in (0, 2)  # as click before and from 8.2 on has it
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


def test_a_file_that_ends_too_early_is_no_interruption(monkeypatch, capsys):
    def cut_off(*_, **__):
        raise EOFError("no data left in x.npy")

    monkeypatch.setattr("geoduel.web.dashboard", cut_off, raising=False)
    assert main(["dashboard", "sqlite:///x.db"]) == 2
    assert capsys.readouterr().err.strip() == (
        "geoduel: a file ends too early: no data left in x.npy"
    )


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


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "import geoduel as gd\nstudy = gd.create_study(\n",
            "a.py, line 2: SyntaxError: '(' was never",
        ),
        ("x = 1\nimport nothing_here\n", "a.py, line 2: ModuleNotFoundError: No module named"),
        ("mine = 3\n", "a.py defines no 'study' and no study"),
        (
            "import geoduel as gd\ntilt = gd.create_study(gd.Torus(1))\n",
            "a.py defines no 'study'; its studies are tilt",
        ),
    ],
)
def test_what_is_wrong_in_the_file_of_a_study(tmp_path, monkeypatch, capsys, code, says):
    """Its line is named, and the traceback of the package is no help; the name may be left out."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(code)
    pytest.importorskip("fastapi", reason="FastAPI is not installed (extra web)")
    assert main(["serve", "a.py"]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


@pytest.fixture
def tokens(tmp_path, monkeypatch):
    """Return the token and what is said when a study is served with some options."""
    storage = f"storage='sqlite:///{tmp_path / 'a.db'}', study_name='a', load_if_exists=True"
    (tmp_path / "a.py").write_text(
        f"import geoduel as gd\nstudy = gd.create_study(gd.Sphere(3), {storage})\n"
    )
    given = []
    pytest.importorskip("fastapi", reason="FastAPI is not installed (extra web)")
    monkeypatch.setattr(
        "geoduel.web.server.run", lambda app, host, port, token, *_: given.append(token)
    )
    monkeypatch.delenv("GEODUEL_TOKEN", raising=False)

    def serve(*options):
        code = main(["serve", f"{tmp_path / 'a.py'}:study", *options])
        return (given or [None]).pop() if code == 0 else code

    return serve


def test_where_the_owners_token_comes_from(tokens, tmp_path, monkeypatch, capsys):
    chosen = "correct horse battery staple"
    assert len(tokens()) == 32
    assert tokens("--no-token") is None
    file = tmp_path / "token"
    made = tokens("--token-file", str(file))
    assert made == file.read_text().strip() == tokens("--token-file", str(file))
    assert capsys.readouterr().err == ""
    assert tokens("--token", chosen) == chosen  # as it was, but
    assert "others on this machine can read --token" in capsys.readouterr().err
    monkeypatch.setenv("GEODUEL_TOKEN", chosen)
    assert tokens() == chosen
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("GEODUEL_TOKEN", "sunshine2024")
    assert tokens() == 2
    assert "token must have at least 20 characters" in capsys.readouterr().err
    assert tokens("--token-file", str(tmp_path / "none" / "token")) == 2
    assert tokens("--no-token", "--host", "0.0.0.0") == 2
    assert "others can come" in capsys.readouterr().err


def test_bad_proxies_are_one_line(tokens, capsys):
    for options, says in (
        (("--public-url", "duels.example"), "public_url"),
        (("--trust-proxy", "*"), "trust_proxy"),
    ):
        assert tokens(*options) == 2
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1


def test_serve_takes_the_options_of_a_board(tokens, monkeypatch, capsys):
    boards = []
    monkeypatch.setattr(
        "geoduel.web.server.run", lambda app, *_: boards.extend(app.state.hub.present())
    )
    tokens("--question", "Which?", "--labels", "x, y,z", "--answers", "7", "--results", "none",
           "--scripts", "--infeasible", "--accuracy", "0.1", "--title", "Colours",
           "--lang", "de")  # fmt: skip
    (board,) = boards
    assert (board.question, board.labels, board.answers) == ("Which?", ("x", "y", "z"), 7)
    assert (board.results, board.scripts, board.accuracy) == (False, True, 0.1)
    assert board.infeasible
    assert (board.title, board.lang) == ("Colours", "de")
    for option, says in (
        ("--labels=x,y", "labels must name"),
        ("--accuracy=-1", "accuracy"),
        ("--lang=german", "lang must be a language such as"),
    ):
        assert tokens(option) == 2
        assert says in capsys.readouterr().err
    assert tokens("--results", "some") == 2
