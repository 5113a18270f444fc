"""Geometries: one manifold a file; `base` states the contract they keep."""

from typing import TYPE_CHECKING

from .._lazy import loader
from .base import Manifold

if TYPE_CHECKING:
    from .adapters import from_geomstats, from_geoopt, from_pymanopt, to_pymanopt
    from .euclidean import Euclidean
    from .grassmann import Grassmann
    from .hyperbolic import Hyperbolic
    from .product import Power, Product
    from .rotations import Rotations
    from .simplex import Simplex
    from .spd import SPD
    from .sphere import Sphere
    from .stiefel import Stiefel
    from .torus import Torus

__getattr__ = loader(
    __name__,
    {
        "adapters": ("from_geomstats", "from_geoopt", "from_pymanopt", "to_pymanopt"),
        "euclidean": ("Euclidean",),
        "grassmann": ("Grassmann",),
        "hyperbolic": ("Hyperbolic",),
        "product": ("Power", "Product"),
        "rotations": ("Rotations",),
        "simplex": ("Simplex",),
        "spd": ("SPD",),
        "sphere": ("Sphere",),
        "stiefel": ("Stiefel",),
        "torus": ("Torus",),
    },
)

__all__ = [
    "SPD",
    "Euclidean",
    "Grassmann",
    "Hyperbolic",
    "Manifold",
    "Power",
    "Product",
    "Rotations",
    "Simplex",
    "Sphere",
    "Stiefel",
    "Torus",
    "from_geomstats",
    "from_geoopt",
    "from_pymanopt",
    "to_pymanopt",
]


def __dir__() -> list[str]:
    return __all__
