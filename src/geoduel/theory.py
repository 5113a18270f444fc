"""Constants and parameter choices of the paper's theorems.

Every theorem is one function from what is known of the problem to what the algorithm needs:

==================== ======= ========= ==============================================
function             theorem algorithm objective
==================== ======= ========= ==============================================
`nonconvex`          3.6     RDNGD     L-smooth on the whole manifold
`convex`             3.7     RDNGD     L-smooth and g-convex on a bounded set
`strongly_convex`    3.10    RRDNGD    L-smooth and α-strongly g-convex, bounded set
`frank_wolfe`        4.1     RDFW      L-smooth and g-convex on a bounded set
==================== ======= ========= ==============================================

Arguments carry the paper's letters:

``d``
    Dimension of the manifold itself: n - 1 for the sphere in R^n, n (n + 1)/2 for SPD(n).
``L``, ``alpha``
    Geodesic smoothness and strong g-convexity: bounds of the second derivative along geodesics.
``D``
    **Squared** distance d(x0, x*)² from the start to the minimiser, or an upper bound.
``eps``
    Accuracy ε > 0: of E|grad f| in `nonconvex`, of E f - f* elsewhere.
``kappa``
    Lower bound of the sectional curvature over the set.
``diameter``
    Largest distance between two points of the set, a geodesic length.

``rule="printed"`` (the default) is the theorem as printed, its misprints corrected. The other
rules follow from the same proofs and ask for fewer duels or for radii that floating point can
resolve; each function lists its own. Two things hold throughout:

- Theorems 3.7 and 4.1 silently use grad f(x*) = 0, that is, x* minimises f over the manifold and
  not only over the set. Where the optimum may sit on the boundary with a gradient that does not
  vanish, take ``rule="boundary"`` and give a bound of the gradient.
- Lemma 3.1 as printed fails for d = 1, where a sign can be wrong with certainty. The printed radii
  are 1.25 times too long there; ``rule="tight"`` and ``"boundary"`` use the sharp constant.

References
----------
Ren, Roy and Ma, Riemannian Dueling Optimization. Theorem, lemma and definition numbers are theirs.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ._support.check import nonnegative, one_of, positive, positive_int, real
from ._support.moved import moved_names
from .errors import ArgumentError, RadiusWarning
from .schedules import Constant, Cosine, constant, cosine

__all__ = [
    "WORST_CONSTANT",
    "RDFWParameters",
    "RDNGDParameters",
    "RRDNGDParameters",
    "convex",
    "direction_constant",
    "flip_bound",
    "flip_coefficient",
    "frank_wolfe",
    "nonconvex",
    "resolvable_radius",
    "strongly_convex",
    "zeta_bar",
]

__getattr__ = moved_names(__name__)

WORST_CONSTANT = 1 / math.sqrt(2 * math.pi)
"""The paper's lower bound of Ĉ(d) for every d (Lemma 3.2); the exact value is over twice that."""


# ---- Constants -----------------------------------------------------------------------------------


def direction_constant(d: int) -> float:
    """Constant Ĉ(d) of the direction estimator (Lemma 3.2).

    For u uniform on the unit sphere of a d-dimensional tangent space,
    ``E[sign<v, u> u] = (Ĉ(d)/√d) v/|v|`` with ``Ĉ(d) = √d Γ(d/2) / (√π Γ((d+1)/2))``. It falls
    from Ĉ(1) = 1 to √(2/π) = 0.798.

    Parameters
    ----------
    d : int, positive
        Dimension of the manifold.

    Returns
    -------
    float
        Ĉ(d), to a few units in the last place.

    Raises
    ------
    ArgumentError
        If d is not a positive integer.

    Examples
    --------
    >>> direction_constant(1)
    1.0
    >>> round(direction_constant(100), 6)
    0.799882
    """
    d = positive_int(d, "d")
    if d <= 300:
        return math.sqrt(d) * (math.gamma(d / 2) / math.gamma((d + 1) / 2) / math.sqrt(math.pi))
    # Γ overflows, and differences of lgamma lose digits; the next term is below 1e-17 from here on.
    q = 1 / d
    series = 1 + q * (1 / 4 + q * (1 / 32 - q * (5 / 128 + q * (21 / 2048 - q * 399 / 8192))))
    return math.sqrt(2 / math.pi) * series


def flip_coefficient(d: int, bound: Literal["sharp", "printed"] = "sharp") -> float:
    """Coefficient a(d) of Lemma 3.1's bound: a sign is wrong with probability <= a L ν/|g|.

    Parameters
    ----------
    d : int, positive
        Dimension of the manifold.
    bound : {"sharp", "printed"}
        "sharp" is ``max(1/2, Γ(d/2) / (√π Γ((d-1)/2)))``, the smallest coefficient that is valid;
        "printed" is the paper's ``√(d/2π)``, slightly larger from d = 2 on and too small for d = 1.

    Returns
    -------
    float
        a(d).

    Raises
    ------
    ArgumentError
        If an argument is outside its range.

    Notes
    -----
    The first coordinate Z of u has density A_d (1 - z²)^((d-3)/2), so P(|Z| <= b) <= 2 A_d b for
    d >= 3. For d = 1, 2 the density peaks at the ends and P(|Z| <= b) <= b instead; for d = 1 that
    is attained at b = 1, which the printed proof misses.

    Examples
    --------
    >>> flip_coefficient(3)
    0.5
    >>> round(flip_coefficient(1, "printed"), 4)
    0.3989
    """
    d = positive_int(d, "d")
    if one_of(bound, "bound", ("sharp", "printed")) == "printed":
        return math.sqrt(d / (2 * math.pi))
    if d <= 3:
        return 0.5
    # Γ(d/2)/Γ((d-1)/2) is the ratio in `direction_constant`, inverted, for one dimension less.
    return math.sqrt(d - 1) / (math.pi * direction_constant(d - 1))


def flip_bound(
    *,
    d: int,
    L: float,
    radius: float,
    gradient_norm: float,
    bound: Literal["sharp", "printed"] = "sharp",
) -> float:
    """Probability bound γ_x that a duel misjudges the sign of <grad f(x), u> (Lemma 3.1).

    ``γ_x = a(d) L ν/|grad f(x)|``. By Proposition 3.3 the estimator's mean is off by at most 2 γ_x
    in any direction.

    Parameters
    ----------
    d : int, positive
        Dimension of the manifold.
    L : float, > 0
        Geodesic smoothness.
    radius : float, > 0
        Perturbation radius ν, a geodesic length.
    gradient_norm : float, >= 0
        Riemannian norm of the gradient at the point.
    bound : {"sharp", "printed"}
        Which coefficient, see `flip_coefficient`. The printed one is false for d = 1.

    Returns
    -------
    float
        The bound, at most 1.

    Raises
    ------
    ArgumentError
        If an argument is outside its range.

    Examples
    --------
    >>> flip_bound(d=3, L=1.0, radius=0.1, gradient_norm=2.0)
    0.025
    """
    a = flip_coefficient(d, bound)
    reach = a * positive(L, "L") * positive(radius, "radius")
    norm = nonnegative(gradient_norm, "gradient_norm")
    return reach / norm if reach < norm else 1.0


def zeta_bar(kappa: float, diameter: float) -> float:
    """Curvature constant ζ̄ of the law of cosines: ``z/tanh z`` with ``z = √(-κ) diameter``.

    Parameters
    ----------
    kappa : float
        Lower bound of the sectional curvature. Zero and positive bounds give ζ̄ = 1, the Euclidean
        value (the paper's ``|κ|`` is 0/0 at zero, and needlessly large above).
    diameter : float, >= 0
        Diameter of the set, a geodesic length.

    Returns
    -------
    float
        ζ̄ >= 1.

    Raises
    ------
    ArgumentError
        If an argument is outside its range.

    Examples
    --------
    >>> zeta_bar(0.0, 3.0)
    1.0
    >>> round(zeta_bar(-1.0, 1.0), 6)
    1.313035
    """
    z = math.sqrt(max(0.0, -real(kappa, "kappa"))) * nonnegative(diameter, "diameter")
    return z / math.tanh(z) if z > 0 else 1.0


def resolvable_radius(L: float, magnitude: float, epsilon: float = 2.0**-52) -> float:
    """Return the smallest radius ν whose duels survive the rounding of the objective.

    Two values f(Exp(±νu)) near a minimum differ by about L ν²; a duel that is decided by their
    rounding, ``epsilon * magnitude``, is a coin flip. Hence ``ν >= √(epsilon * magnitude / L)``.

    Parameters
    ----------
    L : float, > 0
        Geodesic smoothness.
    magnitude : float, > 0
        Size of the objective's values, or of the largest numbers it adds up.
    epsilon : float, > 0
        Relative rounding error: 2^-52 for float64, 2^-23 for float32, larger if the objective
        loses digits.

    Returns
    -------
    float
        A geodesic length.

    Raises
    ------
    ArgumentError
        If an argument is not a finite number > 0.

    Examples
    --------
    >>> resolvable_radius(L=1.0, magnitude=1.0)
    1.4901161193847656e-08
    """
    return math.sqrt(
        positive(epsilon, "epsilon") * positive(magnitude, "magnitude") / positive(L, "L")
    )


# ---- Results -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RDNGDParameters:
    """What Theorems 3.6 and 3.7 prescribe for RDNGD (Algorithm 1).

    Attributes
    ----------
    theorem, rule : str
        Where the numbers come from.
    iterations : int
        T.
    step_size : Constant or Cosine
        η_k, bound to T.
    radius : float
        Perturbation radius ν, a geodesic length.
    duels_per_iteration : int
        2 where the best iterate is tracked, 1 where it is not.
    """

    theorem: str
    rule: str
    iterations: int
    step_size: Constant | Cosine
    radius: float
    duels_per_iteration: int

    @property
    def duels(self) -> int:
        """Duels of the whole run."""
        return self.iterations * self.duels_per_iteration


@dataclass(frozen=True)
class RRDNGDParameters:
    """What Theorem 3.10 prescribes for RRDNGD (Algorithm 2), phase by phase.

    Attributes
    ----------
    theorem, rule : str
        Where the numbers come from.
    phases : int
        K. Zero if the start is already good enough.
    phase_length : int
        t, iterations of RDNGD in each phase.
    """

    theorem: str
    rule: str
    phases: int
    phase_length: int
    _alpha: float = field(repr=False)
    _D: float = field(repr=False)
    _descent: _Descent = field(repr=False)
    _limits: _Limits = field(repr=False)

    def squared_distance(self, k: int) -> float:
        """Bound D_k = D/2^k of E d(x^(k), x*)² at the start of phase k."""
        return math.ldexp(self._D, -k)

    def target(self, k: int) -> float:
        """Accuracy ε_k = α D_k/4 of phase k (α D/2^(2-k), which grows, is a misprint)."""
        return self._alpha * self.squared_distance(k) / 4

    def step_size(self, k: int) -> float:
        """Constant step size η_k of phase k, a geodesic length."""
        return min(self._descent.step(self.target(k)), self._limits.step)

    def radius(self, k: int) -> float:
        """Perturbation radius ν_k of phase k, a geodesic length."""
        eps_k = self.target(k)
        path = math.sqrt(self.squared_distance(k)) + self._descent.step(eps_k) * self.phase_length
        return min(self._descent.radius(eps_k, path), self._limits.radius)

    @property
    def duels(self) -> int:
        """Duels of the whole run: two an iteration, 2 t K."""
        return 2 * self.phase_length * self.phases


@dataclass(frozen=True)
class RDFWParameters:
    """What Theorem 4.1 prescribes for RDFW (Algorithm 3), iteration by iteration.

    Attributes
    ----------
    theorem, rule : str
        Where the numbers come from.
    iterations : int
        T.
    """

    theorem: str
    rule: str
    iterations: int
    _radius_factor: float = field(repr=False)  # ν_k = factor s_k
    _batch_factor: float = field(repr=False)  # M_k = ⌈factor (k+3)^power⌉
    _batch_power: int = field(repr=False)
    _limits: _Limits = field(repr=False)

    def fraction(self, k: int) -> float:
        """Fraction s_k = 2/(k+3) of the geodesic from x_k to z_k that iteration k covers."""
        return 2 / (k + 3)

    def radius(self, k: int) -> float:
        """Perturbation radius ν_k, a geodesic length."""
        return min(self._radius_factor * self.fraction(k), self._limits.radius)

    def batch(self, k: int) -> int:
        """Directions M_k averaged in iteration k; each is one duel."""
        return max(1, _ceil(self._batch_factor * (k + 3) ** self._batch_power, "directions"))

    @cached_property
    def duels(self) -> int:
        """Duels of the whole run, Σ M_k (the paper's 2 Σ M_k counts the points compared)."""
        return sum(map(self.batch, range(self.iterations)))


# ---- Theorems ------------------------------------------------------------------------------------


def nonconvex(
    *,
    d: int,
    L: float,
    D: float,
    eps: float,
    step_size: Literal["constant", "cosine"] = "constant",
    rule: Literal["printed", "balanced", "tight"] = "printed",
    constant: Literal["exact", "worst"] = "exact",
    injectivity_radius: float | None = None,
    resolution: float | None = None,
) -> RDNGDParameters:
    """Theorem 3.6: RDNGD on an L-smooth function over the whole manifold.

    With the random iterate x_R of `draw_iterate`, E|grad f(x_R)| < eps. Nothing need be convex.
    Assumes that f attains its minimum at a point x* with d(x0, x*)² <= D.

    Parameters
    ----------
    d, L, D, eps
        Dimension, smoothness, squared distance to a minimiser, and the gradient norm wanted; see
        the module's list.
    step_size : {"constant", "cosine"}
        Part (i) or part (ii) of the theorem.
    rule : {"printed", "balanced", "tight"}
        "printed": as in the paper. Mixes D with 1, so it changes with the unit of length.
        "balanced": the best η for the same bound; free of units, never more iterations.
        "tight": balanced, with the radius from the sharp `flip_coefficient`; right also for d = 1.
    constant : {"exact", "worst"}
        Ĉ: `direction_constant`, or the paper's bound `WORST_CONSTANT` (over four times the duels).
    injectivity_radius : float, optional
        If given, steps are clipped to it and radii to half of it, with a warning. Two query points
        Exp(±νu) farther apart than that may no longer be joined by one shortest geodesic.
    resolution : float, optional
        Radius below which a warning is given; default ``resolvable_radius(L, L D/2)``, for an
        objective in float64 whose values are no larger than its drop.

    Returns
    -------
    RDNGDParameters
        T, η, ν and the duels: one an iteration, since x_R needs no best iterate.

    Raises
    ------
    ArgumentError
        If an argument is outside its range.

    Warns
    -----
    RadiusWarning
        If a radius is below `resolution`, or a length is beyond the injectivity radius.

    Notes
    -----
    ::

        printed    constant  T = ⌈L² d (D+1)² / (Ĉ ε)²⌉               η  = 1/√T
                   cosine    T = ⌈(2 √d (2 L D + L/2) / (Ĉ ε))²⌉      η₀ = 1/√T
        balanced   constant  T = ⌈4 d L² D / (Ĉ ε)²⌉                  η  = √(D/T)
                   cosine    T = ⌈8 d L² D / (Ĉ ε)²⌉                  η₀ = √(2D/T)
                             ν = Ĉ ε / (4 a √d L),  a = √(d/2π), or a(d) if tight

    All bound ``(√d/Ĉ) [L D / (2 Σ η_k) + L Σ η_k² / (2 Σ η_k) + 2 a L ν]`` by ε; the last term,
    the bias of the duels, takes half. For d = 1 the printed radius makes it 0.63 ε, not 0.5 ε.

    Examples
    --------
    >>> p = nonconvex(d=4, L=1.0, D=(math.pi / 2) ** 2, eps=0.3)
    >>> p.iterations, round(p.radius, 4), p.duels
    (742, 0.0399, 742)
    >>> nonconvex(d=4, L=1.0, D=(math.pi / 2) ** 2, eps=0.3, rule="balanced").iterations
    609
    """
    d, L, D, eps = positive_int(d, "d"), positive(L, "L"), positive(D, "D"), positive(eps, "eps")
    one_of(step_size, "step_size", ("constant", "cosine"))
    one_of(rule, "rule", ("printed", "balanced", "tight"))
    c = _direction_constant(d, constant)
    a = flip_coefficient(d, "sharp" if rule == "tight" else "printed")
    unit = math.sqrt(d) * L / c / eps

    if step_size == "constant":
        part = "i"
        if rule == "printed":
            T = _ceil(_square(unit * (D + 1)), "iterations")
            eta = 1 / math.sqrt(T)
        else:
            T = _ceil(_square(2 * unit * math.sqrt(D)), "iterations")
            eta = math.sqrt(D / T)
    else:
        part = "ii"
        if rule == "printed":
            T = _ceil(_square(2 * unit * (2 * D + 1 / 2)), "iterations")
            eta = 1 / math.sqrt(T)
        else:
            T = _ceil(2 * _square(2 * unit * math.sqrt(D)), "iterations")
            eta = math.sqrt(2 * D / T)
    nu = c * eps / (4 * a * math.sqrt(d)) / L

    limits = _Limits.of(injectivity_radius)
    _warn(f"Theorem 3.6({part})", limits, resolution, D, nu, nu, eta)
    return RDNGDParameters(
        theorem=f"3.6({part})",
        rule=rule,
        iterations=T,
        step_size=_schedule(step_size, min(eta, limits.step), T),
        radius=min(nu, limits.radius),
        duels_per_iteration=1,
    )


def convex(
    *,
    d: int,
    L: float,
    D: float,
    eps: float,
    kappa: float,
    diameter: float,
    step_size: Literal["constant", "cosine"] = "constant",
    rule: Literal["printed", "bounded", "tight", "boundary"] = "printed",
    gradient_bound: float | None = None,
    injectivity_radius: float | None = None,
    resolution: float | None = None,
) -> RDNGDParameters:
    """Theorem 3.7: RDNGD on an L-smooth g-convex function over a bounded set.

    Assumes curvature >= kappa, a closed geodesically convex set with a projection that brings no
    point farther from the set's points, and, except for ``rule="boundary"``, a vanishing gradient
    at the optimum. Closed g-convex sets of Hadamard manifolds have such a projection.

    The proof gives a hitting time: in expectation fewer than T iterations pass until an
    iterate is within eps of the optimum. The printed E f(best) - f* < eps treats that as certain;
    in practice gaps are far below eps.

    Parameters
    ----------
    d, L, D, eps, kappa, diameter
        See the module's list.
    step_size : {"constant", "cosine"}
        Part (i) or part (ii) of the theorem.
    rule : {"printed", "bounded", "tight", "boundary"}
        "printed": as in the paper. Its radius is mostly too small for floating point, since it
        divides by the square of R, the length of the longest path RDNGD could walk.
        "bounded": the same with R at most the diameter, which no iterate can leave.
        "tight": R the diameter, and the exact constants: 4 times fewer iterations (6 for d = 1);
        with cosine steps also the best η₀, 5 times fewer (8 for d = 1).
        "boundary": tight, without a vanishing gradient at the optimum; O(1/eps²) iterations.
    gradient_bound : float, optional
        G >= |grad f| on the set; for ``rule="boundary"`` only.
    injectivity_radius, resolution
        As in `nonconvex`.

    Returns
    -------
    RDNGDParameters
        T, η, ν and the duels: two an iteration, the second for the best iterate.

    Raises
    ------
    ArgumentError
        If an argument is outside its range, or a gradient bound is missing or not used.

    Warns
    -----
    RadiusWarning
        If a radius is below `resolution`, or a length is beyond the injectivity radius.

    Notes
    -----
    ::

        printed   (i)   T = ⌈1 + 16π d L ζ̄ D/ε⌉          η = √ε / (4 ζ̄ √(π d L))
                  (ii)  T = ⌈1 + 32π d L ζ̄ D/ε⌉          η₀ = the same
                        ν = (ε/L)^(3/2) / (4√2 d R²),    R = √D + Σ η_k
        tight     (i)   T = ⌈1 + 8 d L ζ̄ D/(Ĉ² ε)⌉       η = Ĉ/(2 ζ̄ √d) √(ε/2L)
                  (ii)  T = ⌈1 + 12 d L ζ̄ D/(Ĉ² ε)⌉      η₀ = 4/3 of that
                        ν = Ĉ (ε/L)^(3/2) / (4√2 a √d R²),  R = diameter
        boundary        as tight, with √(ε/2L) replaced by ε/G

    Each iteration whose point is not yet within ε lowers the expected squared distance to x*:
    ``E d²(x_{k+1}) <= d²(x_k) - σ η + ζ̄ η²`` with the slope σ = (c/√d) √(ε/2L). The radius ν keeps
    the bias of the duels to half of what they gain. η = σ/(2ζ̄) is best and lowers it by σ²/(4ζ̄),
    so T = ⌈1 + 4ζ̄ D/σ²⌉. The printed rule is c = 1/√(2π), the tight one c = Ĉ(d).

    Examples
    --------
    >>> problem = dict(d=2, L=1.0, D=1.0, eps=0.1, kappa=0.0, diameter=4.0)
    >>> convex(**problem, rule="bounded").iterations
    1007
    >>> p = convex(**problem, rule="tight")
    >>> p.iterations, p.duels, round(p.step_size(0), 4), f"{p.radius:.2g}"
    (199, 398, 0.0712, '0.00044')
    """
    d, L, D, eps = positive_int(d, "d"), positive(L, "L"), positive(D, "D"), positive(eps, "eps")
    one_of(step_size, "step_size", ("constant", "cosine"))
    one_of(rule, "rule", ("printed", "bounded", "tight", "boundary"))
    descent = _Descent.of(rule, d, L, kappa, diameter, gradient_bound)

    eta = descent.step(eps)
    T_constant = descent.iterations(D, eps)
    if step_size == "constant":
        part, T = "i", _ceil(1 + T_constant, "iterations")
    elif rule in ("printed", "bounded"):
        part, T = "ii", _ceil(1 + 2 * T_constant, "iterations")
    else:
        # -σ Σ η_k + ζ̄ Σ η_k² with the exact cosine sums is least, -(T + 2/3) σ²/(6ζ̄), at 4/3 η.
        part, T, eta = "ii", _ceil(1 + 1.5 * T_constant, "iterations"), 4 / 3 * eta
    schedule = _schedule(step_size, eta, T)
    length = schedule.sum if isinstance(schedule, Cosine) else eta * T
    nu = descent.radius(eps, math.sqrt(D) + length)

    limits = _Limits.of(injectivity_radius)
    _warn(f"Theorem 3.7({part})", limits, resolution, D, nu, nu, eta)
    return RDNGDParameters(
        theorem=f"3.7({part})",
        rule=rule,
        iterations=T,
        step_size=_schedule(step_size, min(eta, limits.step), T),
        radius=min(nu, limits.radius),
        duels_per_iteration=2,
    )


def strongly_convex(
    *,
    d: int,
    L: float,
    alpha: float,
    D: float,
    eps: float,
    kappa: float,
    diameter: float,
    rule: Literal["printed", "bounded", "tight"] = "printed",
    phases: Literal["printed", "direct"] = "printed",
    lipschitz: float | None = None,
    injectivity_radius: float | None = None,
    resolution: float | None = None,
) -> RRDNGDParameters:
    """Theorem 3.10: RRDNGD on an L-smooth, α-strongly g-convex function over a bounded set.

    Assumes what `convex` assumes, and that the optimum lies inside the set, so that its gradient
    vanishes. Each phase is a run of Theorem 3.7(i) that halves the squared distance, in the sense
    of that theorem; E f - f* <= eps in the end.

    Parameters
    ----------
    d, L, alpha, D, eps, kappa, diameter
        See the module's list; alpha <= L.
    rule : {"printed", "bounded", "tight"}
        As in `convex`. The printed and bounded radii take √D_k for a bound of the distance at the
        start of phase k, though it bounds its mean only. "tight" uses the diameter, which is safe,
        and smaller in late phases.
    phases : {"printed", "direct"}
        How many: "printed" turns the last distance into a gap by the Lipschitz constant; "direct"
        uses that phase k itself ends with gap ε_k, about half as many.
    lipschitz : float, optional
        Lipschitz constant of f on the set for the printed number of phases; default L diameter.
    injectivity_radius, resolution
        As in `nonconvex`.

    Returns
    -------
    RRDNGDParameters
        K, t, and ``step_size(k)``, ``radius(k)`` by phase.

    Raises
    ------
    ArgumentError
        If an argument is outside its range.

    Warns
    -----
    RadiusWarning
        If a radius is below `resolution`, or a length is beyond the injectivity radius.

    Notes
    -----
    ::

        D_k = D/2^k      ε_k = α D_k/4      η_k, ν_k = those of 3.7(i) for ε_k,  R = √D_k + η_k t
        t = ⌈1 + 64π d L ζ̄/α⌉               tight: ⌈1 + 32 d L ζ̄/(Ĉ² α)⌉
        K = ⌈log₂(l² D/ε²)⌉                 direct: ⌈log₂(α D/ε) - 1⌉, at least 1

    Examples
    --------
    >>> problem = dict(d=1, L=1.0, alpha=1.0, D=1.0, eps=1e-6, kappa=0.0, diameter=4.0)
    >>> p = strongly_convex(**problem, rule="bounded", phases="direct")
    >>> p.phase_length, p.phases, p.duels
    (203, 19, 7714)
    >>> [p.target(k) for k in range(3)]
    [0.25, 0.125, 0.0625]
    """
    d, L, D, eps = positive_int(d, "d"), positive(L, "L"), positive(D, "D"), positive(eps, "eps")
    if (alpha := positive(alpha, "alpha")) > L:
        raise ArgumentError(f"alpha must be <= L, got alpha={alpha!r}, L={L!r}")
    one_of(rule, "rule", ("printed", "bounded", "tight"))
    one_of(phases, "phases", ("printed", "direct"))
    descent = _Descent.of(rule, d, L, kappa, diameter, None)

    t = _ceil(1 + descent.iterations(D, alpha * D / 4), "iterations")
    if phases == "printed":
        slope = L * diameter if lipschitz is None else positive(lipschitz, "lipschitz")
        K = max(0, _ceil(2 * math.log2(slope) + math.log2(D) - 2 * math.log2(eps), "phases"))
    else:
        K = max(1, _ceil(math.log2(alpha) + math.log2(D) - math.log2(eps) - 1, "phases"))

    limits = _Limits.of(injectivity_radius)
    free = RRDNGDParameters("3.10", rule, K, t, alpha, D, descent, _Limits())
    last = max(0, K - 1)
    if free.target(last) == 0:
        raise ArgumentError(f"the last of {K} phases has a gap below float64; eps is too small")
    _warn(
        "Theorem 3.10",
        limits,
        resolution,
        D,
        free.radius(last),
        free.radius(0),
        free.step_size(0),
        where=f" in phase {last}",
    )
    return RRDNGDParameters("3.10", rule, K, t, alpha, D, descent, limits)


def frank_wolfe(
    *,
    d: int,
    L: float,
    eps: float,
    diameter: float,
    D: float | None = None,
    gap: float | None = None,
    rule: Literal["printed", "scale-invariant", "boundary"] = "printed",
    constant: Literal["exact", "worst"] = "exact",
    gradient_bound: float | None = None,
    injectivity_radius: float | None = None,
    resolution: float | None = None,
) -> RDFWParameters:
    """Theorem 4.1: RDFW on an L-smooth g-convex function over a bounded set.

    E f(x_T) - f* < eps. Assumes a bounded geodesically convex set and, except for
    ``rule="boundary"``, a vanishing gradient at the optimum. f must be comparable a radius outside
    of the set, where query points may fall.

    Parameters
    ----------
    d, L, eps, diameter
        See the module's list.
    D : float, optional
        Squared distance to the optimum, from which f(x0) - f* <= L D/2 if the gradient vanishes.
    gap : float, optional
        f(x0) - f* or an upper bound, in place of D; required by ``rule="boundary"``.
    rule : {"printed", "scale-invariant", "boundary"}
        "printed": as in the paper. Duels cannot tell f from 100 f, but this rule does.
        "scale-invariant": radii and batches that do not depend on L, with the same proof.
        "boundary": scale-invariant, without a vanishing gradient at the optimum; batches grow like
        (k+3)², O(d/eps³) duels.
    constant : {"exact", "worst"}
        Ĉ: `direction_constant`, or the paper's bound `WORST_CONSTANT` (over four times the duels).
    gradient_bound : float, optional
        G >= |grad f| on the set; for ``rule="boundary"`` only.
    injectivity_radius, resolution
        As in `nonconvex`.

    Returns
    -------
    RDFWParameters
        T, and ``radius(k)``, ``batch(k)``, ``fraction(k)`` by iteration.

    Raises
    ------
    ArgumentError
        If an argument is outside its range, or is missing or not used.

    Warns
    -----
    RadiusWarning
        If a radius is below `resolution`, or beyond half the injectivity radius.

    Notes
    -----
    With s_k = 2/(k+3), Δ₀ = f(x0) - f* and δ the diameter::

        printed           ν_k = √(π/8) Ĉ/(d L δ) s_k    M_k = ⌈8 d L δ² (k+3)/Ĉ²⌉
                          T = ⌈(2Δ₀ + 4 L δ² + 12)/ε⌉
        scale-invariant   ν_k = √(π/8) Ĉ δ/d s_k        M_k = ⌈8 d (k+3)/Ĉ²⌉
                          T = ⌈(2Δ₀ + 16 L δ²)/ε⌉
        boundary          ν_k = Ĉ δ/(4 a(d) √d) s_k     M_k = ⌈4 d (G (k+3)/(Ĉ L δ))²⌉
                          T = ⌈max(2Δ₀, 8 L δ²)/ε⌉

    The first two lead to ``E Δ_{k+1} <= (1 - 3/4 s_k) Δ_k + s_k² (L δ² + c)/2`` with c = 3 and
    c = 3 L δ² (for d = 1, with a radius 1.25 times too long, 3.51 of either). At a boundary the
    noise need not be traded against Δ_k, and ``E Δ_{k+1} <= (1 - s_k) Δ_k + 2 s_k² L δ²``.

    Examples
    --------
    >>> p = frank_wolfe(d=2, L=1.0, eps=1.0, diameter=2.0, D=1.96)
    >>> p.iterations, p.batch(0), round(p.radius(0), 3), p.duels
    (30, 237, 0.094, 41466)
    >>> invariant = frank_wolfe(d=2, L=1.0, eps=1.0, diameter=2.0, D=1.96, rule="scale-invariant")
    >>> invariant.batch(0), round(invariant.radius(0), 3)
    (60, 0.376)
    """
    d, L, eps = positive_int(d, "d"), positive(L, "L"), positive(eps, "eps")
    diameter = positive(diameter, "diameter")
    one_of(rule, "rule", ("printed", "scale-invariant", "boundary"))
    G = _gradient_bound(rule, gradient_bound)
    c = _direction_constant(d, constant)
    if (D is None) == (gap is None):
        raise ArgumentError(f"give either D or gap, got D={D!r}, gap={gap!r}")
    if gap is None:
        if rule == "boundary":
            raise ArgumentError("rule='boundary' needs gap: D bounds it only if grad f(x*) = 0")
        gap = L * positive(D, "D") / 2
    gap = positive(gap, "gap")

    curvature = L * diameter * diameter
    if rule == "printed":
        nu = math.sqrt(math.pi / 8) * c / d / L / diameter
        batch, power = 8 * d * curvature / c**2, 1
        T = _ceil((2 * gap + 4 * curvature + 12) / eps, "iterations")
    elif rule == "scale-invariant":
        nu = math.sqrt(math.pi / 8) * c * diameter / d
        batch, power = 8 * d / c**2, 1
        T = _ceil((2 * gap + 16 * curvature) / eps, "iterations")
    else:
        nu = c * diameter / (4 * flip_coefficient(d) * math.sqrt(d))
        batch, power = 4 * d * _square(G / L / diameter / c), 2
        T = _ceil(max(2 * gap, 8 * curvature) / eps, "iterations")

    limits = _Limits.of(injectivity_radius)
    free = RDFWParameters("4.1", rule, T, nu, batch, power, _Limits())
    _warn(
        "Theorem 4.1",
        limits,
        resolution,
        2 * gap / L,
        free.radius(T - 1),
        free.radius(0),
        0.0,
        where=f" at iteration {T - 1}",
    )
    return RDFWParameters("4.1", rule, T, nu, batch, power, limits)


# ---- What the theorems share ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Descent:
    """The inequality E d²(x_{k+1}, x*) <= d²(x_k, x*) - σ η + ζ̄ η² behind Theorems 3.7 and 3.10."""

    rule: str
    d: int
    L: float
    zeta: float
    diameter: float
    c: float
    a: float
    G: float

    @classmethod
    def of(
        cls,
        rule: str,
        d: int,
        L: float,
        kappa: float,
        diameter: float,
        gradient_bound: float | None,
    ) -> _Descent:
        diameter = positive(diameter, "diameter")
        exact = rule in ("tight", "boundary")
        return cls(
            rule=rule,
            d=d,
            L=L,
            zeta=zeta_bar(kappa, diameter),
            diameter=diameter,
            c=direction_constant(d) if exact else WORST_CONSTANT,
            a=flip_coefficient(d, "sharp" if exact else "printed"),
            G=_gradient_bound(rule, gradient_bound),
        )

    def slope(self, eps: float) -> float:
        """σ: what a unit step gains at a point whose gap is at least eps (Lemma B.5)."""
        drop = eps / self.G if self.rule == "boundary" else math.sqrt(eps / (2 * self.L))
        return self.c / math.sqrt(self.d) * drop

    def step(self, eps: float) -> float:
        return self.slope(eps) / (2 * self.zeta)

    def iterations(self, D: float, eps: float) -> float:
        """4 ζ̄ D/σ²: how often the expected decrease fits into D."""
        slope = self.slope(eps)
        return 4 * self.zeta * _square(math.sqrt(D) / slope) if slope > 0 else math.inf

    def radius(self, eps: float, path: float) -> float:
        """ν with 4 a L ν R²/eps = σ: then |g| >= eps/R keeps the bias to half of the gain."""
        R = {"printed": path, "bounded": min(path, self.diameter)}.get(self.rule, self.diameter)
        return self.slope(eps) * eps / (4 * self.a * self.L) / R / R


@dataclass(frozen=True)
class _Limits:
    """The longest step and radius that an injectivity radius allows."""

    step: float = math.inf
    radius: float = math.inf

    @classmethod
    def of(cls, injectivity_radius: float | None) -> _Limits:
        if injectivity_radius is None or injectivity_radius == math.inf:
            return cls()
        length = positive(injectivity_radius, "injectivity_radius")
        return cls(step=length, radius=length / 2)


def _warn(
    theorem: str,
    limits: _Limits,
    resolution: float | None,
    D: float,
    smallest: float,
    largest: float,
    step: float,
    where: str = "",
) -> None:
    """Warn, at the caller of the theorem's function, of lengths that will not work as proven."""
    # f rises L D/2 above its minimum at the start, so L cancels in the default.
    if resolution is None:
        resolution = resolvable_radius(1.0, D / 2)
    floor = nonnegative(resolution, "resolution")
    if smallest < floor:
        warnings.warn(
            f"{theorem}: the radius{where} is {smallest:.2g}, below {floor:.2g}, where rounding of "
            "the objective decides the duels; take another rule or a larger eps, or give the "
            "resolution of your objective",
            RadiusWarning,
            stacklevel=3,
        )
    if largest > limits.radius:
        warnings.warn(
            f"{theorem}: a radius of {largest:.2g} is clipped to {limits.radius:.2g}, half the "
            "injectivity radius (the guarantee stays)",
            RadiusWarning,
            stacklevel=3,
        )
    if step > limits.step:
        warnings.warn(
            f"{theorem}: a step of {step:.2g} is clipped to {limits.step:.2g}, the injectivity "
            "radius (the number of iterations may no longer suffice)",
            RadiusWarning,
            stacklevel=3,
        )


def _schedule(kind: str, eta: float, T: int) -> Constant | Cosine:
    return cosine(eta, 0.0, T) if kind == "cosine" else constant(eta)


def _direction_constant(d: int, which: str) -> float:
    exact = one_of(which, "constant", ("exact", "worst")) == "exact"
    return direction_constant(d) if exact else WORST_CONSTANT


def _gradient_bound(rule: str, bound: float | None) -> float:
    """G, where the rule asks for it; anything elsewhere is a misunderstanding."""
    if rule == "boundary":
        return positive(bound, "gradient_bound")
    if bound is not None:
        raise ArgumentError(f"gradient_bound goes with rule='boundary', got rule={rule!r}")
    return math.inf


def _square(x: float) -> float:
    """x², infinite where x**2 would raise."""
    return x * x


def _ceil(x: float, what: str) -> int:
    """Round up, counting a number within rounding of an integer as that integer."""
    if not math.isfinite(x):
        raise ArgumentError(f"the number of {what} is beyond float64; eps is too small")
    return math.ceil(x - max(1.0, abs(x)) * 1e-14)
