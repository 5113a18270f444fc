"""Answers in a file: a run that was killed goes on where it was, and no other run may use it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR

import geoduel as gd
from geoduel.errors import ArgumentError, OracleError, StorageError
from geoduel.oracles import Logged, answers, from_objective
from geoduel.oracles.logged import fingerprint, seed_in


def size(x):
    return float(x @ x)


def never(x, y):
    raise AssertionError("it was asked")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.log"


def test_answers_come_from_the_file_first(path):
    with Logged(from_objective(size), path) as oracle:
        want = [oracle(FAR, NEAR), answers(oracle, BATCH, NEAR, 1), oracle(NEAR, NEAR)]
    with Logged(never, path) as oracle:
        assert oracle.remembered == 2 + len(BATCH)
        got = [oracle(FAR, NEAR), answers(oracle, BATCH, NEAR, 1), oracle(NEAR, NEAR)]
        assert oracle.remembered == 0
        with pytest.raises(OracleError, match="it was asked"):
            oracle(FAR, NEAR)
    assert got[0] == want[0]
    assert type(got[0]) is int
    np.testing.assert_array_equal(got[1], want[1], strict=True)
    assert got[2] == 0


@pytest.mark.parametrize("method", ["auto", "rdngd", "one-plus-one-cma"])
def test_a_run_that_was_killed_goes_on_bit_for_bit(path, method):
    """At any byte of the file, which is what a kill leaves."""

    def run(oracle, **more):
        return gd.minimize(oracle, gd.Sphere(4), method=method, budget=160, rng=5, **more)

    goal = np.array([0.5, 0.5, 0.5, 0.5])
    whole = run(from_objective(lambda x: size(x - goal)), log=path)
    text, first = path.read_bytes(), path.read_bytes().index(b"\n") + 1
    for cut in (first // 2, first, first + 40, len(text) - 1, len(text)):
        path.write_bytes(text[:cut])
        asked = []
        oracle = from_objective(
            lambda x, asked=asked: asked.append(1) or size(x - goal), cache=False
        )
        result = run(oracle, log=path)
        assert np.array_equal(result.x, whole.x)
        assert (result.duels, result.stop_reason) == (whole.duels, whole.stop_reason)
        assert path.read_bytes() == text
        if cut == len(text):
            assert not asked


def test_the_budget_may_be_raised(path):
    def run(budget, **more):
        return gd.minimize(
            from_objective(size), gd.Euclidean(3), np.ones(3), budget=budget, rng=0, **more
        )

    run(30, log=path)
    assert np.array_equal(run(90, log=path).x, run(90).x)


def test_without_a_seed_the_log_keeps_one(path):
    def run():
        return gd.minimize(from_objective(lambda x: x[0]), gd.Sphere(3), budget=50, log=path).x

    assert np.array_equal(run(), run())
    assert seed_in(path) == json.loads(path.read_text().splitlines()[0])["rng"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rng": 1}, "rng was 0, now it is 1"),
        ({"x0": np.full(2, 2.0)}, "x0 was"),
        ({"method": "duel-csa"}, "method was"),
        ({"x_tol": 0.1}, "method was"),
        ({"manifold": gd.Euclidean(1, 2), "x0": np.ones((1, 2))}, "manifold was"),
        ({"ties": "paper"}, "ties was 'skip', now it is 'paper'"),
    ],
)
def test_another_run_may_not_use_it(path, change, words):
    settings = {"manifold": gd.Euclidean(2), "x0": np.ones(2), "budget": 20, "rng": 0, "log": path}
    gd.minimize(from_objective(lambda x: float((x * x).sum())), **settings)
    kept = path.read_bytes()
    with pytest.raises(ArgumentError, match=words):
        gd.minimize(from_objective(lambda x: float((x * x).sum())), **settings | change)
    assert path.read_bytes() == kept


def test_another_run_is_recognised_by_what_it_asks(path):
    """Words do not tell two boxes of one size apart, nor two functions in the settings."""

    def run(high):
        domain = [(0, high)] * 2
        oracle = from_objective(lambda x: size(x - 2))
        return gd.minimize(
            oracle, gd.Euclidean(2), [0, 0], domain=domain, budget=60, rng=0, log=path
        )

    assert np.allclose(run(1).x, 1)
    kept = path.read_bytes()
    with pytest.raises(ArgumentError, match="answer is to other points"):
        run(1.5)
    assert path.read_bytes() == kept
    assert np.allclose(run(1).x, 1)


@pytest.mark.parametrize(
    "text", ["holiday\n", '{"geoduel log": 1}\n++?\n', "[1]\n", '{"a": 1}\n', "\x00\n"]
)
def test_other_files_are_left_alone(path, text):
    path.write_text(text)
    with pytest.raises(ArgumentError, match=r"no log of a run|of another run"):
        Logged(never, path)
    assert path.read_text() == text


def test_a_log_in_use_is_refused(path):
    with Logged(never, path), pytest.raises(ArgumentError, match="in use by another run"):
        Logged(never, path)
    Logged(never, path).close()


def test_a_generator_cannot_be_restored(path):
    with pytest.raises(ArgumentError, match="rng must be an int or None with log="):
        gd.minimize(
            from_objective(size), gd.Sphere(3), budget=9, rng=np.random.default_rng(0), log=path
        )


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ArgumentError, match="cannot be opened"):
        Logged(never, tmp_path / "no" / "run.log")


@pytest.mark.parametrize("room", [30, 700], ids=["of the first line", "of some answers"])
def test_a_full_disk_is_named_and_the_run_goes_on_later(path, room):
    """A limit on the size of files stands for the disk; the line that did not fit is cut off."""
    resource = pytest.importorskip("resource")  # not on Windows
    oracle, sphere = gd.from_objective(lambda x: float(x[0])), gd.Sphere(3)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(StorageError, match=r"run\.log cannot be written: .* goes on") as caught:
            gd.minimize(oracle, sphere, budget=60, rng=0, log=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.stat().st_size <= room
    if room > 30:
        assert 0 < caught.value.result.duels < 60
    result = gd.minimize(oracle, sphere, budget=60, rng=0, log=path)
    assert np.array_equal(result.x, gd.minimize(oracle, sphere, budget=60, rng=0).x)


def test_fingerprints_tell_arrays_apart():
    a = np.arange(6.0)
    others = [a.reshape(2, 3), a.astype(np.float32), -a, np.nextafter(a, 9)]
    assert len({fingerprint(each) for each in [a, *others]}) == 5
    assert fingerprint(a) == fingerprint(a.copy())
    assert fingerprint(a, -a) != fingerprint(-a, a)
