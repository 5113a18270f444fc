"""What an attack returns, and what it shows along the way."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._support.check import one_of
from ._torch import torch
from .threat import NORMS

__all__ = ["AttackHistory", "AttackProgress", "AttackResult", "Trace"]


@dataclass
class Trace:
    """When images were fooled, and by how much: one entry for each that is nearer than before.

    Attributes
    ----------
    image : list of int
        Number of the image.
    passes : list of int
        Forward passes about it so far, the one that fooled included.
    l2, linf : list of float
        Length of the perturbation in the Euclidean and in the largest norm.
    """

    image: list[int] = field(default_factory=list)
    passes: list[int] = field(default_factory=list)
    l2: list[float] = field(default_factory=list)
    linf: list[float] = field(default_factory=list)

    def add(self, *columns: torch.Tensor) -> None:
        """Append entries, one column a field."""
        for known, new in zip(vars(self).values(), columns, strict=True):
            known.extend(new.tolist())

    def smallest(self, n: int, passes: float, norm: str) -> torch.Tensor:
        """Length after so many passes for each of n images, infinite where nothing fooled."""
        found = torch.full((n,), torch.inf, dtype=torch.float64)
        for i, spent, length in zip(self.image, self.passes, getattr(self, norm), strict=True):
            if spent <= passes:
                found[i] = length  # the later is the nearer, in the norm of the attack
        return found


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


@dataclass(frozen=True, repr=False, eq=False)
class AttackResult:
    """What an attack found. Two are equal only if they are one object.

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
        Radius about each image, in the norm of the attack; with ``smallest=True`` the first.
    ties : int
        Comparisons answered with a tie, over all images.
    iterations : int
        Iterations finished.
    stop_reason : str
        "done" (all images), "budget", "callback" or "interrupted"; "oracle error" or "error" in the
        attribute ``result`` of the error that ended the attack.
    seconds : float
        Wall-clock time.
    method : str
        Name of the method.
    sees : str
        What is seen: "comparisons", "labels", "scores" or "gradients".
    history : AttackHistory
        Records along the way.
    norm : str
        "l2" or "linf".
    radii : torch.Tensor of shape (n,)
        How far the images are that fool the network, in this norm; infinite where none was found,
        and 0 where the image was misclassified from the start.
    trace : Trace
        When they were found.
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
    norm: str
    radii: torch.Tensor
    trace: Trace

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

    def radii_after(self, queries: float, norm: str | None = None) -> torch.Tensor:
        """Length of the perturbation of each image that was found by then, shape (n,).

        Parameters
        ----------
        queries : int
            Forward passes about the image, of which a comparison takes two.
        norm : {"l2", "linf"}, optional
            In which it is measured; by default the norm of the attack. The images are those that
            are nearest in the norm of the attack.

        Returns
        -------
        torch.Tensor
            Infinite where nothing fooled.
        """
        norm = one_of(norm or self.norm, "norm", tuple(NORMS))
        return self.trace.smallest(len(self.success), queries, norm)

    def median_radius_after(self, queries: float, norm: str | None = None) -> float:
        """Median of `radii_after` over the images that were classified right at first."""
        right = self.radii != 0
        found = self.radii_after(queries, norm)[right.cpu()]
        return float(found.quantile(0.5, interpolation="higher")) if len(found) else 0.0

    @property
    def clean_accuracy(self) -> float:
        """Share of images that the network classifies right as they are."""
        return float((self.radii != 0).double().mean())

    @property
    def robust_accuracy(self) -> float:
        """Share of images that it still classifies right after the attack."""
        return float((~self.success).double().mean())

    def report(self) -> str:
        """What the attack found, in a few lines."""
        size = "L2" if self.norm == "l2" else "L∞"
        spent = (self.comparisons if self.sees == "comparisons" else self.forward_passes).double()
        unit = self.sees if self.sees in ("comparisons", "labels") else "forward passes"
        wrong = self.radii != 0
        fooled = self.success & wrong
        lines = {
            "attack": f"{self.method}, sees {self.sees}, {size}",
            "images": f"{len(self.success)}",
            "clean accuracy": f"{self.clean_accuracy:.1%}",
            "robust accuracy": f"{self.robust_accuracy:.1%}",
            "success rate": f"{int(fooled.sum())} of {int(wrong.sum())} classified right",
        }
        if bool(fooled.any()):
            middle = spent[fooled].quantile(0.5)
            lines[f"median {unit}"] = f"{float(middle):,.0f} an image fooled"
            length = self.radii[fooled].double().quantile(0.5)
            lines[f"median {size}"] = f"{float(length):.4g} an image fooled"
        lines["ended"] = f"{self.stop_reason}, {self.seconds:.1f} s"
        width = max(map(len, lines)) + 2
        return "\n".join(f"{name:<{width}}{text}" for name, text in lines.items())
