"""Files that are written whole or not at all, and the folder for what is kept between runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["naming", "on_disk", "state_folder", "write_whole"]


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors of the system name the file: those of a full disk do not.

    Examples
    --------
    >>> with naming(Path("runs.jsonl")):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'runs.jsonl'
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.strerror:  # a message of one's own would be lost
            error.filename = str(path)
        raise


def state_folder() -> Path | None:
    """Return the user's folder for what is kept between runs; None where it cannot be written."""
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    folder = base / "geoduel"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def write_whole(
    path: Path,
    content: str | bytes | Callable[[BinaryIO], object],
    *,
    overwrite: bool = True,
    private: bool = False,
) -> None:
    """Write a file that nobody ever sees half written; a failure leaves nothing of it.

    Parameters
    ----------
    path : Path
        The file, in a folder that exists.
    content : str, bytes or callable
        What to write, text as UTF-8; or ``content(file)`` writes it.
    overwrite : bool
        Replace a file of this name.
    private : bool
        Let nobody else read it, whatever the umask is.

    Raises
    ------
    FileExistsError
        If the file exists and ``overwrite`` is False.
    OSError
        If it cannot be written.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "note.txt", "kept")
    ...     (Path(folder) / "note.txt").read_text()
    'kept'
    """
    if not overwrite and path.exists():
        raise FileExistsError(f"{path} exists")
    handle, part = tempfile.mkstemp(prefix=f".{path.stem[:80]}-", suffix=".part", dir=path.parent)
    try:
        with naming(path), os.fdopen(handle, "wb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        if not private:
            os.chmod(part, 0o666 & ~_umask())  # a temporary file is
        _publish(part, path, overwrite)
    finally:
        Path(part).unlink(missing_ok=True)


def on_disk(path: Path) -> None:
    """Wait until the disk has what was written to a file, by whichever process.

    Raises
    ------
    OSError
        If there is no such file, or the disk fails.
    """
    # Windows brings to the disk only what is open for writing.
    handle = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        getattr(os, "fdatasync", os.fsync)(handle)  # no times of access and the like, where it can
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _publish(name: str, path: Path, overwrite: bool) -> None:
    """Give a finished temporary file its name, without replacing another unasked."""
    if overwrite:
        os.replace(name, path)
        return
    try:
        os.link(name, path)  # fails if the name is taken, in one step
    except FileExistsError:
        raise FileExistsError(f"{path} exists") from None
    except OSError:  # a file system without links
        with path.open("xb"):
            os.replace(name, path)
