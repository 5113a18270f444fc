"""An oracle whose answers are kept in a file, and come from there when asked again."""

from __future__ import annotations

import json
import os
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._numerics.arrays import Array, host
from .._numerics.batches import as_like, leading_shape
from .._support.check import as_path, instance
from ..errors import ArgumentError, StorageError
from .base import Oracle, answers
from .wrappers import Wrapper

__all__ = ["Logged", "fingerprint"]

SIGNS = {-1: "-", 0: "0", 1: "+"}
ANSWERS = {sign: answer for answer, sign in SIGNS.items()}


class Logged(Wrapper):
    """Keep every answer in a file; a run that asks the same once more gets it from there.

    A method asks the same duels whenever its settings, start, seed and answers are the same. So a
    run that was killed goes on where it was, bit for bit, with nothing but its answers. A line is
    written as soon as the oracle has answered, and a line that was cut short is dropped. The file
    holds no points, but beside each answer a fingerprint of the pairs that were asked: another run
    is recognised by what it asks. What can be said in words of a run stands in the first line.

    Parameters
    ----------
    oracle : Oracle
        The oracle to ask beyond the file. If its own answers are random, they go on as after a
        restart of it.
    path : str or Path
        The file; it is made if there is none.
    about : dict, optional
        Words and numbers that tell this run from others.

    Attributes
    ----------
    remembered : int
        Answers of the file that have not been asked for yet.

    Raises
    ------
    ArgumentError
        If the file is no such log, one of another run (the message says what differs), or in use.
        On a duel, if the file holds the answer to another one.

    Examples
    --------
    >>> import tempfile
    >>> from geoduel.oracles import from_objective
    >>> path = Path(tempfile.mkdtemp()) / "run.log"
    >>> with Logged(from_objective(lambda x: float(x @ x)), path) as oracle:
    ...     oracle(np.ones(2), np.zeros(2))
    1
    >>> with Logged(lambda x, y: 0 / 0, path) as oracle:  # which is not asked
    ...     oracle(np.ones(2), np.zeros(2))
    1
    """

    def __init__(
        self, oracle: Oracle, path: str | Path, about: dict[str, Any] | None = None
    ) -> None:
        super().__init__(oracle)
        self.path = as_path(path, "path")
        if about is not None:
            instance(about, "about", dict, "a dictionary of words and numbers")
        about = {"geoduel log": 1} | (about or {})
        try:
            self._file: IO[bytes] = open(self.path, "a+b")  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise ArgumentError(f"log {self.path} cannot be opened: {error}") from error
        try:
            _lock(self._file, self.path)
            self._file.seek(0)
            text = self._file.read()
            first, lines, end = _complete_lines(text)
            if text and first is None and b"\n" in text:
                raise ArgumentError(f"{self.path} is no log of a run")
            if first is not None:
                _agree(first, about, self.path)
            self._left = [_told(line, self.path) for line in reversed(lines)]
            self._file.truncate(end)
            if first is None:
                self._write(json.dumps(about, ensure_ascii=False))
        except BaseException:
            self.close()
            raise

    @property
    def remembered(self) -> int:
        """Answers of the file that have not been asked for yet."""
        return sum(len(kept) for kept, _ in self._left)

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        asked = fingerprint(x, y)  # before the oracle, which might write to them
        if not self._left:
            answer = answers(self.oracle, x, y, point_ndim, executor)
            each = [answer] if isinstance(answer, int) else host(answer).ravel().tolist()
            self._write(f"{''.join(SIGNS[int(a)] for a in each)} {asked}")
            return answer
        kept, before = self._left[-1]
        if asked != before:
            raise ArgumentError(
                f"log {self.path} is of another run: its next answer is to other points than those "
                "that are asked about"
            )
        self._left.pop()
        lead = leading_shape(x.ndim if point_ndim is None else point_ndim, x, y)
        return as_like(np.reshape(kept, lead), x) if lead else kept[0]

    def _write(self, line: str) -> None:
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
        except OSError as error:  # such as a full disk
            raise StorageError(
                f"log {self.path} cannot be written: {error}; once it can, the same call goes on"
            ) from error

    def close(self) -> None:
        """Close the file, so that another run may use it."""
        with suppress(OSError):  # what could not be written has been told
            self._file.close()

    def __enter__(self) -> Logged:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def fingerprint(*arrays: Array) -> str:
    """A few letters that tell arrays apart, whatever machine they are on."""
    import hashlib  # loads OpenSSL, which runs without a log do not need

    digest = hashlib.sha256()
    for a in map(np.ascontiguousarray, map(host, arrays)):
        digest.update(f"{a.dtype} {a.shape} ".encode() + a.tobytes())
    return digest.hexdigest()[:16]


def seed_in(path: str | Path) -> int | None:
    """The seed that stands in a log; None where there is no log."""
    try:
        with open(path, "rb") as file:
            return json.loads(file.readline())["rng"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _complete_lines(text: bytes) -> tuple[dict[str, Any] | None, list[bytes], int]:
    """The first line, the others as far as they are complete, and where they end."""
    end = text.rfind(b"\n") + 1
    lines = text[:end].split(b"\n")[:-1]
    if not lines:
        return None, [], 0
    try:
        first = json.loads(lines[0])
        return (first if "geoduel log" in first else None), lines[1:], end
    except (ValueError, TypeError):
        return None, [], end


def _agree(found: dict[str, Any], about: dict[str, Any], path: Path) -> None:
    for key in [*about, *found]:
        if found.get(key) != about.get(key) and key == "x0":
            raise ArgumentError(f"log {path} is of another run: x0 was another point")
        if found.get(key) != about.get(key):
            raise ArgumentError(
                f"log {path} is of another run: {key} was {found.get(key)!r}, now it is "
                f"{about.get(key)!r}"
            )


def _told(line: bytes, path: Path) -> tuple[list[int], str]:
    """The answers of a line, and the fingerprint of what was asked."""
    try:
        signs, asked = line.decode("ascii").split(" ")
        return [ANSWERS[sign] for sign in signs], asked
    except (KeyError, ValueError):
        raise ArgumentError(f"{path} is no log of a run: it holds {line[:40]!r}") from None


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep other processes away, where the system can."""
    if os.name != "posix":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ArgumentError(f"log {path} is in use by another run") from None
    except OSError:  # a file system without locks
        return
