"""Comparison-only attacks on image classifiers: the paper's second application. Needs torch."""

from typing import TYPE_CHECKING

from ..._lazy import loader

if TYPE_CHECKING:
    from .adapters import to_art, to_foolbox
    from .core import AttackHistory, AttackProgress, AttackResult, attack
    from .data import Pictures, cifar10, digits, image_folder, load_pictures
    from .methods import METHODS, ZORGD, Averaging, Climb, Evolution
    from .networks import load_weights, save_weights, small_cnn, train, vgg11_bn
    from .oracles import Judge, Remote
    from .shapes import Directions, ShapedSphere, prior
    from .threat import Threat, resolved_radius

__getattr__ = loader(
    __name__,
    {
        "adapters": (
            "to_art",
            "to_foolbox",
        ),
        "core": (
            "AttackHistory",
            "AttackProgress",
            "AttackResult",
            "attack",
        ),
        "data": (
            "Pictures",
            "cifar10",
            "digits",
            "image_folder",
            "load_pictures",
        ),
        "methods": (
            "METHODS",
            "Averaging",
            "Climb",
            "Evolution",
            "ZORGD",
        ),
        "networks": (
            "load_weights",
            "save_weights",
            "small_cnn",
            "train",
            "vgg11_bn",
        ),
        "oracles": (
            "Judge",
            "Remote",
        ),
        "shapes": (
            "Directions",
            "ShapedSphere",
            "prior",
        ),
        "threat": (
            "Threat",
            "resolved_radius",
        ),
    },
)

__all__ = [
    "METHODS",
    "ZORGD",
    "AttackHistory",
    "AttackProgress",
    "AttackResult",
    "Averaging",
    "Climb",
    "Directions",
    "Evolution",
    "Judge",
    "Pictures",
    "Remote",
    "ShapedSphere",
    "Threat",
    "attack",
    "cifar10",
    "digits",
    "image_folder",
    "load_pictures",
    "load_weights",
    "prior",
    "resolved_radius",
    "save_weights",
    "small_cnn",
    "to_art",
    "to_foolbox",
    "train",
    "vgg11_bn",
]


def __dir__() -> list[str]:
    return __all__
