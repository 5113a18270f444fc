"""Methods by name, and the point a run starts from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, Literal, TypedDict

import numpy as np

from .._numerics.arrays import Array, copied, namespace
from .._numerics.gradients import detached
from .._support.check import one_of
from ..domains.base import Domain, may_be_the_same
from ..errors import ArgumentError, CutLocusError
from ..manifolds.base import Manifold
from ..schedules import Schedule
from .auto import Auto
from .base import Method, check_method
from .descent.block import Block
from .descent.duel_csa import DuelCSA
from .descent.duel_newton import DuelNewton
from .paper.rdfw import RDFW
from .paper.rdngd import RDNGD
from .paper.rrdngd import RRDNGD
from .people.bisection import Bisection
from .people.ideal_direction import IdealDirection
from .people.ideal_point import IdealPoint

__all__ = ["METHODS", "MethodName", "Settings", "named", "start_point", "unknown_option"]


class _Methods(Mapping[str, type[Method]]):
    """Methods by name. Those of others load when they are first asked for: few runs do."""

    def __init__(self, own: dict[str, type[Method]], rivals: dict[str, str]) -> None:
        self._own = own
        self._rivals = rivals

    def __getitem__(self, name: str) -> type[Method]:
        if name in self._own:
            return self._own[name]
        return getattr(import_module(".rivals", __package__), self._rivals[name])

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._rivals

    def __len__(self) -> int:
        return len(self._own) + len(self._rivals)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._rivals


METHODS: Mapping[str, type[Method]] = _Methods(
    {
        "auto": Auto,
        "duel-newton": DuelNewton,
        "duel-csa": DuelCSA,
        "block": Block,
        "rdngd": RDNGD,
        "rrdngd": RRDNGD,
        "rdfw": RDFW,
        "bisection": Bisection,
        "ideal-point": IdealPoint,
        "ideal-direction": IdealDirection,
    },
    rivals={
        "stp": "STP",
        "minibatch-stp": "MinibatchSTP",
        "order-cd": "OrderCD",
        "order-acd": "OrderACD",
        "scobo": "SCOBO",
        "rank-sgd": "RankSGD",
        "comparison-ngd": "ComparisonNGD",
        "one-plus-one": "OnePlusOne",
        "one-plus-one-cma": "OnePlusOneCMA",
        "nelder-mead": "NelderMead",
    },
)
"""The methods by the name that `geoduel.minimize` takes."""

OTHER_NAMES = {"beta-ngd": "rdngd", "alpha-beta-ngd": "rrdngd"}
"""Names of the same methods elsewhere: those of Saha, Koren and Mansour, on `Euclidean`."""

CALLERS = ("x0", "method", "domain", "among", "budget", "rng")
"""What `geoduel.minimize` and `geoduel.create_study` take beside the settings of a method."""

ELSEWHERE = {
    **dict.fromkeys(("seed", "random_state"), "rng="),
    **dict.fromkeys(("tol", "xtol", "xatol", "accuracy", "tolerance"), "x_tol="),
    **dict.fromkeys(("bounds", "constraints"), "domain="),
    **dict.fromkeys(
        ("max_evals", "maxfev", "maxfun", "n_trials", "n_calls", "n_duels", "max_duels"), "budget="
    ),
    **dict.fromkeys(("maxiter", "max_iter", "max_iterations"), "iterations="),
    **dict.fromkeys(("max_time", "time_limit"), "timeout="),
    **dict.fromkeys(("n_jobs", "max_workers", "n_workers"), "workers="),
    **dict.fromkeys(("verbose", "disp"), "progress="),
    **dict.fromkeys(("checkpoint", "resume"), "log="),
    **dict.fromkeys(("step", "lr", "learning_rate"), "step_size="),
    **dict.fromkeys(("maximize", "direction"), "from_objective(f, maximize=True)"),
    **dict.fromkeys(("name", "study"), "study_name="),
    "sampler": "method=",
}
"""What SciPy, Optuna and others call some of these."""


MethodName = Literal[
    "auto",
    "duel-newton",
    "duel-csa",
    "block",
    "rdngd",
    "rrdngd",
    "rdfw",
    "bisection",
    "ideal-point",
    "ideal-direction",
    "stp",
    "minibatch-stp",
    "order-cd",
    "order-acd",
    "scobo",
    "rank-sgd",
    "comparison-ngd",
    "one-plus-one",
    "one-plus-one-cma",
    "nelder-mead",
    "beta-ngd",
    "alpha-beta-ngd",
]
"""The names, for type checkers and editors."""


class Settings(TypedDict, total=False):
    """Settings of the methods, for type checkers and editors; each method's page explains its own.

    A method takes some of them, and refuses the others by name.
    """

    accuracy: float
    batch: int | Callable[[int], int]
    catch: float
    directions: int
    distance: float | None
    half_width: float | None
    initial_step: float | None
    jnd: float | None
    lengths: int
    min_radius: float
    parallel: int | None
    phase_length: int | None
    phases: int | None
    prior_radius: float | None
    radius: float | Callable[[int], float] | None
    ranked: int | None
    ranking: int | None
    restarts: float | None
    returns: Literal["best", "last", "random"]
    samples: int | None
    smoothing: float
    sparsity: int | None
    step_size: float | Schedule | Callable[[int], float] | None
    strong_convexity: float
    sweeps: int | None
    x_tol: float | None


def named(
    method: str | Method, domain: Domain | None = None, options: dict[str, Any] | None = None
) -> Method:
    """Return the method of a name with its settings, or the one given; with a domain, on that.

    Parameters
    ----------
    method : str or Method
        A name in `METHODS` or `OTHER_NAMES`, or an instance of the package's or a caller's class.
    domain : Domain, optional
        Feasible set; None leaves an instance as it is.
    options : dict, optional
        Settings of a method given by name.

    Returns
    -------
    Method

    Raises
    ------
    ArgumentError
        For an unknown name or option, options beside an instance, something that is no method, or a
        domain for a method that takes none.

    Examples
    --------
    >>> named("rdngd", options={"batch": 10}).batch
    10
    """
    options = options or {}
    if not isinstance(method, str):
        if options:
            raise ArgumentError(
                f"options {sorted(options)} go with a method given by name, not with {method!r}"
            )
        method = check_method(method)
        return method if domain is None else method.with_domain(domain)
    method = one_of(OTHER_NAMES.get(method, method), "method", tuple(METHODS))
    kind: Any = METHODS[method]
    names = [f.name for f in fields(kind) if f.repr]
    for name in options:
        if name not in names:
            raise unknown_option(f"method {method!r}", name, names)
    return kind(domain=domain, **options)


def unknown_option(method: str, name: str, names: Sequence[str]) -> ArgumentError:
    """The error for an option that a method lacks, with the one that may be meant.

    Examples
    --------
    >>> print(unknown_option("method 'rdngd'", "seed", ["radius", "batch"]))
    method 'rdngd' has no option 'seed', perhaps rng= is meant; it takes radius, batch
    """
    from difflib import get_close_matches  # for errors alone

    near = get_close_matches(name, [*names, *CALLERS], n=1, cutoff=0.82)  # no other word
    meant = f"{near[0]}=" if near else ELSEWHERE.get(name)
    hint = f", perhaps {meant} is meant" if meant else ""
    return ArgumentError(f"{method} has no option {name!r}{hint}; it takes {', '.join(names)}")


def start_point(
    method: Method, manifold: Manifold, x0: Any, rng: np.random.Generator
) -> tuple[Method, Array]:
    """Return the method and the start of a run, a point of the manifold and the method's domain.

    Parameters
    ----------
    method : Method
        The method; without a start it may assume something else.
    manifold : Manifold
        Where the points live.
    x0 : array_like of shape (..., *point_shape), optional
        The caller's start, corrected for rounding; what `Manifold.pack` takes. Where there is none,
        `Method.without_start` gives one, which is projected on the domain.
    rng : numpy.random.Generator
        Source of a random start.

    Raises
    ------
    ArgumentError
        If the domain is none, or one of another manifold, or ``x0`` is outside it, or of another
        dtype than float32 and float64.
    NotOnManifoldError
        If ``x0`` is not on the manifold.

    Examples
    --------
    >>> from geoduel import RDNGD, Sphere
    >>> x0 = np.array([0.6, 0.8 + 1e-10])
    >>> start_point(RDNGD(), Sphere(2), x0, np.random.default_rng(0))[1]
    array([0.6, 0.8])
    """
    domain = method.domain
    if not isinstance(domain, Domain | None):
        raise ArgumentError(f"domain must be a Domain such as Ball(...), got {domain!r:.80}")
    if domain is not None and domain.manifold.point_shape != manifold.point_shape:
        raise ArgumentError(
            f"domain {domain} is a set in {domain.manifold}, with points of shape "
            f"{domain.manifold.point_shape}; expected {manifold.point_shape} for {manifold}"
        )
    if domain is not None and not may_be_the_same(domain.manifold, manifold):
        raise ArgumentError(
            f"domain {domain} is a set in {domain.manifold}, and the manifold is {manifold}"
        )
    for name in ("x_tol", "min_radius", "jnd"):
        length, most = getattr(method, name, None), manifold.injectivity_radius
        if isinstance(length, float | int) and length > most:
            raise ArgumentError(
                f"{name} must be at most {most:.4g}, the injectivity radius of {manifold}, got "
                f"{length!r}; lengths of angles are in radians"
            )
    if x0 is None:
        method, x0 = method.without_start(manifold, rng)
        if domain is None:
            return method, x0
        try:
            return method, domain.project(x0)
        except CutLocusError:  # the start is as far from several points of the domain
            return method, domain.random_point(rng)
    x0 = detached(manifold.pack(x0, "x0"))
    xp = namespace(x0)
    if not xp.isdtype(x0.dtype, (xp.float32, xp.float64)):
        raise ArgumentError(f"x0 must be of float32 or float64, got {x0.dtype}")
    manifold.check_point(x0, "x0")
    x0 = copied(manifold.to_manifold(x0))  # it may be the caller's array itself
    if domain is not None and not bool(namespace(x0).all(domain.contains(x0))):
        raise ArgumentError(f"x0 is not in the domain {domain}; domain.project(x0) is")
    return method, x0 if domain is None else domain.project(x0)  # it may be outside by rounding
