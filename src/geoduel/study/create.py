"""Studies are made, found, copied and removed here; see `geoduel.study.study` for what they do."""

from __future__ import annotations

import json
import logging
import platform
import secrets
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from .._numerics.arrays import Array
from .._support.check import as_path, positive, positive_int, real, truth
from .._version import __version__
from ..domains.base import Domain
from ..domains.catalogue import Catalogue
from ..domains.given import as_place
from ..errors import (
    ArgumentError,
    DuplicateStudyError,
    MalformedExportError,
    MissingExtraError,
    StorageError,
)
from ..manifolds.adapters.foreign import refuse_foreign
from ..manifolds.base import Manifold
from ..methods import Method, for_people
from ..methods.mixed import Mixed, mixed_if_needed
from ..methods.named import METHODS, MethodName, Settings, named, unknown_option
from ..methods.people.choice import for_items
from ..methods.people.questions import QuestionMethod
from .codec import decode_settings, encode_settings, is_text
from .intake import check_events, check_size, check_sizes, malformed
from .settings import (
    FORMAT,
    check_choices,
    describe,
    described_items,
    method_version,
    part,
    read_settings,
)
from .storage.base import Storage
from .storage.place import as_storage
from .study import Study
from .transfer import read_export, stored

__all__ = [
    "copy_study",
    "create_study",
    "delete_study",
    "import_study",
    "load_study",
    "study_names",
]

logger = logging.getLogger("geoduel")

LEASE = 600.0
# Share of questions asked again, for methods made for people, and from which answer of a rater on:
# the first answers tell more if each is about something else.
REPEATS, REPEATS_AFTER = 0.05, 15


def create_study(
    manifold: Manifold | Domain,
    method: MethodName | Method = "auto",
    domain: Any = None,
    storage: str | Storage | None = None,
    study_name: str | None = None,
    load_if_exists: bool = False,
    rng: np.random.Generator | int | None = None,
    *,
    x0: Any = None,
    budget: int | None = None,
    iterations: int | None = None,
    lease: float = LEASE,
    repeats: float | None = None,
    votes: int = 1,
    among: Catalogue | Array | None = None,
    choices: int = 2,
    **options: Unpack[Settings],
) -> Study:
    """Create a study: `minimize` for answers that come later, from people, labs or other machines.

    Parameters
    ----------
    manifold : Manifold or Domain
        Where the points live. A domain, such as `geoduel.space` makes, stands for its manifold and
        holds; duels and results are dictionaries where parts have names.
    method : str or method
        As in `geoduel.minimize`, except that "auto" means people. One dimension takes Bayesian
        bisection, two to six an ideal point with a learned metric, and more the default of
        `minimize`; so do spaces with categories or integers. The study says which, in
        ``study.method_name``.
    domain : Domain, bounds, function or dictionary, optional
        Feasible set, as in `geoduel.minimize`. The log cannot hold a function: `load_study` then
        needs the method.
    storage : str or Storage, optional
        Where the log is kept: a URL such as ``sqlite:///duels.db`` or
        ``postgresql://user@host/database``, or the ``storage`` of another study. None is the memory
        of this process.
    study_name : str, optional
        By default a random one.
    load_if_exists : bool
        Go on with a study of that name, if there is one. Manifold and method must be the same, and
        so must any other setting that is given.
    rng : int or numpy.random.Generator, optional
        Seed. The same seed and answers give the same questions.
    x0 : array_like of shape point_shape, optional
        Start; its dtype is that of the study. By default methods made for people start at
        `Manifold.origin`, and the ideal may lie anywhere on a bounded manifold. The others start at
        a random point.
    budget : int, optional
        Most answers.
    iterations : int, optional
        Most iterations of the method.
    lease : float
        Seconds after which a question without an answer may be asked of someone else, unless an
        oracle of `Study.optimize` is at work on it.
    repeats : float, optional
        Share of questions that are asked of the same rater again, with sides flipped, to see how
        consistent the answers are. A share that is given applies from the first question on. By
        default it is 0 for methods that learn nothing from the second answer. For methods made for
        people it is 0.05, after the first fifteen answers of each rater.
    votes : int
        Answers to each question, of different raters where there are several; the majority is what
        the method is told, and raters who contradict themselves count less. Only for methods that
        are not made for people: those learn from each answer, and weigh raters themselves.
    among : Catalogue, array of shape (n, *point_shape), or list of dictionaries, optional
        Items that exist: only these are shown and recommended. The log holds their digest and the
        items that were shown, so give them to `load_study`, too. Only for methods made for people.
        "auto" is then an ideal point for any number of dimensions from two on, and the items tell
        it where ideals may lie.
    choices : int
        How many points a question shows, from 2 to 6. More than two are for methods made for
        people: their answers name the best, or rank them, see `Study.tell`.
    **options
        Settings of the method, when it is given by name.

    Returns
    -------
    Study

    Raises
    ------
    ArgumentError
        For a wrong argument; the message names it.
    DuplicateStudyError
        If there is a study of that name, and load_if_exists is false.
    StorageError, MissingExtraError
        If the storage cannot be opened.

    Examples
    --------
    >>> import numpy as np
    >>> import geoduel as gd
    >>> study = gd.create_study(gd.Sphere(3), method="duel-newton", rng=0)
    >>> duel = study.ask()
    >>> duel.id, duel.role, duel.a.shape
    (0, 'question', (3,))
    >>> study.tell(duel, "a" if duel.a[2] > duel.b[2] else "b").state
    'answered'
    >>> study.optimize(gd.from_objective(lambda x: -x[2]), n_duels=60)
    >>> bool(study.recommend()[2] > 0.99)
    True
    """
    refuse_foreign(manifold)
    items = None if among is None else Catalogue.of(manifold, among)
    manifold = manifold if items is None else items.manifold  # they are within its bounds
    own = getattr(method, "domain", None)  # of an instance, which need not be told it again
    manifold, domain = as_place(manifold, own if domain is None else domain, x0)
    domain = None if domain is own else domain
    for name, limit in {"budget": budget, "iterations": iterations}.items():
        if limit is not None:
            positive_int(limit, name)
    if study_name is not None:
        _text(study_name)
    chosen: Any = _chosen(manifold, method, domain, dict(options), items is not None)
    if items is not None:
        chosen, x0 = for_items(manifold, items, chosen, x0)
    asks_people = isinstance(chosen, QuestionMethod)
    if positive_int(votes, "votes") > 1 and asks_people:
        raise ArgumentError(
            f"votes={votes} is for methods that believe an answer; {_name(chosen)!r} learns from "
            "each answer and weighs raters itself"
        )
    share = (REPEATS if asks_people else 0.0) if repeats is None else real(repeats, "repeats")
    if not 0 <= share < 1:
        raise ArgumentError(f"repeats must be a share in [0, 1), got {repeats!r}")
    settings = {
        "format": FORMAT,
        "geoduel": __version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "created": round(time.time(), 3),
        "manifold": describe(manifold),
        "shape": [manifold.dim, list(manifold.point_shape)],
        "asked": method if isinstance(method, str) else None,
        "method": describe(chosen),
        "method_name": _name(chosen),
        "method_version": method_version(chosen),
        "seed": _seed(rng),
        "x0": None if x0 is None else encode_settings(_start(manifold, x0)),
        "budget": budget,
        "iterations": iterations,
        "lease": positive(lease, "lease"),
        "repeats": share,
        "repeats_after": REPEATS_AFTER if repeats is None else 0,
        "votes": votes,
        "among": None if items is None else described_items(items),
    }
    if check_choices(choices, chosen, items) > 2:  # settings of pairs are as they always were
        settings["choices"] = choices
    truth(load_if_exists, "load_if_exists")
    place = as_storage(storage)
    study_name = study_name or f"study-{secrets.token_hex(4)}"
    wanted = {
        "seed": None if rng is None or isinstance(rng, np.random.Generator) else settings["seed"],
        "x0": settings["x0"],
        "budget": budget,
        "iterations": iterations,
        "lease": None if lease == LEASE else settings["lease"],
        "repeats": None if repeats is None else share,
        "votes": None if votes == 1 else votes,
        "among": settings["among"],
        "choices": None if choices == 2 else choices,
    }
    if method == "auto":
        more = [*options, *(() if domain is None else ("domain",))]
        described = _flat(describe(chosen))
        wanted |= {f"method.{name}": described[name] for name in more}
    if load_if_exists and study_name in place.names():
        return _same(study_name, place, manifold, method, chosen, wanted, items)

    try:
        study = Study._create(place, study_name, json.dumps(settings), manifold, chosen, items)
    except DuplicateStudyError:
        if not load_if_exists:
            raise
        return _same(study_name, place, manifold, method, chosen, wanted, items)
    logger.info("study %r is made: %r on %r", study_name, chosen, manifold)
    return study


def load_study(
    study_name: str,
    storage: str | Storage,
    manifold: Manifold | Domain | None = None,
    method: Method | None = None,
    among: Catalogue | Array | None = None,
) -> Study:
    """Load a study, and go on as if it had never been interrupted.

    Parameters
    ----------
    study_name : str
        Its name.
    storage : str or Storage
        Where it is; see `create_study`.
    manifold, method : optional
        Needed only where the study uses a geometry or a method of your own, or a setting that is a
        function: the log cannot hold those. Checked against what it does hold.
    among : Catalogue or array, optional
        The items that the study was made with. Without them it can be looked at and told answers,
        but it neither asks nor recommends.

    Returns
    -------
    Study

    Raises
    ------
    UnknownStudyError
        If there is no study of that name.
    ReplayError
        If the log or the settings were altered.

    Warns
    -----
    OlderStudyWarning
        If another version of the method made it: see `Study.upgrade`.
    """
    if storage is None:
        raise ArgumentError("storage: a study in memory cannot be loaded; keep the Study itself")
    place = as_storage(storage, create=False)
    study = Study(_text(study_name), place, _manifold(manifold), method, among)
    _log_loaded(study)
    return study


def delete_study(study_name: str, storage: str | Storage) -> None:
    """Delete a study and its log for good.

    Parameters
    ----------
    study_name : str
        Its name.
    storage : str or Storage
        Where it is; see `create_study`.

    Raises
    ------
    UnknownStudyError
        If there is no study of that name.
    """
    as_storage(storage, create=False).delete(_text(study_name))
    logger.info("study %r is deleted", study_name)


def copy_study(
    study_name: str,
    storage: str | Storage,
    to_storage: str | Storage | None = None,
    to_name: str | None = None,
) -> None:
    """Copy a study with its whole log, to another storage or under another name.

    Copy and original then go their own ways. They ask the same questions as long as they get the
    same answers.

    Parameters
    ----------
    study_name : str
        Its name.
    storage : str or Storage
        Where it is: a URL, or the ``storage`` of a study; see `geoduel.create_study`.
    to_storage : str or Storage, optional
        Where to put the copy; by default beside the original.
    to_name : str, optional
        Name of the copy, by default the same.

    Raises
    ------
    UnknownStudyError
        If there is no study of that name.
    DuplicateStudyError
        If there is one of the new name where the copy goes.
    ReplayError
        If the log or the settings were altered; nothing is stored then.

    Examples
    --------
    >>> import geoduel as gd
    >>> study = gd.create_study(gd.Sphere(3), study_name="first", rng=0)
    >>> gd.copy_study("first", study.storage, to_name="second")
    >>> gd.study_names(study.storage)
    ['first', 'second']
    """
    place = as_storage(storage, create=False)
    found = stored(_text(study_name), place)
    target = place if to_storage is None else as_storage(to_storage, name="to_storage")
    name = study_name if to_name is None else _text(to_name, "to_name")
    target.create(name, json.dumps(found.settings), found.rows)


def study_names(storage: str | Storage) -> list[str]:
    """Names of the studies in a storage, in alphabetical order.

    Parameters
    ----------
    storage : str or Storage
        See `create_study`.
    """
    return as_storage(storage, create=False).names()


def import_study(
    path: str | Path,
    storage: str | Storage | None = None,
    study_name: str | None = None,
    manifold: Manifold | Domain | None = None,
    method: Method | None = None,
    among: Catalogue | Array | None = None,
) -> Study:
    """Read a study that `Study.export` wrote, check it, and store it.

    Parameters
    ----------
    path : path
        The file.
    storage : str or Storage, optional
        Where to put it; see `create_study`.
    study_name : str, optional
        By default the name it had.
    manifold, method, among : optional
        As in `load_study`.

    Returns
    -------
    Study

    Raises
    ------
    ArgumentError
        If the file cannot be read.
    MalformedExportError
        If it is no export, was altered, or holds what no study writes. Nothing is stored then.
    DuplicateStudyError
        If there is a study of that name.
    """
    found, manifold = read_export(as_path(path, "path")), _manifold(manifold)
    place, name = as_storage(storage), _text(found.name if study_name is None else study_name)
    text = json.dumps(found.settings)
    try:
        settings = read_settings(text, name)
        for key, given in {"manifold": manifold, "method": method}.items():
            if given is None:
                check_sizes(settings[key], key)
        geometry: Manifold = part(settings, "manifold", manifold, name)
        if manifold is None:
            check_size(geometry, part(settings, "method", method, name) if method is None else None)
        x0 = None if settings["x0"] is None else _start(geometry, decode_settings(settings["x0"]))
        dtype = np.dtype(float) if x0 is None else x0.dtype
        check_events(found.rows, geometry, dtype)
        return Study._create(place, name, text, manifold, method, among, found.rows, rehearse=True)
    except (MalformedExportError, MissingExtraError, DuplicateStudyError, StorageError, Warning):
        raise
    except ArgumentError as error:
        given = any(part is not None for part in (manifold, method, among))
        if given or "when loading it" in str(error):
            raise  # the caller's to mend
        raise malformed(error) from error
    except Exception as error:
        raise malformed(error) from error


def _manifold(place: Manifold | Domain | None) -> Manifold | None:
    return place.manifold if isinstance(place, Domain) else place


# -- arguments -------------------------------------------------------------------------------------


def _chosen(
    manifold: Manifold,
    method: str | Method,
    domain: Domain | None,
    options: dict[str, Any],
    of_items: bool = False,
) -> Method:
    """The method as an instance; "auto" means people, or the items of a catalogue."""
    if method != "auto":
        return mixed_if_needed(named(method, domain, options), manifold)
    chosen: Any = for_people(manifold, of_items)
    if isinstance(chosen, Mixed):  # options are those of the method that walks
        chosen = replace(chosen, method=_with_options(chosen.method, options))
    else:
        chosen = _with_options(chosen, options)
    return chosen if domain is None else replace(chosen, domain=domain)


def _with_options(chosen: Any, options: dict[str, Any]) -> Any:
    """The method that "auto" means here, with the caller's options."""
    names = [f.name for f in fields(chosen) if f.repr]
    for name in options:
        if name not in names:
            raise unknown_option(f"method 'auto' is {_name(chosen)!r} here, which", name, names)
    return replace(chosen, **options)


def _name(method: Method) -> str:
    """The name of a method as `create_study` takes it, or of its class."""
    names = (name for name, kind in METHODS.items() if kind is type(method))
    return next(names, type(method).__name__)


def _text(value: object, name: str = "study_name") -> str:
    """A name that every database can hold."""
    if isinstance(value, str) and value.strip() and is_text(value):
        return value
    raise ArgumentError(
        f"{name} must be a text that is not blank, of characters that UTF-8 has and without NUL; "
        f"got {value!r:.80}"
    )


def _seed(rng: np.random.Generator | int | None) -> int:
    if rng is None:
        return secrets.randbits(63)
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    raise ArgumentError(f"rng must be an int >= 0, a numpy.random.Generator or None, got {rng!r}")


def _start(manifold: Manifold, x0: Any) -> np.ndarray:
    x0 = manifold.pack(x0, "x0")
    if not isinstance(x0, np.ndarray):
        raise ArgumentError(f"x0 must be a NumPy array, which a log can hold; got {x0!r:.80}")
    manifold.check_point(x0, "x0")
    if x0.shape != manifold.point_shape:
        raise ArgumentError(
            f"x0 must be one point, of shape {manifold.point_shape}; got shape {x0.shape}"
        )
    return x0


def _same(
    name: str,
    storage: Storage,
    manifold: Manifold,
    method: str | Method,
    chosen: Method,
    wanted: dict[str, Any],
    items: Catalogue | None,
) -> Study:
    """The study of that name, if it is the one that was asked for; "auto" takes any method.

    What was left to its default may be anything.
    """
    study = Study(name, storage, manifold, None if method == "auto" else chosen, items)
    for key, value in wanted.items():
        part, _, of_method = key.partition(".")
        there: Any = study.settings.get(part)
        there = _flat(there).get(of_method) if of_method else there
        if value is not None and there != value:
            shown = {"seed": "rng"}.get(key, of_method or key)
            raise ArgumentError(
                f"{shown}={value!r:.80} differs from the study {name!r} that exists, which has "
                f"{there!r:.80}; leave it out to go on with that study"
                + "; study.budget = ... changes it"
                * (shown == "budget")
            )
    _log_loaded(study)
    return study


def _flat(described: dict[str, Any]) -> dict[str, Any]:
    """Settings of a method; with those of the one that walks, where it is one inside another."""
    walker = described.get("method")
    return walker | {"domain": described["domain"]} if isinstance(walker, dict) else described


def _log_loaded(study: Study) -> None:
    logger.info("study %r is loaded, with %d duels", study.name, len(study._book.entries))
