"""What the owner of a study sees: raters, their agreement, and convergence without values."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GeoduelError

if TYPE_CHECKING:
    from .board import Board

__all__ = ["agreement", "convergence"]

_MOST_POINTS = 400
_MOST_RATERS = 12


def agreement(board: Board) -> dict[str, Any]:
    """Compare raters with the common result, with each other, and with themselves.

    Parameters
    ----------
    board : Board
        The study.

    Returns
    -------
    dict
        ``raters`` has the counts of each, the verdict with its evidence, and three numbers.
        ``consistency`` is the share of repeated questions answered alike, ``with_result`` the share
        of answers for the point nearer to the best one. ``apart`` is the distance of the best point
        from the rater's own answers from the common one, and ``compared`` says in words whether
        uncertainty explains it. ``pairs`` has the distance between what is recommended to two
        raters, and the share of questions that both were asked and answered alike. ``camps`` has
        the members and the uncertainty of each, where tastes differ. None stands where nothing is
        known.
    """
    study = board.study
    best = study.recommend()
    answered = [duel for duel in study.duels if duel.answer in ("a", "b", "tie")]
    nearer: dict[str, list[bool]] = {}
    asked: dict[int, dict[str, str]] = {}
    for duel in answered:
        rater = duel.rater or ""
        asked.setdefault(_original(duel), {})[rater] = duel.answer or ""
        if duel.answer != "tie":
            gap = float(study.manifold.dist(best, duel.a) - study.manifold.dist(best, duel.b))
            if gap:
                nearer.setdefault(rater, []).append((duel.answer == "a") == (gap < 0))
    counts = study.progress().raters
    own = {name: _own_best(board, name) for name in list(counts)[:_MOST_RATERS] if name}
    apart = _disagreement(board, list(own))
    raters = [
        {
            "name": name,
            "answers": one.answers,
            "ties": one.ties,
            "skips": one.skips,
            "repeats": one.repeats,
            "consistency": one.consistency,
            "with_result": _share(nearer.get(name, [])),
            "apart": apart[name].distance if name in apart else None,
            "compared": apart[name].words if name in apart else None,
            "verdict": one.verdict,
            "evidence": one.evidence,
        }
        for name, one in counts.items()
    ]
    pairs = []
    for a, b in combinations(own, 2):
        common = [given[a] == given[b] for given in asked.values() if a in given and b in given]
        between = _distance(board, own[a], own[b])
        pairs.append({"raters": [a, b], "apart": between, "same": _share(common)})
    return {
        "raters": raters,
        "pairs": pairs,
        "camps": _camps(board),
        "unit": "degrees" if board.degrees else "",
    }


def convergence(board: Board) -> dict[str, list[list[float]]]:
    """Return curves over the number of answers that need no values of the objective.

    Parameters
    ----------
    board : Board
        The study.

    Returns
    -------
    dict
        Lists of [answers, value]. ``uncertainty`` is the radius of the region that holds the best
        point, ``choices`` the distance between the two points of a question. ``step`` is the
        distance between the points preferred in successive answers.
    """
    study = board.study
    dist = study.manifold.dist
    chosen = [duel for duel in study.duels if duel.answer in ("a", "b", "tie")]
    chosen.sort(key=lambda duel: duel.answered or 0.0)
    choices, steps, last = [], [], None
    for count, duel in enumerate(chosen, 1):
        choices.append([count, float(dist(duel.a, duel.b))])
        if duel.answer != "tie":
            winner = duel.a if duel.answer == "a" else duel.b
            if last is not None:
                steps.append([count, float(dist(last, winner))])
            last = winner
    known = [[float(n), float(u)] for n, u in study.progress().history if u is not None]
    curves = {"uncertainty": known, "step": steps, "choices": choices}
    return {
        name: _thin([p for p in curve if math.isfinite(p[1])]) for name, curve in curves.items()
    }


def _original(duel: Any) -> int:
    return duel.of if duel.of is not None else duel.id


def _own_best(board: Board, rater: str) -> Any:
    try:
        return board.study.recommend(rater=rater)
    except GeoduelError:  # methods for one rater only
        return None


def _disagreement(board: Board, raters: list[str]) -> dict[str, Any]:
    try:
        return board.study.disagreement(raters)
    except GeoduelError:
        return {}


def _camps(board: Board) -> list[dict[str, Any]]:
    """The camps, if there are several."""
    try:
        camps = board.study.camps()
    except GeoduelError:
        return []
    if len(camps) < 2:
        return []
    return [
        {
            "members": list(camp.members),
            "uncertainty": camp.uncertainty if math.isfinite(camp.uncertainty) else None,
        }
        for camp in camps
    ]


def _distance(board: Board, a: Any, b: Any) -> float | None:
    if a is None or b is None:
        return None
    return float(board.study.manifold.dist(a, b))


def _share(agreed: list[bool]) -> float | None:
    return float(np.mean(agreed)) if agreed else None


def _thin(curve: list[list[float]]) -> list[list[float]]:
    """Few enough points to draw, the last among them."""
    every = math.ceil(len(curve) / _MOST_POINTS) or 1
    return curve[::-every][::-1]
