"""Who answers: a network that is run here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from .._support.check import instance, one_of, positive_int, truth
from ..errors import ArgumentError, OracleError
from ._torch import nn, torch

__all__ = ["Judge", "logits_in"]


SCORES = ("loss", "margin", "label")


def logits_in(output: Any) -> torch.Tensor:
    """Find the logits in what a network returned.

    That is a tensor, an object or a dictionary with ``logits``, or the first of a tuple or list.
    HuggingFace's models return the second kind, and models with auxiliary outputs the third.

    Raises
    ------
    OracleError
        If it is none of these; the message says what came.

    Examples
    --------
    >>> import torch
    >>> logits = torch.eye(2)
    >>> all(logits_in(o) is logits for o in (logits, {"logits": logits}, (logits, None)))
    True
    """
    found = output
    if isinstance(output, Mapping):
        found = output.get("logits")
    elif hasattr(output, "logits"):
        found = output.logits
    elif isinstance(output, tuple | list) and output:
        found = output[0]
    if isinstance(found, torch.Tensor):
        return found
    came = type(output).__name__
    if isinstance(output, Mapping):
        came += f" with the keys {', '.join(map(repr, output))}"
    elif found is not output:
        came += f" that holds {type(found).__name__}"
    raise OracleError(
        f"the model answered with {came}, expected a tensor of logits, an object or a dictionary "
        "with logits, or a tuple that begins with them"
    )


class Judge:
    """How adversarial images are, by a network's logits.

    Parameters
    ----------
    model : callable
        Maps images (k, channels, height, width) to logits (k, classes), or to something that
        holds them, see `logits_in`. With the score "label" it may return class numbers (k,).
    labels : torch.Tensor of shape (n,)
        True classes; or, with ``targeted``, the classes to reach.
    score : {"loss", "margin", "label"}
        Cross entropy of the true class; or the largest other logit minus that of the true class,
        which is positive where the network is fooled. "label" is the sign of the margin. Targeted,
        the negative of either.
    targeted : bool
        Whether an image succeeds by reaching its label instead of leaving it.
    batch_size : int
        Most images in one pass.
    dtype : torch.dtype, optional
        Run a copy of the network in this dtype, channels last. What it finds is checked with the
        network itself, so that rounding cannot pass for an adversarial image.
    """

    def __init__(
        self,
        model: Callable[[torch.Tensor], Any],
        labels: torch.Tensor,
        score: str = "loss",
        targeted: bool = False,
        batch_size: int = 256,
        dtype: torch.dtype | None = None,
    ) -> None:
        if not callable(model):
            raise ArgumentError(f"model must map images to logits, got {model!r:.80}")
        self.model, self.labels, self.targeted = model, labels, targeted
        instance(labels, "labels", torch.Tensor, "a tensor of class numbers")
        if labels.ndim != 1 or labels.dtype != torch.int64:
            raise ArgumentError(
                f"labels must be class numbers (int64) of shape (n,), got {labels.dtype} of shape "
                f"{tuple(labels.shape)}"
            )
        truth(targeted, "targeted")
        self.score = one_of(score, "score, or oracle of attack,", SCORES)
        self.batch_size = positive_int(batch_size, "batch_size")
        self.dtype = dtype
        self.fast: Any = model
        if dtype is not None:
            instance(dtype, "dtype", torch.dtype, "a dtype of torch")
            if not dtype.is_floating_point:
                raise ArgumentError(f"dtype must be one of floating-point numbers, got {dtype}")
            if not isinstance(model, nn.Module):
                raise ArgumentError("dtype= needs a model that is a torch.nn.Module: it is copied")
            self.fast = deepcopy(model)
            self.fast.eval().to(dtype=dtype, memory_format=torch.channels_last)

    def logits(self, images: torch.Tensor, exact: bool = False) -> torch.Tensor:
        """Logits of images (k, channels, height, width), batch by batch, in float32 at least.

        Class numbers of a model that says no more become logits of 0 and 1.
        """
        model = self.model if exact else self.fast
        if self.dtype is not None and not exact:
            images = images.to(self.dtype)
        try:
            parts = [
                model(part.contiguous(memory_format=torch.channels_last))
                for part in images.split(self.batch_size)
            ]
        except Exception as error:
            raise OracleError(f"the model raised {type(error).__name__}: {error}") from error
        outputs = [logits_in(part) for part in parts]
        out = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
        if self.score == "label" and out.ndim == 1 and not out.is_floating_point():
            out = self._one_hot(out.long())
        if out.ndim != 2 or len(out) != len(images) or out.shape[1] < 2:
            raise OracleError(
                f"the model answered with shape {tuple(out.shape)} for {len(images)} images, "
                "expected one row of logits each"
            )
        if out.is_complex():
            raise OracleError(f"the model answered with {out.dtype}, expected real logits")
        return out if out.dtype == torch.float64 else out.float()

    def _one_hot(self, classes: torch.Tensor) -> torch.Tensor:
        if int(classes.min()) < 0:
            raise OracleError(f"the model answered with class {int(classes.min())}, expected >= 0")
        return nn.functional.one_hot(classes, 1 + int(max(1, classes.max(), self.labels.max())))

    def judge(
        self, images: torch.Tensor, index: torch.Tensor, exact: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (higher is more adversarial), and which images fool the network, both (k,).

        ``index``: the number of the problem that each image belongs to.
        """
        z = self.logits(images, exact)
        label = self.labels[index][:, None]
        if exact and int(label.max()) >= z.shape[1]:  # once is enough
            raise ArgumentError(
                f"labels must be below the model's {z.shape[1]} classes, got {int(label.max())}"
            )
        own = z.gather(1, label)[:, 0]
        others = z.scatter(1, label, -torch.inf)
        ahead = others.amax(1) - own
        sign = -1 if self.targeted else 1
        # The loss as log(1 + Σ exp(other - own)): no cancellation where the network is certain.
        score = ahead
        if self.score == "loss":
            score = nn.functional.softplus(others.logsumexp(1) - own)
        if not bool(torch.isfinite(score).all()):
            raise OracleError("the model answered with logits that are not finite")
        if self.score == "label":
            score = torch.where(ahead > 0, 1.0, -1.0).to(ahead)
        return sign * score, sign * ahead > 0

    def slopes(
        self, image: Callable[[torch.Tensor], torch.Tensor], p: torch.Tensor, index: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Scores, which fool, and the derivatives of the scores by the perturbations p."""
        with torch.enable_grad():
            p = p.detach().requires_grad_()
            score, fools = self.judge(image(p), index)
            (g,) = torch.autograd.grad(score.sum(), p)
        return score.detach(), fools, g
