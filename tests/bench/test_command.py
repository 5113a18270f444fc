"""`geoduel bench`: from the command line to files, exit codes, and friendly refusals."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from geoduel.bench.runs import load
from geoduel.cli import main

SMALL = ["bench", "--suites", "paper", "--problems", "horizon", "--seeds", "2", "--no-page"]


def test_it_prints_areas_and_keeps_the_runs(tmp_path, capsys):
    assert main([*SMALL, "--methods", "auto,stp", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "horizon" in shown
    assert "stp" in shown
    assert len(load(tmp_path / "runs.jsonl")) == 4


def test_the_page_is_written(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main([*SMALL[:-1], "--methods", "auto", "--out", str(tmp_path)]) == 0
    assert str(tmp_path / "report.html") in capsys.readouterr().out
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_another_version_is_compared_and_a_loss_is_exit_code_1(tmp_path, capsys):
    assert main([*SMALL, "--methods", "auto", "--out", str(tmp_path / "now")]) == 0
    then = tmp_path / "then.jsonl"
    runs = [{**r, "seconds": 1e3} for r in load(tmp_path / "now" / "runs.jsonl")]
    then.write_text("".join(json.dumps(r) + "\n" for r in runs))
    again = [*SMALL, "--methods", "auto", "--out", str(tmp_path / "now")]
    assert main([*again, "--against", str(then)]) == 0
    assert "1.000 times the duels" in capsys.readouterr().out

    quicker = [r | {"hits": [h and max(1, h // 2) for h in r["hits"]]} for r in runs]
    then.write_text("".join(json.dumps(r) + "\n" for r in quicker))
    assert main([*again, "--against", str(then)]) == 1
    assert "SLOWER" in capsys.readouterr().out

    then.write_text("".join(json.dumps(r | {"method": "another"}) + "\n" for r in runs))
    assert main([*again, "--against", str(then)]) == 1
    assert "no run of --against" in capsys.readouterr().err


def test_a_run_is_not_compared_with_itself(tmp_path, capsys):
    """After an upgrade the folder still held the old runs, and nothing seemed to have changed."""
    again = [*SMALL, "--methods", "auto", "--out", str(tmp_path)]
    assert main(again) == 0
    capsys.readouterr()
    assert main([*again, "--against", str(tmp_path / "runs.jsonl")]) == 1
    shown = capsys.readouterr()
    assert "2 of 2 runs are those of --against themselves" in shown.err
    assert "times the duels" not in shown.out


def test_no_more_processes_than_runs(tmp_path, monkeypatch):
    from geoduel.bench import command

    seen = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, workers, **_):
            seen.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(command, "ProcessPoolExecutor", Pool)
    arguments = [*SMALL, "--methods", "auto,stp", "--out", str(tmp_path)]
    assert main([*arguments, "--workers", "1000000"]) == 0
    assert seen == [4]


def test_processes_find_the_same(tmp_path):
    for workers in ("1", "2"):
        out = str(tmp_path / workers)
        assert main([*SMALL, "--methods", "auto", "--workers", workers, "--out", out]) == 0
    one, two = (
        {r["seed"]: r["hits"] for r in load(tmp_path / w / "runs.jsonl")} for w in ("1", "2")
    )
    assert one == two


@pytest.mark.slow
def test_a_dask_cluster_finds_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    found = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as c:
        for where in ([], ["--dask", c.scheduler_address]):
            out = tmp_path / str(len(where))
            assert main([*SMALL, "--methods", "auto", *where, "--out", str(out)]) == 0
            found.append({r["seed"]: r["hits"] for r in load(out / "runs.jsonl")})
    assert found[0] == found[1]


def test_the_list_names_everything(capsys):
    assert main(["bench", "--list"]) == 0
    shown = capsys.readouterr().out
    for name in ("one-plus-one-cma", "beta-ngd", "pycma-ipop", "f24-d20", "rayleigh-saddle"):
        assert name in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--suites", "papers"], "suites must be one of"),
        (["--methods", "newton"], "method 'newton' is none of"),
        (["--against", "nowhere.jsonl"], "nowhere.jsonl holds no runs"),
        (["--dask", "tcp://127.0.0.1:1"], "geoduel[dask]"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    assert main([*SMALL, "--methods", "auto", "--out", str(tmp_path), *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
