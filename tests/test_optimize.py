"""`minimize`: limits, callbacks, history, interruption, failing oracles; nothing found is lost."""

import logging
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import get_args

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, MissingExtraError, NotOnManifoldError, OracleError
from geoduel.methods.named import METHODS, OTHER_NAMES, MethodName, Settings

A = np.diag([1.0, 2.0, 5.0])
SPHERE = gd.Sphere(3)
START = np.array([0.6, 0.8, 0.0])


def rayleigh(x):
    return -0.5 * float(x @ A @ x)


def run(f=rayleigh, oracle=None, manifold=SPHERE, x0=START, **options):
    """By default RDNGD, which asks exactly two duels an iteration: these tests count them."""
    options = {"method": "rdngd", "iterations": 200, "rng": 0} | options
    return gd.minimize(oracle or gd.from_objective(f), manifold, x0, **options)


def test_without_settings_it_finds_the_leading_eigenvector():
    result = run(method="auto", iterations=None, budget=2000)
    assert abs(result.x[2]) > 1 - 1e-12
    assert result.duels <= 2000


def test_the_result_says_how_noisy_the_answers_were_and_how_well_the_optimum_is_known():
    start = np.array([0.48, 0.64, 0.6])
    exact = run(method="auto", iterations=None, budget=60, x0=start)
    assert exact.noise == 0
    assert np.linalg.norm(exact.x[:2]) < 10 * exact.uncertainty < 0.1
    assert run().noise is None
    assert run().uncertainty is None


def test_without_a_start_it_takes_a_random_point():
    assert abs(run(x0=None, iterations=1000).x[2]) > 0.99


def test_callback_stops_and_sees_what_the_run_would_return():
    seen = []

    def callback(p):
        seen.append(p)
        return p.iteration == 7

    result = run(callback=callback)
    assert result.stop_reason == "callback"
    assert result.iterations == 7 == len(seen)
    assert np.array_equal(seen[-1].x, result.x)
    assert [p.duels for p in seen] == [2 * k for k in range(1, 8)]


def test_stop_reasons():
    assert run().stop_reason == "iterations"
    assert run(budget=11).stop_reason == "budget"
    result = run(budget=11)
    assert result.iterations == 5  # the sixth needs two duels, and one was left
    assert result.duels == 11


def test_a_counted_oracle_stops_the_run_without_losing_it():
    result = run(oracle=gd.Counted(gd.from_objective(rayleigh), budget=101))
    assert result.stop_reason == "budget"
    assert result.iterations == 50
    assert result.duels == 101  # the last iteration was cut between its two duels


def test_history_is_thinned_and_ends_with_the_end():
    result = run(iterations=12_345, monitor=rayleigh)
    h = result.history
    assert len(h.iteration) == len(h.duels) == len(h.seconds) == len(h.monitor) < 2100
    assert h.iteration[0] == 0
    assert h.iteration[-1] == 12_345
    assert h.duels == [2 * k for k in h.iteration]
    assert h.monitor[-1] == rayleigh(result.x)
    assert h.seconds == sorted(h.seconds)
    assert h.iteration[h.at(5000)] == 5000  # round numbers are among the records


def test_history_keeps_small_points_and_what_was_stated():
    """Copies, so that what is done to a result changes no record; large points only by monitor=."""
    oracle = gd.Noisy(gd.from_objective(lambda x: -x[0]), flip=0.1, rng=0)
    result = gd.minimize(oracle, gd.Sphere(4), budget=200, rng=0, monitor=np.copy)
    h = result.history
    assert len(h.points) == len(h.uncertainty) == len(h.noise) == len(h.duels)
    np.testing.assert_array_equal(h.points, h.monitor)
    assert (h.uncertainty[-1], h.noise[-1]) == (result.uncertainty, result.noise)
    assert h.points[-1] is not result.x
    for n, kept in ((128, 2), (129, 0)):
        r = gd.minimize(lambda x, y: 1, gd.Sphere(n), method="rdngd", iterations=1, step_size=0.1)
        assert len(r.history.points) == kept


def test_history_without_a_known_end_stays_bounded():
    with pytest.warns(gd.errors.TiesWarning):  # every other duel is of a point with itself
        result = run(lambda x: x[0], iterations=None, budget=10**6, method=Endless())
    assert result.ties < 7001
    assert result.iterations == 7001
    assert len(result.history.iteration) <= 2001
    assert result.history.iteration[-1] == 7001


class Endless(gd.Method):
    """A method whose plan has no end, which stops its run by running out of budget."""

    def plan(self, manifold, x0, *, iterations, budget):
        return self, None

    def start(self, manifold, x0, rng):
        return gd.methods.paper.rdngd.RDNGDState(0, x0, x0)

    def step(self, manifold, state, rng):
        if state.k > 7000:
            raise gd.errors.BudgetExhaustedError
        yield state.point, state.best
        return state._replace(k=state.k + 1, best=state.point * (1 - 2 * (state.k % 2)))


def test_interruption_returns_what_was_found():
    calls = 0

    def impatient(x):
        nonlocal calls
        calls += 1
        if calls > 300:
            raise KeyboardInterrupt
        return rayleigh(x)

    result = run(impatient, iterations=10_000)
    assert result.stop_reason == "interrupted"
    assert 90 < result.iterations < 110  # three values an iteration
    assert rayleigh(result.x) < rayleigh(START)


@pytest.mark.parametrize("wrong", [float("nan"), "a", None])
def test_a_failing_objective_keeps_what_was_found(wrong):
    calls = 0

    def broken(x):
        nonlocal calls
        calls += 1
        return rayleigh(x) if calls <= 100 else wrong

    with pytest.raises(OracleError) as caught:
        run(broken)
    assert caught.value.result.iterations > 30
    assert rayleigh(caught.value.result.x) < rayleigh(START)


def test_whatever_ends_a_run_carries_what_was_found():
    """Errors of callbacks, monitors and of what a method uses are as good as an oracle's."""

    def late(progress):
        if progress.iteration == 40:
            raise np.linalg.LinAlgError("inside")

    with pytest.raises(np.linalg.LinAlgError, match="inside") as caught:
        run(callback=late)
    assert caught.value.result.iterations == 40
    assert caught.value.result.stop_reason == "error"
    assert rayleigh(caught.value.result.x) < rayleigh(START)
    assert "finished 40 iterations, with 80 duels" in caught.value.__notes__[0]

    def broken(x):
        raise ZeroDivisionError("at the first look")

    with pytest.raises(ZeroDivisionError) as caught:
        run(monitor=broken)
    np.testing.assert_allclose(caught.value.result.x, START, rtol=1e-15)
    assert caught.value.result.history.monitor == caught.value.result.history.iteration == []


def test_a_monitor_that_fails_at_the_end_takes_nothing_with_it():
    def late(x):
        if calls:
            raise ZeroDivisionError
        calls.append(x)

    calls: list[np.ndarray] = []
    with pytest.raises(ZeroDivisionError) as caught:
        run(monitor=late, callback=lambda p: p.iteration == 3, iterations=10_000)
    assert caught.value.result.iterations == 3
    assert rayleigh(caught.value.result.x) < rayleigh(START)


@pytest.mark.parametrize(
    ("said", "iterations"),
    [(True, 1), (np.True_, 1), (np.array([True]), 1), ("stop", 1), (np.False_, 200), ("", 200)],
)
def test_what_counts_as_true_stops_a_run(said, iterations):
    assert run(callback=lambda p: said).iterations == iterations


@pytest.mark.parametrize("x0", [START, np.stack([START, START])])
def test_a_callback_that_says_neither_is_named(x0):
    with pytest.raises(ArgumentError, match=r"callback must return something true.*array\(") as no:
        run(callback=lambda p: np.array([1.0, 2.0]), x0=x0)
    assert no.value.result.iterations == 1


@pytest.mark.parametrize("name", ["callback", "monitor"])
def test_the_end_of_an_iterator_is_no_end_of_a_run(name):
    with pytest.raises(ArgumentError, match=f"{name} raised StopIteration") as no:
        run(**{name: lambda seen: next(iter([]))})
    assert isinstance(no.value.__cause__, StopIteration)
    assert no.value.result is not None


@pytest.mark.parametrize(
    ("f", "options", "kind"),
    [
        (lambda x: 0.0, {}, gd.errors.TiesWarning),
        (lambda x: float(x[0]), {"manifold": gd.Euclidean(3), "method": "auto", "budget": 3000,
                                 "iterations": None}, gd.errors.DivergenceWarning),
    ],
)  # fmt: skip
def test_a_warning_made_an_error_has_the_result(f, options, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(kind) as caught:
            run(f, **options)
    found = caught.value.result
    assert found.duels > 0
    assert "`result`" in caught.value.__notes__[0]
    with pytest.warns(kind) as seen:
        same = run(f, **options)
    assert (same.x == found.x).all()
    assert seen[0].filename == __file__


@pytest.mark.parametrize("name", ["callback", "monitor"])
def test_listeners_that_have_to_be_awaited_are_refused(name):
    """What they return counts as true, so that a run ended at once."""

    async def later(_):
        return False

    with pytest.raises(ArgumentError, match=f"{name} must answer at once"):
        run(**{name: later})
    with pytest.raises(ArgumentError, match=f"{name} must answer at once, it returned") as error:
        run(**{name: lambda p: later(p)})
    assert error.value.result.stop_reason == "error"


def test_callbacks_and_monitors_may_write_to_what_they_see():
    def spoil(progress):
        progress.x[:] = progress.point[:] = np.nan

    def spoil_point(x):
        x[:] = np.nan

    spoiled = run(callback=spoil, monitor=spoil_point)
    assert np.array_equal(spoiled.x, run().x)


def test_an_objective_that_raises_is_the_cause():
    def broken(x):
        raise ZeroDivisionError("inside")

    with pytest.raises(OracleError) as caught:
        run(broken)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    np.testing.assert_allclose(caught.value.result.x, START, rtol=1e-15)


@pytest.mark.parametrize("answer", [2, 0.5, float("nan"), None, "a", np.array([1, 1])])
def test_an_answer_outside_the_protocol_is_refused(answer):
    with pytest.raises(OracleError):
        run(oracle=lambda x, y: answer)


def test_executor_gives_the_same_run():
    options = {"method": "rdngd", "batch": 8, "iterations": 50}
    with ThreadPoolExecutor(2) as pool:
        a = run(executor=pool, **options)
    b = run(**options)
    assert np.array_equal(a.x, b.x)


def test_vectorized_objective_gives_the_same_run():
    batched = gd.from_objective(lambda x: -0.5 * np.sum((x @ A) * x, axis=-1), vectorized=True)
    options = {"method": "rdngd", "batch": 8, "iterations": 50}
    np.testing.assert_allclose(run(oracle=batched, **options).x, run(**options).x, atol=1e-9)


def test_inputs_are_not_written_to():
    x0 = START.copy()
    x0.flags.writeable = False
    run(x0=x0)
    assert np.array_equal(x0, START)


@pytest.mark.parametrize("method", ["block", "nelder-mead"])
def test_a_start_may_be_overwritten(method):
    """Functions may keep their argument in the array that a run began with."""
    plane, start = gd.Euclidean(2), np.array([3.0, 4.0])

    def f(x):
        start[:] = x
        return float(((start - [1, -2]) ** 2).sum())

    oracle = gd.from_objective(f, cache=False)
    found = gd.minimize(oracle, plane, start, method=method, budget=200, rng=0)
    again = gd.minimize(oracle, plane, np.array([3.0, 4.0]), method=method, budget=200, rng=0)
    assert np.array_equal(found.x, again.x)


def test_a_log_goes_on_where_a_setting_is_another_function_of_that_name(tmp_path):
    """As in the next process, where it has another address."""
    kept, asked = [], []
    for budget in (20, 40):
        oracle = gd.from_objective(lambda x: asked.append(0) or float(x @ x), cache=False)
        setting = lambda k: 0.5 / (1 + k)  # noqa: E731
        kept.append(setting)
        found = gd.minimize(
            oracle, gd.Euclidean(2), [3.0, 4.0], method="rdngd", step_size=setting, budget=budget,
            log=tmp_path / "run.log", rng=0,
        )  # fmt: skip
    assert found.duels == 40
    assert len(asked) == 2 * 40


def test_what_is_returned_is_the_callers_own():
    start = np.array([3.0, 4.0])
    constant = gd.from_objective(lambda x: 0.0)
    with pytest.warns(gd.errors.TiesWarning):
        found = gd.minimize(constant, gd.Euclidean(2), start, method="rdngd", budget=50, rng=0)
    found.x[:] = -1.0
    assert start.tolist() == found.x_last.tolist() == [3.0, 4.0]


def test_the_start_is_returned_when_nothing_beats_it():
    """At an exact optimum both ends of every duel tie, so that nothing moves and the run ends."""
    with pytest.warns(gd.errors.TiesWarning):
        result = run(x0=np.array([0.0, 0.0, 1.0]))
    assert result.x[2] == 1.0
    assert result.stop_reason == "ties"


def test_a_start_off_the_manifold_by_rounding_is_mended():
    x0 = START * (1 + 1e-10)
    assert abs(np.linalg.norm(run(x0=x0, iterations=1).x) - 1) < 1e-15


def test_settings_may_come_as_an_instance():
    method = gd.RDNGD(step_size=gd.cosine(0.5, 1e-6), batch=2)
    a = run(method=method)
    b = run(method="rdngd", step_size=gd.cosine(0.5, 1e-6), batch=2)
    assert np.array_equal(a.x, b.x)
    assert method.radius is None  # settings are not changed by a run


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"x0": np.ones(3)}, NotOnManifoldError, r"x0 is not on Sphere\(3\)"),
        ({"oracle": 7}, ArgumentError, "oracle must be callable"),
        ({"manifold": 3}, ArgumentError, "manifold must be a Manifold"),
        ({"method": "newton"}, ArgumentError, "method must be one of"),
        ({"rng": -1}, ArgumentError, "rng must be"),
        ({"rng": 1.5}, ArgumentError, "rng must be"),
        ({"budget": 2.5}, ArgumentError, "budget must be"),
        ({"method": gd.RDNGD(), "batch": 3}, ArgumentError, "go with a method given by name"),
        (
            {"domain": gd.Ball(SPHERE, np.array([0.0, 0.0, 1.0]), 0.1)},
            ArgumentError,
            "x0 is not in the domain",
        ),
        (
            {"method": gd.RDFW(domain=gd.Ball(SPHERE, np.array([0.0, 0.0, 1.0]), 0.1))},
            ArgumentError,
            "x0 is not in the domain",
        ),
        (
            {"domain": gd.Box(np.zeros(5), np.ones(5))},
            ArgumentError,
            r"domain Box.* in Euclidean\(5\), .* expected \(3,\) for Sphere\(3\)",
        ),
        (  # of the same shape, but its projections are no nearest points there
            {"domain": gd.Box(np.zeros(3), np.ones(3))},
            ArgumentError,
            r"domain Box.* is a set in Euclidean\(3\), and the manifold is Sphere\(3\)",
        ),
        (
            {"domain": gd.Ball(gd.Hyperbolic(2), np.array([1.0, 0.0, 0.0]), 1.0)},
            ArgumentError,
            r"domain Ball.* is a set in Hyperbolic\(2\), and the manifold is Sphere\(3\)",
        ),
    ],
)
def test_bad_input_is_named(options, error, words):
    with pytest.raises(error, match=words):
        run(**options)


def test_progress_writes_to_standard_error(capsys):
    pytest.importorskip("rich")
    run(progress=True)
    assert capsys.readouterr().out == ""


def test_progress_without_rich_names_what_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rich.console", None)
    with pytest.raises(MissingExtraError, match="rich"):
        run(progress=True)


def test_repr_is_one_line():
    text = repr(run())
    assert "\n" not in text
    assert "duels=400" in text


def test_methods_that_end_by_themselves_need_no_limit():
    result = gd.minimize(gd.from_objective(rayleigh), SPHERE, rng=0)
    assert result.success
    assert abs(result.x[2]) > 1 - 1e-12
    with pytest.raises(ArgumentError, match="give iterations= or budget="):
        run(iterations=None)
    with pytest.raises(ArgumentError, match="a run needs a limit"):
        run(method="one-plus-one", iterations=None)


def test_noise_without_a_limit_ends_by_the_default_budget(monkeypatch):
    monkeypatch.setattr("geoduel.optimize.DUELS_OF_A_DIMENSION", 30)
    oracle = gd.Noisy(gd.from_objective(rayleigh), flip=0.3, rng=0)
    result = gd.minimize(oracle, SPHERE, rng=0)
    assert result.stop_reason == "budget"
    assert 290 < result.duels <= 10 * 30


def test_time_is_a_limit():
    def slow(x):
        time.sleep(0.002)
        return rayleigh(x)

    result = run(slow, method="one-plus-one", iterations=None, timeout=0.1)
    assert result.stop_reason == "timeout"
    assert 0.1 <= result.seconds < 5
    assert 0 < result.duels <= 0.1 / 0.002 + 2
    with pytest.raises(ArgumentError, match="timeout must be > 0"):
        run(timeout=0)


def test_workers_are_threads_that_end_with_the_run():
    names = set()

    def f(x):
        names.add(threading.current_thread().name)
        time.sleep(0.001)
        return rayleigh(x)

    before = threading.active_count()
    result = run(f, method="auto", iterations=None, budget=60, workers=2)
    assert np.array_equal(result.x, run(method="auto", iterations=None, budget=60).x)
    assert len(names - {"MainThread"}) == 2
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workers": 0}, "workers must be an integer >= 1"),
        ({"workers": 2, "executor": ThreadPoolExecutor(1)}, "executor and workers are both given"),
        ({"executor": 4}, "executor must have a method map.*workers="),
        ({"domain": 3}, "domain must be a Domain"),
        ({"domain": [(0, 1)] * 3}, "a box in Euclidean"),
        ({"method": gd.RDNGD}, "method must be an instance such as RDNGD"),
    ],
)
def test_what_is_no_pool_no_domain_no_method_is_named(options, words):
    with pytest.raises(ArgumentError, match=words):
        run(**options)


def test_a_function_of_one_point_is_told_to_be_wrapped():
    with pytest.raises(
        ArgumentError, match="takes one: if it is the function to minimise, wrap it"
    ):
        run(oracle=rayleigh)

    async def judge(a, b):
        return True

    with pytest.raises(ArgumentError, match=r"wrap it, gd\.from_preference"):
        run(oracle=judge)
    assert run(oracle=lambda *pair: 1, iterations=3).duels == 6  # of any number of points


def test_bounds_are_a_box():
    oracle = gd.from_objective(lambda x: float((x - 2) @ (x - 2)))
    result = gd.minimize(
        oracle, gd.Euclidean(2), [0, 0], domain=[(None, 1), (0, 3)], budget=400, rng=0
    )
    assert np.allclose(result.x, [1, 2], atol=1e-6)


def test_starts_may_be_lists_whole_numbers_and_parts():
    def f(x):
        return float(x.sum())

    plain = run(f, x0=np.array([0.0, 1.0, 0.0])).x
    assert np.array_equal(plain, run(f, x0=[0, 1, 0]).x)
    assert np.array_equal(plain, run(f, x0=np.array([0, 1, 0])).x)
    both, start = gd.Product(SPHERE, gd.Euclidean(2)), np.array([0.0, 1.0, 0.0, 3.0, 4.0])
    parts = run(f, manifold=both, x0=([0, 1, 0], (3, 4)), iterations=20)
    assert np.array_equal(parts.x, run(f, manifold=both, x0=start, iterations=20).x)
    with pytest.raises(ArgumentError, match="x0"):
        run(x0="north")


def test_maximising():
    largest = gd.from_objective(lambda x: float(x @ A @ x), maximize=True)
    assert abs(gd.minimize(largest, SPHERE, START, rng=0).x[2]) > 1 - 1e-12
    worst = gd.from_objective(lambda x: -np.inf if x[0] > 0 else float(x[1]), maximize=True)
    assert worst(START, -START) == 1
    for value, words in ((np.inf, "returned inf"), (np.nan, "returned nan")):
        with pytest.raises(OracleError, match=words):
            gd.from_objective(lambda x, v=value: v, maximize=True)(START, -START)
    many = gd.from_objective(lambda x: x[..., 0], vectorized=True, maximize=True)
    assert many(np.eye(3), START).tolist() == [-1.0, 1.0, 1.0]


def test_what_a_callback_sees_has_the_estimates_of_the_moment():
    seen = []
    gd.minimize(gd.from_objective(rayleigh), SPHERE, START, budget=100, rng=0, callback=seen.append)
    assert seen[-1].uncertainty == seen[-1].state.uncertainty
    assert seen[-1].noise == 0
    assert "state" not in repr(seen[-1])


def test_the_names_of_methods_and_settings_are_those_that_editors_know():
    assert set(get_args(MethodName)) == {*METHODS, *OTHER_NAMES}
    taken = {f.name for method in METHODS.values() for f in fields(method) if f.repr}
    assert set(Settings.__annotations__) == taken - {"domain"}


def test_a_run_is_logged(caplog, tmp_path):
    """Start and end at INFO, iterations at DEBUG; without them nothing is computed for the log."""
    with caplog.at_level(logging.INFO, logger="geoduel"):
        result = run(iterations=5, log=tmp_path / "run.log")
        run(iterations=5, log=tmp_path / "run.log")
    assert {(r.name, r.levelname) for r in caplog.records} == {("geoduel", "INFO")}
    kept, start, end, again, _, _ = [record.getMessage() for record in caplog.records]
    assert "0 answers are remembered" in kept
    assert f"{result.duels} answers are remembered" in again
    assert "RDNGD" in start
    assert "Sphere(3)" in start
    assert result.message in end
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="geoduel"):
        run(iterations=5)
    lines = [r.getMessage() for r in caplog.records if r.levelno == logging.DEBUG]
    assert len(lines) == 5
    assert "iteration 1, 2 duels: a new best point" in lines[0]


def test_a_run_that_fails_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="geoduel"), pytest.raises(OracleError):
        run(oracle=lambda x, y: 1 / 0)
    assert "ZeroDivisionError" in caplog.records[-1].getMessage()


def test_the_package_adds_no_handler():
    """So that warnings reach standard error where nobody has said otherwise, and no more does."""
    assert logging.getLogger("geoduel").handlers == []
    assert logging.getLogger("geoduel").level == logging.NOTSET
