"""Comparison-only attacks on image classifiers: the paper's second application. Needs torch."""

from typing import TYPE_CHECKING

from .._support.lazy import lazy

if TYPE_CHECKING:
    from .adapters import to_art, to_foolbox
    from .data import Pictures, cifar10, digits, image_folder, load_pictures
    from .judge import Judge, logits_in
    from .methods import ATTACKS, ZORGD, Averaging, Climb, Evolution, Learning
    from .networks import NETWORKS, load_weights, save_weights, small_cnn, train, vgg11_bn
    from .priors import Directions, ShapedSphere, prior
    from .radii import LabelDuel, Tracker
    from .remote import Remote
    from .result import AttackHistory, AttackProgress, AttackResult, Trace
    from .run import attack
    from .threat import Threat, resolved_radius

__getattr__ = lazy(__name__, __file__)

__all__ = [
    "ATTACKS",
    "NETWORKS",
    "ZORGD",
    "AttackHistory",
    "AttackProgress",
    "AttackResult",
    "Averaging",
    "Climb",
    "Directions",
    "Evolution",
    "Judge",
    "LabelDuel",
    "Learning",
    "Pictures",
    "Remote",
    "ShapedSphere",
    "Threat",
    "Trace",
    "Tracker",
    "attack",
    "cifar10",
    "digits",
    "image_folder",
    "load_pictures",
    "load_weights",
    "logits_in",
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
