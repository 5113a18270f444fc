"""Runs: repeatable, kept as they finish, resumed after a kill, extended; one's own methods."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import geoduel as gd
from geoduel.bench import load, plan, run, run_one
from geoduel.bench.runs import solver
from geoduel.errors import ArgumentError

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
        ({"suites": ["paper"], "problems": ["x"]}, r"no problem of paper begins with \['x'\]"),
        ({"seeds": 0}, "seeds must be"),
        ({"budget": 1.5}, "budget must be"),
    ],
)
def test_wrong_names_and_numbers(given, words):
    with pytest.raises(ArgumentError, match=words):
        plan(**given)
