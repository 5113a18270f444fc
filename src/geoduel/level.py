"""Level photos by duels: the command ``geoduel level``."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ._support.check import as_generator
from ._support.files import state_folder, write_whole
from ._version import __version__
from .errors import ArgumentError, GeoduelError, PictureError, UnknownStudyError
from .manifolds import Rotations
from .pictures.files import open_photo, save_name, save_photo, shrink
from .pictures.seascape import seascape
from .pictures.turning import turn
from .study import Storage, create_study, delete_study, load_study
from .study.storage import as_storage
from .web import Board, Content, Turned
from .web.server import given_token, run, web_extra

__all__ = ["Leveller", "level"]

ACCURACY = math.radians(1.0)
"""Where the page proposes to end: radius of the region that holds the level angle with 80 %."""
_PLANE = Rotations(2)
_PREVIEW = 2000  # pixels of the longest side; enough to zoom in, quick to send


class Leveller:
    """One photo, its study and its results.

    Parameters
    ----------
    path : Path or None
        The photo; None paints a seascape with a hidden tilt.
    out : Path, optional
        Folder for the results; by default the photo's own, and none for a seascape.
    method : str
        Name of the method.
    storage : str or Storage, optional
        Where answers are kept until the photo is saved.
    rng : numpy.random.Generator or int, optional
        Generator or seed, for the seascape and the study.

    Raises
    ------
    PictureError, OSError
        If the photo cannot be opened.
    """

    def __init__(
        self,
        path: Path | None,
        out: Path | None = None,
        method: str = "auto",
        storage: str | Storage | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        rng = as_generator(rng)
        self.path, self.tilt = path, None
        self.out = out if path is None or out is not None else path.parent
        self.name = "Seascape" if path is None else _readable(path.name)
        if path is None:
            self.tilt = float(np.radians(rng.choice((-1, 1)) * rng.uniform(4, 25)))
            self._photo = seascape(rng, self.tilt, (1200, 800))
        elif not path.is_file():
            raise PictureError(f"{path} is not a file")
        self._loading, self._writing, self._ready = threading.Lock(), threading.Lock(), False
        self._targets: tuple[Path, Path] | None = None
        self._saving: tuple[int, str] | None = None  # answers known then, and how it stands
        name = self.name if path is None else f"{self.name} {_fingerprint(path, method)}"
        # Whoever levels a photo of their own looks at it.
        trust: dict[str, Any] = {"catch": 0.0} if method == "auto" else {}
        place, seed = as_storage(None if path is None else storage), int(rng.integers(2**31))
        if name in place.names():
            self.study = load_study(name, place)
            with suppress(ArgumentError):  # then its result stays as it was
                self.study.upgrade()
        else:
            self.study = create_study(
                _PLANE, method, storage=place, study_name=name, x0=np.eye(2), rng=seed, **trust
            )
        self.board = Board(
            self.study,
            self.render,
            title=self.name,
            question="Which one looks more level?",
            accuracy=ACCURACY,
            ahead=False,
            solo=True,
            finish=self.outcome,
            key=Path(self.name).stem,
        )

    @property
    def angle(self) -> float:
        """Best angle so far, radians, counter-clockwise positive."""
        return float(_PLANE.to_angle(self.study.recommend()))

    @property
    def saved(self) -> bool:
        """Whether the results are written, or there are none to write."""
        return self.out is None or (self._saving is not None and self._saving[1] == "saved")

    def load(self) -> None:
        """Make the preview, once; it stands in for the photo, whose pixels are let go."""
        with self._loading:
            if self._ready:
                return
            image = self._photo if self.path is None else open_photo(self.path, preview=_PREVIEW)
            small = shrink(image, _PREVIEW)
            if small.mode == "RGBA":
                data, kind = _encode(small, "WEBP", quality=90), "image/webp"
            else:
                data, kind = _encode(small, "JPEG", quality=90), "image/jpeg"
            self._picture, self._size = Content(data, kind), small.size
            self._ready = True

    def render(self, point: np.ndarray) -> Turned:
        """Show the photo turned by a rotation."""
        self.load()
        return Turned(self._picture, float(_PLANE.to_angle(point)), self._size)

    def outcome(self, board: Board) -> dict[str, Any]:
        """Save in the background what is known now; return what the last page says."""
        progress = self.study.progress()
        angle = math.degrees(self.angle)
        sense = "counter-clockwise" if angle > 0 else "clockwise"
        known = progress.uncertainty
        within = f", known to ±{math.degrees(known):.1f}°" if known is not None else ""
        lines = [f"Turned by {abs(angle):.1f}° {sense}{within}."]
        if self.tilt is not None:
            off = abs(math.degrees(self.angle + self.tilt))
            hidden = abs(math.degrees(self.tilt))
            lines.append(f"The hidden tilt was {hidden:.1f}°: you were off by {off:.1f}°.")
        pending = False
        if self.out is not None:
            if self._saving is None or self._saving[0] != progress.answered:
                self._saving = (progress.answered, "saving")
                threading.Thread(target=self._save, args=(progress.answered,)).start()
            state = self._saving[1]
            pending = state == "saving"
            if pending:
                lines.append("Saving it at full quality …")
            elif state == "saved" and self._targets is not None:
                lines.append(f"Saved as {_readable(self._targets[0].name)}.")
            else:
                lines.append(f"It could not be saved: {state}.")
        title = "Level" if progress.answered else "As it was"
        return {"title": title, "lines": lines, "pending": pending}

    def record(self) -> dict[str, Any]:
        """Return what the JSON beside the photo holds."""
        progress = self.study.progress()
        duels = [
            {
                "left_degrees": self._shown(duel, "left"),
                "right_degrees": self._shown(duel, "right"),
                "answer": Board.side_of(duel),
                "when": datetime.fromtimestamp(duel.answered or 0, UTC).isoformat("T", "seconds"),
            }
            for duel in self.study.duels
            if duel.state == "answered"
        ]
        return {
            "photo": self.name,
            "levelled": _readable(self._targets[0].name) if self._targets else None,
            "angle_degrees": _degrees(self.angle),
            "sense": "counter-clockwise positive",
            "uncertainty_degrees": _degrees(progress.uncertainty),
            "uncertainty_level": 0.8,
            "hidden_tilt_degrees": _degrees(self.tilt),
            "method": self.study.method_name,
            "geoduel": __version__,
            "duels": duels,
        }

    def forget(self) -> None:
        """Delete the study where it is stored, if its result is saved or it has no answers."""
        if self.study.storage.url is None:
            return
        with suppress(UnknownStudyError):  # the same photo, given twice
            if self.saved or not self.study.progress().answered:
                delete_study(self.study.name, self.study.storage)

    # -- private -----------------------------------------------------------------------------------

    def _shown(self, duel: Any, side: str) -> float | None:
        point = duel.a if Board.point_on(duel, side) == "a" else duel.b
        return _degrees(float(_PLANE.to_angle(point)))

    def _save(self, answered: int) -> None:
        try:
            with self._writing:  # one at a time, whole photos are large
                self._write()
            state = "saved"
        except MemoryError:
            state = "not enough memory"
        except (GeoduelError, OSError) as error:
            state = _readable(getattr(error, "strerror", None) or str(error))
        self._saving = (answered, state)
        if self._targets is not None and state == "saved":
            print(f"{self.name}: saved {_readable(str(self._targets[0]))}", flush=True)
        else:
            print(f"{self.name}: could not be saved: {state}", file=sys.stderr, flush=True)

    def _write(self) -> None:
        if self.out is None:
            return
        self.out.mkdir(parents=True, exist_ok=True)
        image = self._photo if self.path is None else open_photo(self.path)
        turned = turn(image, self.angle)
        del image
        if self._targets is None:
            stem = "seascape" if self.path is None else self.path.stem
            suffix = ".png" if self.path is None else self.path.suffix
            self._targets = _free(self.out, stem, save_name(turned, Path(f"x{suffix}")).suffix)
        photo, record = self._targets
        # What this session wrote before, with fewer answers, is its own to replace.
        save_photo(turned, photo, overwrite=True, lossless=_lossless(self.path))
        write_whole(record, json.dumps(self.record(), indent=2) + "\n")


def level(
    photos: Sequence[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str] | None = None,
    method: str = "auto",
    demo: bool = False,
    browser: bool = True,
    port: int | None = None,
    rng: int | None = None,
    resume: bool = True,
    token: str | Literal[False] | None = None,
) -> None:
    """Level photos on a page in the browser, until Ctrl-C.

    Each levelled photo is saved at full quality, named ``...-level``, with a JSON of the same name
    that holds the angle, its uncertainty and the duels.

    Parameters
    ----------
    photos : sequence of path
        JPEG, PNG or WebP, one after another.
    out : path, optional
        Folder for the results; by default that of each photo.
    method : str
        Name of the method, see `geoduel.create_study`.
    demo : bool
        Level a painted seascape with a hidden tilt; saved only if ``out`` is given.
    browser : bool
        Open a browser; the address is printed in any case.
    port : int, optional
        By default 8642 or, if that is taken, any free one.
    rng : int, optional
        Seed.
    resume : bool
        Keep answers in the user's state folder until a photo is saved, and go on with them when
        the command is interrupted and given again.
    token : str or False, optional
        See `geoduel.web.serve`.

    Raises
    ------
    ArgumentError
        If there is nothing to level.
    PictureError
        If a photo is not a picture that can be levelled.
    OSError
        If the port is taken.
    MissingExtraError
        If the extra ``web`` is not installed.
    """
    if not photos and not demo:
        raise ArgumentError("PHOTO: name a photo, or try --demo")
    state = state_folder() if resume and photos else None
    storage = None if state is None else as_storage(f"sqlite:///{state / 'level.db'}")
    folder = None if out is None else Path(out)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ArgumentError(f"--out {folder} is not a folder")
    levellers: list[Leveller] = []
    try:
        levellers += (Leveller(Path(photo), folder, method, storage, rng) for photo in photos)
        if demo:
            levellers.append(Leveller(None, folder, method, None, rng))
        # The libraries of the page load while the photo does.
        with web_extra(), ThreadPoolExecutor(1) as pool:
            first = pool.submit(levellers[0].load)
            from .web import create_app

            first.result()
        token = given_token(token, "127.0.0.1", "level")
        app = create_app([one.board for one in levellers], token=token, title="geoduel level")
        threading.Thread(target=_load, args=(levellers[1:],), daemon=True).start()
        run(app, port=port, token=token, browser=browser)
    finally:
        for one in levellers:
            one.forget()


def _load(levellers: Sequence[Leveller]) -> None:
    """Prepare the photos to come; leave out those that turn out to be damaged."""
    for one in levellers:
        try:
            one.load()
        except (GeoduelError, OSError) as error:
            one.board.closed = True
            print(f"geoduel: {error}; left out", file=sys.stderr, flush=True)


def _fingerprint(path: Path, method: str) -> str:
    """Tell this state of the file from others of its name."""
    stat = path.stat()
    text = f"{path.resolve()} {stat.st_size} {stat.st_mtime_ns} {method}"
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:12]


def _readable(name: str) -> str:
    """Return a name that can be shown and stored: bytes that are no UTF-8 become "�"."""
    return os.fsencode(name).decode(errors="replace")


def _free(folder: Path, stem: str, suffix: str) -> tuple[Path, Path]:
    """Names for photo and JSON that are not taken."""
    for n in range(1, 10_000):
        name = f"{stem}-level" + (f"-{n}" if n > 1 else "")
        found = folder / f"{name}{suffix}", folder / f"{name}.json"
        if not any(file.exists() for file in found):
            return found
    raise FileExistsError(f"{folder} has too many levelled versions of {stem}")


def _degrees(angle: float | None) -> float | None:
    return None if angle is None else round(math.degrees(angle), 4)


def _encode(image: Any, kind: str, quality: int) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, quality=quality)
    return file.getvalue()


def _lossless(path: Path | None) -> bool:
    """Whether a WebP file is of the lossless kind: its pixels are in a VP8L chunk."""
    if path is None:
        return False
    with path.open("rb") as file:
        head = file.read(12)
        if head[:4] != b"RIFF" or head[8:] != b"WEBP":
            return False
        while len(chunk := file.read(8)) == 8:
            if chunk[:4] in (b"VP8 ", b"VP8L"):
                return chunk[:4] == b"VP8L"
            size = int.from_bytes(chunk[4:], "little")
            file.seek(size + size % 2, os.SEEK_CUR)
    return False
