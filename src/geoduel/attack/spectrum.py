"""Where gradients have their energy, learned from duels while they are asked.

The model of the default method: in cosines and colour axes (`Directions`) the gradient of image i
has coefficients g_ij ~ N(0, e_j). The spectrum e is the same for all images under attack, and
nobody knows it. Each image has a table t of what its answers said; all share how much was asked, k:

    t_ij = k_j g_ij + noise of variance q_j,
    mean of g_ij = e_j t_ij / (1 + e_j k_j),   variance left = e_j / (1 + e_j k_j).

Since the mean square of t_ij over images is k_j² e_j + q_j, the tables themselves tell e (empirical
Bayes). What is known beforehand, ``first``, counts as one more measurement.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ._torch import torch

__all__ = ["Spectrum", "bands_of"]

SIGN = math.sqrt(2 / math.pi)  # E |z| of a Gaussian: what a sign tells of it
BETWEEN, WITHIN = 1.0, 0.7  # deviations of a band from ``first``, of a cosine from its band
LEAST = 0.05  # no band, and no cosine within one, is ever taken for emptier


class Spectrum(NamedTuple):
    """What is known of the energies, for images attacked together; shapes (channels, q, r).

    Attributes
    ----------
    first : torch.Tensor
        Energies before any duel, with sum 1.
    energy : torch.Tensor
        As learned, e.
    asked : torch.Tensor
        Precision from the answers, k.
    noise : torch.Tensor
        Variance of the noise in the tables, q.
    """

    first: torch.Tensor
    energy: torch.Tensor
    asked: torch.Tensor
    noise: torch.Tensor

    @classmethod
    def before(cls, weights: torch.Tensor) -> Spectrum:
        """The spectrum of a prior with these standard deviations, before any duel."""
        e = weights**2 / (weights**2).sum()
        return cls(e, e, torch.zeros_like(e), torch.zeros_like(e))

    @property
    def left(self) -> torch.Tensor:
        """Variance of each coefficient that the answers have left."""
        return self.energy / (1 + self.energy * self.asked)

    def mean(self, table: torch.Tensor) -> torch.Tensor:
        """Coefficients of the gradients, as expected from the tables of the images."""
        return self.left * table

    def where_to_ask(self) -> torch.Tensor:
        """Variances to draw directions with: most where most is left to learn, with sum 1."""
        share = self.left**2
        return share / share.sum()

    def weight(self, share: torch.Tensor) -> torch.Tensor:
        """What an answer about a unit direction counts, if drawn with variances ``share``."""
        spread = torch.sqrt((share * self.left).sum())  # of <u, g>, whose sign was asked
        return SIGN / spread

    def told(
        self,
        table: torch.Tensor,
        share: torch.Tensor,
        winner: torch.Tensor,
        fade: float,
    ) -> tuple[Spectrum, torch.Tensor]:
        """Spectrum and tables after one duel about each image.

        Parameters
        ----------
        table : torch.Tensor of shape (n, channels, q, r)
            What the answers said so far.
        share : torch.Tensor of shape (channels, q, r)
            Variances that the directions were drawn with.
        winner : torch.Tensor of shape (n, channels, q, r)
            Coefficients of the directions of unit length that won.
        fade : float
            What older answers count beside this one, in (0, 1].
        """
        weight = self.weight(share)
        precision = weight**2 * share
        # A duel at x tells only of what x does not explain, so that the rest is added.
        table = fade * table + weight * winner + precision * self.mean(table)
        asked, noise = fade * self.asked + precision, fade**2 * self.noise + precision
        return self._replace(asked=asked, noise=noise).learned(table), table

    def learned(self, table: torch.Tensor) -> Spectrum:
        """Energies that explain the tables: bands first, then each cosine beside its band.

        A mean square over n images has a relative deviation of √(2/n). Each ratio e/first is the
        mean of what the tables say and of what was expected, weighted by precision.
        """
        first, signal = self.first, self.asked**2
        total = self.noise + signal * self.energy
        scale = torch.where(total > 0, signal * first / total, 0)
        excess = ((table**2).mean(0) - self.noise) / torch.where(total > 0, total, 1)
        weight, told = len(table) / 2 * scale**2, len(table) / 2 * scale * excess
        band = bands_of(first)
        bands = [
            torch.zeros(int(band.max()) + 1).to(first).index_add_(0, band.flatten(), v.flatten())
            for v in (told, weight)
        ]
        ratio = (bands[0] + BETWEEN**-2) / (bands[1] + BETWEEN**-2)
        ratio = ratio.clamp_min(LEAST)[band]
        expected = 1 / (WITHIN * ratio) ** 2
        each = (told + expected * ratio) / (weight + expected)
        return self._replace(energy=torch.maximum(each, LEAST * ratio) * first)


def bands_of(like: torch.Tensor) -> torch.Tensor:
    """Number of each coefficient's band: a colour axis, and half an octave of frequency."""
    channels, rows, columns = like.shape
    down, across = (torch.arange(n, device=like.device) for n in (rows, columns))
    octaves = torch.log2(1 + torch.hypot(down[:, None].double(), across.double()))
    band = torch.round(2 * octaves).to(torch.int64)
    axis = torch.arange(channels, device=like.device)[:, None, None]
    return band + (int(band.max()) + 1) * axis
