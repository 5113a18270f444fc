"""What a study is and how far it is, from its log alone: no method runs, whoever wrote it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .._support.check import text
from .codec import decode_settings
from .journal import Journal
from .settings import FOREIGN, read_settings
from .storage.base import Storage
from .storage.place import as_storage

__all__ = ["Summary", "study_summary"]


@dataclass(frozen=True)
class Summary:
    """What a study is and how far it is.

    Attributes
    ----------
    name : str
        Name in the storage.
    method, manifold : str
        Name of the method, and the manifold as Python shows it.
    answered, open : int
        Answers that count, and questions that wait for one.
    budget : int or None
        Most answers wanted.
    uncertainty : float or None
        How well the answer is known, as in `geoduel.study.Progress`.
    finished : str or None
        Why the study asks no more; None if it does.
    created, changed : float
        When it was made, and when its last event was written: seconds since 1970.
    """

    name: str
    method: str
    manifold: str
    answered: int
    open: int
    budget: int | None
    uncertainty: float | None
    finished: str | None
    created: float
    changed: float


def study_summary(study_name: str, storage: str | Storage) -> Summary:
    """Return what a study is and how far it is, without running its method.

    Parameters
    ----------
    study_name : str
        Its name.
    storage : str or Storage
        Where it is; see `geoduel.create_study`.

    Raises
    ------
    UnknownStudyError
        If there is no study of that name.
    ReplayError
        If the log or the settings were altered.

    Examples
    --------
    >>> import geoduel as gd
    >>> study = gd.create_study(gd.Sphere(3), budget=9, study_name="colours", rng=0)
    >>> told = study.tell(study.ask(), "a")
    >>> found = gd.study.study_summary("colours", study.storage)
    >>> found.method, found.manifold, found.answered, found.budget
    ('ideal-point', 'Sphere(3)', 1, 9)
    """
    text(study_name, "study_name")
    place = as_storage(storage, create=False)
    settings = read_settings(place.settings(study_name), study_name)
    journal = Journal(study_name, place, settings)
    rows = place.read(study_name, 0)
    journal.follow(rows)
    book = journal.book
    budget = settings["budget"] if book.budget is None else book.budget
    kept = book.results[-1] if book.results else None
    spent = budget is not None and book.answered >= budget
    return Summary(
        name=study_name,
        method=settings["method_name"],
        manifold=_words(settings["manifold"]),
        answered=book.answered,
        open=len(book.open),
        budget=budget,
        uncertainty=None if kept is None else kept.uncertainty,
        finished="budget" if spent else None if kept is None else kept.stopped,
        created=settings["created"],
        changed=json.loads(rows[-1].line)["time"] if rows else settings["created"],
    )


def _words(described: dict[str, Any]) -> str:
    if described["type"] == FOREIGN:
        return described["repr"]
    return repr(decode_settings(described))
