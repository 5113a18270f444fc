"""Optimise on curved spaces when all you can get is "A is better than B".

import geoduel as gd

sphere = gd.Sphere(100)                                    # where the points live
oracle = gd.from_objective(lambda x: -0.5 * x @ A @ x)     # only duels leave it
result = gd.minimize(oracle, sphere, budget=10_000, rng=0)
result.x                                                   # best point
"""

from typing import TYPE_CHECKING

from . import errors
from ._lazy import loader
from ._version import __version__
from .algorithms import (
    RDFW,
    RDNGD,
    RRDNGD,
    Auto,
    Bisection,
    Block,
    DuelCSA,
    DuelNewton,
    IdealPoint,
    Method,
    for_people,
)
from .manifolds.base import Manifold
from .optimize import History, Progress, Result, minimize
from .oracle import (
    Counted,
    Noisy,
    Oracle,
    Recorded,
    Repeated,
    Reversed,
    from_objective,
    from_preference,
)
from .schedules import Schedule, constant, cosine, geometric

if TYPE_CHECKING:
    from . import study, theory, web
    from .domains import (
        Ball,
        Box,
        Domain,
        Intersection,
        L1Ball,
        L2Ball,
        ProbabilitySimplex,
        SPDInterval,
    )
    from .manifolds import (
        SPD,
        Euclidean,
        Grassmann,
        Hyperbolic,
        Power,
        Product,
        Rotations,
        Simplex,
        Sphere,
        Stiefel,
        Torus,
        from_geomstats,
        from_geoopt,
        from_pymanopt,
        to_pymanopt,
    )
    from .study import (
        Duel,
        Study,
        create_study,
        delete_study,
        import_study,
        load_study,
        study_names,
    )
    from .web import serve

__getattr__ = loader(
    __name__,
    {
        "theory": (),
        "web": ("serve", "web"),
        "study": (
            "Duel",
            "Study",
            "create_study",
            "delete_study",
            "import_study",
            "load_study",
            "study",
            "study_names",
        ),
        "domains": (
            "Ball",
            "Box",
            "Domain",
            "Intersection",
            "L1Ball",
            "L2Ball",
            "ProbabilitySimplex",
            "SPDInterval",
        ),
        "manifolds": (
            "SPD",
            "Euclidean",
            "Grassmann",
            "Hyperbolic",
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
        ),
    },
)

__all__ = [
    "RDFW",
    "RDNGD",
    "RRDNGD",
    "SPD",
    "Auto",
    "Ball",
    "Bisection",
    "Block",
    "Box",
    "Counted",
    "Domain",
    "Duel",
    "DuelCSA",
    "DuelNewton",
    "Euclidean",
    "Grassmann",
    "History",
    "Hyperbolic",
    "IdealPoint",
    "Intersection",
    "L1Ball",
    "L2Ball",
    "Manifold",
    "Method",
    "Noisy",
    "Oracle",
    "Power",
    "ProbabilitySimplex",
    "Product",
    "Progress",
    "Recorded",
    "Repeated",
    "Result",
    "Reversed",
    "Rotations",
    "SPDInterval",
    "Schedule",
    "Simplex",
    "Sphere",
    "Stiefel",
    "Study",
    "Torus",
    "__version__",
    "constant",
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
    "geometric",
    "import_study",
    "load_study",
    "minimize",
    "serve",
    "study",
    "study_names",
    "theory",
    "to_pymanopt",
    "web",
]


def __dir__() -> list[str]:
    return __all__
