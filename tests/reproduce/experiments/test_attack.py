"""The attack among the reproduced experiments."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch", reason="needs the extra attack")
pytest.importorskip("sklearn", reason="needs the extra attack")
pytest.importorskip("matplotlib", reason="needs the extra plot")

from geoduel.reproduce.experiment import Outcome, Plan
from geoduel.reproduce.experiments.attack import ATTACK, LINES
from geoduel.reproduce.report import Figure, Gallery, Table, write_report


def test_tasks_cover_the_figure():
    quick, full = (ATTACK.tasks(Plan(quick=q)) for q in (True, False))
    assert [t.settings["label"] for t in full] == list(LINES)
    assert {"pgd", "rgd", "zo-rgd", "rdngd", "rdngd-released"} <= {
        t.settings["method"] for t in full
    }
    json.dumps([t.settings for t in full])
    assert all(
        q.settings["budget"] < f.settings["budget"] for q, f in zip(quick, full, strict=True)
    )


def test_section_from_few_images(tmp_path):
    wanted = ("PGD", "ZO-RGD", "RDNGD, settings of the code", "default method")
    tasks = [t for t in ATTACK.tasks(Plan(quick=True)) if t.settings["label"] in wanted]
    for task in tasks:
        task.settings.update(images=3, budget=min(task.settings["budget"], 501))
    records = [json.loads(json.dumps(ATTACK.run(t.settings))) for t in tasks]
    again = ATTACK.run(tasks[-1].settings)
    assert again["comparisons"] == records[-1]["comparisons"]  # the seed fixes it
    outcomes = [Outcome("attack", t, r) for t, r in zip(tasks, records, strict=True)]
    section = ATTACK.section(Plan(quick=True), outcomes)
    kinds = [type(part) for part in section.parts]
    assert kinds == [str, Figure, Table, Gallery]
    assert len(section.rows) == len(wanted)
    page = write_report([section], tmp_path, title="t", notes=[], about={}).read_text()
    assert "Attack on a deep neural network" in page
    assert page.count("data:image/jpeg") == 3 * (1 + len(wanted))
