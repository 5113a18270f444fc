"""Problems with known optima: what the methods are tried and measured on."""

from typing import TYPE_CHECKING

from .._lazy import loader

if TYPE_CHECKING:
    from .base import Problem
    from .euclidean import Quadratic, Rosenbrock
    from .horizon import Leveling
    from .karcher import Karcher
    from .rayleigh import Rayleigh

__getattr__ = loader(
    __name__,
    {
        "base": ("Problem",),
        "euclidean": ("Quadratic", "Rosenbrock"),
        "horizon": ("Leveling",),
        "karcher": ("Karcher",),
        "rayleigh": ("Rayleigh",),
    },
)

__all__ = ["Karcher", "Leveling", "Problem", "Quadratic", "Rayleigh", "Rosenbrock"]


def __dir__() -> list[str]:
    return __all__
