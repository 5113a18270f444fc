"""Optimise on curved spaces when all you can get is "A is better than B".

import geoduel as gd

sphere = gd.Sphere(100)                                    # where the points live
oracle = gd.from_objective(lambda x: -0.5 * x @ A @ x)     # only duels leave it
result = gd.minimize(oracle, sphere, budget=10_000, rng=0)
result.x                                                   # best point
"""

from typing import TYPE_CHECKING

from . import errors
from ._support.early import loaded
from ._support.lazy import lazy
from ._support.moved import forward_old_modules
from ._version import __version__
from .domains import (
    Ball,
    Box,
    Catalogue,
    Domain,
    Intersection,
    Interval,
    L1Ball,
    L2Ball,
    ProbabilitySimplex,
    Space,
    SPDInterval,
    Where,
    space,
)
from .manifolds import (
    SE,
    SPD,
    Categories,
    ComplexSphere,
    Correlation,
    Euclidean,
    Grassmann,
    Hyperbolic,
    Integers,
    Line,
    Manifold,
    Oblique,
    Power,
    Product,
    Rotations,
    Simplex,
    Sphere,
    Stiefel,
    Torus,
    Unitary,
    from_geomstats,
    from_geoopt,
    from_pymanopt,
    to_pymanopt,
)
from .methods import (
    RDFW,
    RDNGD,
    RRDNGD,
    Auto,
    Bisection,
    Block,
    DuelCSA,
    DuelNewton,
    IdealDirection,
    IdealPoint,
    Method,
    Mixed,
    for_people,
)
from .optimize import Progress, minimize
from .oracles import (
    Counted,
    Logged,
    Noisy,
    Oracle,
    Recorded,
    Repeated,
    Retried,
    Reversed,
    Shuffled,
    from_objective,
    from_preference,
    from_ranking,
    paired,
)
from .result import History, Result
from .schedules import Schedule, constant, cosine, geometric

if TYPE_CHECKING:
    from . import plotting, study, theory, web
    from .study import (
        Duel,
        Study,
        copy_study,
        create_study,
        delete_study,
        import_study,
        load_study,
        study_names,
    )
    from .web import serve

__getattr__ = lazy(__name__, __file__)
forward_old_modules()
loaded()

__all__ = [
    "RDFW",
    "RDNGD",
    "RRDNGD",
    "SE",
    "SPD",
    "Auto",
    "Ball",
    "Bisection",
    "Block",
    "Box",
    "Catalogue",
    "Categories",
    "ComplexSphere",
    "Correlation",
    "Counted",
    "Domain",
    "Duel",
    "DuelCSA",
    "DuelNewton",
    "Euclidean",
    "Grassmann",
    "History",
    "Hyperbolic",
    "IdealDirection",
    "IdealPoint",
    "Integers",
    "Intersection",
    "Interval",
    "L1Ball",
    "L2Ball",
    "Line",
    "Logged",
    "Manifold",
    "Method",
    "Mixed",
    "Noisy",
    "Oblique",
    "Oracle",
    "Power",
    "ProbabilitySimplex",
    "Product",
    "Progress",
    "Recorded",
    "Repeated",
    "Result",
    "Retried",
    "Reversed",
    "Rotations",
    "SPDInterval",
    "Schedule",
    "Shuffled",
    "Simplex",
    "Space",
    "Sphere",
    "Stiefel",
    "Study",
    "Torus",
    "Unitary",
    "Where",
    "__version__",
    "constant",
    "copy_study",
    "cosine",
    "create_study",
    "delete_study",
    "errors",
    "for_people",
    "from_geomstats",
    "from_geoopt",
    "from_objective",
    "from_preference",
    "from_pymanopt",
    "from_ranking",
    "geometric",
    "import_study",
    "load_study",
    "minimize",
    "paired",
    "plotting",
    "serve",
    "space",
    "study",
    "study_names",
    "theory",
    "to_pymanopt",
    "web",
]


def __dir__() -> list[str]:
    return __all__
