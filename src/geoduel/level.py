"""Level photos by duels: the command ``geoduel level``."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ._support.check import as_generator, as_path, one_of, real, several, truth
from ._support.files import state_folder, write_whole
from ._version import __version__
from .errors import ArgumentError, GeoduelError, PictureError, UnknownStudyError
from .manifolds import Rotations
from .pictures.files import SUFFIXES, is_lossless, open_photo, save_name, save_photo, shrink
from .pictures.lines import guess_tilt
from .pictures.seascape import seascape
from .pictures.turning import turn
from .study import Storage, Study, create_study, delete_study, load_study
from .study.storage import as_storage
from .web import Board, Content, Turned
from .web.server import given_token, run, web_extra

__all__ = ["Leveller", "level"]

# docs/notebook/level.md says what these were set by, and benchmarks/level.py measures them.
RADIUS, JND = 3.0, 1.0  # degrees: the level angle is expected so near the guess; what people see
FINE, KNOWN = 0.3, 1.7  # degrees: radius of the 80 % region at which questions end, and may end
STALLED = 0.7  # an answer that leaves more of the radius narrows it no longer
LEAST, USUAL, MOST = 5, 6, 25  # answers before questions end, mostly, and at most
_PLANE = Rotations(2)
_PREVIEW = 2000  # pixels of the longest side; enough to zoom in, quick to send
_AHEAD = 8  # photos prepared beyond the one that is looked at
_STEP = math.radians(0.1)  # of the slider
_RESULT = "-level"


class LevelBoard(Board):
    """A photo on the page: when its questions end, and what can be done besides answering.

    Parameters
    ----------
    study, render, **options
        As of `geoduel.web.Board`.
    act : callable
        ``act(name, value)`` does what a button of the page stands for.
    """

    page = "level.html"

    def __init__(
        self,
        study: Study,
        render: Callable[[Any], Any],
        act: Callable[[str, float | None], None],
        **options: Any,
    ) -> None:
        super().__init__(study, render, ahead=False, solo=True, **options)
        self.act, self._enough = act, (-1, False)
        self.opened: Callable[[], Any] | None = None
        """Is called when the photo is looked at for the first time."""
        self.place, self.total = 1, 1
        """Which of how many photos it is."""
        self.left: Callable[[], int] = lambda: 0
        """How many photos come after it."""
        self.ratio = 1.5
        """Width over height, so that the page has room for the photo before it comes."""

    def ask(self, rater: str, *, beyond: bool = False) -> dict[str, Any]:
        if self.opened is not None:
            opened, self.opened = self.opened, None
            opened()
        if not beyond and self.is_enough():
            return self._reply("finished", rater, reason="accuracy", progress=self.progress())
        return super().ask(rater, beyond=True)

    def progress(self, rater: str | None = None) -> dict[str, Any]:
        found = super().progress(rater)
        left = max(USUAL - found["answered"], 1)
        share = found["answered"] / (found["answered"] + left)
        if self.is_enough():
            left, share = 0, 1.0
        # How well the angle is known is said at the end, in words.
        return found | {"remaining": left, "share": share, "uncertainty": None, "known": ""}

    def is_enough(self) -> bool:
        """Whether answers have told what they can.

        The angle is known as finely as anybody needs, or about as well as people see and the last
        answer narrowed it no more. Those who cannot tell any more are not asked on either.
        """
        if self._enough[0] != self.version:
            self._enough = self.version, self._is_enough()
        return self._enough[1]

    def _is_enough(self) -> bool:
        said = [duel.answer for duel in self.study.duels if duel.answer not in (None, "skip")]
        radii = [math.degrees(radius) for _, radius in self._study_progress().history if radius]
        if len(said) < LEAST or len(radii) < 2:
            return said[-3:] == ["tie"] * 3
        stalled = radii[-1] <= KNOWN and radii[-1] > STALLED * radii[-2]
        torn = said[-3:].count("tie") >= 2
        return radii[-1] <= FINE or stalled or torn or len(said) >= MOST


class Leveller:
    """One photo, its study and its results.

    The photo is looked at for a first guess of its tilt, about which the questions begin.

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
    MissingExtraError
        If what its format needs is not installed.
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
        path = None if path is None else as_path(path, "path")
        out = None if out is None else as_path(out, "out")
        self.path, self.tilt = path, None
        self.out = out if path is None or out is not None else path.parent
        self.name = "Seascape" if path is None else _readable(path.name)
        if path is None:
            self.tilt = float(np.radians(rng.choice((-1, 1)) * rng.uniform(4, 25)))
            self._photo = seascape(rng, self.tilt, (1200, 800))
        elif not path.is_file():
            raise PictureError(f"{path} is not a file")
        self._method: Any = method  # `create_study` checks it
        self._writing = threading.Lock()
        self._storage = as_storage(None if path is None else storage)
        self._targets: tuple[Path, Path] | None = None
        self._chosen: tuple[int, float] | None = None  # answers known then, and the angle
        self._saving: tuple[int, float, str] | None = None  # these, and how it stands
        self._seed = int(rng.integers(2**31))
        self._load()
        # The guess, as the nearest quarter of a turn and what is left.
        self._quarters, self._by_hand = round(self._guess / (math.pi / 2)), False
        self.study = self._begin()
        self.board = LevelBoard(
            self.study,
            self.render,
            self.act,
            title=self.name,
            question="Which one looks more level?",
            finish=self.outcome,
            key=Path(self.name).stem,
        )
        self.board.ratio = self._size[0] / self._size[1]

    @property
    def angle(self) -> float:
        """Best angle so far, radians, counter-clockwise positive: chosen by hand, or by answers."""
        answered = self._answered()
        if self._chosen is not None and self._chosen[0] == answered:
            return self._chosen[1]
        if answered:
            return float(_PLANE.to_angle(self.study.recommend()))
        return self._quarters * math.pi / 2 if self._by_hand else 0.0

    @property
    def saved(self) -> bool:
        """Whether the results are written, or there are none to write."""
        return self.out is None or (
            self._saving is not None
            and self._saving[0] == self._answered()
            and self._saving[2] in ("saved", "same")
        )

    def render(self, point: np.ndarray) -> Turned:
        """Show the photo turned by a rotation."""
        return Turned(self._picture, float(_PLANE.to_angle(point)), self._size)

    def act(self, name: str, value: float | None = None) -> None:
        """Do what a button of the page stands for.

        Parameters
        ----------
        name : str
            "save": save the photo, turned by ``value``; "turn": turn it by a quarter, and ask
            anew.
        value : float, optional
            Radians, counter-clockwise positive; by default the best angle so far, and a quarter.
        """
        if one_of(name, "name", ("save", "turn")) == "save":
            self.save(value)
        else:
            self.turn(1 if value is None or value > 0 else -1)

    def save(self, angle: float | None = None) -> None:
        """Save the photo turned by the angle, by default the best so far, in the background."""
        answered = self._answered()
        if angle is not None:
            turns = real(angle, "angle") / (2 * math.pi)
            self._chosen = answered, (turns - round(turns)) * 2 * math.pi
        angle = self.angle
        if self.out is not None and self._saving != (answered, angle, "saving"):
            self._saving = answered, angle, "saving"
            threading.Thread(target=self._save, args=(answered, angle)).start()

    def turn(self, quarters: int) -> None:
        """Turn the photo by quarters, counter-clockwise, and begin anew."""
        self.forget(anyway=True)
        left = self._guess - round(self._guess / (math.pi / 2)) * math.pi / 2
        self._quarters = (self._quarters + quarters + 1) % 4 - 1
        self._guess, self._by_hand, self._chosen = left + self._quarters * math.pi / 2, True, None
        self.study = self._begin()
        self.board.replace(self.study)

    def outcome(self, board: Board) -> dict[str, Any]:
        """Return what the last page says and lets people do."""
        progress, angle = self.study.progress(), self.angle
        known = progress.uncertainty
        by_hand = self._chosen is not None and self._chosen[0] == progress.answered
        title, lines = "Level", []
        if not progress.answered:
            title = "Turned by hand" if by_hand else "Turn it by hand"
        elif known is None or math.degrees(known) > KNOWN:
            title = "The best guess so far"
        if progress.answered and not by_hand:
            within = ""
            if known is not None:
                within = f" It is within {math.degrees(known):.1f}° of level, with 80 % certainty."
            lines.append(f"{_in_words(angle)}.{within}")
        if self.tilt is not None and progress.answered:
            off = abs(math.degrees(angle + self.tilt))
            hidden = abs(math.degrees(self.tilt))
            lines.append(f"The hidden tilt was {hidden:.1f}°: you were off by {off:.1f}°.")
        if self._bits > 8:
            lines.append(f"It has {self._bits} bits a colour, and is saved with 8.")
        state = "open"
        if self._saving is not None and self._saving[:2] == (progress.answered, angle):
            state = self._saving[2]
            lines.append(self._told(state))
            if state in ("saved", "same") and self.board.total > 1 and not self.board.left():
                lines.append("That was the last photo.")
        elif self.out is None:
            state = "none"
        known_states = ("open", "none", "saving", "saved", "same")
        return {
            "title": title,
            "lines": lines,
            "pending": state == "saving",
            "angle": angle,
            "sure": bool(progress.answered and known is not None and math.degrees(known) <= KNOWN),
            "state": state if state in known_states else "failed",
            "left": self.board.left(),
        }

    def record(self) -> dict[str, Any]:
        """Return what the JSON beside the photo holds."""
        progress = self.study.progress()
        answered = float(_PLANE.to_angle(self.study.recommend()))
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
            "folder": self._folder(),
            "levelled": _readable(self._targets[0].name) if self._targets else None,
            "angle_degrees": _degrees(self.angle),
            "sense": "counter-clockwise positive",
            "by_answers_degrees": _degrees(answered) if progress.answered else None,
            "uncertainty_degrees": _degrees(progress.uncertainty),
            "uncertainty_level": 0.8,
            "hidden_tilt_degrees": _degrees(self.tilt),
            "method": self.study.method_name,
            "geoduel": __version__,
            "duels": duels,
        }

    def forget(self, anyway: bool = False) -> bool:
        """Delete the study if its result is saved or it has no answers; say whether it is kept."""
        try:
            left = not anyway and self._answered() > 0 and not self.saved
        except UnknownStudyError:  # the same photo, given twice
            return False
        if self.study.storage.url is not None and not left:
            delete_study(self.study.name, self.study.storage)
        return left

    # -- private -----------------------------------------------------------------------------------

    def _load(self) -> None:
        """Make the preview, which stands in for the photo, whose pixels are let go; guess."""
        image = self._photo if self.path is None else open_photo(self.path, preview=_PREVIEW)
        self._bits = image.info.get("bits", 8)
        small = shrink(image, _PREVIEW)
        # Colours of a phone are wider than the web's; those of a press are converted without.
        profile = None if image.mode == "CMYK" else image.info.get("icc_profile")
        if small.mode == "RGBA":
            data, kind = _encode(small, "WEBP", quality=90, icc_profile=profile), "image/webp"
        else:
            data, kind = _encode(small, "JPEG", quality=90, icc_profile=profile), "image/jpeg"
        self._picture, self._size = Content(data, kind), small.size
        self._guess = -guess_tilt(small)

    def _begin(self) -> Study:
        """The study about the guess; that of a photo turned by hand is another one."""
        name = self.name
        if self.path is not None:
            name += f" {_fingerprint(self.path, self._method)}"
        name += f" turned {self._quarters}" if self._by_hand else ""
        if name in self._storage.names():
            study = load_study(name, self._storage)
            with suppress(ArgumentError):  # then its result stays as it was
                study.upgrade()
            return study
        options: dict[str, Any] = {}
        if self._method in ("auto", "bisection"):
            scales = {"prior_radius": math.radians(RADIUS), "jnd": math.radians(JND)}
            # Whoever levels a photo of their own looks at it.
            options = {"catch": 0.0, **scales}
        return create_study(
            _PLANE,
            self._method,
            storage=self._storage,
            study_name=name,
            x0=_PLANE.from_angle(self._guess),
            rng=self._seed,
            **options,
        )

    def _answered(self) -> int:
        return self.study.progress().answered

    def _folder(self) -> str | None:
        """Where the photo is, seen from the results."""
        return None if self.path is None or self.out is None else _seen_from(self.out, self.path)

    def _shown(self, duel: Any, side: str) -> float | None:
        point = duel.a if Board.point_on(duel, side) == "a" else duel.b
        return _degrees(float(_PLANE.to_angle(point)))

    def _told(self, state: str) -> str:
        """How the saving stands, for the page."""
        name = _readable(self._targets[0].name) if self._targets else ""
        copied = f" It is copied bit for bit, as {name}." if name else ""
        said = {
            "saving": "Saving it at full quality …",
            "saved": f"Saved as {name}.",
            "same": f"Nothing was changed, so {self.name} stays as it is.{copied}",
        }
        return said.get(state, f"It could not be saved: {state}.")

    def _save(self, answered: int, angle: float) -> None:
        try:
            with self._writing:  # one at a time, whole photos are large
                state = "saved" if self._write(angle) else "same"
        except MemoryError:
            state = "not enough memory"
        except (GeoduelError, OSError) as error:
            state = _readable(getattr(error, "strerror", None) or str(error))
        if self._saving is not None and self._saving[:2] == (answered, angle):
            self._saving = answered, angle, state
        if state == "saved" and self._targets is not None:
            print(f"{self.name}: saved {_readable(str(self._targets[0]))}", flush=True)
        elif state == "same":
            print(f"{self.name}: nothing changed", flush=True)
        else:
            print(f"{self.name}: could not be saved: {state}", file=sys.stderr, flush=True)

    def _write(self, angle: float) -> bool:
        """Write the photo and what is known of it; False if the photo is level as it is."""
        out, path = self.out, self.path
        if out is None:
            return False
        kept = path if abs(angle) < _STEP / 2 else None  # a photo that is level as it is
        if kept is not None and self._targets is None and out.resolve() == kept.parent.resolve():
            return False
        out.mkdir(parents=True, exist_ok=True)
        image = self._photo if path is None else open_photo(path)
        turned = image if kept is not None else turn(image, angle)
        del image
        stem, suffix = ("seascape", ".png") if path is None else (path.stem, path.suffix)
        suffix = save_name(turned, Path(f"x{suffix}")).suffix
        self._targets = self._targets or _free(out, stem, suffix)
        photo, record = self._targets
        # What this session wrote before, with fewer answers, is its own to replace.
        if kept is not None:
            write_whole(photo, kept.read_bytes())
        else:
            lossless = path is not None and is_lossless(path)
            save_photo(turned, photo, overwrite=True, lossless=lossless)
        write_whole(record, json.dumps(self.record(), indent=2) + "\n")
        return kept is None


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
        JPEG, PNG, WebP, TIFF, HEIF or AVIF, one after another. A folder stands for the photos in
        it that are not levelled yet.
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
    for name, value in {"demo": demo, "browser": browser, "resume": resume}.items():
        truth(value, name)
    if not photos and not demo:
        raise ArgumentError("photos: name a PHOTO or a folder, or try --demo")
    photos = several(photos, "photos", "paths") if photos else ()
    folder = None if out is None else as_path(out, "out")
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ArgumentError(f"--out {folder} is not a folder")
    paths: list[Path | None] = list(_photos([as_path(photo, "photos") for photo in photos], folder))
    paths += [None] if demo else []
    if not paths:
        raise ArgumentError("all photos there are levelled already; name one to level it again")
    state = state_folder() if resume and photos else None
    storage = None if state is None else as_storage(f"sqlite:///{state / 'level.db'}")
    levellers: list[Leveller] = []
    queue = _Queue(paths, lambda path: Leveller(path, folder, method, storage, rng), levellers)
    preparing = None
    try:
        with web_extra():
            queue.first(strict=not any(Path(photo).is_dir() for photo in photos))
            from .web import create_app
        token = given_token(token, "127.0.0.1", "level")
        boards = [one.board for one in levellers]
        app = create_app(boards, token=token, title="geoduel level", find=queue.find)
        preparing = threading.Thread(target=queue.rest, args=(app.state.hub.present,), daemon=True)
        preparing.start()
        run(app, port=port, token=token, browser=browser)
    finally:
        queue.ended.set()
        if preparing is not None:
            preparing.join(5)
        for one in levellers:
            if one.forget() and one.path is not None:
                kept = "; the same command goes on with it" if storage is not None else ""
                print(f"{one.name}: not saved{kept}", flush=True)


class _Queue:
    """Photos prepared one after another, a few beyond the one that is looked at."""

    def __init__(
        self,
        paths: Sequence[Path | None],
        make: Callable[[Path | None], Leveller],
        levellers: list[Leveller],
    ) -> None:
        self._paths, self._make, self._levellers = list(paths), make, levellers
        self._at = 0
        self._damaged: list[int] = []
        self._looked = threading.Semaphore(_AHEAD)
        self.ended = threading.Event()

    def first(self, strict: bool) -> None:
        """Prepare the first photo; an error if it cannot be shown, or if none can."""
        while not self._levellers:
            try:
                self._next()
            except (GeoduelError, OSError) as error:
                if strict or self._at == len(self._paths):
                    raise
                self._left_out(error)

    def rest(self, announce: Callable[[], Any]) -> None:
        """Prepare the others; leave out those that turn out to be damaged."""
        while self._at < len(self._paths) and not self.ended.is_set():
            if not self._looked.acquire(timeout=0.5):
                continue
            try:
                self._next()
                announce()
            except (GeoduelError, OSError, MemoryError) as error:
                self._left_out(error)
                self._looked.release()

    def find(self, _: Any) -> list[Board]:
        """Return the boards of all photos that are prepared."""
        return [one.board for one in self._levellers]

    def _next(self) -> None:
        path = self._paths[self._at]
        self._at += 1
        one = self._make(path)
        one.board.place, one.board.total = self._at, len(self._paths)
        one.board.opened, one.board.left = self._looked.release, lambda: self._left(one)
        self._levellers.append(one)

    def _left(self, one: Leveller) -> int:
        """How many photos come after one, as far as is known."""
        place = one.board.place
        return len(self._paths) - place - sum(other > place for other in self._damaged)

    def _left_out(self, error: Exception) -> None:
        self._damaged.append(self._at)
        why = _readable(str(error)) or "not enough memory"
        print(f"geoduel: {why}; left out", file=sys.stderr, flush=True)


def _photos(given: Sequence[Path], out: Path | None) -> Iterator[Path]:
    """The photos that are named, and those of folders that are not levelled yet."""
    for path in given:
        if not path.is_dir():
            if not path.is_file():
                raise PictureError(f"{path} is not a file")
            yield path
            continue
        files = [
            file
            for file in sorted(path.iterdir())
            if file.suffix.lower() in SUFFIXES and not file.name.startswith(".")
        ]
        is_done = _levelled(out or path)
        left = [file for file in files if file.is_file() and not is_done(file)]
        if not files:
            raise ArgumentError(f"{path} holds no photos: {', '.join(SUFFIXES)}")
        yield from left


def _levelled(results: Path) -> Callable[[Path], bool]:
    """Whether a photo is levelled already, or is itself a result, as a folder of results says."""
    done: set[tuple[str, str | None]] = set()
    for record in results.glob(f"*{_RESULT}*.json"):
        with suppress(OSError, ValueError, TypeError, LookupError):
            told = json.loads(record.read_text(encoding="utf-8"))
            if "angle_degrees" in told:  # and in which folder, but for records of old
                done |= {(told["photo"], told.get("folder")), (told["levelled"], ".")}

    def is_done(photo: Path) -> bool:
        name = _readable(photo.name)
        return not done.isdisjoint({(name, None), (name, _seen_from(results, photo))})

    return is_done


def _seen_from(folder: Path, photo: Path) -> str:
    """The folder of a photo as seen from another one: both may be moved together."""
    there = photo.parent.resolve()
    try:
        return _readable(Path(os.path.relpath(there, folder.resolve())).as_posix())
    except ValueError:  # another drive
        return _readable(there.as_posix())


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
        name = f"{stem}{_RESULT}" + (f"-{n}" if n > 1 else "")
        found = folder / f"{name}{suffix}", folder / f"{name}.json"
        if not any(file.exists() for file in found):
            return found
    raise FileExistsError(f"{folder} has too many levelled versions of {stem}")


def _degrees(angle: float | None) -> float | None:
    return None if angle is None else round(math.degrees(angle), 4)


def _in_words(angle: float) -> str:
    """Such as "Turned 3.4° clockwise"."""
    degrees = round(math.degrees(angle), 1)
    if not degrees:
        return "Level as it is: turned by 0.0°"
    return f"Turned {abs(degrees):.1f}° {'counter-clockwise' if degrees > 0 else 'clockwise'}"


def _encode(image: Any, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()
