"""Pools of every kind run the same duels, and a worker that dies takes nothing found along."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np
import pytest
from samples import judges

import geoduel as gd
from geoduel._support.pools import (
    as_executor,
    deaf_to_interrupts,
    ended_by_interrupts,
    run_each,
)
from geoduel.errors import ArgumentError, BudgetExhaustedError, OracleError

TESTS = str(Path(__file__).parents[1])
SPHERE, START = gd.Sphere(4), np.array([0.6, 0.8, 0.0, 0.0])
ORACLES = {
    "objective": lambda: gd.from_objective(judges.size),
    "preference": lambda: gd.from_preference(judges.prefers),
    "paired": lambda: gd.paired(judges.simulate, rng=0),
    "noisy": lambda: gd.Noisy(gd.from_objective(judges.size), flip=0.1, rng=0),
    "own": lambda: judges.compare,
}


def of_python(kind):
    # Spawned: a fork copies the threads of other tests in any state.
    spawn = get_context("spawn")
    return {
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, mp_context=spawn),
        "pool": lambda: spawn.Pool(2),
        "thread pool": lambda: ThreadPool(2),
    }[kind]()


def of_loky(stack):
    loky = pytest.importorskip("joblib.externals.loky")
    return stack.enter_context(loky.ProcessPoolExecutor(2))


def of_dask(stack):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    )
    return stack.enter_context(distributed.Client(stack.enter_context(cluster)))


def of_ray(stack):
    ray = pytest.importorskip("ray")
    path = os.pathsep.join([TESTS, *filter(None, sys.path)])
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
        runtime_env={"env_vars": {"PYTHONPATH": path}},
    )
    stack.callback(ray.shutdown)
    from ray.util.multiprocessing import Pool

    return stack.enter_context(Pool(2))


def of_mpi(stack):
    futures = pytest.importorskip("mpi4py.futures")
    return stack.enter_context(futures.MPIPoolExecutor(1, path=sys.path))


OTHERS = {"loky": of_loky, "dask": of_dask, "ray": of_ray, "mpi": of_mpi}
KINDS = [
    *("threads", "processes", "pool", "thread pool"),
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS),
]


MORTAL = [*KINDS[1:3], *KINDS[4:7]]  # a thread cannot die, and MPI ends all its processes


def made(kind, stack):
    """A pool of two workers that ends with the stack."""
    return OTHERS[kind](stack) if kind in OTHERS else stack.enter_context(of_python(kind))


@pytest.fixture(scope="module", params=KINDS)
def pool(request):
    with ExitStack() as stack:
        yield made(request.param, stack)


# First of all: Ray has one cluster a program, and those below share theirs.
@pytest.mark.parametrize("kind", MORTAL)
def test_a_worker_that_dies_takes_nothing_along(kind, tmp_path):
    """Dask survives it. The others end the run, with its result; the log goes on from there."""
    options = {"x0": START, "budget": 60, "rng": 0}
    oracle = gd.from_objective(judges.Mortal(tmp_path, at=50))
    begun = time.monotonic()
    with ExitStack() as stack:
        log = tmp_path / "run.log"
        pool = made(kind, stack)
        if kind == "dask":
            result = gd.minimize(oracle, SPHERE, executor=pool, log=log, **options)
        else:
            with pytest.raises(OracleError, match=r"the executor raised \w*(Error|Pool)") as caught:
                gd.minimize(oracle, SPHERE, executor=pool, log=log, **options)
            assert 10 < caught.value.result.duels < 60
            assert time.monotonic() - begun < 60
            result = gd.minimize(oracle, SPHERE, log=log, **options)
    assert (tmp_path / "died").exists()
    assert np.array_equal(result.x, gd.minimize(ORACLES["objective"](), SPHERE, **options).x)


@pytest.mark.parametrize("kind", ORACLES)
def test_a_run_is_the_same_with_a_pool(pool, kind):
    options = {"x0": START, "budget": 30, "rng": 0}
    with_pool = gd.minimize(ORACLES[kind](), SPHERE, executor=pool, **options)
    assert np.array_equal(with_pool.x, gd.minimize(ORACLES[kind](), SPHERE, **options).x)


@pytest.mark.parametrize("kind", ORACLES)
def test_a_study_is_the_same_with_a_pool(pool, kind):
    """What an oracle draws and counts, such as the order of a pair or a seed, stays here."""
    found = []
    for executor in (pool, None):
        study = gd.create_study(SPHERE, "duel-newton", x0=START, rng=0)
        oracle = gd.Counted(ORACLES[kind]())
        study.optimize(oracle, 12, executor=executor)
        found.append(study.recommend())
        assert oracle.duels == 12
    assert np.array_equal(*found)


def test_workers_of_a_study_share_a_pool(pool):
    study, oracle = gd.create_study(SPHERE, x0=START, rng=0), gd.from_preference(judges.prefers)
    study.optimize(oracle, 12, executor=pool, workers=3)
    assert study.progress().answered == 12 == oracle.position_bias.answers


def test_an_error_in_a_worker_keeps_its_cause(pool):
    with pytest.raises(OracleError, match="TimeoutError: the line is dead") as caught:
        run_each(
            gd.from_objective(judges.dead_line)._evaluate_one, [(START,)] * 2, as_executor(pool)
        )
    assert isinstance(caught.value.__cause__, TimeoutError)
    study = gd.create_study(SPHERE, x0=START, rng=0)
    study.optimize(gd.from_objective(judges.dead_line), 2, executor=pool, catch=(TimeoutError,))
    assert study.progress().skips == 2


@pytest.mark.parametrize("judge", [judges.busy, judges.wants_two])
def test_a_cause_that_pickle_cannot_make_again_arrives(pool, judge):
    """A pool waited for ever for it, and an executor called itself broken."""
    kind = {judges.busy: judges.BusyError, judges.wants_two: judges.WantsTwoError}[judge]
    objective = gd.from_objective(judge)
    with pytest.raises(OracleError, match=f"raised {kind.__name__}: too many requests") as caught:
        run_each(objective._evaluate_one, [(START,)] * 2, as_executor(pool))
    if judge is judges.busy and type(pool).__module__.startswith("distributed"):
        return  # which sends only what such an error says
    assert type(caught.value.__cause__) is kind
    assert str(caught.value.__cause__) == "too many requests"
    if judge is judges.wants_two:
        assert caught.value.__cause__.code == 429
    study = gd.create_study(SPHERE, x0=START, rng=0)
    study.optimize(objective, 2, executor=pool, catch=(kind,))
    assert study.progress().skips == 2


def test_calls_that_look_alike_are_all_made(pool):
    """Dask takes them for one otherwise, and the answers of a noisy judge for settled."""
    assert len(set(run_each(os.urandom, [(8,)] * 6, as_executor(pool)))) == 6


def test_what_cannot_be_sent_ends_the_run_with_its_result():
    with ProcessPoolExecutor(1) as pool:
        oracle = gd.from_objective(lambda x: judges.size(x))
        with pytest.raises(OracleError, match=r"the executor raised .*ickl") as caught:
            gd.minimize(oracle, SPHERE, START, budget=60, rng=0, executor=pool)
    assert caught.value.result is not None


def test_a_worker_of_another_pool_may_end():
    """Workers that are replaced after some tasks end as well, with exit code 0."""
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        assert run_each(judges.size, [(judges.GOAL,)] * 3, pool) == [0.0] * 3


def test_a_budget_that_is_spent_in_a_worker_is_spent():
    def spent():
        raise BudgetExhaustedError("no duel is left")

    with ThreadPoolExecutor(1) as pool, pytest.raises(BudgetExhaustedError):
        run_each(spent, [()], pool)


def test_ctrl_c_ends_a_task_and_not_only_the_run_in_it(request):
    def f(x):
        signal.raise_signal(signal.SIGINT)
        return judges.size(x)

    # What a shell starts in the background is deaf to Ctrl-C, and so are the tests there.
    here = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(partial(signal.signal, signal.SIGINT, here))
    before = signal.getsignal(signal.SIGINT)
    run = partial(gd.minimize, gd.from_objective(f), SPHERE, START, budget=10, rng=0)
    assert run().stop_reason == "interrupted"
    with pytest.raises(KeyboardInterrupt), ended_by_interrupts():
        run()
    with deaf_to_interrupts(), ended_by_interrupts():
        assert run().stop_reason == "budget"
    assert signal.getsignal(signal.SIGINT) is before


def test_without_a_pool_the_calls_are_made_here():
    assert run_each(pow, [(2, 3), (3, 2)]) == [8, 9]


@pytest.mark.parametrize("wrong", [4, "threads", lambda f: f])
def test_what_is_no_pool_is_refused(wrong):
    with pytest.raises(ArgumentError, match="executor must have a method map"):
        as_executor(wrong)
    with pytest.raises(ArgumentError, match="executor must have a method map"):
        gd.create_study(SPHERE, rng=0).optimize(judges.compare, 1, executor=wrong)
