"""The radius that is asked about, where it is not given: for duels from labels, and to shrink it.

A label tells whether an image fools, and no more. Two directions are told apart by a radius at
which one of them fools and the other does not: the boundary of the network's class is nearer along
the first. `LabelDuel` looks for such a radius from where the last duel found one, so that a duel
takes some four labels. `Tracker` lets the radius of ordinary duels follow what fools.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .._support.check import positive
from ._torch import torch
from .open_images import OpenImages

__all__ = ["LABELS_A_DUEL", "LabelDuel", "Tracker"]

LABELS_A_DUEL = 4
"""About how many labels a duel takes: what schedules that end with a budget count on."""


@dataclass
class LabelDuel:
    """Duels of two points from labels alone.

    At a radius where only one of two images fools, that one wins. If both do, the radius shrinks,
    and if neither does it grows. It moves twice as far each time, until it has been too small and
    too large, and then half as far (a bisection). Each radius costs two labels, or one where the
    other is remembered. Radii closer than ``tolerance`` are a tie, and so is what is undecided
    after ``rounds``.

    Parameters
    ----------
    images : OpenImages
        Whose radii are tried, from the one they have.
    budget : int
        Most labels about each image.
    first : float
        First change of the radius, as a share of it; later duels begin with what the last needed.
    tolerance : float
        Least change.
    rounds : int
        Most radii in a duel.
    starts : int
        Most directions that are tried for one that fools at all.

    References
    ----------
    Wang, Zuo, Cao and Chen, ADBA: Approximation decision boundary approach for black-box
    adversarial attacks, arXiv 2406.04998, who compare two directions at the best radius so far and
    bisect below it. Here the radius may grow as well, so a duel of two worse directions decides.
    """

    images: OpenImages
    budget: int
    first: float = 0.5
    tolerance: float = 1e-3
    rounds: int = 10
    starts: int = 25

    def __post_init__(self) -> None:
        self.width = torch.full_like(self.images.goal, self.first)  # of all images
        self.looked = self.images.passes.clone()  # before the attack
        threat = self.images.threat
        low, high = threat.clip
        corner = torch.maximum(threat.x - low, high - threat.x)
        self.furthest = torch.zeros_like(self.images.goal)  # of all images; none is beyond
        self.furthest[self.images.live] = threat.size(threat.x + corner)

    def left(self) -> torch.Tensor:
        """Labels that may still be asked for about each live image."""
        live = self.images.live
        return self.budget - (self.images.passes - self.looked)[live]

    def start(
        self,
        draw: Callable[[], torch.Tensor],
        x0: torch.Tensor,
        far: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Starts that fool somewhere, for duels of directions that never do tell nothing.

        Each try costs a label, at the end of the ray; ``draw()`` gives other starts. ``far``: radii
        at which ``x0`` are thought to fool, which come first. Where they do, duels begin there.
        """
        images, radius = self.images, self.images.threat.radius
        open_ = torch.ones_like(images.live, dtype=torch.bool)
        for number in range(self.starts):
            open_ = open_ & (self.left() >= 1)
            if not bool(open_.any()):
                break
            at = self.furthest[images.live] if far is None or number else far
            images.resize(at)
            (asked,) = images.ask(x0, only=open_)
            if far is not None and not number:
                radius = torch.where(open_ & asked.fools, at, radius)
            open_ = open_ & ~asked.fools
            x0 = torch.where(open_[:, None, None, None], draw(), x0)
        images.resize(radius)
        return x0

    def close(self) -> None:
        """Mark the images that no duel is left for."""
        self.images.done[self.images.live[self.left() < 2]] = True

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """+1 where y fools at a smaller radius than x, -1 where x does, 0 for a tie; shape (k,)."""
        images, live = self.images, self.images.live
        radius, width = images.threat.radius, self.width[live]
        answer = torch.zeros_like(radius)
        way, turned = torch.zeros_like(answer), torch.zeros_like(live, dtype=torch.bool)
        open_ = torch.ones_like(turned)
        for number in range(self.rounds):
            open_ = open_ & (self.left() >= 2) & (width >= self.tolerance)
            if not bool(open_.any()):
                break
            a, b = images.ask(x, y, only=open_)
            differ = a.fools != b.fools
            answer = torch.where(open_ & differ, b.fools.to(answer) - a.fools.to(answer), answer)
            quick = open_ & differ & (number == 0)
            width = torch.where(quick, 0.8 * width, width)
            open_ = open_ & ~differ
            now = torch.where(a.fools, -1.0, 1.0).to(answer)
            turned = turned | (open_ & (way * now < 0))
            factor = torch.where(turned, 0.5, 2.0) if number else torch.ones_like(width)
            width = torch.where(open_, width * factor, width)
            way = torch.where(open_, now, way)
            radius = torch.where(open_, radius * (1 + width) ** now, radius)
            radius = torch.minimum(radius, self.furthest[live])
            images.resize(radius)
        again = torch.where(way == 0, width, 1.5 * width)
        self.width[live] = again.clamp(3 * self.tolerance, self.first)
        return answer


@dataclass(frozen=True)
class Tracker:
    """Lets the radius follow what fools: smaller after a step that fooled, else a bit larger.

    The change is large at first and fades, so that the radius settles where a share of the steps
    fools, 1 / (1 + ``patience``). Every picture that fooled stays valid, whatever comes later. So
    the radius stays below the smallest that fooled: a step that fools there is always of use.

    Parameters
    ----------
    gain, least : float
        Share by which the radius shrinks, max(gain / √(k+1), least) after k steps.
    patience : float
        How many steps that do not fool make up for one that does.
    """

    gain: float = 0.5
    least: float = 0.03
    patience: float = 16.0

    def __post_init__(self) -> None:
        for name in ("gain", "least", "patience"):
            positive(getattr(self, name), name)

    def __call__(self, images: OpenImages, before: torch.Tensor, k: int) -> None:
        """Change the radii after step k, before which the smallest that fooled were ``before``."""
        gain = max(self.gain / math.sqrt(k + 1), self.least)
        smallest, radius = images.radii[images.live], images.threat.radius
        shorter = torch.minimum(radius, smallest) * (1 - gain)
        little = (1 - gain) ** (1 / self.patience)
        longer = torch.minimum(radius / little, smallest * little)
        images.resize(torch.where(smallest < before[images.live], shorter, longer))
