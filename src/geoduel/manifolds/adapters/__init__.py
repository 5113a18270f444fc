"""Manifolds of other packages, and ours for theirs."""

from .foreign import ForeignManifold
from .geomstats import from_geomstats
from .geoopt import from_geoopt
from .pymanopt import from_pymanopt, to_pymanopt

__all__ = ["ForeignManifold", "from_geomstats", "from_geoopt", "from_pymanopt", "to_pymanopt"]
