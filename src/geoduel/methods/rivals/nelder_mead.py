"""The simplex method of Nelder and Mead by comparisons, on a manifold."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._numerics.arrays import Array
from ...errors import CutLocusError
from ...manifolds.base import Manifold
from ..frame import Frame, to_numpy
from .base import Rival
from .ranking import place

__all__ = ["NelderMead", "NelderMeadState"]

Vertices = tuple[Array, ...]


class NelderMeadState(NamedTuple):
    """State of NelderMead: the vertices, the best first; one before the first iteration."""

    vertices: Vertices

    @property
    def point(self) -> Array:
        """The best vertex."""
        return self.vertices[0]

    @property
    def best(self) -> Array:
        """The best vertex."""
        return self.vertices[0]


@dataclass(frozen=True)
class NelderMead(Rival):
    """Nelder and Mead's simplex, kept in order by duels.

        vertices x_0..x_d, the best first;   repeat:
            c = centre of all but the worst;   r = the worst reflected at c
            r beats x_0:       x_d = the better of r and a point as far again times β, expansion
            r beats x_{d-1}:   x_d = r
            else               x_d = a point between c and the better of r and x_d, contraction
            and if that is no better than both: all vertices move towards x_0

    A new vertex is put in its place by bisection, so an iteration takes about 3 + log2 d duels. The
    coefficients are those adapted to the dimension. On a manifold, c is Exp of the mean of the
    vertices' logarithms at x_0, and lines through c are geodesics. There is no theorem: on smooth
    convex functions of few variables the gap falls by a constant factor each d iterations.

    Parameters
    ----------
    initial_step : float, optional
        Edge of the first simplex, a geodesic length.
    domain : Domain, optional
        Feasible set: an infeasible vertex is ranked by how far it is outside.

    References
    ----------
    Nelder and Mead, A simplex method for function minimization, Computer Journal 7 (1965); Gao and
    Han, Implementing the Nelder-Mead simplex algorithm with adaptive parameters, Computational
    Optimization and Applications 51 (2012); Dreisigmeyer, Equality constraints, Riemannian
    manifolds and direct search methods (2006), for simplices on manifolds.

    Examples
    --------
    >>> import geoduel as gd
    >>> oracle = gd.from_objective(lambda x: x @ x)
    >>> result = gd.minimize(oracle, gd.Euclidean(2), np.ones(2), method="nelder-mead", budget=200,
    ...                      rng=0)
    >>> bool(result.x @ result.x < 1e-8)
    True
    """

    matrices: ClassVar[int] = 3

    def start(self, manifold: Manifold, x0: Array, rng: np.random.Generator) -> NelderMeadState:
        return NelderMeadState((x0,))

    def step(
        self, manifold: Manifold, state: NelderMeadState, rng: np.random.Generator
    ) -> Generator[tuple[Array, Array], Any, NelderMeadState]:
        if len(state.vertices) > 1:
            with suppress(CutLocusError):  # vertices half a world apart: a new simplex
                return NelderMeadState((yield from self._replace_worst(manifold, state.vertices)))
        x, edge = state.best, self.first_step(manifold)
        vertices: Vertices = (x,)
        for y in Frame(x, None).at(manifold, edge * np.eye(manifold.dim)):
            vertices = yield from _inserted(vertices, y)
        return NelderMeadState(vertices)

    def _replace_worst(
        self, manifold: Manifold, vertices: Vertices
    ) -> Generator[tuple[Array, Array], Any, Vertices]:
        *rest, worst = vertices
        d = manifold.dim
        expand, contract, shrink = 1 + 2 / d, 0.75 - 1 / (2 * d), 1 - 1 / d
        if d == 1:
            expand, contract, shrink = 2.0, 0.5, 0.5
        x = rest[0]
        logs = [manifold.to_coords(x, manifold.log(x, y)) for y in rest]
        centre = Frame(x, None).at(manifold, np.mean([to_numpy(c) for c in logs], axis=0))
        back = Frame(centre, None)
        c = to_numpy(manifold.to_coords(centre, manifold.log(centre, worst)))

        r = back.at(manifold, -c)
        if (yield r, rest[0]) < 0:
            e = back.at(manifold, -expand * c)
            return (e if (yield e, r) < 0 else r, *rest)
        if d > 1 and (yield r, rest[-1]) < 0:
            at = yield from place(r, rest, 1, d - 1)
            return (*rest[:at], r, *rest[at:])
        outside = (yield r, worst) < 0
        k = back.at(manifold, (-contract if outside else contract) * c)
        if (yield k, r if outside else worst) <= 0:
            return (yield from _inserted(tuple(rest), k))

        shrunk: Vertices = (x,)
        for y in vertices[1:]:
            v = manifold.log(x, y)
            shrunk = yield from _inserted(shrunk, manifold.exp(x, shrink * v))
        return shrunk


def _inserted(vertices: Vertices, x: Array) -> Generator[tuple[Array, Array], Any, Vertices]:
    """The vertices with one more in its place."""
    at = yield from place(x, vertices)
    return (*vertices[:at], x, *vertices[at:])
