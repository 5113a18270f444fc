"""Duels: the protocol, where they come from, and wrappers that count, disturb, repeat or record.

An oracle is a callable that compares two points,

    oracle(x, y) -> +1 if y is preferred (f(x) > f(y)), -1 if x is preferred, 0 for a tie.

It may have an attribute ``vectorized``. Without it, or where it is false, the oracle is given one
pair of points and answers one number; where it is true, x and y may have leading axes and the
answer is an array with one entry a pair.

Anything else an oracle can do is a wrapper around another oracle, and wrappers nest:
``Counted(Noisy(from_objective(f), flip=0.1, rng=0), budget=1000)``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ._arrays import Array, device, eps, host, namespace
from ._check import as_generator, nonnegative, one_of, positive, positive_int, real
from .errors import ArgumentError, BudgetExhaustedError, OracleError

if TYPE_CHECKING:
    from .domains import Domain

__all__ = [
    "Counted",
    "Noisy",
    "Oracle",
    "Record",
    "Recorded",
    "Repeated",
    "Reversed",
    "answers",
    "answers_of",
    "feasible_first",
    "from_objective",
    "from_preference",
]


class Oracle(Protocol):
    """What a method is given: answers to duels, and nothing else.

    ``oracle(x, y)`` returns +1 if y is preferred, -1 if x is preferred, 0 for a tie. An attribute
    ``vectorized = True`` says that x and y may have leading axes, one pair for each index.
    """

    def __call__(self, x: Array, y: Array, /) -> Any: ...


def answers(
    oracle: Oracle,
    x: Array,
    y: Array,
    point_ndim: int | None = None,
    executor: Executor | None = None,
) -> Any:
    """Ask an oracle, whatever its kind, and check what comes back.

    Parameters
    ----------
    oracle : callable
        See `Oracle`. One that is not vectorized is asked pair by pair.
    x, y : array of shape (..., *point_shape)
        The pairs; leading axes broadcast.
    point_ndim : int, optional
        Number of axes of a point. Left out, an oracle that is not vectorized is given x and y as
        one pair, and the leading axes of a vectorized one are those of its answer.
    executor : concurrent.futures.Executor, optional
        Asks the pairs of a batch at once, where the oracle takes one pair at a time.

    Returns
    -------
    int or array of shape (...)
        -1, 0 or +1: an int for one pair, otherwise an array of the dtype and on the device of x.

    Raises
    ------
    OracleError
        If the oracle raises, or answers something else; the message says what.
    BudgetExhaustedError
        If a `Counted` oracle has no duels left.

    Examples
    --------
    >>> import numpy as np
    >>> larger = from_objective(lambda x: -x[0])  # one point at a time
    >>> answers(larger, np.array([[1.0], [5.0]]), np.array([2.0]), point_ndim=1)
    array([ 1., -1.])
    """
    return answers_of(oracle)(x, y, point_ndim, executor)


def answers_of(oracle: Oracle) -> Callable[..., Any]:
    """`answers` of one oracle, for whoever asks it often."""
    return oracle.answers if isinstance(oracle, _Oracle) else partial(_checked_answers, oracle)


def _checked_answers(
    oracle: Oracle,
    x: Array,
    y: Array,
    point_ndim: int | None = None,
    executor: Executor | None = None,
) -> Any:
    """Ask a user's oracle."""
    try:
        if getattr(oracle, "vectorized", False) or point_ndim is None:
            answer = oracle(x, y)
        elif x.ndim == y.ndim == point_ndim:
            return _checked(oracle(x, y))
        else:
            lead, xs, ys = _pairs(x, y, point_ndim)
            each = (map if executor is None else executor.map)(oracle, xs, ys)
            return _like(x, np.reshape([_checked(a) for a in each], lead))
    except (OracleError, BudgetExhaustedError):
        raise
    except Exception as error:
        raise OracleError(f"the oracle raised {type(error).__name__}: {error}") from error
    lead = tuple(np.shape(answer)) if point_ndim is None else _lead(x, y, point_ndim)
    return _checked_batch(answer, lead, x) if lead else _checked(answer)


def feasible_first(
    domain: Domain, x: Array, y: Array, point_ndim: int, ask: Callable[[Array, Array], Any]
) -> Any:
    """Answer duels on a feasible set: the set decides first, and asks only about feasible pairs.

    A feasible point beats an infeasible one, a smaller violation beats a larger one, and two
    feasible points are compared by the oracle: the order of Deb's rules. Feasible is what the
    domain contains within its tolerance.

    Parameters
    ----------
    domain : Domain
        The set; see `geoduel.Domain.violation`.
    x, y : array of shape (..., *point_shape)
        The pairs.
    point_ndim : int
        Number of axes of a point.
    ask : callable
        ``ask(x, y)`` answers pairs with at most one leading axis; it is given the feasible ones.

    Returns
    -------
    int or array of shape (...)
        As from `answers`.

    References
    ----------
    Deb, An efficient constraint handling method for genetic algorithms, Computer Methods in Applied
    Mechanics and Engineering 186 (2000).
    """
    over_x, over_y = (host(domain.violation(a)) for a in (x, y))
    tolerance = math.sqrt(eps(x))
    over_x, over_y = (np.where(v <= tolerance, 0.0, v) for v in (over_x, over_y))
    decided = np.sign(over_x - over_y)
    open_ = (over_x == 0) & (over_y == 0)
    if not decided.ndim:
        return ask(x, y) if open_ else int(decided)
    if open_.all():
        return ask(x, y)
    if open_.any():
        _, xs, ys = _pairs(x, y, point_ndim)
        index = namespace(x).asarray(np.flatnonzero(open_), device=device(x))
        decided[open_] = host(ask(*(namespace(x).take(a, index, axis=0) for a in (xs, ys))))
    return _like(x, decided)


# -- where duels come from -------------------------------------------------------------------------


def from_objective(
    f: Callable[[Array], Any], vectorized: bool = False, cache: bool = True
) -> _Objective:
    """Oracle that compares the values of a function; nothing but the comparison leaves it.

    Equal values are a tie, so a duel of a point with itself is one.

    Parameters
    ----------
    f : callable
        Maps a point to a number (a float, or an array without axes): smaller is better. ``+inf``
        is allowed and loses to every number, which suits points that are infeasible; NaN and
        ``-inf`` are errors.
    vectorized : bool
        f takes leading axes, ``(..., *point_shape)``, and returns an array of shape ``(...)``.
    cache : bool
        Remember the values at the points (or arrays of points) of the last two duels, so that an
        incumbent that is asked again is not evaluated again: three evaluations an iteration of
        RDNGD in place of four. Points are recognised by their content, so arrays may be reused and
        overwritten; a single torch tensor by its identity and version counter. Turn it off for a
        function that returns another value each time.

    Returns
    -------
    Oracle

    Raises
    ------
    OracleError
        On a duel, if f raises, or returns NaN, ``-inf`` or something of the wrong kind or shape.

    Examples
    --------
    >>> import numpy as np
    >>> oracle = from_objective(lambda x: float(x @ x))
    >>> oracle(np.array([3.0, 4.0]), np.array([1.0, 0.0]))  # y is preferred
    1
    >>> oracle = from_objective(lambda x: np.vecdot(x, x), vectorized=True)
    >>> oracle(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, 0.0]))
    array([ 1., -1.])
    """
    if not callable(f):
        raise ArgumentError(f"f must be a function of a point, got {f!r:.80}")
    return _Objective(f, vectorized, cache)


def from_preference(prefers: Callable[[Array, Array], Any]) -> _Preference:
    """Oracle from a function, or a person behind it, that says which of two points is better.

    Parameters
    ----------
    prefers : callable
        ``prefers(a, b)`` returns "a", "b" or "tie", or a bool: True if a is preferred.

    Returns
    -------
    Oracle
        It takes one pair at a time.

    Raises
    ------
    OracleError
        On a duel, if the function raises or returns something else.

    Examples
    --------
    >>> import numpy as np
    >>> oracle = from_preference(lambda a, b: "tie" if a[0] == b[0] else "ab"[int(b[0] > a[0])])
    >>> oracle(np.array([1.0]), np.array([2.0])), oracle(np.array([1.0]), np.array([1.0]))
    (1, 0)
    """
    if not callable(prefers):
        raise ArgumentError(f"prefers must be a function of two points, got {prefers!r:.80}")
    return _Preference(prefers)


class _Oracle:
    """Base of the oracles of this file, whose answers need no check."""

    vectorized: bool = False
    point_ndim: int | None = None
    """Number of axes of a point, once that is known."""

    def __call__(self, x: Array, y: Array) -> Any:
        return self.answers(x, y)

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        """Answer one pair or many; the arguments are those of `geoduel.oracle.answers`."""
        raise NotImplementedError


_LOWEST = -math.inf


class _Objective(_Oracle):
    """See `from_objective`."""

    def __init__(self, f: Callable[[Array], Any], vectorized: bool, cache: bool) -> None:
        self._f, self.vectorized, self._cache = f, vectorized, cache
        # Shape of the points of the last two duels, and the key and the value of each, newest
        # first. Replaced as a whole and never changed, so that threads may share it.
        self._known: tuple[Any, ...] = (None,) * 9
        self._arrays: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # What is remembered stays behind: it would travel to every worker with every pair.
        return _Objective, (self._f, self.vectorized, self._cache)

    def __repr__(self) -> str:
        return f"from_objective({self._f!r})"

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        if x.ndim == point_ndim == y.ndim or self._is_single(x, y, point_ndim):
            fx, fy = self._both(x, y)
            return (fx > fy) - (fx < fy)
        fx, fy = self._values(x, y, point_ndim, executor)
        xp = namespace(fx)
        # Not the sign of a difference: infinite values may meet.
        sign = xp.astype(fx > fy, fx.dtype) - xp.astype(fx < fy, fx.dtype)
        return _like(x, sign) if sign.ndim else int(sign)

    def difference(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        """f(x) - f(y), for models of noise that depend on it; 0 for equal infinite values."""
        if self._is_single(x, y, point_ndim):
            fx, fy = self._both(x, y)
            return 0.0 if fx == fy else fx - fy
        fx, fy = self._values(x, y, point_ndim, executor)
        xp = namespace(fx)
        zero = xp.zeros_like(fx)
        difference = xp.where(fx == fy, zero, fx - xp.where(fx == fy, zero, fy))
        return difference if difference.ndim else float(difference)

    def _is_single(self, x: Array, y: Array, point_ndim: int | None) -> bool:
        if point_ndim is None:
            if not self.vectorized:
                return True
            point_ndim = self.point_ndim
        return x.ndim == point_ndim == y.ndim

    # -- one point ---------------------------------------------------------------------------------

    def _both(self, x: Array, y: Array) -> tuple[float, float]:
        """Values at two points, remembered or new."""
        if self._cache and type(x) is np.ndarray is type(y):
            kx, ky, shape = x.tobytes(), y.tobytes(), x.shape
        else:
            kx, ky, shape = _key(x), _key(y), tuple(x.shape)
            if not self._cache or kx is None or ky is None:
                return self._evaluate_one(x), self._evaluate_one(y)
        held, k1, f1, k2, f2, k3, f3, k4, f4 = self._known
        if held != shape:  # the same bytes in another shape are another point
            k1 = k2 = k3 = k4 = None
        # Written out: around a cheap function this is what a run spends its time on.
        try:
            if kx == k1:
                fx = f1
            elif kx == k2:
                fx = f2
            elif kx == k3:
                fx = f3
            else:
                fx = f4 if kx == k4 else self._f(x)
            if ky == kx:
                fy = fx
            elif ky == k1:
                fy = f1
            elif ky == k2:
                fy = f2
            elif ky == k3:
                fy = f3
            else:
                fy = f4 if ky == k4 else self._f(y)
        except (OracleError, BudgetExhaustedError):  # of an oracle inside it
            raise
        except Exception as error:
            raise _objective_failed(error) from error
        if not (type(fx) is float is type(fy) and fx > _LOWEST and fy > _LOWEST):
            fx, fy = _value(fx, x), _value(fy, y)
        self._known = shape, kx, fx, ky, fy, k1, f1, k2, f2
        return fx, fy

    def _evaluate_one(self, x: Array) -> float:
        try:
            value = self._f(x)
        except (OracleError, BudgetExhaustedError):  # of an oracle inside it
            raise
        except Exception as error:
            raise _objective_failed(error) from error
        return _value(value, x)

    # -- leading axes ------------------------------------------------------------------------------

    def _values(
        self, x: Array, y: Array, point_ndim: int | None, executor: Executor | None
    ) -> tuple[Array, Array]:
        """Values at all points; of a function of single points as float64 NumPy arrays."""
        if point_ndim is not None:
            self.point_ndim = point_ndim
        fy = self._recall(y)  # an incumbent is asked second
        wanted = [x, y] if fy is None else [x]
        if self.vectorized:
            values = [self._evaluate(points) for points in wanted]
            if fy is not None:
                values.append(namespace(y).asarray(fy, device=device(y)))
        else:
            values = self._evaluate_each(wanted, executor)
            if fy is not None:
                values.append(fy)
        self._remember(x, values[0])
        self._remember(y, values[1])
        return values[0], values[1]

    def _evaluate_each(self, arrays: list[Array], executor: Executor | None) -> list[np.ndarray]:
        """Values of a function of single points, all asked at once."""
        p = self.point_ndim or 0
        leads = [tuple(a.shape[: a.ndim - p]) for a in arrays]
        rows = [a[i] for a, lead in zip(arrays, leads, strict=True) for i in np.ndindex(*lead)]
        values = np.array(
            list((map if executor is None else executor.map)(self._evaluate_one, rows))
        )
        ends = np.cumsum([math.prod(lead) for lead in leads])
        parts = np.split(values.astype(np.float64), ends[:-1])
        return [part.reshape(lead) for part, lead in zip(parts, leads, strict=True)]

    def _evaluate(self, x: Array) -> Array:
        try:
            value = self._f(x)
        except (OracleError, BudgetExhaustedError):  # of an oracle inside it
            raise
        except Exception as error:
            raise _objective_failed(error) from error
        xp = namespace(x)
        shape = getattr(value, "shape", None)
        if shape is None:
            shape = np.shape(value)
        if self.point_ndim is None:
            self.point_ndim = x.ndim - len(shape)
        lead = tuple(x.shape[: x.ndim - self.point_ndim])
        if tuple(shape) != lead:
            raise OracleError(
                f"the objective returned shape {tuple(shape)} for points of shape "
                f"{tuple(x.shape)}; expected {lead}, one value a point"
            )
        if hasattr(value, "detach"):
            value = value.detach()  # remembering a graph would keep a network's activations
        try:
            value = xp.asarray(value, device=device(x))
            finite = value > -math.inf
        except Exception as error:
            raise OracleError(
                f"the objective returned {type(value).__name__}, expected an array of numbers: "
                f"{value!r:.80}"
            ) from error
        if not bool(xp.all(finite)):
            bad = np.flatnonzero(~host(finite).ravel())
            raise OracleError(
                f"the objective returned {float(host(value).ravel()[bad[0]])} at {bad.size} of "
                f"{math.prod(lead)} points, first at index {_index(int(bad[0]), lead)}"
            )
        return value

    def _recall(self, x: Array) -> np.ndarray | None:
        """Values at an array of points, if each of them is one of those remembered."""
        points = self._table(x)
        if points is None:
            return None
        tables = [e for e in self._arrays if e[0].shape == points.shape]
        row = 0
        known = np.zeros(len(points), dtype=bool)
        value = np.zeros(len(points))
        while tables:
            # A table is compared as a whole only if it has the next point that is not known yet, so
            # that new points cost next to nothing.
            wanted = points[row].tobytes()
            hit = next((e for e in tables if e[0][row].tobytes() == wanted), None)
            if hit is None:
                return None
            value = np.where(known, value, hit[1])
            known |= (points == hit[0]).all(axis=1)
            if known.all():
                return value.reshape(x.shape[: x.ndim - (self.point_ndim or 0)])
            row = int(known.argmin())
            tables = [e for e in tables if e is not hit]
        return None

    def _remember(self, x: Array, value: Array) -> None:
        if (points := self._table(x)) is not None:
            self._arrays = ((points.copy(), host(value).ravel()), *self._arrays[:3])

    def _table(self, x: Array) -> np.ndarray | None:
        """Points as rows of a NumPy array; None where looking them up would not pay."""
        lead = x.shape[: x.ndim - (self.point_ndim or 0)]
        if not self._cache or len(lead) == 0 or 0 in x.shape:
            return None
        if type(x) is not np.ndarray:
            if not hasattr(x, "detach") or x.device.type != "cpu":
                return None  # on an accelerator each look would wait for what runs there
            x = host(x)
        return x.reshape(math.prod(lead), -1)


class _Preference:
    """See `from_preference`."""

    vectorized = False

    def __init__(self, prefers: Callable[[Array, Array], Any]) -> None:
        self._prefers = prefers

    def __repr__(self) -> str:
        return f"from_preference({self._prefers!r})"

    def __call__(self, x: Array, y: Array) -> int:
        try:
            choice = self._prefers(x, y)
        except (OracleError, BudgetExhaustedError):
            raise
        except Exception as error:
            raise OracleError(f"the preference raised {type(error).__name__}: {error}") from error
        if isinstance(choice, str):
            if (answer := {"a": -1, "b": +1, "tie": 0}.get(choice)) is not None:
                return answer
        elif _is_bool(choice) and getattr(choice, "ndim", 0) == 0:
            return -1 if choice else +1
        raise OracleError(
            f'the preference answered {choice!r:.80}, expected "a", "b", "tie" or a bool '
            "(True: a is preferred)"
        )


# -- wrappers --------------------------------------------------------------------------------------


class _Wrapper(_Oracle):
    """An oracle around another; it sees whole batches, of oracles that take single pairs, too."""

    def __init__(self, oracle: Oracle) -> None:
        if not callable(oracle):
            raise ArgumentError(
                f"oracle must be callable, oracle(x, y) -> answer; got {oracle!r:.80}"
            )
        self.oracle = oracle

    @property
    def vectorized(self) -> bool:  # type: ignore[override]
        """Whether x and y may have leading axes: as the oracle inside."""
        return getattr(self.oracle, "vectorized", False)

    @property
    def point_ndim(self) -> int | None:  # type: ignore[override]
        """Number of axes of a point, once the oracle inside knows."""
        return getattr(self.oracle, "point_ndim", None)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.oracle!r})"


class Reversed(_Wrapper):
    """The opposite preference: minimising with it maximises.

    Parameters
    ----------
    oracle : Oracle
        The oracle to turn around.

    Examples
    --------
    >>> import numpy as np
    >>> longest = Reversed(from_objective(lambda x: float(x @ x)))
    >>> longest(np.array([3.0]), np.array([1.0]))  # x is preferred
    -1
    """

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        return -answers(self.oracle, x, y, point_ndim, executor)


class Counted(_Wrapper):
    """Count duels, and refuse to ask more than a budget.

    A batch that the rest of the budget does not cover is refused as a whole, before anything of it
    is asked.

    Parameters
    ----------
    oracle : Oracle
        The oracle to count.
    budget : int, optional
        Most duels; without it they are only counted.

    Attributes
    ----------
    duels : int
        Duels asked so far, ties included.
    ties : int
        Those of them that were answered with a tie.

    Raises
    ------
    BudgetExhaustedError
        On a duel beyond the budget.
    ArgumentError
        If the budget is no integer >= 0. On a duel, if a vectorized oracle is called directly
        before anything tells how many axes a point has: use ``answers(..., point_ndim=...)``.

    Examples
    --------
    >>> import numpy as np
    >>> oracle = Counted(from_objective(lambda x: float(x @ x)), budget=1)
    >>> oracle(np.ones(2), np.zeros(2)), oracle.duels, oracle.ties
    (1, 1, 0)
    >>> oracle(np.ones(2), np.zeros(2))
    Traceback (most recent call last):
    geoduel.errors.BudgetExhaustedError: 1 more duel asked for, 0 of the budget of 1 left
    """

    def __init__(self, oracle: Oracle, budget: int | None = None) -> None:
        super().__init__(oracle)
        self.budget = None if budget is None else positive_int(budget, "budget", least=0)
        self.duels = 0
        self.ties = 0

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        asked = self._asked(x, y, point_ndim)
        if self.budget is not None:
            if asked is None:
                raise ArgumentError(
                    f"cannot tell how many duels x of shape {tuple(x.shape)} holds: give the "
                    "number of axes of a point, answers(oracle, x, y, point_ndim=...)"
                )
            if self.duels + asked > self.budget:
                raise BudgetExhaustedError(
                    f"{asked} more duel{'s' * (asked != 1)} asked for, "
                    f"{self.budget - self.duels} of the budget of {self.budget} left"
                )
        self.duels += asked or 0  # before asking: what fails has been asked, too
        answer = answers(self.oracle, x, y, point_ndim, executor)
        if isinstance(answer, int):
            self.ties += answer == 0
        else:
            self.ties += int(namespace(answer).count_nonzero(answer == 0))
        if asked is None:
            self.duels += math.prod(getattr(answer, "shape", ()))
        return answer

    def _asked(self, x: Array, y: Array, point_ndim: int | None) -> int | None:
        if point_ndim is None:
            if not self.vectorized or (x.ndim <= 1 and y.ndim <= 1):
                return 1
            if (point_ndim := self.point_ndim) is None:
                return None
        if x.ndim == point_ndim == y.ndim:
            return 1
        return math.prod(_lead(x, y, point_ndim))


class Noisy(_Wrapper):
    """Answers with errors, as people and simulators give them.

    The errors are made in this order, each only if asked for:

    1. a model of noise: with D = f(x) - f(y) + ``scale`` ε the answer is the sign of D, and a tie
       if ``|D| <= ties``. "bradley-terry": ε is logistic, so y wins with probability
       1/(1 + exp(-(f(x) - f(y))/scale)) where there are no ties (with them, Rao and Kupper's
       model). "thurstone": ε is standard normal, so y wins with probability Φ((f(x) - f(y))/scale);
       ``scale`` is the deviation of the difference, √2 times that of each value in Thurstone's
       case V;
    2. flips: with probability ``flip`` the answer changes its sign (a tie stays a tie);
    3. lapses: with probability ``lapse`` the answer is +1 or -1 at random.

    Parameters
    ----------
    oracle : Oracle
        The oracle to disturb. For a model it must come from `from_objective`: that has the values.
    flip : float
        Probability of the opposite answer.
    model : {"bradley-terry", "thurstone"}, optional
        Noise that fades as the values move apart.
    scale : float, > 0
        Size of that noise, in units of f.
    lapse : float
        Probability of an answer at random.
    ties : float, >= 0
        Half-width of the zone of D that is a tie, in units of f. Needs a model.
    rng : int or numpy.random.Generator, optional
        Source of the errors.

    Raises
    ------
    ArgumentError
        If a probability is outside [0, 1], or a model is asked for without the values it needs.

    References
    ----------
    Bradley and Terry, Biometrika 39 (1952); Thurstone, Psychological Review 34 (1927); Rao and
    Kupper, JASA 62 (1967).

    Examples
    --------
    >>> import numpy as np
    >>> oracle = Noisy(from_objective(lambda x: float(x @ x)), flip=0.25, rng=0)
    >>> sum(oracle(np.ones(2), np.zeros(2)) == -1 for _ in range(1000)) / 1000
    0.231
    """

    def __init__(
        self,
        oracle: Oracle,
        flip: float = 0.0,
        *,
        model: str | None = None,
        scale: float = 1.0,
        lapse: float = 0.0,
        ties: float = 0.0,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(oracle)
        self.flip = _probability(flip, "flip")
        self.lapse = _probability(lapse, "lapse")
        self.scale = positive(scale, "scale")
        self.ties = nonnegative(ties, "ties")
        self.model = model
        self.rng = as_generator(rng)
        if model is None:
            if ties:
                raise ArgumentError(f"ties={ties!r} needs a model of the noise: give model=")
        else:
            one_of(model, "model", ("bradley-terry", "thurstone"))
            if not isinstance(oracle, _Objective):
                raise ArgumentError(
                    f"model={model!r} needs the values behind the duels: wrap an oracle made by "
                    f"from_objective directly, got {oracle!r:.80}"
                )

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        if self.model is None:
            answer = answers(self.oracle, x, y, point_ndim, executor)
        else:
            answer = self._judge(x, y, point_ndim, executor)
        shape = getattr(answer, "shape", ())
        if self.flip:
            answer = _choose(self.rng.random(shape) < self.flip, -answer, answer)
        if self.lapse:
            coin = 2 * self.rng.integers(2, size=shape) - 1
            answer = _choose(self.rng.random(shape) < self.lapse, coin, answer)
        return answer

    def _judge(self, x: Array, y: Array, point_ndim: int | None, executor: Executor | None) -> Any:
        assert isinstance(self.oracle, _Objective)
        difference = self.oracle.difference(x, y, point_ndim, executor)
        draw = self.rng.logistic if self.model == "bradley-terry" else self.rng.normal
        if isinstance(difference, float):
            noisy = difference + draw(0.0, self.scale)
            return (noisy > self.ties) - (noisy < -self.ties)
        noisy = difference + _like(difference, draw(0.0, self.scale, difference.shape))
        xp = namespace(noisy)
        sign = xp.astype(noisy > self.ties, noisy.dtype)
        return _like(x, sign - xp.astype(noisy < -self.ties, noisy.dtype))


class Repeated(_Wrapper):
    """Ask again until the most frequent answer holds with a stated confidence.

    An answer a is returned as soon as it beats each other answer b in a sequential sign test at
    level δ/2, δ = 1 - ``confidence``. With w times a and l times b, the test stops when the
    evidence for "a is more probable than b" reaches 2/δ, where the evidence is the likelihood of
    the answers averaged over all win rates p > 1/2 of a (with Jeffreys' prior), against p = 1/2:

        2^(w+l) (2/π) B(w+½, l+½) I_½(l+½, w+½).

    As long as b is at least as probable as a, this is a supermartingale of mean at most 1, so it
    ever reaches 2/δ with probability at most δ/2, however often one looks (Ville); a plain
    binomial test at each look would err far more often. At most two wrong answers can be returned,
    so the answer is right with probability at least ``confidence``, whatever the win rate.

    With confidence 0.95, seven answers that agree are enough; at a win rate of 0.9, 0.75, 0.6 and
    0.55 it takes about 12, 35, 260 and 1,200 answers if there is no cap.

    Parameters
    ----------
    oracle : Oracle
        The oracle to ask, whose answers to one pair are independent of each other.
    confidence : float, in (0, 1)
        Least probability of the right answer.
    max_repeats : int
        Cap. Where it is reached first, the most frequent answer so far is returned (a tie if there
        is no such answer); this adds an error of at most exp(-2 max_repeats (p - 1/2)²) at win rate
        p, 0.7 % for 1,000 repeats and p = 0.55.

    Attributes
    ----------
    duels : int
        Duels asked of the oracle inside so far.
    capped : int
        Duels on which the cap was reached.

    References
    ----------
    Robbins, Annals of Mathematical Statistics 41 (1970), on mixtures of likelihood ratios; Howard,
    Ramdas, McAuliffe and Sekhon, Annals of Statistics 49 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> noisy = Noisy(from_objective(lambda x: float(x @ x)), flip=0.3, rng=0)
    >>> oracle = Repeated(noisy, confidence=0.99)
    >>> [oracle(np.ones(2), np.zeros(2)) for _ in range(5)]
    [1, 1, 1, 1, 1]
    """

    def __init__(self, oracle: Oracle, confidence: float = 0.95, max_repeats: int = 1000) -> None:
        super().__init__(oracle)
        if not 0 < real(confidence, "confidence") < 1:
            raise ArgumentError(f"confidence must be between 0 and 1, got {confidence!r}")
        self.confidence = confidence
        self.max_repeats = positive_int(max_repeats, "max_repeats")
        self.duels = 0
        self.capped = 0
        self._needed = _Needed(math.log(2 / (1 - confidence)))

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        answer = answers(self.oracle, x, y, point_ndim, executor)
        if isinstance(answer, int):
            return self._settle_one(answer, x, y, point_ndim, executor)
        return self._settle_many(answer, x, y, executor)

    def _settle_one(
        self, answer: Any, x: Array, y: Array, point_ndim: int | None, executor: Executor | None
    ) -> int:
        counts = [0, 0, 0]  # of -1, 0, +1
        asked = 1
        while True:
            counts[answer + 1] += 1
            _, second, most = sorted(counts)
            settled = most >= self._needed[second]
            if settled or asked == self.max_repeats:
                self.duels += asked
                self.capped += not settled
                return 0 if second == most else counts.index(most) - 1
            answer = answers(self.oracle, x, y, point_ndim, executor)
            asked += 1

    def _settle_many(self, answer: Array, x: Array, y: Array, executor: Executor | None) -> Array:
        # The pairs that are still open are asked in rounds, each time as one batch.
        lead = tuple(answer.shape)
        point_ndim = max(x.ndim, y.ndim) - len(lead)
        _, x, y = _pairs(x, y, point_ndim)
        xp = namespace(x)
        counts = np.zeros((math.prod(lead), 3), dtype=int)
        still_open = np.arange(len(counts))
        like, answer = answer, host(answer).ravel()
        for asked in range(1, self.max_repeats + 1):
            self.duels += still_open.size
            counts[still_open, answer.astype(int) + 1] += 1
            ranked = np.sort(counts[still_open], axis=1)
            still_open = still_open[ranked[:, 2] < self._needed.array(ranked[:, 1])]
            if not still_open.size or asked == self.max_repeats:
                break
            index = xp.asarray(still_open, device=device(x))
            pairs = xp.take(x, index, axis=0), xp.take(y, index, axis=0)
            answer = host(answers(self.oracle, *pairs, point_ndim, executor))
        self.capped += still_open.size
        ranked = np.sort(counts, axis=1)
        most = np.where(ranked[:, 2] > ranked[:, 1], counts.argmax(axis=1) - 1, 0)
        return _like(like, np.reshape(most, lead))


class Record(NamedTuple):
    """A duel and its answer.

    Attributes
    ----------
    x, y : array
        The points, copied.
    answer : int
        -1, 0 or +1.
    """

    x: Array
    y: Array
    answer: int


class Recorded(_Wrapper):
    """Keep every duel with its answer.

    Parameters
    ----------
    oracle : Oracle
        The oracle to listen to.

    Attributes
    ----------
    records : list of Record
        In the order of asking; the pairs of a batch one by one. The points are copies.

    Examples
    --------
    >>> import numpy as np
    >>> oracle = Recorded(from_objective(lambda x: float(x @ x)))
    >>> oracle(np.array([2.0]), np.array([1.0]))
    1
    >>> oracle.records
    [Record(x=array([2.]), y=array([1.]), answer=1)]
    """

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self.records: list[Record] = []

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        # Copied first: the oracle might write to what it is given.
        x_copy, y_copy = (namespace(a).asarray(a, copy=True) for a in (x, y))
        answer = answers(self.oracle, x, y, point_ndim, executor)
        if isinstance(answer, int):
            self.records.append(Record(x_copy, y_copy, answer))
            return answer
        _, xs, ys = _pairs(x_copy, y_copy, max(x.ndim, y.ndim) - answer.ndim)
        each = host(answer).ravel().astype(int).tolist()
        self.records += [Record(xs[i], ys[i], a) for i, a in enumerate(each)]
        return answer

    def write(self, path: str | Path) -> None:
        """Write the records as JSON lines, ``{"x": ..., "y": ..., "answer": ...}``.

        Floats are written so that they are read back to the last bit.
        """
        with Path(path).open("w", encoding="utf-8") as file:
            for x, y, answer in self.records:
                x, y = host(x), host(y)
                line = {"x": x.tolist(), "y": y.tolist(), "answer": answer, "dtype": str(x.dtype)}
                file.write(json.dumps(line) + "\n")

    @staticmethod
    def read(path: str | Path) -> list[Record]:
        """Read what `write` wrote, as NumPy arrays.

        Raises
        ------
        ArgumentError
            If a line is not a record; the message gives its number.
        """
        records = []
        for number, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            try:
                line = json.loads(text)
                x, y = (np.asarray(line[name], dtype=line["dtype"]) for name in "xy")
                records.append(Record(x, y, _checked(line["answer"])))
            except (ValueError, TypeError, KeyError, OracleError) as error:
                raise ArgumentError(f"{path}, line {number}, is not a record: {error}") from error
        return records


# -- private ---------------------------------------------------------------------------------------


class _Needed:
    """Least number of wins that settles a sign test, by the number of losses; see `Repeated`."""

    def __init__(self, log_level: float) -> None:
        self._log_level = log_level
        self._wins: list[int] = []

    def __getitem__(self, losses: int) -> int:
        wins = self._wins
        while len(wins) <= losses:
            needed = max(len(wins), wins[-1] if wins else 0)
            while self._log_evidence(needed, len(wins)) < self._log_level:
                needed += 1
            wins.append(needed)
        return wins[losses]

    def array(self, losses: np.ndarray) -> np.ndarray:
        """Wins needed for an array of losses."""
        self[int(losses.max(initial=0))]
        return np.asarray(self._wins)[losses]

    @staticmethod
    def _log_evidence(wins: int, losses: int) -> float:
        from scipy.special import betainc, betaln  # not needed to import the package

        w, l = wins + 0.5, losses + 0.5
        prior = (wins + losses + 1) * math.log(2) - math.log(math.pi)
        return prior + float(betaln(w, l)) + math.log(betainc(l, w, 0.5))


def _lead(x: Array, y: Array, point_ndim: int) -> tuple[int, ...]:
    return np.broadcast_shapes(x.shape[: x.ndim - point_ndim], y.shape[: y.ndim - point_ndim])


def _pairs(x: Array, y: Array, point_ndim: int) -> tuple[tuple[int, ...], Array, Array]:
    """Leading shape, and both arrays with one leading axis that counts the pairs."""
    xp = namespace(x, y)
    lead = _lead(x, y, point_ndim)

    def flat(a: Array) -> Array:
        point = tuple(a.shape[a.ndim - point_ndim :])
        return xp.reshape(xp.broadcast_to(a, (*lead, *point)), (math.prod(lead), *point))

    return lead, flat(x), flat(y)


def _like(x: Array, a: Any) -> Array:
    """Return the numbers ``a`` as an array of the kind and dtype and on the device of ``x``."""
    return namespace(x).asarray(a, dtype=x.dtype, device=device(x))


def _choose(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition, drawn on the host, holds and ``b`` elsewhere; ``b`` tells kind."""
    if isinstance(b, int):
        return int(a) if condition else b
    xp = namespace(b)
    return xp.where(xp.asarray(condition, device=device(b)), _like(b, a), b)


def _key(x: Array) -> bytes | tuple[int, int] | None:
    """What tells a point that is no NumPy array from others, now and after it was overwritten.

    Its content in main memory; identity and version of a tensor on an accelerator, since reading
    it would wait for what runs there; None for arrays that have neither.
    """
    try:
        if x.device.type == "cpu":
            return host(x).tobytes()
        return id(x), x._version
    except (AttributeError, RuntimeError):
        return None


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape))


def _probability(value: Any, name: str) -> float:
    if not 0 <= real(value, name) <= 1:
        raise ArgumentError(f"{name} must be a probability in [0, 1], got {value!r}")
    return float(value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or str(getattr(value, "dtype", "")).endswith("bool")


def _objective_failed(error: Exception) -> OracleError:
    return OracleError(f"the objective raised {type(error).__name__}: {error}")


def _value(value: Any, x: Array) -> float:
    """Value of an objective at one point as a float that can be compared."""
    shape = tuple(getattr(value, "shape", ()))
    if shape:
        raise OracleError(
            f"the objective returned shape {shape} for one point of shape {tuple(x.shape)}; "
            "expected a number"
        )
    try:
        if isinstance(value, str):  # float() would read it
            raise TypeError("a string is not a number")
        value = float(value.detach() if hasattr(value, "detach") else value)
    except Exception as error:
        raise OracleError(
            f"the objective returned {type(value).__name__}, expected a number: {value!r:.80}"
        ) from error
    if not value > _LOWEST:  # NaN, too
        raise OracleError(f"the objective returned {value} at {x!r:.200}")
    return value


_EXPECTED = "expected +1 (y is preferred), -1 (x is preferred) or 0 (tie)"


def _no_bool(answer: Any) -> None:
    if _is_bool(answer):
        raise OracleError(
            f"the oracle answered {answer!r:.80}, a bool, which could mean either; {_EXPECTED}, "
            "or use from_preference"
        )


def _checked(answer: Any) -> int:
    """One answer as an int."""
    if type(answer) is int and -1 <= answer <= 1:
        return answer
    _no_bool(answer)
    shape = tuple(getattr(answer, "shape", ()))
    try:
        if not shape and not isinstance(answer, str) and (number := float(answer)) in (-1, 0, 1):
            return int(number)
    except (TypeError, ValueError):
        pass
    words = f"an array of shape {shape}" if shape else f"{answer!r:.80}"
    raise OracleError(f"the oracle answered {words}; {_EXPECTED}")


def _checked_batch(answer: Any, lead: tuple[int, ...] | None, x: Array) -> Array:
    """Answers of a vectorized oracle as an array like x."""
    _no_bool(answer)
    shape = tuple(np.shape(answer))
    if lead is not None and shape != lead:
        raise OracleError(
            f"the vectorized oracle answered with shape {shape}, expected {lead}, one answer a pair"
        )
    try:
        answer = _like(x, answer)
    except Exception as error:
        raise OracleError(f"the oracle answered {answer!r:.80}; {_EXPECTED}") from error
    xp = namespace(x)
    right = (answer == 0) | (xp.abs(answer) == 1)
    if not bool(xp.all(right)):
        bad = np.flatnonzero(~host(right).ravel())
        first = float(host(answer).ravel()[bad[0]])
        raise OracleError(
            f"the oracle answered {first} at index {_index(int(bad[0]), shape)} "
            f"({bad.size} of {math.prod(shape)} answers are wrong); {_EXPECTED}"
        )
    return answer
