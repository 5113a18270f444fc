"""Methods that see comparisons alone, one a file, each reading like its pseudo-code."""

from .base import Method, State
from .rdfw import RDFW
from .rdngd import RDNGD
from .rrdngd import RRDNGD

METHODS: dict[str, type[Method]] = {"rdngd": RDNGD, "rrdngd": RRDNGD, "rdfw": RDFW}
"""The methods by the name that `geoduel.minimize` takes."""

__all__ = ["METHODS", "RDFW", "RDNGD", "RRDNGD", "Method", "State"]
