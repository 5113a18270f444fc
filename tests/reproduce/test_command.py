"""`geoduel reproduce`: from the command line to a report, with friendly refusals."""

import json

import pytest

from geoduel.cli import main
from geoduel.reproduce import EXPERIMENTS
from geoduel.reproduce.claims import Claim, at_most
from geoduel.reproduce.estimates import exact
from geoduel.reproduce.experiment import Experiment, Task
from geoduel.reproduce.report import Section, Table

pytest.importorskip("matplotlib")
pytest.importorskip("PIL")


class Squares(Experiment):
    """An experiment that takes no time."""

    name, title = "squares", "Squares"
    stop_at: int | None = None

    def tasks(self, plan):
        return [Task(f"square {i}", {"i": i}) for i in range(plan.seeds)]

    def run(self, settings):
        if settings["i"] == self.stop_at:
            raise KeyboardInterrupt
        return {"square": settings["i"] ** 2}

    def section(self, plan, outcomes):
        rows = [[str(o.task.settings["i"]), str(o.record["square"])] for o in outcomes]
        table = Table(["i", "square"], rows, "Squares.", name="squares")
        claim = Claim(
            ("table 1",),
            "squares are small",
            "the largest",
            at_most(100),
            {"": exact(max(o.record["square"] for o in outcomes))},
        )
        rows = [o.record for o in outcomes]
        return Section(self.name, self.title, [table], claims=[claim], rows=rows)


@pytest.fixture
def squares(monkeypatch):
    experiment = Squares()
    monkeypatch.setitem(EXPERIMENTS, "squares", experiment)
    return experiment


def run(out, *options):
    return main(["reproduce", "squares", "--workers", "1", "--out", str(out), *options])


def summary(out):
    return json.loads((out / "summary.json").read_text(encoding="utf-8"))


def test_a_report_is_made_and_found_again(squares, tmp_path, capsys):
    out = tmp_path / "results"
    assert run(out) == 0
    printed = capsys.readouterr().out
    assert str(out / "report.html") in printed
    assert '<h2 id="squares">' in (out / "report.html").read_text(encoding="utf-8")
    first = summary(out)
    assert first["versions"]["geoduel"]
    assert first["command"] == "geoduel reproduce squares --seeds 5 --sizes first"
    assert sum(first["verdicts"].values()) == len(first["claims"]) == 1
    assert first["claims"][0]["verdict"] == "holds"
    assert "claims of the paper: 1 holds, 0 holds in part" in printed
    assert first["settings"]["square 2"] == {"i": 2}
    assert (first["seeds"], first["cached runs"], first["planned runs"]) == ([0, 1, 2, 3, 4], 0, 5)
    assert first["results"]["squares"] == [{"square": i * i} for i in range(5)]

    assert run(out, "--seeds", "6") == 0
    assert "5 of 6 runs were found" in capsys.readouterr().out
    assert summary(out)["results"]["squares"] == [{"square": i * i} for i in range(6)]
    assert run(out, "--fresh") == 0
    assert summary(out)["cached runs"] == 0


def test_ctrl_c_reports_what_had_finished(squares, tmp_path, capsys):
    squares.stop_at = 2
    assert run(tmp_path) == 130
    assert "interrupted after 2 of 5 runs" in capsys.readouterr().err
    assert "Interrupted: 2 of 5" in (tmp_path / "report.html").read_text(encoding="utf-8")
    squares.stop_at = None
    assert run(tmp_path) == 0
    assert summary(tmp_path)["cached runs"] == 2


def test_a_quick_run_says_so_and_judges_nothing(squares, tmp_path):
    assert run(tmp_path, "--quick") == 0
    assert summary(tmp_path)["claims"] == []
    assert "A quick run" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_horizon_from_the_command_line_to_the_page(tmp_path, monkeypatch):
    # Painting takes time; two seascapes show as much as eight.
    monkeypatch.setattr("geoduel.reproduce.photos.SEASCAPES", (9.17, 62.0))
    assert main(["reproduce", "horizon", "--workers", "1", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "data:image/jpeg;base64," in page
    assert "levels 2 of 2 pictures to within 0.6 degrees" in page
    rows = summary(tmp_path)["results"]["horizon"]
    assert [row["tilt"] for row in rows] == [9.17, 62.0]
    assert all(row["left after enough"] <= 0.6 for row in rows)
    assert rows[1]["left after 100"] > 4  # 100 steps undo 57.3 degrees
    assert (tmp_path / "figures" / "horizon.pdf").is_file()
    assert (tmp_path / "tables" / "horizon.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "unknown experiment 'nothing'; there are rayleigh"),
        (["rayleigh", "--sizes", "some"], "--sizes must be first or all, got 'some'"),
        (["rayleigh", "--seeds", "0"], "--seeds"),
        (["horizon", "--photos", "."], "holds neither truth.csv nor"),
    ],
)
def test_bad_input_is_one_line(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "rayleigh", "--out", str(tmp_path / "file")]) == 2
    assert "cannot write there" in capsys.readouterr().err


@pytest.mark.slow
def test_everything_runs_quickly(tmp_path):
    """`geoduel reproduce all --quick`: one report with every experiment."""
    assert main(["reproduce", "all", "--quick", "--seeds", "1", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for name in EXPERIMENTS:
        assert f'<h2 id="{name}">' in page
