"""Optuna: parameters that are points of a manifold, and samplers that look for them by duels.

A point is stored as one float parameter for each entry of its array, ``x[0]``, ``x[1]`` and so on,
so Optuna's storages, dashboard and plots show it. `DuelSampler` needs values, `PreferenceSampler`
what people say on Optuna's dashboard. `suggest_point` works with any sampler.
"""

from __future__ import annotations

import math
import os
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from .._numerics.arrays import Array
from ..domains.base import Domain
from ..errors import ArgumentError, MissingExtraError, NotOnManifoldError, StudyFinishedError
from ..manifolds.base import Manifold
from ..manifolds.grassmann import Grassmann
from ..manifolds.product import Power, Product
from ..manifolds.rotations import Rotations
from ..manifolds.simplex import Simplex
from ..manifolds.sphere import Sphere
from ..manifolds.stiefel import Stiefel
from ..manifolds.torus import Torus
from ..methods import Method
from ..methods.people.questions import QuestionMethod
from ..study import Study, create_study

try:
    optuna: Any = import_module("optuna")  # type checkers take this file for it
except ImportError:
    raise MissingExtraError(
        "geoduel.bridges.optuna needs Optuna: pip install 'geoduel[optuna]'"
    ) from None

TrialState = optuna.trial.TrialState

__all__ = ["DuelSampler", "PreferenceSampler", "point_of", "suggest_point"]

FAR = 1e6  # the largest entry of points of manifolds without bounds, unless the caller knows better
AT_ONCE = 64  # questions of the method that are looked at together
MISSES = 2  # failed trials after which a point loses its duels
LOOK = 0.01  # seconds between two looks at what other threads have found
PATIENCE = 1.0  # least seconds after which a point that another thread tries is tried once more
FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
SEED = "geoduel:seed"  # the attribute of Optuna's study that lets other processes ask the same


def suggest_point(
    trial: Any,
    name: str,
    manifold: Manifold,
    low: float | None = None,
    high: float | None = None,
) -> np.ndarray:
    """Suggest a point, as ``trial.suggest_float`` suggests a number.

    Samplers other than those of this module choose each entry by itself. The array is then
    projected on the manifold, or taken for a tangent vector where there is no projection.

    Parameters
    ----------
    trial : optuna.Trial
        Also a FixedTrial.
    name : str
        Name of the parameter; its entries are ``name[0]``, ``name[1]``, ...
    manifold : Manifold
        Where the point lives.
    low, high : float, optional
        Bounds of the entries. They have good defaults where entries are bounded anyway, as on
        spheres; for other manifolds, other samplers need them.

    Returns
    -------
    ndarray of shape point_shape

    Examples
    --------
    >>> from geoduel.manifolds.sphere import Sphere
    >>> trial = optuna.trial.FixedTrial({"x[0]": 3.0, "x[1]": 4.0})
    >>> suggest_point(trial, "x", Sphere(2), low=0, high=9)
    array([0.6, 0.8])
    """
    least, most = _bounds(manifold)
    least = least if low is None else np.full_like(least, low)
    most = most if high is None else np.full_like(most, high)
    ranges = zip(_names(name, manifold), least.tolist(), most.tolist(), strict=True)
    return _placed(manifold, [trial.suggest_float(*range_) for range_ in ranges])


def point_of(trial: Any, name: str, manifold: Manifold) -> np.ndarray:
    """Return the point of a trial, as in ``point_of(study.best_trial, "x", manifold)``.

    Parameters
    ----------
    trial : optuna.Trial or optuna.trial.FrozenTrial
        A trial that `suggest_point` has given a point of this name.
    name : str
        Name of the parameter.
    manifold : Manifold
        Where the point lives.
    """
    try:
        return _placed(manifold, [trial.params[entry] for entry in _names(name, manifold)])
    except KeyError as error:
        raise ArgumentError(f"the trial has no point {name!r}: no parameter {error}") from None


class _Sampler(optuna.samplers.BaseSampler):
    """What both samplers share: points as parameters, and a study of this package behind."""

    _usual_method: str

    def __init__(
        self,
        space: Mapping[str, Manifold],
        method: str | Method | None = None,
        *,
        domain: Domain | None = None,
        x0: Array | None = None,
        seed: int | None = None,
        independent_sampler: Any = None,
        **options: Any,
    ) -> None:
        if not isinstance(space, Mapping) or not space:
            raise ArgumentError(
                f'space must be a dict such as {{"x": Sphere(3)}}, got {space!r:.80}'
            )
        for name, manifold in space.items():
            if not isinstance(manifold, Manifold):
                raise ArgumentError(f"space[{name!r}] must be a Manifold, got {manifold!r:.80}")
        factors = list(space.values())
        self.manifold = factors[0] if len(factors) == 1 else Product(*factors)
        self._names = [entry for name in space for entry in _names(name, space[name])]
        bounds = [_bounds(manifold) for manifold in factors]
        self._low, self._high = (np.concatenate(side) for side in zip(*bounds, strict=True))
        method = self._usual_method if method is None else method
        self._settings = {"method": method, "domain": domain, "x0": x0, **options}
        self._seed = seed
        self._others = independent_sampler or optuna.samplers.RandomSampler(seed)
        self._lock = threading.Condition()
        self._begin(self._new_duels(0 if seed is None else seed))  # bad settings are told here
        self._of: tuple[int, str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Another process finds all it needs in Optuna's study.
        left = ("_lock", "_duels", "_of")
        return {name: value for name, value in vars(self).items() if name not in left}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Condition(), _of=None)

    def _new_duels(self, seed: int) -> Study:
        return create_study(self.manifold, rng=seed, **self._settings)

    def _follow(self, study: Any) -> None:
        """Begin anew where this is another study than before."""
        of = os.getpid(), study.study_name  # a fork has no part in the duels of its parent
        if self._of != of:
            self._begin(self._new_duels(_seed(study, self._seed)))
            self._of = of

    def _begin(self, duels: Study) -> None:
        """Begin with a study behind that knows nothing."""
        raise NotImplementedError

    def _next(self, study: Any, trial: Any) -> Array:
        """The point that the trial should try."""
        raise NotImplementedError

    # -- Optuna's interface ------------------------------------------------------------------------

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        ranges = zip(self._names, self._low.tolist(), self._high.tolist(), strict=True)
        return {
            name: optuna.distributions.FloatDistribution(low, high) for name, low, high in ranges
        }

    def sample_relative(
        self, study: Any, trial: Any, search_space: dict[str, Any]
    ) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        with self._lock:
            self._follow(study)
            point = self._next(study, trial)
        return dict(zip(self._names, self._entries(point).tolist(), strict=True))

    def sample_independent(
        self, study: Any, trial: Any, param_name: str, param_distribution: Any
    ) -> Any:
        return self._others.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        self._others.reseed_rng()

    # -- points ------------------------------------------------------------------------------------

    def _entries(self, point: Array) -> np.ndarray:
        """The entries as they are stored: within the bounds, beyond which rounding may lead."""
        return np.clip(np.ravel(point), self._low, self._high) + 0.0  # no storage has to keep -0.0

    def _tried(self, trial: Any) -> np.ndarray | None:
        """The entries that a trial has tried; None where it has no such point."""
        if any(name not in trial.params for name in self._names):
            return None
        return np.array([trial.params[name] for name in self._names]) + 0.0


class DuelSampler(_Sampler):
    """Sampler that looks for points by comparing the values of trials.

    Only the order of the values matters. Each trial tries a point that the next duels need, and a
    point that was tried already is not tried again. Trials that run at the same time are useful up
    to twice the dimension. All is found again in Optuna's study: a program that goes on with a
    stored study, and several programs at once, ask what one program would have asked.

    A pruned trial loses its duels. After a failed trial the point is tried once more, and loses if
    it fails again. When the method asks no more, it ends ``study.optimize``.

    Parameters
    ----------
    space : dict of str to Manifold
        The manifold of each point, by the name that `suggest_point` is given.
    method : str or method, optional
        As in `geoduel.minimize`, by default "duel-newton".
    domain : Domain, optional
        Feasible set.
    x0 : array, optional
        The first point to try, a random one by default; of several, as `Product.join` makes it.
    seed : int, optional
        Seed; without one, it is drawn and kept in the study's attributes.
    independent_sampler : optuna.samplers.BaseSampler, optional
        Chooses all other parameters, by default at random. The values should depend on them little,
        for points are compared whatever they were.
    **options
        Settings of the method.

    Examples
    --------
    >>> import optuna
    >>> from geoduel.manifolds.sphere import Sphere
    >>> from geoduel.bridges.optuna import DuelSampler, point_of, suggest_point
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> sphere = Sphere(3)
    >>> def objective(trial):
    ...     return -suggest_point(trial, "x", sphere)[2]
    >>> study = optuna.create_study(sampler=DuelSampler({"x": sphere}, seed=0))
    >>> study.optimize(objective, n_trials=100)
    >>> point_of(study.best_trial, "x", sphere).round(3) + 0.0
    array([0., 0., 1.])
    """

    _usual_method = "duel-newton"

    def _begin(self, duels: Study) -> None:
        self._duels = duels
        self._values: dict[bytes, float] = {}  # of points that were tried, smaller is better
        self._misses: Counter[bytes] = Counter()
        self._seen: set[int] = set()  # trials whose end is known
        # What each trial of this process should try, and the thread that asked.
        self._asked: dict[int, tuple[bytes, int]] = {}
        self._patience = PATIENCE

    def _next(self, study: Any, trial: Any) -> Array:
        begun, me = None, threading.get_ident()
        while True:
            self._read(study)
            try:
                wanted = self._wanted()
            except StudyFinishedError:
                with suppress(RuntimeError):  # outside of study.optimize there is nothing to stop
                    study.stop()
                return self._duels.recommend()
            out = [self._tried(t) for t in study.get_trials(False, (TrialState.RUNNING,))]
            held = {a.tobytes() for a in out if a is not None}
            held |= {key for key, _ in self._asked.values()}
            free = [key for key in wanted if key not in held]
            with_others = any(key in wanted and by != me for key, by in self._asked.values())
            begun = begun or time.monotonic()
            if free or not with_others or time.monotonic() - begun > self._patience:
                break
            self._lock.wait(LOOK)
            self._follow(study)
        # Where all are being tried, the oldest once more: its trial may have died.
        key = next(iter(free or wanted))
        if "fixed_params" not in trial.system_attrs:  # else it tries what was enqueued
            self._asked[trial.number] = key, me
        return wanted[key]

    def _read(self, study: Any) -> None:
        """Learn how trials have ended."""
        sign = -1.0 if study.direction == optuna.study.StudyDirection.MAXIMIZE else 1.0
        for trial in study.get_trials(deepcopy=False, states=FINISHED):
            if trial.number in self._seen:
                continue
            self._seen.add(trial.number)
            tried = self._tried(trial)
            asked, _ = self._asked.pop(trial.number, (None, None))
            if trial.duration is not None:
                self._patience = max(self._patience, 2 * trial.duration.total_seconds())
            key = asked if tried is None else tried.tobytes()
            if key is not None and trial.state == TrialState.COMPLETE:
                self._values.setdefault(key, sign * trial.value)
            elif key is not None and trial.state == TrialState.PRUNED:
                self._values.setdefault(key, math.inf)
            missed = asked or key
            if missed is not None and missed not in self._values:
                self._misses[missed] += 1
                if self._misses[missed] == MISSES:
                    self._values[missed] = math.inf

    def _wanted(self) -> dict[bytes, Array]:
        """Points whose values are needed, in order; what can be answered is answered first."""
        while True:
            wanted: dict[bytes, Array] = {}
            told = False
            for duel in self._duels.ask(AT_ONCE, rater="trials"):
                points = {self._entries(p).tobytes(): p for p in (duel.a, duel.b)}
                a, b = (self._values.get(self._entries(p).tobytes()) for p in (duel.a, duel.b))
                if a is not None and b is not None:
                    self._duels.tell(duel, "tie" if a == b else "a" if a < b else "b")
                    told = True
                wanted |= {key: p for key, p in points.items() if key not in self._values}
            if not told:
                return wanted


class PreferenceSampler(_Sampler):
    """Sampler for Optuna's preferential studies: points that tell most about a person's ideal.

    It learns from every preference that was reported, on the dashboard or by
    ``study.report_preference``, and suggests points in pairs: the next question of a method made
    for people. Preferences that are taken back are forgotten.

    Parameters
    ----------
    space, domain, x0, seed, independent_sampler, **options
        As for `DuelSampler`.
    method : str or method, optional
        One made for people, which learns from questions of others; by default as in
        `geoduel.create_study`.

    Examples
    --------
    >>> from geoduel.manifolds.torus import Torus
    >>> sampler = PreferenceSampler({"hue": Torus(1)}, seed=0)
    >>> # study = optuna_dashboard.preferential.create_study(n_generate=4, sampler=sampler)
    """

    _usual_method = "auto"

    def _begin(self, duels: Study) -> None:
        if not isinstance(duels.method, QuestionMethod):
            raise ArgumentError(
                f"method must be one made for people, whose questions stand alone; got "
                f"{duels.method_name!r}"
            )
        self._duels = duels
        self._known: Counter[tuple[int, int]] = Counter()  # better and worse, by number
        self._queue: deque[Array] = deque()

    def recommend(self, study: Any) -> np.ndarray:
        """Return the best point of a preferential study, which need not be one that was tried."""
        with self._lock:
            self._read(study)
            return self._duels.recommend()

    def uncertainty(self, study: Any) -> float | None:
        """Return how well `recommend` is known, a geodesic length."""
        with self._lock:
            self._read(study)
            return self._duels.uncertainty()

    def _next(self, study: Any, trial: Any) -> Array:
        from optuna_dashboard.preferential import PreferentialStudy

        self._read(PreferentialStudy(study))
        if not self._queue:
            try:
                duel = self._duels.ask()
            except StudyFinishedError:
                return self._duels.recommend()
            self._duels.tell(duel, "skip")  # its answer, if any, comes as a report
            self._queue.extend((duel.a, duel.b))
        return self._queue.popleft()

    def _read(self, study: Any) -> None:
        """Learn what was preferred."""
        self._follow(study)
        said = study.get_preferences(deepcopy=False)
        now = Counter((better.number, worse.number) for better, worse in said)
        if self._known - now:  # taken back
            self._begin(self._new_duels(_seed(study, self._seed)))
        new = now - self._known
        for better, worse in said:
            pair = better.number, worse.number
            if new[pair] > 0:
                new[pair] -= 1
                a, b = self._tried(better), self._tried(worse)
                if a is not None and b is not None and not np.array_equal(a, b):
                    place = partial(_placed, self.manifold)
                    self._duels.report_preference(place(a), place(b))
        self._known = now


# -- small things ----------------------------------------------------------------------------------


def _names(name: str, manifold: Manifold) -> list[str]:
    indices = np.ndindex(*manifold.point_shape)
    return [f"{name}[{','.join(map(str, index))}]" for index in indices]


def _bounds(manifold: Manifold) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the entries of points, flat."""
    if isinstance(manifold, Product):
        parts = [_bounds(factor) for factor in manifold.factors]
        low, high = (np.concatenate(side) for side in zip(*parts, strict=True))
        return low, high
    if isinstance(manifold, Power):
        low, high = (np.tile(side, manifold.k) for side in _bounds(manifold.manifold))
        return low, high
    low, high = -FAR, FAR
    if isinstance(manifold, Sphere | Stiefel | Grassmann | Rotations):
        low, high = -1.0, 1.0
    elif isinstance(manifold, Simplex):
        low, high = 0.0, 1.0
    elif isinstance(manifold, Torus):
        low, high = -math.pi, math.pi
    size = math.prod(manifold.point_shape)
    return np.full(size, low), np.full(size, high)


def _placed(manifold: Manifold, entries: Sequence[float] | np.ndarray) -> np.ndarray:
    """The point with these entries; an array off the manifold is projected on it."""
    point = np.reshape(np.asarray(entries, dtype=np.float64), manifold.point_shape)
    try:
        manifold.check_point(point)
    except NotOnManifoldError:
        try:
            return manifold.to_manifold(point)
        except NotOnManifoldError:  # of matrices, which mend rounding alone
            middle = manifold.origin()
            return manifold.exp(middle, manifold.to_tangent(middle, point))
    return point


def _seed(study: Any, seed: int | None) -> int:
    """The seed that all processes with this study use."""
    if seed is None:
        kept = study.user_attrs
        if SEED not in kept:
            study.set_user_attr(SEED, secrets.randbelow(2**32))
            kept = study.user_attrs
        seed = int(kept[SEED])
    return seed
