"""The paper's algorithms, each reading like its pseudo-code."""

from .rdfw import RDFW
from .rdngd import RDNGD
from .rrdngd import RRDNGD

__all__ = ["RDFW", "RDNGD", "RRDNGD"]
