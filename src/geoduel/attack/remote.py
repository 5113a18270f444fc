"""Who answers: a network behind an interface that may fail."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._numerics.arrays import Array, host
from .._support.check import as_path, nonnegative, positive, positive_int
from ..errors import ArgumentError, BudgetExhaustedError
from ..oracles.base import answers
from ..oracles.retried import attempted
from ._torch import torch
from .images import check_batch

__all__ = ["Remote"]


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
    timeout : float, optional
        Most seconds of a call, as in `geoduel.Retried`.
    budget : int, optional
        Most pairs ever sent, over all images, and over all runs that share the log.
    log : str or Path, optional
        File of JSON lines, one a pair that was answered. An attack that is started again with the
        same seed and the same log takes its answers from there and goes on where it was cut off. No
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
        timeout: float | None = None,
        budget: int | None = None,
        log: str | Path | None = None,
    ) -> None:
        if not callable(compare):
            raise ArgumentError(f"compare must be callable, got {compare!r:.80}")
        self.compare = compare
        self.batch_size = positive_int(batch_size, "batch_size")
        self.retries = positive_int(retries, "retries", 0)
        self.wait = nonnegative(wait, "wait")
        self.timeout = None if timeout is None else positive(timeout, "timeout")
        self.budget = None if budget is None else positive_int(budget, "budget")
        self.log = None if log is None else as_path(log, "log")
        self.wants_index = "index" in _parameters(compare)
        self._known = {} if self.log is None else _read(self.log)

    @property
    def sent(self) -> int:
        """Pairs sent."""
        return len(self._known)

    def __call__(self, a: Array, b: Array, index: Array = None) -> Array:
        check_batch(a, "images_a", least=0)
        check_batch(b, "images_b", least=0)
        if a.shape != b.shape:
            raise ArgumentError(
                f"images_a and images_b must be pairs of one shape, got {tuple(a.shape)} and "
                f"{tuple(b.shape)}"
            )
        if index is not None and np.shape(index) != (len(a),):
            raise ArgumentError(
                f"index must be one number a pair, shape ({len(a)},), got {index!r:.80}"
            )
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
            found = self._ask(a[at], b[at], None if index is None else index[at])
            self._keep(batch, [int(s) for s in found])
        return torch.as_tensor([self._known[k] for k in keys], dtype=a.dtype, device=a.device)

    def _ask(self, a: Array, b: Array, index: Array) -> Array:
        more = {"index": index} if self.wants_index else {}

        def compare(x: Array, y: Array) -> Any:
            return self.compare(x, y, **more)

        compare.vectorized = True  # type: ignore[attr-defined]
        return attempted(
            lambda: answers(compare, a, b, a.ndim - 1), self.retries + 1, self.wait, self.timeout
        )

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
    if not path.is_file():
        raise ArgumentError(f"log {str(path)!r} is no file")
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
