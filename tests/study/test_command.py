"""The commands for studies: what they print, for people and for programs."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest
from rich.table import Table

import geoduel as gd
from geoduel.cli import main
from geoduel.study.command import COMMANDS, as_json_value, entries, printable, show_table


@pytest.fixture
def run(capsys):
    """Run a command that must succeed; return what it printed, read as JSON if so asked."""

    def call(*arguments: object, code: int = 0) -> str:
        assert main([str(a) for a in arguments]) == code, capsys.readouterr().err
        return capsys.readouterr().out

    return call


@pytest.fixture
def study(url, north):
    """A study with two answers of ann and one of nobody in particular."""
    study = gd.create_study(gd.Sphere(3), storage=url, study_name="colours", budget=40, rng=0)
    for rater in ["ann", "ann", None]:
        duel = study.ask(rater=rater)
        study.tell(duel, north(duel))
    return study


def test_studies_are_listed(run, study, url):
    foreign = gd.create_study(gd.Rotations(3), "duel-newton", storage=url, study_name="[b]pose")
    shown = run("studies", url)
    assert not shown.startswith("[")  # a table, for people
    assert "colours" in shown
    assert "[b]pose" in shown  # nothing is read as markup
    first, second = json.loads(run("studies", url, "--json"))
    assert first["name"] == foreign.name
    assert first["answered"] == 0
    progress = study.progress()
    assert (second["answered"], second["budget"]) == (progress.answered, 40)
    assert second["manifold"] == "Sphere(3)"


@pytest.mark.parametrize("screen", [True, False])
def test_a_table_fits_the_screen_and_in_a_file_a_line_is_a_line(capsys, monkeypatch, screen):
    table = Table("name")
    table.add_row("x" * 200)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: screen)
    show_table(table)
    said = capsys.readouterr().out
    assert ("x" * 200 in said) is not screen
    assert (len(said.splitlines()[0]) <= 40) is screen


def test_a_study_that_is_damaged_leaves_the_others(run, study, url, capsys):
    gd.copy_study("colours", url, to_name="copy")
    with study.storage._transaction(reading=False, durable=True, left=1.0) as db:
        db.execute("UPDATE geoduel_events SET line = ' ' || line WHERE study = 2 AND number = 3")
    assert main(["studies", url, "--json"]) == 0
    said = capsys.readouterr()
    assert [s["name"] for s in json.loads(said.out)] == ["colours"]
    assert said.err.startswith("geoduel: copy is left out: the log of study 'copy'")


def test_a_study_is_shown(run, study, url):
    shown = run("show", url, "colours")
    for words in ("Sphere(3)", "ideal-point", "of 40", "ann", entries(study.recommend())):
        assert words in shown
    found = json.loads(run("show", url, "colours", "--json"))
    assert found["best"] == study.recommend().tolist()
    assert found["progress"] == json.loads(json.dumps(as_json_value(study.progress())))


def test_questions_are_asked_and_answered(run, study, url):
    asked = json.loads(run("ask", url, "colours", "--rater", "bob", "--json"))
    duel = study.duel(asked["id"])
    assert (asked["a"], asked["b"]) == (duel.a.tolist(), duel.b.tolist())
    assert duel.rater == asked["rater"] == "bob"
    assert entries(duel.a) in run("ask", url, "colours", "--rater", "bob")  # still the same
    told = json.loads(run("tell", url, "colours", asked["id"], "tie", "--json"))
    assert (told["answer"], told["rater"]) == ("tie", "bob")
    assert study.duel(asked["id"]).answer == "tie"
    assert f"duel {asked['id']} is open" in run("undo", url, "colours", "--rater", "bob")
    assert "no answer to take back" in run("undo", url, "colours", "--rater", "bob")
    assert json.loads(run("undo", url, "colours", "--rater", "bob", "--json")) is None
    assert study.duel(asked["id"]).state == "open"
    lines = run("ask", url, "colours", "-n", 2, "--json").splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == 2
    assert "known to" in run("tell", url, "colours", json.loads(lines[0])["id"], "a")


@pytest.mark.parametrize("which", ["a", "b", "both"])
def test_a_point_that_cannot_be_is_told_in_words(run, study, url, which):
    duel = json.loads(run("ask", url, "colours", "--json"))["id"]
    said = run("tell", url, "colours", duel, which, "infeasible")
    assert f"duel {duel}: {which} infeasible; known to" in said
    assert study.duel(duel).infeasible == which


def test_an_export_is_that_of_the_study(run, study, url, tmp_path):
    assert run("export", url, "colours") == study.export()
    file = tmp_path / "colours.jsonl"
    assert run("export", url, "colours", "--out", file) == ""
    assert run("import", file, url, "--name", "again") == "imported again\n"
    assert gd.load_study("again", url).duels == study.duels


def test_what_needs_no_method_takes_any_study(run, url, nudge):
    """Of a method of the user's own, too, which the command line does not have."""
    gd.create_study(gd.Sphere(3), nudge(), storage=url, study_name="own", rng=0)
    assert repr(nudge()) in run("export", url, "own")
    run("copy", url, "own", "--name", "copy")
    assert gd.study_names(url) == ["copy", "own"]
    assert len(json.loads(run("studies", url, "--json"))) == 2
    run("delete", url, "own", "--yes")


def test_a_copy(run, study, url, tmp_path):
    other = f"sqlite:///{tmp_path / 'b.db'}"
    run("copy", url, "colours", other)
    run("copy", url, "colours", "--name", "second")
    assert gd.study_names(url) == ["colours", "second"]
    assert gd.load_study("colours", other).export() == study.export()


@pytest.mark.parametrize(("said", "code"), [("y\n", 0), ("YES\n", 0), ("n\n", 1), ("\n", 1)])
def test_deletion_is_confirmed(run, study, url, monkeypatch, said, code):
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    assert f"with {study.progress().answered} answers" in run("delete", url, "colours", code=code)
    assert gd.study_names(url) == ["colours"] * code


def test_where_nobody_can_confirm_nothing_is_deleted(study, url, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["delete", url, "colours"]) == 2
    assert "--yes deletes without asking" in capsys.readouterr().err
    assert main(["delete", url, "colours", "--yes"]) == 0
    assert gd.study_names(url) == []


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_a_closed_stream_is_no_error(closed, study, url, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    monkeypatch.setattr(sys, closed, None)
    assert main(["studies", url]) == 0
    assert main(["delete", url, "colours"]) == (2 if closed == "stdin" else 1)
    getattr(sys, closed).close()  # what stands in its place
    assert gd.study_names(url) == ["colours"]


def test_a_name_that_the_screen_has_no_characters_for_is_written_otherwise(url, monkeypatch):
    gd.create_study(gd.Rotations(2), storage=url, study_name="色")
    screen = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.stdout", screen)
    assert main(["studies", url]) == 0
    assert main(["show", url, "色"]) == 0
    screen.flush()
    assert screen.buffer.getvalue().count(rb"\u8272") == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["studies", "sqlite:///typo.db"], "there is no database"),
        (["studies", "duels.db"], "storage must be a URL"),
        (["show", "URL", "colour"], "no study 'colour'"),
        (["ask", "URL", "colours", "-n", "0"], "-n"),
        (["ask", "URL", "colours", "--rater", " "], "rater must be a name"),
        (["tell", "URL", "colours", "99", "a"], "duel 99 is not of study"),
        (["tell", "URL", "colours", "0", "a"], "was answered"),
        (["tell", "URL", "colours", "0", "left"], "left"),
        (["export", "URL", "colours", "--out", "none/x.jsonl"], "cannot be written"),
        (["import", "none.jsonl", "URL"], "cannot be read"),
        (["copy", "URL", "colours"], "already"),
        (["delete", "URL", "colour", "--yes"], "no study 'colour'"),
        (["undo", "sqlite:///typo.db", "colours"], "there is no database"),
    ],
)
def test_bad_input_is_one_line_and_makes_no_file(
    study, url, arguments, says, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert main([url if a == "URL" else a for a in arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("geoduel stu", "studies"),
        ("geoduel show URL c", "colours"),
        ("geoduel show sqlite:///typo.db c", ""),
        ("geoduel tell URL x 0 t", "tie"),
        ("geoduel tell URL x 0 a inf", "infeasible"),
    ],
)
def test_the_shell_completes(study, url, typed, offered, monkeypatch, capsys):
    """What the shell runs at a Tab: commands, names of studies, answers."""
    monkeypatch.setenv("_GEODUEL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed.replace("URL", url))
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    with pytest.raises(SystemExit) as end:
        main([])
    said = capsys.readouterr()
    assert (end.value.code, said.out.strip(), said.err) == (0, offered, "")


def test_each_command_has_help(run):
    for command in COMMANDS:
        assert f"geoduel {command}" in run(command, "--help")


def test_texts_of_others_do_not_steer_the_terminal():
    assert printable("a\x1b[2Jb\nc") == "a\ufffd[2Jb\ufffdc"


def test_long_points_are_shortened_and_infinities_are_null():
    assert entries(np.array([0.5, -1.0])) == "[0.5, -1]"
    assert len(entries(np.zeros((40, 40)))) < 400
    assert ("..." in entries(np.zeros(51)), "..." in entries(np.zeros(50))) == (True, False)
    assert entries({"gain": np.float64(2), "mix": np.array([0.5, 0.5])}) == "gain=2, mix=[0.5, 0.5]"
    assert as_json_value({"a": (np.inf, np.eye(1))}) == {"a": [None, [[1.0]]]}


def test_json_of_a_study_has_lines_that_people_can_read(run, study, url):
    """Its fields are two spaces in."""
    lines = run("show", url, "colours", "--json").splitlines()
    assert lines[0] == "{"
    assert lines[1].startswith('  "name": ')


def test_all_points_of_a_question_are_shown_by_their_letters(run, url):
    study = gd.create_study(gd.Sphere(3), storage=url, study_name="four", rng=0, choices=4)
    _, *shown = run("ask", url, "four").splitlines()
    duel = study.duel(0)
    assert "".join(line.split()[0] for line in shown) == duel.shown != "abcd"
    for line, point in zip(shown, duel.in_order, strict=True):
        assert line.endswith(entries(point))
    assert "c>a>bd" in run("tell", url, "four", 0, "c>a")


def test_the_first_point_of_a_pair_is_the_left_one(run, url):
    """Someone who always takes the first is then seen to favour a side."""
    study = gd.create_study(gd.Sphere(5), storage=url, study_name="s", rng=0)
    shown = run("ask", url, "s", "-n", 5).splitlines()
    for duel, first, second in zip(study.duels, shown[1::3], shown[2::3], strict=True):
        assert first.split()[0] + second.split()[0] == duel.shown
        assert first.endswith(entries(duel.in_order[0]))
    assert {duel.left for duel in study.duels} == {"a", "b"}
