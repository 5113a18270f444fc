"""Methods of others that see comparisons alone: one paper a file, with that paper's settings.

They are here to be compared with, on any manifold where that is natural. Straight lines become
geodesics, random directions are uniform in the metric, and coordinates are those of a
parallel-transported frame.
"""

from .comparison_ngd import ComparisonNGD
from .minibatch_stp import MinibatchDuels, MinibatchSTP
from .nelder_mead import NelderMead
from .one_plus_one import OnePlusOne
from .one_plus_one_cma import OnePlusOneCMA
from .order_acd import OrderACD
from .order_cd import OrderCD
from .rank_sgd import RankSGD
from .scobo import SCOBO
from .stp import STP

__all__ = [
    "SCOBO",
    "STP",
    "ComparisonNGD",
    "MinibatchDuels",
    "MinibatchSTP",
    "NelderMead",
    "OnePlusOne",
    "OnePlusOneCMA",
    "OrderACD",
    "OrderCD",
    "RankSGD",
]
