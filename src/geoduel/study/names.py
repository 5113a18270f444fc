"""Names of raters: what they may be, who has one, and which of their links were taken back.

Both are kept with the study: they hold after a restart, and on every server that shows it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from ..errors import ArgumentError
from .raters import composed

if TYPE_CHECKING:
    from .study import Study

__all__ = ["JOINERS", "claim", "holders", "link_numbers", "rater_name", "revoke_link"]

JOINERS = "\u200c\u200d"
"""Between letters they say whether these join, as Persian, Hindi and emoji need it."""
_WITHIN = re.compile(f"(?<=[^ {JOINERS}])[{JOINERS}](?=[^ {JOINERS}])")
_VARIANTS = {chr(c) for c in range(0xFE00, 0xFE10)}  # say how the character before is drawn
_TAKEN, _LINK = "geoduel rater: ", "geoduel link: "


def rater_name(text: str) -> str:
    """Return a rater's name without needless space, or raise an error that says what is wrong.

    Examples
    --------
    >>> rater_name("  Ann  Lee ")
    'Ann Lee'
    """
    name = composed(text)
    if not 1 <= len(name) <= 40 or not _WITHIN.sub("", name).isprintable():
        raise ArgumentError(f"a rater's name has 1 to 40 printable characters, got {text[:60]!r}")
    return name


def claim(study: Study, rater: str) -> bool:
    """Give a name away; False if somebody has it, or one that looks much like it."""
    free = not holders(study, rater)
    return free and study.set_user_attr(_TAKEN + _alike(rater), rater, once=True)


def holders(study: Study, rater: str) -> list[str]:
    """Return the names that somebody has and that are this one or look much like it.

    A name was given away, or it has a question, or a link of it was taken back.
    """
    alike = _alike(rater)
    known = study._asked() | {*link_numbers(study)}
    given = study.user_attrs.get(_TAKEN + alike)
    known |= {given} if isinstance(given, str) else set()
    return sorted(name for name in known if _alike(name) == alike)


def revoke_link(study: Study, rater: str) -> int:
    """Take a rater's link to the duel page back: from now on it opens nothing.

    A server that shows the study notices within about a second, and links of others stay good.
    Answers given by the link stay, too. The owner's page makes a new link for the name, which
    nobody can open without it.

    Parameters
    ----------
    study : Study
        The study.
    rater : str
        Name of a rater: of one who was asked something, or to whom a link was given.

    Returns
    -------
    int
        How many links of the rater were taken back so far.

    Raises
    ------
    ArgumentError
        If nobody has the name; one that looks much like it is named.

    Examples
    --------
    >>> import geoduel as gd
    >>> study = gd.create_study(gd.Rotations(2), rng=0)
    >>> claim(study, "Ann")
    True
    >>> revoke_link(study, "Ann"), revoke_link(study, "Ann"), link_numbers(study)
    (1, 2, {'Ann': 2})
    """
    rater = rater_name(rater)
    if rater not in (known := holders(study, rater)):
        alike = f"; perhaps {known[0]!r} is meant" if known else ""
        raise ArgumentError(f"rater must be one of study {study.name!r}, got {rater!r}{alike}")
    number = link_numbers(study).get(rater, 0) + 1
    study.set_user_attr(_LINK + rater, number)
    return number


def link_numbers(study: Study) -> dict[str, int]:
    """Return how many links of each rater were taken back, of those of whom one was."""
    kept = {k.removeprefix(_LINK): v for k, v in study.user_attrs.items() if k.startswith(_LINK)}
    return {rater: number for rater, number in kept.items() if type(number) is int and number > 0}


def _alike(rater: str) -> str:
    """What names that look alike have in common: "Ann" and "ＡＮＮ", also with what is not seen."""
    seen = unicodedata.normalize("NFKC", rater).casefold()
    return "".join(c for c in seen if unicodedata.category(c) != "Cf" and c not in _VARIANTS)
