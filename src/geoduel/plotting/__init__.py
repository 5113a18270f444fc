"""Figures of a run of one's own, and the style they share. Needs the extra ``plot`` (matplotlib).

    convergence   how near runs have come, against duels; several as a line with a band
    consistency   how often the judge gives the same answer to the same question
    path          the way of the best point, on a sphere, a disc, a triangle, a torus, ...
    duels         who beat whom
    region        where the ideal of a person may lie

Each returns matplotlib axes: a notebook shows them, ``ax.figure.savefig("a.png")`` writes them, and
``ax=`` draws on others.
"""

from .._support.moved import moved_names
from .points import duels, path, region
from .runs import consistency, convergence
from .style import COLOURS, INK, as_svg, band, panels, require, save, superscript

__all__ = [
    "COLOURS",
    "INK",
    "as_svg",
    "band",
    "consistency",
    "convergence",
    "duels",
    "panels",
    "path",
    "region",
    "require",
    "save",
    "superscript",
]

__getattr__ = moved_names(__name__)
