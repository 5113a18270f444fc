"""Ways to optimisers of other packages. `geoduel.bridges.optuna` needs Optuna, the extra optuna.

Manifolds of other packages come through `geoduel.from_pymanopt`, `geoduel.from_geomstats` and
`geoduel.from_geoopt`; a problem of pymanopt goes to `geoduel.minimize` as it is.
"""

from typing import TYPE_CHECKING

from .._support.lazy import lazy

if TYPE_CHECKING:
    from .optuna import DuelSampler, PreferenceSampler, point_of, suggest_point

__getattr__ = lazy(__name__, __file__)

__all__ = ["DuelSampler", "PreferenceSampler", "point_of", "suggest_point"]


def __dir__() -> list[str]:
    return __all__
