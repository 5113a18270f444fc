"""Whatever people do, in whatever order: two processes and a fresh replay agree on everything."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.storage import MemoryStorage

SPHERE = gd.Sphere(3)
CAP = gd.Ball(SPHERE, np.array([0.0, 0.6, 0.8]), 0.5)
REFUSED = (errors.NothingToAskError, errors.StudyFinishedError, errors.ArgumentError)
KINDS = {
    "newton": {"method": "duel-newton"},
    "csa": {"method": "duel-csa"},
    "block": {"method": "block"},
    "rdngd": {"method": "rdngd", "budget": 500, "repeats": 0.2},
    "rdngd votes": {"method": "rdngd", "budget": 500, "batch": 3, "votes": 3, "repeats": 0.1},
    "newton votes": {"method": "duel-newton", "votes": 2},
    "in a set": {
        "method": "duel-newton",
        "domain": gd.Ball(SPHERE, np.array([0.0, 0.6, 0.8]), 0.5),
    },
    "people": {"repeats": 0.2, "lease": 1e-9},  # leases that end at once
}


def use(study: gd.Study, rng: np.random.Generator) -> None:
    """One thing that somebody does."""
    rater = [None, "ann", "bob", "cyd"][rng.integers(4)]
    what = rng.random()
    duels = study.duels
    if what < 0.4:
        study.ask(int(rng.integers(1, 4)), rater=rater)
    elif what < 0.9 and (waiting := [d for d in duels if d.state == "open"]):
        duel = waiting[rng.integers(len(waiting))]
        word = rng.choice(["a", "b", "tie", "skip"], p=[0.4, 0.4, 0.1, 0.1])
        study.tell(duel, str(word), rater=rater)
    elif what < 0.94:
        study.undo(rater=rater)
    elif what < 0.96:
        study.set_user_attr("mood", float(rng.random()))
    elif what < 0.98 and duels:
        study.tell(duels[rng.integers(len(duels))], "a", skip_if_finished=True)
    elif not isinstance(study.method, gd.RDNGD | gd.DuelNewton | gd.DuelCSA | gd.Block):
        study.report_preference(*SPHERE.random_point(rng, (2,)))


@pytest.mark.parametrize("kind", KINDS)
def test_all_see_the_same(kind, nudge):
    method = {"method": nudge()} if kind == "people" else {}
    for seed in range(2):
        rng = np.random.default_rng(seed)
        storage = MemoryStorage()
        first = gd.create_study(
            SPHERE, storage=storage, study_name="s", rng=seed, **KINDS[kind], **method
        )
        studies = [first, gd.load_study("s", storage, **method)]
        for _ in range(250):
            with contextlib.suppress(*REFUSED):
                use(studies[rng.integers(2)], rng)
        studies.append(gd.load_study("s", storage, **method))
        points = [study.recommend() for study in studies]
        SPHERE.check_point(points[0])
        assert all(np.array_equal(point, points[0]) for point in points)
        assert all(study.duels == first.duels for study in studies)
        assert len({str(study.progress()) for study in studies}) == 1
        asked = [study._player.questions(study._book, 10**6, "dee") for study in studies]
        nexts = [next(questions, None) for questions in asked]
        assert len({str(question) for question in nexts}) == 1
        progress = first.progress()
        counted = [d for d in first.duels if d.state == "answered" and d.role != "report"]
        assert progress.answered + progress.skips == len(counted)
        assert sum(r.answers for r in progress.raters.values()) == progress.answered
        assert sum(d.state == "open" for d in first.duels) == progress.open
