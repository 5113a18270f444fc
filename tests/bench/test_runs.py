"""Runs: repeatable, kept as they finish, resumed after a kill, extended; one's own methods."""

import gzip
import json
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import geoduel as gd
from geoduel.bench import Case, Suite, load, plan, run, run_one
from geoduel.bench.runs import solver
from geoduel.errors import ArgumentError, GeoduelError, MissingExtraError

TIMES = {"seconds"}


def same(a, b):
    return {k: v for k, v in a.items() if k not in TIMES} == {
        k: v for k, v in b.items() if k not in TIMES
    }


def test_a_plan_has_every_run_once(toys):
    tasks = plan(toys, ["auto", "stp"])
    assert len({t.key for t in tasks}) == len(tasks) == 2 * 2 * 2
    assert {t.seed for t in tasks} == {3, 4}
    assert {t.budget for t in tasks} == {60}
    assert len(plan(toys, quick=True)) == 2
    assert [t.problem for t in plan(toys, problems=["bowl-too"], seeds=1)] == ["bowl-too"]


def test_a_run_is_repeatable_and_says_what_it_took(toys):
    task = plan(toys)[0]
    a, b = run_one(task), run_one(task)
    assert same(a, b)
    assert a["stop"] == "reached"
    assert a["hits"] == sorted(a["hits"])
    assert a["hits"][-1] == a["duels"] <= 2 * 60
    assert a["gap"] <= a["targets"][-1]
    assert json.loads(json.dumps(a)) == a


def test_hits_are_those_of_the_method_itself(toys):
    """The same run by hand: duels when the recommended point first has each gap."""
    task = plan(toys)[0]
    case = task.make(task.seed)
    record = run_one(task)
    seed = np.random.default_rng([task.seed, *b"auto"])
    seed.spawn(1)
    hits = [None] * len(case.targets)

    def see(p):
        for k, target in enumerate(case.targets):
            if hits[k] is None and case.gap(p.x) <= target:
                hits[k] = p.duels

    gd.minimize(
        gd.from_objective(case.objective), case.manifold, case.x0, method="auto", budget=120,
        rng=int(seed.integers(2**63)), callback=see,
    )  # fmt: skip
    assert record["hits"] == hits


def test_a_file_is_resumed_and_extended(toys, tmp_path):
    path = tmp_path / "runs.jsonl"
    first = list(run(plan(toys, seeds=1), path))
    ran = []
    more = plan(toys, ["auto", "stp"])
    counted = [t for t in more if t.method == "auto" and t.seed == 3]
    found = list(run(more, path))
    assert len(found) == len(load(path)) == len(more)
    for record in first:
        assert record in found  # to the last digit, its time included: it was not run again
    assert len(counted) == len(first)
    assert not ran


def test_a_line_that_was_cut_off_is_run_again(toys, tmp_path):
    path = tmp_path / "runs.jsonl"
    whole = list(run(plan(toys), path))
    text = path.read_bytes()
    path.write_bytes(text[:-20])
    again = list(run(plan(toys), path))
    assert all(any(same(a, b) for b in whole) for a in again)
    assert len(load(path)) == len(whole)
    assert path.read_bytes().count(b"\n") == len(whole) + 1  # the stump is left, on its own line


@pytest.mark.parametrize(
    "line",
    ["5", "null", "[]", "{}", '"x"', "\ud800", "[" * 100_000, "{cut",
     "{hits}", "{targets}", "{suite}"],
)  # fmt: skip
def test_lines_that_are_no_records_are_left_out(line, toys, tmp_path, record):
    wrong = {"{hits}": {"hits": [1]}, "{targets}": {"targets": ["x"]}, "{suite}": {"suite": 3}}
    if line in wrong:
        line = json.dumps(record([1, 2]) | wrong[line])
    path = tmp_path / "runs.jsonl"
    path.write_bytes(line.encode(errors="surrogatepass") + b"\n")
    found = list(run(plan(toys, seeds=1), path))
    assert load(path) == found
    assert len(found) == 2


def test_names_are_kept_whatever_they_hold(toys, tmp_path):
    names = ("a\u2028b", "c\x85d", "e\nf", "größer")
    methods = {name: gd.Auto() for name in names}
    path = tmp_path / "runs.jsonl"
    first = list(run(plan(toys, methods, seeds=1), path))
    assert list(run(plan(toys, methods, seeds=1), path)) == first == load(path)


def test_a_file_that_cannot_be_unpacked_is_named(tmp_path):
    packed = gzip.compress(b"x" * 1000)
    for i, data in enumerate((packed[:20], b"{}", packed[:12] + b"\xff" * 20)):
        path = tmp_path / f"{i}.gz"
        path.write_bytes(data)
        with pytest.raises(ArgumentError, match=rf"{i}\.gz cannot be unpacked, it is damaged"):
            load(path)


def test_a_solver_that_is_not_installed_has_no_runs(toys, tmp_path, monkeypatch, record):
    """It found nothing, by what was stored, and so it stayed once it was installed."""
    monkeypatch.setitem(__import__("sys").modules, "cma", None)
    path = tmp_path / "runs.jsonl"
    with pytest.raises(MissingExtraError, match="this solver needs cma"):
        list(run(plan(toys, ["auto", "pycma"], seeds=1), path))
    assert [r["method"] for r in load(path)] == ["auto"]

    stored = record([None], stop="failed: MissingExtraError: this solver needs cma")
    path.write_text(json.dumps(stored) + "\n")
    assert load(path) == []


def test_packed_files_are_read(toys, tmp_path):
    found = list(run(plan(toys, seeds=1)))
    packed = gzip.compress("".join(json.dumps(r) + "\n" for r in found).encode())
    (tmp_path / "runs.jsonl.gz").write_bytes(packed)
    assert load(tmp_path / "runs.jsonl.gz") == found
    assert load(tmp_path / "nowhere.jsonl") == []


def test_any_executor_will_do(toys):
    with ThreadPoolExecutor(2) as pool:
        found = {r["problem"]: r for r in run(plan(toys, seeds=1), executor=pool)}
    for record in run(plan(toys, seeds=1)):
        assert same(record, found[record["problem"]])


def _bowl(seed):
    return Case(gd.Euclidean(2), lambda x: float(np.sum(x**2)), np.ones(2), 0.0)


def _dies(meter):
    os._exit(3)


def test_an_executor_that_fails_is_named(toys):
    suite = {"toys": Suite("Toys", {"bowl": _bowl}, 60, (0, 1))}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(GeoduelError, match=r"cannot be sent to another process: .*no lambdas"):
            list(run(plan(suite, {"walk": lambda meter: "end"}), executor=pool))
        with pytest.raises(GeoduelError, match="a worker died"):
            list(run(plan(suite, {"dies": _dies}), executor=pool))
    with pytest.raises(ArgumentError, match=r"executor must have a method submit, .* got 3"):
        list(run(plan(suite), executor=3))


def test_what_a_solver_returns_is_no_record(toys):
    said = {"none": None, "number": 5, "object": gd.Auto(), "words": "I am done"}
    methods = {name: lambda meter, what=what: what for name, what in said.items()}
    stops = {r["method"]: r["stop"] for r in run(plan(toys, methods, seeds=1))}
    assert stops == dict.fromkeys(said, "stopped") | {"words": "I am done"}


def test_ones_own_method_and_solver(toys):
    def walk(meter):
        x = meter.case.x0
        while True:
            y = meter.case.manifold.exp(x, 0.1 * meter.rng.standard_normal(2))
            x = y if meter.better(y, x) else x
            meter.returns(x)

    methods = {"walk": walk, "wide": gd.DuelNewton(initial_step=3.0)}
    for record in run(plan(toys, methods, seeds=1)):
        assert record["method"] in methods
        assert record["hits"][3] is not None


def test_methods_of_others_are_told_the_scale(toys):
    case = toys["toys"].problems["bowl"](0)
    seen = []
    make = lambda seed: type(case)(  # noqa: E731
        case.manifold, case.objective, case.x0, 0.0, step=0.123
    )
    suite = type(toys["toys"])("Toys", {"bowl": make}, 10, (0, 1))

    class Spy(gd.methods.rivals.OnePlusOne):
        def start(self, manifold, x0, rng):
            seen.append(self.initial_step)
            return super().start(manifold, x0, rng)

    list(run(plan({"toys": suite}, {"spy": Spy(), "own": Spy(initial_step=2.0)})))
    assert seen == [0.123, 2.0]


def test_only_what_smooths_is_told_the_scale():
    assert solver("auto").at_scale(0.123) == gd.Auto()
    assert solver("auto-smoothed").at_scale(0.123).initial_step == 0.123


def test_faults_and_refusals_are_records(toys):
    def broken(meter):
        raise ZeroDivisionError("oh")

    suite = {"toys": toys["toys"]}
    stops = [
        r["stop"]
        for r in run(plan(suite, {"broken": broken, "people": solver("bisection")}, seeds=1))
    ]
    assert "failed: ZeroDivisionError: oh" in stops
    assert any(s.startswith("refused: Bisection needs a manifold of dimension 1") for s in stops)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"suites": ["toy"]}, "suites must be one of 'paper', 'bbob', 'mixint', .* got 'toy'"),
        ({"methods": ["newton"]}, "method 'newton' is none of auto, .*, pycma"),
        ({"suites": ["paper"], "problems": ["x"]}, "no problem of paper begins with 'x'"),
        ({"suites": ["paper"], "problems": ["karcher", "x"]}, "no problem of paper .* with 'x'"),
        ({"suites": {"own": {}}}, r"suites\['own'\] must be a geoduel.bench.Suite"),
        ({"suites": {"own": Suite("O", {"bowl": _bowl})}, "quick": True}, "quick: the suite 'own'"),
        ({"methods": {"a": "auto"}}, r"methods\['a'\] must be an instance of a method, .*'auto'"),
        ({"methods": {"a": gd.Auto}}, r"methods\['a'\] must be an instance of a method, .*Auto'"),
        ({"seeds": 0}, "seeds must be"),
        ({"budget": 1.5}, "budget must be"),
    ],
)
def test_wrong_names_and_numbers(given, words):
    with pytest.raises(ArgumentError, match=words):
        plan(**given)
