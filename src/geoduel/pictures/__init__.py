"""Photos: opened, turned, saved; and a painted seascape whose horizon is known."""

from .files import open_photo, picture_format, save_name, save_photo, shrink
from .seascape import seascape
from .turning import largest_rectangle, turn

__all__ = [
    "largest_rectangle",
    "open_photo",
    "picture_format",
    "save_name",
    "save_photo",
    "seascape",
    "shrink",
    "turn",
]
