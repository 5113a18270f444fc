"""Answers to questions of several points: the best of them, the best and the worst, a ranking.

The points of a question have letters, a, b, c, ... An answer names them from the best to the worst:

    c          c is the best
    c>a        c is the best, a is second, and both are better than the others
    c>bd>a     c is the best and a the worst; b and d are not ordered
    c>b=d>a    b and d are alike
    c>b>d>a    a whole ranking

Whatever is not named comes last, not ordered. A study hears a ranking as choices, as Plackett and
Luce do: the best of all, the best of those left, and so on. A single last one, after some that are
not ordered, is the worst of those left.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from ..errors import ArgumentError

__all__ = ["LETTERS", "MOST_CHOICES", "Choice", "canonical", "choices_in", "decided"]

LETTERS = "abcdef"
MOST_CHOICES = len(LETTERS)
GROUP = re.compile("[a-f](=?[a-f])*")


class Choice(NamedTuple):
    """The best, or the worst, of some points of a question; of two alike, ``best`` is None."""

    best: int | None
    others: tuple[int, ...]
    worst: bool = False


def canonical(answer: str, k: int) -> str:
    """The answer with all k letters, as the log holds it.

    Raises
    ------
    ArgumentError
        If it is not an answer to a question of k points.

    Examples
    --------
    >>> canonical("c", 4), canonical("c > d=b > a", 4), canonical("tie", 3)
    ('c>abd', 'c>b=d>a', 'tie')
    """
    if answer in ("tie", "skip"):
        return answer
    said = answer.replace(" ", "").lower() if isinstance(answer, str) else ""
    groups = said.split(">")
    letters = [letter for letter in said if letter.isalpha()]
    wanted = LETTERS[:k]
    if (
        not all(GROUP.fullmatch(group) and _plain(group) for group in groups)
        or len(set(letters)) < len(letters)
        or not set(letters) <= set(wanted)
        or len(said) == k == len(letters)
    ):
        raise ArgumentError(
            f"answer must name some of {', '.join(wanted)} from the best to the worst, such as "
            f"'{wanted[-1]}' or '{wanted[-1]}>a', or be 'tie' or 'skip'; got {answer!r:.80}"
        )
    rest = "".join(letter for letter in wanted if letter not in letters)
    tidy = ["=".join(sorted(g.split("="))) if "=" in g else "".join(sorted(g)) for g in groups]
    return ">".join([*tidy, rest] if rest else tidy)


def _plain(group: str) -> bool:
    """Whether its letters are all alike, or all not ordered."""
    return "=" not in group or len(group) == 2 * len(group.replace("=", "")) - 1


def choices_in(answer: str, k: int) -> list[Choice]:
    """What a canonical answer says, as choices of the best of some points.

    Examples
    --------
    >>> choices_in("c>abd", 4)
    [Choice(best=2, others=(0, 1, 3), worst=False)]
    >>> choices_in("b>a=c", 3)
    [Choice(best=1, others=(0, 2), worst=False), Choice(best=None, others=(0, 2), worst=False)]
    """
    if answer == "skip":
        return []
    groups = ["=".join(LETTERS[:k])] if answer == "tie" else answer.split(">")
    places = [[LETTERS.index(letter) for letter in group if letter != "="] for group in groups]
    found = []
    for i, (group, place) in enumerate(zip(groups, places, strict=True)):
        rest = tuple(j for later in places[i + 1 :] for j in later)
        alike = "=" in group
        if len(rest) == 1 < len(place) and not alike:
            found.append(Choice(rest[0], tuple(place), worst=True))
        elif rest:  # one of those that are alike stands for all
            found += [Choice(j, rest) for j in (place[:1] if alike else place)]
        if alike:
            found += [Choice(None, pair) for pair in pairwise(place)]
    return found


def decided(answer: str, k: int) -> list[tuple[int, int, int]]:
    """The duels (i, j, sign) that an answer to a pair or to more points decides; -1 if i wins.

    Examples
    --------
    >>> decided("b", 2), decided("skip", 2)
    ([(0, 1, 1)], [])
    >>> decided("c>ab", 3), decided("tie", 3)
    ([(2, 0, -1), (2, 1, -1)], [(0, 1, 0), (1, 2, 0)])
    """
    if k == 2 and answer in ("a", "b"):
        return [(0, 1, -1 if answer == "a" else 1)]
    found = []
    for best, others, worst in choices_in(answer, k):
        first, rest = (others[0], others[1:]) if best is None else (best, others)
        found += [(first, j, 0 if best is None else 1 if worst else -1) for j in rest]
    return found
