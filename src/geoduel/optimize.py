"""`minimize`: the loop between a method and an oracle, and the `Result` it returns."""

from __future__ import annotations

import logging
import math
import os
import re
import time
from collections.abc import Callable, Generator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np

from ._numerics.arrays import Array, copied, device, host, namespace
from ._numerics.batches import as_like
from ._support.check import as_generator, as_path, function, one_of, positive, positive_int
from ._support.endings import carry, listen, wants_to_stop, warn
from ._support.pools import as_executor
from ._support.progress import RECORDS, progress_bar, round_up, thin
from .domains.base import Domain
from .domains.catalogue import Catalogue
from .domains.feasibility import feasible_first, let_in, verdicts
from .domains.given import as_place
from .errors import (
    ArgumentError,
    BudgetExhaustedError,
    DivergenceWarning,
    NotOnManifoldError,
    OracleError,
    OutOfRangeError,
    TiesWarning,
)
from .manifolds.adapters.foreign import refuse_foreign
from .manifolds.adapters.pymanopt import parts_of_problem
from .manifolds.base import Manifold
from .methods import Method, State
from .methods.auto import Auto
from .methods.base import (
    IDLE,
    SOUND,
    TIES_IN_A_ROW,
    DuelMethod,
    are_sound,
    check_state,
    pick,
    questions,
)
from .methods.descent.base import RankedMethod
from .methods.lock_step import LockStep, in_lock_step_if_many
from .methods.mixed import Mixed, mixed_if_needed
from .methods.named import MethodName, Settings, named, start_point
from .methods.people.among import Among, AmongState
from .methods.people.choice import for_items
from .methods.restarts import Restarted
from .methods.sorting import most_duels
from .oracles import from_objective
from .oracles.base import Oracle, OracleBase, answers_of, check_oracle, handed
from .oracles.logged import Logged, fingerprint, seed_in
from .oracles.ranking import Ranking
from .result import SMALL, History, Result

__all__ = ["Callback", "Progress", "minimize"]


TIES_WORTH_A_WARNING = 0.05
TIES_OF_OWN_PROBES = 0.25  # the same for methods that choose how far apart they ask
DUELS_OF_A_DIMENSION = 1000  # of a run that is given no limit
ZERO_IS_A_TIE = (
    "; and an oracle's 0 is a tie, so wrap a judge of 1 and 0: "
    "gd.from_preference(lambda a, b: bool(judge(a, b)))"
)
logger = logging.getLogger("geoduel")


@dataclass(frozen=True, eq=False)
class Progress:
    """What a callback sees after an iteration.

    Attributes
    ----------
    x : array
        The point the run would return now.
    point : array
        The current iterate.
    iteration, duels, ties : int
        Iterations finished; duels asked so far and ties among them.
    seconds : float
        Since the start of the run.
    state : State
        The method's own state.
    noise, uncertainty : float or None
        As in `geoduel.Result`, for this moment.
    """

    x: Array
    point: Array
    iteration: int
    duels: int
    ties: int
    seconds: float
    state: State = field(repr=False)
    noise: float | None = None
    uncertainty: float | None = None


Callback = Callable[[Progress], Any]


def minimize(
    oracle: Oracle | Any,
    manifold: Manifold | Domain | None = None,
    x0: Any = None,
    *,
    method: MethodName | Method = "auto",
    domain: Any = None,
    among: Catalogue | Array | None = None,
    budget: int | None = None,
    iterations: int | None = None,
    rng: np.random.Generator | int | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    monitor: Callable[[Array], Any] | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    log: str | Path | None = None,
    ties: Literal["skip", "paper"] = "skip",
    **options: Unpack[Settings],
) -> Result:
    """Minimise over a manifold what only duels can tell.

    Parameters
    ----------
    oracle : callable
        ``oracle(x, y)`` answers +1 if y is preferred, -1 if x is preferred, 0 for a tie; see
        `geoduel.from_objective` and `geoduel.from_preference`. One of `geoduel.from_ranking` puts
        several points in order. Or a ``pymanopt.Problem``, of which only values of the cost are
        compared; ``manifold`` is then left out.
    manifold : Manifold or Domain
        Where the points live. A domain, such as `geoduel.space` makes, stands for its manifold and
        holds.
    x0 : array_like of shape (..., *point_shape), optional
        Start; a random point if left out, or `Manifold.origin` for methods made for people. For
        products also a tuple of parts, or a dictionary if they have names. Leading axes are
        independent problems, run in lock step. Each does what it would do alone, with a
        generator of ``rng.spawn(n)``, and ends for its own reason; see `Result.each`. A vectorized
        oracle is given pairs of shape (k, ..., *point_shape), and may tell problems by their place.
    method : str or method
        "auto" needs no settings: DuelNewton, or DuelCSA above 2000 dimensions. Others are
        "duel-newton", "duel-csa", "block", "rdngd", "rrdngd", "rdfw", those of other papers, or an
        instance such as ``RDNGD(batch=10)``. Where a space has categories or integers, the method
        walks on the other factors, inside a `geoduel.Mixed`.
    domain : Domain, bounds, function or dictionary, optional
        Feasible set. Pairs (lower, upper) are a `geoduel.Box` in Euclidean space. A function that
        says whether a point is feasible is the test of a `geoduel.Where`. A dictionary gives such
        sets for factors of a product, by their names or numbers. The default, "rdngd" and "rrdngd"
        project on it, "rdfw" asks for its linear minimiser. For the others the domain decides
        first, and only duels of two feasible points are asked.
    among : Catalogue, array of shape (n, *point_shape), or list of dictionaries, optional
        Items that exist: only these are asked about and returned, and ``result.index`` says which.
        "auto" is then `Bisection` in one dimension and `IdealPoint` in more, followed by a
        knock-out: answers that contradict nothing lead to the best item. See
        `geoduel.methods.people.among.Among`.
    budget : int, optional
        Most duels allowed, of each problem. Methods that end by themselves, the default among them,
        may do without one: then it is 1,000 a dimension, and 10,000 at least. With one, the default
        spends what its first run leaves on other minima, unless ``restarts=0``; see `geoduel.Auto`.
    iterations : int, optional
        Most iterations allowed.
    rng : int or numpy.random.Generator, optional
        Seed or generator. The same seed gives the same run.
    callback : callable, optional
        ``callback(progress)`` after each iteration; True, or what counts as true, stops the run.
    progress : bool
        Show a progress bar on standard error.
    monitor : callable, optional
        ``monitor(x)`` of the best point, evaluated outside the method and only recorded.
    executor : concurrent.futures.Executor, optional
        Runs the duels of a batch at once, for oracles that take one pair at a time.
    workers : int, optional
        The same with so many threads, -1 for one a processor; for oracles that wait for something.
        Python code that computes runs at once in processes alone: give an ``executor``.
    timeout : float, optional
        Most seconds; a duel that has been asked is waited for.
    log : str or Path, optional
        File that keeps every answer. A run that was killed, and is started once more with the same
        arguments and the same file, goes on where it was. See `geoduel.Logged`.
    ties : {"skip", "paper"}
        A tie moves nothing ("skip"), or counts as -1 as in the paper, for reproductions.
    **options
        Settings of the method, when it is given by name, such as ``x_tol``, the accuracy at which
        to stop.

    Returns
    -------
    Result
        Also after Ctrl-C, with what was found so far.

    Raises
    ------
    ArgumentError
        For a wrong argument; the message names it.
    NotOnManifoldError
        If ``x0`` is not on the manifold.
    OracleError
        If the oracle fails. This and any other error that ends a run, such as one of the callback,
        holds in its attribute ``result`` what was found so far.

    Warns
    -----
    DivergenceWarning
        If nothing stopped the descent; see `Result.stop_reason`.
    TiesWarning
        If more than 5 % of the duels were ties (25 % where the method chooses its own probes),
        unless the method stopped because of them.
        Where warnings are made errors, both have an attribute ``result``, too.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> A = np.diag([1.0, 2.0, 3.0])
    >>> oracle = gd.from_objective(lambda x: -0.5 * x @ A @ x)  # only duels leave it
    >>> result = gd.minimize(oracle, gd.Sphere(3), budget=2000, rng=0)
    >>> abs(result.x).round(3)
    array([0., 0., 1.])
    """
    if log is not None:
        log = as_path(log, "log")
    seed = rng if log is None else _seed(log, rng)
    rng = as_generator(seed)
    for name, limit in {"budget": budget, "iterations": iterations}.items():
        if limit is not None:
            positive_int(limit, name)
    one_of(ties, "ties", ("skip", "paper"))
    if timeout is not None:
        positive(timeout, "timeout")
    if callback is not None:
        function(callback, "callback", "the progress")
    if monitor is not None:
        function(monitor, "monitor", "a point")
    if manifold is None:
        cost, manifold = parts_of_problem(oracle)
        oracle = from_objective(cost)
    refuse_foreign(manifold)
    check_oracle(oracle)
    theirs = not isinstance(oracle, OracleBase)
    items = None if among is None else Catalogue.of(manifold, among)
    manifold = manifold if items is None else items.manifold  # they are within its bounds
    own = getattr(method, "domain", None)  # of an instance, which need not be told it again
    manifold, feasible = as_place(manifold, own if domain is None else domain, x0)
    feasible = None if feasible is own else feasible
    if items is None:
        chosen = mixed_if_needed(named(method, feasible, dict(options)), manifold)
    else:
        chosen, x0 = _among(items, method, feasible, options, x0)
    chosen, x0 = start_point(chosen, manifold, x0, rng)
    if isinstance(oracle, Ranking) and isinstance(method, str) and "ranking" not in options:
        alone = log is None and tuple(x0.shape) == tuple(manifold.point_shape)
        chosen = _by_rankings(chosen, oracle) if alone else chosen
    chosen = in_lock_step_if_many(chosen, manifold, x0)
    if isinstance(chosen, Auto | Mixed) and budget is not None:
        chosen = chosen.spending()
    chosen, iterations = chosen.plan(manifold, x0, iterations=iterations, budget=budget)
    alone = chosen.method if isinstance(chosen, LockStep) else chosen
    alone = alone.method if isinstance(alone, Mixed) else alone
    if iterations is None and budget is None and timeout is None:
        if not isinstance(alone, DuelMethod | Among):
            raise ArgumentError("give iterations=, budget= or timeout=: a run needs a limit")
        budget = DUELS_OF_A_DIMENSION * max(10, manifold.dim)
    if isinstance(chosen, LockStep):
        chosen = replace(chosen, budget=budget)

    with ExitStack() as stack:
        unpack = manifold.unpack if manifold.names else None
        oracle = stack.enter_context(handed(oracle, unpack))
        if log is not None:
            about = {
                "manifold": repr(manifold),
                "method": _as_logged(chosen),
                "version": chosen.version,
                "rng": seed,
                "x0": fingerprint(x0),
                "ties": ties,
            }
            oracle = stack.enter_context(Logged(oracle, log, about))
            logger.info("log %s: %d answers are remembered", log, oracle.remembered)
        pool = stack.enter_context(_pool(executor, workers))
        run = _Run(
            oracle, manifold, chosen, rng, x0, iterations, budget, timeout, pool, monitor,
            callback, ties,
        )  # fmt: skip
        run.show = stack.enter_context(progress_bar(progress, iterations, budget))
        logger.info("minimize: %r on %r, %s duels at most", chosen, manifold, budget or "any")
        run.loop()
        result = run.result()
    logger.info("minimize: %s %r", result.message, result)
    each = result.each
    if result.stop_reason == "diverges" or (each and "diverges" in each.stop_reason):
        warn(
            DivergenceWarning,
            "nothing stopped the descent: it came to the end of the manifold, or of what numbers "
            "of its dtype hold; the objective seems to have no minimum there, and x is the best "
            "point before",
            result,
        )
    asked, tied = result.duels * run.problems, result.ties
    if each is not None:  # those that have converged had ties
        others = each.stop_reason != "resolution"
        asked, tied = int(each.duels[others].sum()), int(each.ties[others].sum())
    chooses = isinstance(alone, DuelMethod)
    share = TIES_OF_OWN_PROBES if chooses else TIES_WORTH_A_WARNING
    expected = result.stop_reason == "resolution" or result.index is not None  # items may be alike
    if tied > share * asked and not expected:
        setting = "min_radius" if chooses else "radius"
        warn(
            TiesWarning,
            f"{tied} of {asked} duels were ties, which tell nothing: the points may be "
            f"closer than the objective resolves (try a larger {setting}=), or the run has "
            f"converged{ZERO_IS_A_TIE if theirs else ''}",
            result,
        )
    return result


def _as_logged(method: Method) -> str:
    """A method with its settings; what 0.3.0 lacked is named if given, so that its logs go on.

    Restarts that the budget decides about ask nothing before the first end, as if there were none.
    """
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(method))  # of functions, new in each process
    text = text.replace(", ranking=None", "").replace(", smoothing=0.0", "")
    return re.sub(r"\brestarts=(None|inf)", "restarts=0", text)


def _by_rankings(method: Method, oracle: Ranking) -> Method:
    """The method with rankings of as many points as the oracle takes, where it has a use for them.

    In a domain, with a log, and with several problems it asks pairs.
    """
    if not isinstance(method, RankedMethod) or method.domain is not None or oracle.most < 3:
        return method
    return replace(method, ranking=oracle.most)


def _among(
    items: Catalogue,
    method: str | Method,
    domain: Domain | None,
    options: Any,
    x0: Array | None,
) -> tuple[Method, Array | None]:
    """The method that looks among the items of a catalogue, and its start."""
    if method == "auto":
        method = "bisection" if items.manifold.dim == 1 else "ideal-point"
    inner, x0 = for_items(items.manifold, items, named(method, domain, dict(options)), x0)
    return Among(inner, items), x0


def _seed(log: str | Path, rng: Any) -> int:
    """The seed of a run with a log: as given, as in the log, or a new one."""
    if rng is None:
        kept = seed_in(log)
        return int(np.random.default_rng().integers(2**32)) if kept is None else kept
    if isinstance(rng, np.random.Generator):
        raise ArgumentError("rng must be an int or None with log=: a generator cannot be restored")
    as_generator(rng)
    return int(rng)


def _pool(executor: Executor | None, workers: int | None) -> AbstractContextManager[Any]:
    """The executor, or threads that end with the run."""
    if workers is None:
        return nullcontext(as_executor(executor))
    if executor is not None:
        raise ArgumentError("executor and workers are both given: expected one of them")
    count = (os.cpu_count() or 1) if workers == -1 else positive_int(workers, "workers")
    return ThreadPoolExecutor(count)


class _TimeIsOver(Exception):
    """The run has taken as long as it may."""


class _NothingToAsk(Exception):
    """No duel was left to ask, `IDLE` times in a row."""


@dataclass(eq=False)
class _Run:
    """One run: the loop, its clock, its counts and its records."""

    oracle: Oracle
    manifold: Manifold
    method: Method
    rng: np.random.Generator
    x0: Array
    iterations: int | None
    budget: int | None
    timeout: float | None
    executor: Executor | None
    monitor: Callable[[Array], Any] | None
    callback: Callback | None
    tie_rule: str
    show: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        self.axes = len(self.manifold.point_shape)
        self.answer = answers_of(self.oracle)
        self.problems = math.prod(self.x0.shape[: self.x0.ndim - self.axes])
        self.most_iterations = math.inf if self.iterations is None else self.iterations
        self.most_duels = math.inf if self.budget is None else self.budget
        self.iteration = self.duels = self.ties = self.ties_in_a_row = self.rounds = self.idle = 0
        self.parallel = self.method.parallel
        self.history = History()
        self.keeps_points = math.prod(self.x0.shape) <= SMALL
        self.stride = 1 if self.iterations is None else round_up(self.iterations / RECORDS)
        self.stop_reason = "iterations"
        self.on_tie = -1 if self.tie_rule == "paper" else 0  # Q is -1 unless f(x) > f(y)
        self.most_ties = math.inf if self.on_tie else TIES_IN_A_ROW
        self.watched = logger.isEnabledFor(logging.DEBUG)
        self.told = False  # whether a callback or monitor is at work
        self.began = time.perf_counter()
        self.deadline = None if self.timeout is None else self.began + self.timeout
        state = self.method.start(self.manifold, self.x0, self.rng)
        self.state: Any = check_state(self.method, state, "start")
        self.sound_state = self.state

    def loop(self) -> None:
        """Put the method's questions to the oracle until one side has no more to say."""
        questions = self.questions()
        ask: Callable[..., Any] = self.ask
        if isinstance(self.method, LockStep):
            ask = self.ask_many
        elif self.method.domain is not None and self.method.feasible_first:
            ask = self.decide
        pair = (self.x0, self.x0)
        try:
            pair = next(questions)
            while True:
                pair = questions.send(ask(*pair))
        except StopIteration:
            pass
        except _NothingToAsk:
            self.stop_reason = "idle"
        except BudgetExhaustedError:
            self.stop_reason = "budget"
        except _TimeIsOver:
            self.stop_reason = "timeout"
        except KeyboardInterrupt:
            self.stop_reason = "interrupted"
        except BaseException as error:  # whatever it is, what was found is not lost with it
            lost = isinstance(error, OutOfRangeError | NotOnManifoldError) and not self.told
            lost = lost or not are_sound(self.manifold, *pair[:2], self.state.point)
            if isinstance(error, Exception) and lost and not isinstance(self.method, LockStep):
                self.stop_reason = "diverges"  # what failed there is not to blame
                self.state = self.sound_state
                return
            self.stop_reason = "oracle error" if isinstance(error, OracleError) else "error"
            logger.info("minimize: ended by an error: %s", error)
            with suppress(Exception):  # a monitor that fails again
                self.record()
            if isinstance(error, OracleError) and (note := self.what_points_are(error)):
                error.add_note(note)
            carry(error, self.found(), self.iteration, f"{self.duels} duels")
            raise
        if isinstance(self.method, LockStep):
            self.state = self.method.settled(self.manifold, self.state, self.stop_reason)
            if self.stop_reason == "iterations":
                self.stop_reason = self.method.stop_reason(self.state) or "iterations"
        elif not are_sound(self.manifold, self.state.point, self.state.best):
            self.stop_reason = "diverges"
            self.state = self.sound_state
        else:
            self.stop_reason = self.method.ended(self.state, self.stop_reason)

    def what_points_are(self, error: OracleError) -> str | None:
        """A note on what functions are handed, where one seems to have expected another thing."""
        if not isinstance(error.__cause__, AttributeError | KeyError | IndexError | TypeError):
            return None
        if self.manifold.names:
            return f"its points are dictionaries with {', '.join(map(repr, self.manifold.names))}"
        if "ndarray" in str(error):
            return "its points are NumPy arrays; they are tensors of torch where x0 is one"
        return None

    def questions(self) -> Generator[tuple[Array, Array], Any, None]:
        """All pairs of the run; `state` is always that of the last finished iteration."""
        self.record()
        method, manifold, rng = self.method, self.manifold, self.rng
        # The first step is checked; all would cost a tenth.
        step = checked = partial(questions, method, rank=self.rank if self.ranks else None)
        while self.iteration < self.most_iterations:
            best = self.state.best
            self.state = yield from step(manifold, self.state, rng)
            step = checked if method.ranking else method.step
            self.iteration += 1
            if self.watched:
                self.log_iteration(best)
            self.count_idle()
            if self.iteration % SOUND == 0:
                if not are_sound(self.manifold, self.state.point, self.state.best):
                    return  # `loop` says so
                self.sound_state = self.state
            if self.iteration % self.stride == 0:
                self.record()
            if self.callback is not None and wants_to_stop(
                self.tell(self.callback, self.progress(), "callback")
            ):
                self.stop_reason = "callback"
                return
            if reason := method.stop_reason(self.state):
                self.stop_reason = reason
                return
            if self.ties_in_a_row >= self.most_ties:
                self.stop_reason = "ties"
                return

    def log_iteration(self, before: Array) -> None:
        """Say how far the run is, and whether the best point is another than before."""
        moved = not np.array_equal(host(self.state.best), host(before))
        logger.debug(
            "minimize: iteration %d, %d duels: %s, known to %s",
            self.iteration,
            self.duels,
            "a new best point" if moved else "the best point as before",
            self.method.uncertainty(self.state),
        )

    def tell(self, listener: Callable[[Any], Any], what: Any, name: str) -> Any:
        """Call a callback or monitor, whose errors are its own."""
        self.told = True
        said = listen(listener, what, name)
        self.told = False
        return said

    def count_idle(self) -> None:
        """Count what came without a duel to ask, and end the run after many of them in a row."""
        self.idle += 1
        if self.idle > IDLE:
            raise _NothingToAsk

    def decide(self, x: Array, y: Array) -> Any:
        """Let the domain decide where it can, and put the rest to the oracle."""
        self.count_idle()
        assert self.method.domain is not None  # else `loop` asks at once
        return feasible_first(self.method.domain, x, y, self.axes, self.ask)

    def ask(self, x: Array, y: Array) -> Any:
        """Put the pairs to the oracle, within the budget, and count."""
        self.idle = 0
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            raise _TimeIsOver
        if x.ndim == self.axes:  # one pair
            if self.duels >= self.most_duels:
                raise BudgetExhaustedError
            answer = self.answer(x, y, self.axes)
            self.duels += 1
            self.rounds += 1
            if answer:
                self.ties_in_a_row = 0
                return answer
            self.ties += 1
            self.ties_in_a_row += 1
            return self.on_tie
        batch = math.prod(x.shape[: x.ndim - self.x0.ndim])  # of duels a problem
        if self.duels + batch > self.most_duels:
            raise BudgetExhaustedError
        answer = self.rounds_of(x, y)
        self.duels += batch
        xp, tied = namespace(answer), answer == 0
        ties = int(xp.count_nonzero(tied))
        self.ties += ties
        all_tied = ties == batch * self.problems
        self.ties_in_a_row = self.ties_in_a_row + batch if all_tied else 0
        return answer + self.on_tie * xp.astype(tied, answer.dtype) if ties else answer

    @property
    def ranks(self) -> bool:
        """Whether the oracle puts as many points in order as the method likes."""
        return isinstance(self.oracle, Ranking) and self.oracle.most >= (self.method.ranking or 0)

    def rank(self, points: Array) -> np.ndarray:
        """Put rankings to an oracle that ranks, each counted as the duels that a sort may take."""
        self.idle = 0
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            raise _TimeIsOver
        r, k = points.shape[:2]
        duels = r * most_duels(k)
        if self.duels + duels > self.most_duels:
            raise BudgetExhaustedError
        most = self.parallel or r
        parts = [points[i : i + most, ...] for i in range(0, r, most)]
        places = np.concatenate([self.oracle.places(part, self.executor) for part in parts])  # type: ignore[attr-defined]
        self.duels += duels
        self.rounds += len(parts)
        ties = sum(k - len(np.unique(row)) for row in places)
        self.ties += ties
        self.ties_in_a_row = self.ties_in_a_row + ties if ties == r * (k - 1) else 0
        return places

    def ask_many(self, x: Array, y: Array, asked: np.ndarray) -> Any:
        """Put the pairs of many runs to the oracle; ``asked`` tells which are not just to fill."""
        self.idle = 0
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            raise _TimeIsOver
        tally, domain, answer = self.state.tally, self.method.domain, np.zeros(asked.shape)
        known = ~asked
        if domain is not None and self.method.feasible_first:
            decided, open_ = verdicts(domain, x, y)
            answer, known = np.where(asked, decided, 0.0), known | ~open_
            if not open_.all():  # what is infeasible is not shown
                hidden = namespace(x).asarray(~open_, device=device(x))
                x, y = (pick(hidden, self.state.best, a, self.manifold) for a in (x, y))
        most = self.parallel or len(x)
        for i in range(0, len(x), most):
            pairs, new = (x[i : i + most, ...], y[i : i + most, ...]), ~known[i : i + most]
            if not new.any():
                continue
            if getattr(self.oracle, "vectorized", False):  # it may tell problems by their place
                told = host(self.answer(*pairs, self.axes, self.executor))[new]
            else:
                told = host(self.answer(*(a[new, ...] for a in pairs), self.axes, self.executor))
            answer[i : i + most][new] = told
            self.rounds += 1
        tied = ~known & (answer == 0)
        tally.count(~known, tied)
        self.duels, self.ties = tally.duels.max(initial=0).item(), tally.ties.sum().item()
        return as_like(answer + self.on_tie * tied, x)

    def rounds_of(self, x: Array, y: Array) -> Any:
        """Ask a batch, ``parallel`` pairs at once."""
        count = len(x) or 1  # a stack without problems is asked as well
        most = self.parallel or count
        parts = [(x[i : i + most], y[i : i + most]) for i in range(0, count, most)]
        each = [self.answer(*pairs, self.axes, self.executor) for pairs in parts]
        self.rounds += len(each)
        return each[0] if len(each) == 1 else namespace(each[0]).concat(each)

    def record(self) -> None:
        """Append to the history, and thin it by half when it has grown long."""
        h = self.history
        if h.iteration and h.iteration[-1] == self.iteration:
            return
        if self.monitor is not None:  # first: where it fails, the lists stay of one length
            best = self.manifold.unpack(copied(self.state.best))
            h.monitor.append(self.tell(self.monitor, best, "monitor"))
        uncertainty, noise = self.method.uncertainty(self.state), self.method.noise(self.state)
        if self.keeps_points:
            h.points.append(copied(self.state.best))
        h.uncertainty.append(uncertainty)
        h.noise.append(noise)
        h.iteration.append(self.iteration)
        h.duels.append(self.duels)
        h.seconds.append(time.perf_counter() - self.began)
        self.stride = thin(h, self.stride)
        if self.show is not None:
            self.show(self.iteration, self.duels)

    def progress(self) -> Progress:
        seconds = time.perf_counter() - self.began
        return Progress(
            self.manifold.unpack(copied(self.state.best)),
            self.manifold.unpack(copied(self.state.point)),
            self.iteration,
            self.duels,
            self.ties,
            seconds,
            self.state,
            self.method.noise(self.state),
            self.method.uncertainty(self.state),
        )

    def result(self) -> Result:
        try:
            self.record()
        except BaseException as error:  # of the monitor
            carry(error, self.found(), self.iteration, f"{self.duels} duels")
            raise
        return self.found()

    def inside(self, x: Array) -> Array:
        """Points of the result, which lie in the domain."""
        if self.method.domain is None or self.method.projects:
            return x
        with suppress(Exception):  # of a test; what was found is not lost with it
            return let_in(self.method.domain, x, self.axes)
        return x

    def found(self) -> Result:
        """What the method would return now."""
        each = None
        if isinstance(self.method, LockStep):
            each = self.method.each(self.state)
        best, last = (self.inside(x) for x in (self.state.best, self.state.point))
        return Result(
            self.manifold.unpack(copied(best)),
            self.manifold.unpack(copied(last)),
            self.iteration,
            self.duels,
            self.ties,
            self.rounds,
            self.stop_reason,
            time.perf_counter() - self.began,
            self.history,
            self.method.noise(self.state),
            self.method.uncertainty(self.state),
            index=self.state.item if isinstance(self.state, AmongState) else None,
            each=each,
            runs=1 + self.state.run if isinstance(self.state, Restarted) else 1,
        )
