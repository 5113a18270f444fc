"""Methods that see values or gradients: yardsticks for those that see duels alone.

Each takes a problem (`geoduel.problems`) and returns a `Result`, like `minimize`. There ``duels``
counts evaluations of the objective and of its gradient, and the history's ``monitor`` holds the gap
f - f* of the best point so far.
"""

from ..problems.karcher_mean import KarcherMean, karcher_mean
from .frank_wolfe import frank_wolfe
from .gradient_descent import rgd
from .zo_rgd import zo_rgd

__all__ = ["KarcherMean", "frank_wolfe", "karcher_mean", "rgd", "zo_rgd"]
