"""Who answers: a network that is run here, or someone else's, behind an interface that may fail."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from ..._arrays import Array, host
from ..._check import nonnegative, one_of, positive_int
from ...errors import ArgumentError, BudgetExhaustedError, OracleError
from ...oracle import answers
from ._torch import nn, torch

__all__ = ["Judge", "Remote"]

SCORES = ("loss", "margin")


class Judge:
    """How adversarial images are, by a network's logits.

    Parameters
    ----------
    model : callable
        Maps images (k, channels, height, width) to logits (k, classes).
    labels : torch.Tensor of shape (n,)
        True classes; or, with ``targeted``, the classes to reach.
    score : {"loss", "margin"}
        Cross entropy of the true class; or the largest other logit minus that of the true class,
        which is positive where the network is fooled. Targeted, the negative of either.
    targeted : bool
        Whether an image succeeds by reaching its label instead of leaving it.
    batch_size : int
        Most images in one pass.
    dtype : torch.dtype, optional
        Run a copy of the network in this dtype, channels last. What it finds is checked with the
        network itself, so that rounding cannot pass for an adversarial image.

    Attributes
    ----------
    passes : int
        Images that went through the network.
    """

    def __init__(
        self,
        model: Callable[[torch.Tensor], torch.Tensor],
        labels: torch.Tensor,
        score: str = "loss",
        targeted: bool = False,
        batch_size: int = 256,
        dtype: torch.dtype | None = None,
    ) -> None:
        if not callable(model):
            raise ArgumentError(f"model must map images to logits, got {model!r:.80}")
        self.model, self.labels, self.targeted = model, labels, targeted
        self.score = one_of(score, "oracle", SCORES)
        self.batch_size = positive_int(batch_size, "batch_size")
        self.passes = 0
        self.dtype = dtype
        self.fast: Any = model
        if dtype is not None:
            if not isinstance(model, nn.Module):
                raise ArgumentError("dtype= needs a torch.nn.Module, of which a copy can be made")
            self.fast = deepcopy(model)
            self.fast.to(dtype=dtype, memory_format=torch.channels_last)

    def logits(self, images: torch.Tensor, exact: bool = False) -> torch.Tensor:
        """Logits of images (k, channels, height, width), batch by batch, in float32 at least."""
        model = self.model if exact else self.fast
        if self.dtype is not None and not exact:
            images = images.to(self.dtype)
        self.passes += len(images)
        try:
            parts = [
                model(part.contiguous(memory_format=torch.channels_last))
                for part in images.split(self.batch_size)
            ]
        except Exception as error:
            raise OracleError(f"the model raised {type(error).__name__}: {error}") from error
        out = parts[0] if len(parts) == 1 else torch.cat(parts)
        if out.ndim != 2 or len(out) != len(images) or out.shape[1] < 2:
            raise OracleError(
                f"the model answered with shape {tuple(out.shape)} for {len(images)} images, "
                "expected one row of logits each"
            )
        return out if out.dtype == torch.float64 else out.float()

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


class Remote:
    """An oracle behind an interface: batches, retries, a hard budget, and a log that resumes.

    Parameters
    ----------
    compare : callable
        ``compare(images_a, images_b)`` returns one answer a pair: +1 if b is more adversarial, -1
        if a is, 0 for a tie. If it has a parameter ``index``, it is also given the number of the
        attacked image for each pair.
    batch_size : int
        Most pairs in one call.
    retries : int
        How often a call that raised is made again before the attack stops with an OracleError.
    wait : float
        Seconds before the first retry; each further one waits twice as long.
    budget : int, optional
        Most pairs ever sent, over all images, and over all runs that share the log.
    log : str or Path, optional
        File of JSON lines, one a pair that was answered. An attack that is started again with the
        same seed and the same log takes its answers from there and goes on where it was cut off; no
        pair is ever sent twice.

    Attributes
    ----------
    sent : int
        Pairs sent, those in the log included.

    Examples
    --------
    >>> import torch
    >>> brighter = Remote(lambda a, b: torch.sign((b - a).mean((1, 2, 3))), budget=2)
    >>> dark, bright = torch.zeros(1, 1, 2, 2), torch.ones(1, 1, 2, 2)
    >>> brighter(dark, bright).tolist(), brighter(dark, bright).tolist(), brighter.sent
    ([1.0], [1.0], 1)
    """

    vectorized = True

    def __init__(
        self,
        compare: Callable[..., Any],
        *,
        batch_size: int = 64,
        retries: int = 3,
        wait: float = 1.0,
        budget: int | None = None,
        log: str | Path | None = None,
    ) -> None:
        if not callable(compare):
            raise ArgumentError(f"compare must be callable, got {compare!r:.80}")
        self.compare = compare
        self.batch_size = positive_int(batch_size, "batch_size")
        self.retries = positive_int(retries, "retries", 0)
        self.wait = nonnegative(wait, "wait")
        self.budget = None if budget is None else positive_int(budget, "budget")
        self.log = None if log is None else Path(log)
        self.wants_index = "index" in _parameters(compare)
        self._known = {} if self.log is None else _read(self.log)

    @property
    def sent(self) -> int:
        """Pairs sent."""
        return len(self._known)

    def __call__(self, a: Array, b: Array, index: Array = None) -> Array:
        numbers = range(len(a)) if index is None else host(index).tolist()
        keys = [_key(i, x, y) for i, x, y in zip(numbers, host(a), host(b), strict=True)]
        new = list(dict.fromkeys(k for k in keys if k not in self._known))
        first = {k: i for i, k in reversed(list(enumerate(keys)))}
        for start in range(0, len(new), self.batch_size):
            batch = new[start : start + self.batch_size]
            if self.budget is not None and self.sent + len(batch) > self.budget:
                raise BudgetExhaustedError(
                    f"the remote oracle's budget of {self.budget} pairs is spent"
                )
            at = torch.as_tensor([first[k] for k in batch], device=a.device)
            self._keep(batch, self._ask(a[at], b[at], None if index is None else index[at]))
        return torch.as_tensor([self._known[k] for k in keys], dtype=a.dtype, device=a.device)

    def _ask(self, a: Array, b: Array, index: Array) -> list[int]:
        more = {"index": index} if self.wants_index else {}

        def compare(x: Array, y: Array) -> Any:
            return self.compare(x, y, **more)

        compare.vectorized = True  # type: ignore[attr-defined]
        for attempt in range(self.retries + 1):
            try:
                return [int(s) for s in answers(compare, a, b, a.ndim - 1)]
            except OracleError:
                if attempt == self.retries:
                    raise
                time.sleep(self.wait * 2**attempt)
        raise AssertionError  # the last attempt returns or raises

    def _keep(self, keys: list[str], found: list[int]) -> None:
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as file:
                for key, answer in zip(keys, found, strict=True):
                    file.write(json.dumps({"pair": key, "answer": answer}) + "\n")
        self._known.update(zip(keys, found, strict=True))


def _key(number: int, a: np.ndarray, b: np.ndarray) -> str:
    """What tells a pair from others: the image it is about, and its pixels."""
    digest = hashlib.blake2b(f"{number} {a.dtype} {a.shape}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(a).tobytes())
    digest.update(np.ascontiguousarray(b).tobytes())
    return digest.hexdigest()


def _read(path: Path) -> dict[str, int]:
    """Answers of a log; a last line that was cut off is forgotten, and removed from the file."""
    if not path.exists():
        return {}
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        path.write_bytes(whole)
    known = {}
    for number, text in enumerate(whole.decode("utf-8").splitlines(), 1):
        try:
            line = json.loads(text)
            known[str(line["pair"])] = {-1: -1, 0: 0, 1: 1}[line["answer"]]
        except (ValueError, TypeError, KeyError) as error:
            raise ArgumentError(f"log {path}, line {number}, is not an answer: {error}") from error
    return known


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some builtins have none
        return ()
