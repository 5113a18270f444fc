"""What the owner of a study sees: raters, their agreement, convergence, a map of the answers."""

from __future__ import annotations

import math
import time
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..domains.mixture import Mixture, is_mixed
from ..errors import GeoduelError
from ..manifolds import Rotations, Simplex, Sphere
from .numbers import in_units, unit

if TYPE_CHECKING:
    from ..manifolds import Manifold
    from .board import Board

__all__ = ["agreement", "answer_map", "convergence"]

_MOST_POINTS = 400
_MOST_RATERS = 12
_MOST_TRACED = 1000  # answers beyond which no replay shows where the best point was
_TRACING = 1.0  # seconds of replay at once
_MOST_MAPPED = 120  # answers on the map, the last ones


def agreement(board: Board) -> dict[str, Any]:
    """Compare raters with the common result, with each other, and with themselves.

    Parameters
    ----------
    board : Board
        The study.

    Returns
    -------
    dict
        ``raters`` has the counts of each, the verdict with its evidence, and four numbers.
        ``seconds`` is the median time for which the rater had a question before the answer.
        ``consistency`` is the share of repeated questions answered alike, ``with_result`` the share
        of answers for the point nearer to the best one. ``apart`` is the distance of the best point
        from the rater's own answers from the common one, and ``compared`` says in words whether
        uncertainty explains it. ``pairs`` has the distance between what is recommended to two
        raters, and the share of questions that both were asked and answered alike. ``camps`` has
        the members and the uncertainty of each, where tastes differ. Lengths are in ``unit``. None
        stands where nothing is known.
    """
    study, m = board.study, board.study.manifold
    best = m.pack(study.recommend())
    duels = study.duels
    answered = [duel for duel in duels if duel.answer in ("a", "b", "tie") and not duel.more]
    taken: dict[str, list[float]] = {}
    for duel in duels:
        if duel.seconds is not None:
            taken.setdefault(duel.rater or "", []).append(duel.seconds)
    nearer: dict[str, list[bool]] = {}
    asked: dict[int, dict[str, str]] = {}
    for duel in answered:
        rater = duel.rater or ""
        asked.setdefault(_original(duel), {})[rater] = duel.answer or ""
        if duel.answer != "tie":
            gap = float(m.dist(best, duel.points[0]) - m.dist(best, duel.points[1]))
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
            "seconds": float(np.median(taken[name])) if name in taken else None,
            "consistency": one.consistency,
            "with_result": _share(nearer.get(name, [])),
            "apart": in_units(m, apart[name].distance) if name in apart else None,
            "compared": apart[name].words if name in apart else None,
            "verdict": one.verdict,
            "evidence": one.evidence,
        }
        for name, one in counts.items()
    ]
    pairs = []
    for a, b in combinations(own, 2):
        common = [given[a] == given[b] for given in asked.values() if a in given and b in given]
        known = own[a] is not None and own[b] is not None
        between = in_units(m, float(m.dist(own[a], own[b]))) if known else None
        pairs.append({"raters": [a, b], "apart": between, "same": _share(common)})
    return {"raters": raters, "pairs": pairs, "camps": _camps(board), "unit": unit(m)}


def convergence(board: Board) -> dict[str, Any]:
    """Return curves over the number of answers that need no values of the objective.

    Parameters
    ----------
    board : Board
        The study.

    Returns
    -------
    dict
        Lists of [answers, value], the values in ``unit``. ``region`` is the radius within which the
        best point was known, ``away`` the distance of the best point then from the best one now. A
        later call continues ``away`` where it is not ``complete`` yet.
    """
    study = board.study
    p, m = study.progress(), study.manifold
    best = m.pack(study.recommend())
    region = [[n, u] for n, u in p.history if u is not None and math.isfinite(u)]
    began = time.monotonic()
    traced = study.trace(_TRACING) if p.answered + p.skips <= _MOST_TRACED else []
    done = time.monotonic() - began < _TRACING
    away = [[n, float(m.dist(best, point))] for n, point in traced]
    shown = {"region": region, "away": [point for point in away if math.isfinite(point[1])]}
    curves = {
        name: [[float(n), in_units(m, value)] for n, value in _thin(curve)]
        for name, curve in shown.items()
    }
    return {"unit": unit(m), "complete": done, **curves}


def answer_map(board: Board) -> dict[str, Any]:
    """Return where the choices lay, in the plane.

    Parameters
    ----------
    board : Board
        The study.

    Returns
    -------
    dict
        ``kind`` is "triangle" for the simplex of three weights. Else it is "around": the best point
        lies at (0, 0), and the distance from there is the geodesic one, in ``unit``. That holds for
        all points where the manifold has two dimensions. In more the plane is the one along which
        the choices vary most, and in one dimension the second coordinate counts the answers.
        ``duels`` has the preferred point, the other one, and whether it was a tie; ``raters`` what
        each rater liked best.
    """
    study, m = board.study, board.study.manifold
    of_two = [duel for duel in study.duels if duel.answer in ("a", "b", "tie") and not duel.more]
    duels = of_two[-_MOST_MAPPED:]
    pairs = [d.points[::-1] if d.answer == "b" else d.points for d in duels]
    best, known = m.pack(study.recommend()), study.uncertainty()
    raters = list(study.progress().raters)[:_MOST_RATERS]
    own = {name: _own_best(board, name) for name in raters if name}
    liked = {name: point for name, point in own.items() if point is not None}
    points = [best, *liked.values(), *(x for pair in pairs for x in pair)]
    triangle = isinstance(m, Simplex) and m.n == 3
    flat = _corners(points) if triangle else _around(m, best, points)
    if not triangle and m.dim == 1:
        flat[1 + len(liked) :, 1] = np.repeat(np.arange(1, len(pairs) + 1), 2)
    found = [[float(v) for v in one] for one in flat]
    first = 1 + len(liked)
    names = board.labels or ["weight 1", "weight 2", "weight 3"]
    return {
        "kind": "triangle" if triangle else "around",
        "dim": m.dim,
        "unit": unit(m) if unit(m) == "degrees" else "distance",
        "labels": list(names) if triangle else [],
        "best": found[0],
        "region": None if triangle or known is None or math.isinf(known) else _size(m, known),
        "raters": [{"name": n, "at": at} for n, at in zip(liked, found[1:first], strict=True)],
        "duels": [
            {"won": found[i], "lost": found[i + 1], "tie": duel.answer == "tie"}
            for i, duel in zip(range(first, len(found), 2), duels, strict=True)
        ],
    }


def _size(manifold: Manifold, length: float) -> float:
    return math.degrees(length) if unit(manifold) == "degrees" else float(length)


def _corners(points: list[Any]) -> np.ndarray:
    """Weights of three as points of a triangle with corners (0, 0), (1, 0) and (1/2, √3/2)."""
    return np.array(points) @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])


def _around(manifold: Manifold, best: Any, points: list[Any]) -> np.ndarray:
    """Points by their direction and distance from the best one, in two coordinates."""
    ends = np.array(points)
    if is_mixed(manifold):  # no geodesic joins other categories: the map is one of the other parts
        parts = Mixture(manifold)
        ends = parts.join(parts.split(ends)[0], parts.split(best)[1])
    logs = manifold.log(best, ends)
    logs = np.where(np.isfinite(logs), logs, 0.0)  # what lies opposite is in no direction
    if isinstance(manifold, Sphere) and manifold.point_shape == (
        3,
    ):  # east and north: the map stays put
        east = np.array([-best[1], best[0], 0.0])
        size = np.linalg.norm(east)
        east = east / size if size > 1e-9 else np.array([0.0, 1.0, 0.0])
        flat = logs @ np.stack([east, np.cross(best, east)], axis=1)
    else:
        gram = manifold.inner(best, logs[:, None], logs[None])
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        flat = np.zeros((len(points), 2))
        for axis, k in enumerate(range(len(values) - 1, max(-1, len(values) - 3), -1)):
            along = vectors[:, k] * math.sqrt(max(0.0, values[k]))
            flat[:, axis] = along * (1.0 if along[np.argmax(np.abs(along))] >= 0 else -1.0)
    if isinstance(manifold, Rotations) and manifold.n == 2:  # with the sign of the angle
        flat[:, 0] = [float(manifold.to_angle(best.T @ x)) for x in points]
    return flat * _size(manifold, 1.0)


def _original(duel: Any) -> int:
    return duel.of if duel.of is not None else duel.id


def _own_best(board: Board, rater: str) -> Any:
    try:
        return board.study.manifold.pack(board.study.recommend(rater=rater))
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
    m = board.study.manifold
    if len(camps) < 2:
        return []
    return [
        {
            "members": list(camp.members),
            "uncertainty": None if math.isinf(far := camp.uncertainty) else in_units(m, far),
        }
        for camp in camps
    ]


def _share(agreed: list[bool]) -> float | None:
    return float(np.mean(agreed)) if agreed else None


def _thin(curve: list[list[float]]) -> list[list[float]]:
    """Few enough points to draw, the last among them."""
    every = math.ceil(len(curve) / _MOST_POINTS) or 1
    return curve[::-every][::-1]
