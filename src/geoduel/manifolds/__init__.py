"""Geometries: one manifold a file; `base` states the contract they keep."""

from .adapters.geomstats import from_geomstats
from .adapters.geoopt import from_geoopt
from .adapters.pymanopt import from_pymanopt, to_pymanopt
from .base import Manifold
from .by_name import SE, ComplexSphere, Oblique
from .correlation import Correlation
from .discrete import Categories, Discrete, Integers
from .euclidean import Euclidean
from .grassmann import Grassmann
from .hyperbolic import Hyperbolic
from .line import Line
from .product import Power, Product
from .rotations import Rotations
from .simplex import Simplex
from .spd.spd import SPD
from .sphere import Sphere
from .stiefel import Stiefel
from .torus import Torus
from .unitary import Unitary

__all__ = [
    "SE",
    "SPD",
    "Categories",
    "ComplexSphere",
    "Correlation",
    "Discrete",
    "Euclidean",
    "Grassmann",
    "Hyperbolic",
    "Integers",
    "Line",
    "Manifold",
    "Oblique",
    "Power",
    "Product",
    "Rotations",
    "Simplex",
    "Sphere",
    "Stiefel",
    "Torus",
    "Unitary",
    "from_geomstats",
    "from_geoopt",
    "from_pymanopt",
    "to_pymanopt",
]
