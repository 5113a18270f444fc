"""What an attack returns, and what it shows along the way."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._torch import torch

__all__ = ["AttackHistory", "AttackProgress", "AttackResult"]


@dataclass
class AttackHistory:
    """What an attack recorded along the way, at most some two thousand entries.

    Attributes
    ----------
    iteration, comparisons : list of int
        Iterations finished, and comparisons asked so far about each image that is not done.
    forward_passes : list of int
        Images that went through the network so far, over all problems.
    seconds : list of float
        Wall-clock time since the start.
    success : list of float
        Share of images that fool the network.
    score : list of float
        Mean over images of the highest score asked so far, whatever the method itself may see; an
        image that is done keeps its last. Empty without a model.
    """

    iteration: list[int] = field(default_factory=list)
    comparisons: list[int] = field(default_factory=list)
    forward_passes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    success: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class AttackProgress:
    """What a callback sees after an iteration.

    Attributes
    ----------
    iteration, comparisons : int
        Iterations finished; comparisons asked about each image that is not done.
    images, done : int
        Images, and how many of them fool the network.
    seconds : float
        Since the start.
    """

    iteration: int
    comparisons: int
    images: int
    done: int
    seconds: float


@dataclass(frozen=True, repr=False)
class AttackResult:
    """What an attack found.

    Attributes
    ----------
    images : torch.Tensor of shape (n, channels, height, width)
        Adversarial images; where the attack failed, the method's best. An image that was
        misclassified from the start comes back as it was.
    success : torch.Tensor of bool, shape (n,)
        Which images fool the network. All False for an oracle of one's own without a model.
    comparisons : torch.Tensor of int, shape (n,)
        Comparisons asked about each image. Zero for methods that see scores or gradients.
    forward_passes : torch.Tensor of int, shape (n,)
        Images that went through the network for each problem, the first look included (and one
        more for the labels, if they were left out).
    radius : torch.Tensor of shape (n,)
        Radius of each sphere, in the Euclidean norm of all pixels.
    ties : int
        Comparisons answered with a tie, over all images.
    iterations : int
        Iterations finished.
    stop_reason : str
        "done" (all images), "budget", "callback" or "interrupted".
    seconds : float
        Wall-clock time.
    method : str
        Name of the method.
    sees : str
        What the method may see: "comparisons", "scores" or "gradients".
    history : AttackHistory
        Records along the way.
    """

    images: torch.Tensor
    success: torch.Tensor
    comparisons: torch.Tensor
    forward_passes: torch.Tensor
    radius: torch.Tensor
    ties: int
    iterations: int
    stop_reason: str
    seconds: float
    method: str
    sees: str
    history: AttackHistory

    def __repr__(self) -> str:
        return (
            f"AttackResult({int(self.success.sum())} of {len(self.success)} images, "
            f"method={self.method!r}, sees={self.sees!r}, "
            f"comparisons={int(self.comparisons.sum())}, "
            f"forward_passes={int(self.forward_passes.sum())}, "
            f"stop_reason={self.stop_reason!r}, seconds={self.seconds:.3g})"
        )

    def success_after(self, comparisons: int) -> float:
        """Share of images that fooled the network after so many comparisons, or forward passes.

        Forward passes where the method does not compare.
        """
        spent = self.comparisons if self.sees == "comparisons" else self.forward_passes
        return float((self.success & (spent <= comparisons)).float().mean())
