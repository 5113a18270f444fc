"""The attack among the reproduced experiments: its runs, its measures, and verdicts by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra attack")
pytest.importorskip("sklearn", reason="needs the extra attack")
pytest.importorskip("matplotlib", reason="needs the extra plot")

from geoduel.attack.data import CIFAR10_CLASSES
from geoduel.attack.published import PUBLISHED
from geoduel.reproduce.claims import FAILS, HOLDS, PARTLY, UNTESTED
from geoduel.reproduce.experiment import Outcome, Plan, Task
from geoduel.reproduce.experiments import attack
from geoduel.reproduce.experiments.attack import (
    ATTACK,
    DIRECTIONS,
    IMAGES,
    LIES,
    LINES,
    QUICK,
    attack_claims,
    by_label,
    falls,
    over,
    setback,
)
from geoduel.reproduce.report import Figure, Gallery, Table, write_report


def test_published_lines_have_the_published_budget():
    """But for ZO-RGD, which is given as many passes as RDNGD's duels take."""
    for line in LINES.values():
        if line.published and not line.control and line.method != "zo-rgd":
            assert line.iterations == PUBLISHED[line.method][2]
    duels = LINES["RDNGD, code"]
    assert (duels.iterations, duels.each) == (1000, 10)
    for label in ("ZO-RGD", "ZO-RGD, repaired"):
        passes = LINES[label].iterations * LINES[label].each
        assert passes == pytest.approx(2 * duels.iterations * duels.each, rel=0.01)
    controls = {line.control for line in LINES.values()} - {""}
    assert controls == set(LIES)


def test_every_method_attacks_the_same_images(tmp_path):
    full, quick = (ATTACK.tasks(Plan(attack_data=tmp_path, quick=q)) for q in (False, True))
    json.dumps([t.settings for t in full])
    images = {}
    for task in full:
        images.setdefault(task.settings["label"], []).append(task.settings["image"])
    assert set(images) == {*LINES, DIRECTIONS}
    assert all(numbers == list(range(IMAGES)) for numbers in images.values())
    assert {t.settings["data"] for t in full} == {str(tmp_path)}
    longest = {t.settings["label"]: t.settings.get("iterations", 0) for t in full}
    assert all(
        10 * t.settings["iterations"] == longest[t.settings["label"]]
        for t in quick
        if t.settings["label"] != DIRECTIONS
    )


# -- measures --------------------------------------------------------------------------------------


BLACK = np.zeros((32, 32, 3), dtype=int).tolist()


def record(loss=(0.1, 0.2, 0.9), fooled=True, passes=100, seconds=1.0, **others):
    """One attack's record."""
    n = len(loss)
    return {
        "sees": "comparisons",
        "iteration": list(range(n)),
        "loss": list(loss),
        "passes": np.linspace(1, passes, n).round().astype(int).tolist(),
        "seconds": np.linspace(0, seconds, n).tolist(),
        "outwards": 1,
        "fooled": fooled,
        "duels": 20,
        "ties": 5,
        "moved": 1e-4,
        "answer": 3,
        "size": 0.05,
        "psnr": 32.0,
        "outside": 0.1,
        "original": BLACK,
        "picture": BLACK,
        "classes": list(CIFAR10_CLASSES),
        "label": 2,
        **others,
    }


def test_a_failure_is_never_cheap():
    quick, slow = record(passes=50), record(passes=200)
    lost = record(passes=10, fooled=False)
    assert over(quick, slow, "passes") == 0.25
    assert over(lost, slow, "passes") == math.inf  # though it gave up early
    assert over(slow, lost, "passes") == 20  # the rival counts with its budget
    assert over(lost, lost, "passes") == 1


def test_falls_and_setbacks():
    assert falls(record([0.0, 1.0, 0.5, 2.0, 1.5])) == 0.5
    assert setback(record([0.0, 1.0, 0.5, 2.0, 1.5])) == 0.25
    assert falls(record([1.0, 2.0, 3.0])) == setback(record([1.0, 2.0, 3.0])) == 0
    assert falls(record([3.0, 2.0, 1.0])) == setback(record([3.0, 2.0, 1.0])) == 1
    assert falls(record([1.0])) == setback(record([1.0])) == 0


def test_means_keep_the_images_that_are_done():
    short, long = record([1.0, 3.0]), record([1.0, 0.5, 2.0, 5.0])
    at, mean = attack._mean([short, long], "iteration")
    assert (at[0], at[-1]) == (1, pytest.approx(4))  # iterations + 1, for the logarithm
    expected = {1.0: 1.0, 2.0: 2.0, 3.0: 2.5, 4.0: 4.0}  # of the highest losses so far
    for when, value in expected.items():
        assert mean[np.searchsorted(at, when - 1e-9)] == pytest.approx(value)


# -- verdicts --------------------------------------------------------------------------------------

WOBBLY = (0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.8)
DOWN = (0.1, 0.09, 0.08, 0.07)


@pytest.fixture
def found():
    """Five images: RDNGD's code is quick and steady, the text stays, the controls go down."""
    made = {label: [record() for _ in range(5)] for label in LINES}
    made["ZO-RGD"] = [record(WOBBLY, passes=4000, seconds=20.0) for _ in range(5)]
    made["RDNGD, text"] = [record([0.1] * 9, fooled=False, passes=21_000) for _ in range(5)]
    for lie in LIES:
        made[f"RDNGD, code, {lie}"] = [record(DOWN, fooled=False) for _ in range(5)]
    return made


@pytest.fixture
def directions():
    return [{"duels": 0.02, "wide duels": 0.04, "coin": 0.001, "values": 0.4} for _ in range(5)]


def claim(made, beginning):
    (one,) = [c for c in made if c.says.startswith(beginning) and not c.again]
    return one


@pytest.mark.parametrize("says", ["RDNGD reaches it in fewer", "RDNGD reaches it in less", "Super"])
def test_less_is_judged_by_rdngd_and_by_both_its_settings(found, directions, says):
    one = claim(attack_claims(found, directions), says)
    assert one.judged == {"settings of the text": FAILS, "settings of the code": HOLDS}
    assert one.verdict == PARTLY
    # The default method is no RDNGD of the paper, and what it does decides nothing.
    found["default method"] = [record(fooled=False, passes=10**6) for _ in range(5)]
    assert claim(attack_claims(found, directions), says).verdict == PARTLY
    found["RDNGD, code"] = found["RDNGD, text"]
    assert claim(attack_claims(found, directions), says).verdict == FAILS


def test_all_images_must_be_fooled(found, directions):
    says = "For all these test images"
    one = claim(attack_claims(found, directions), says)
    assert one.judged["RDNGD, settings of the code"] == HOLDS
    assert one.judged["RDNGD, settings of the text"] == FAILS
    found["PGD"][3] = record(fooled=False)
    assert claim(attack_claims(found, directions), says).judged["PGD"] == PARTLY
    found["RDNGD, code, coin"] = [record() for _ in range(5)]
    assert claim(attack_claims(found, directions), says).verdict == UNTESTED


def test_stability_is_that_of_the_iterates(found, directions):
    says = "RDNGD yields a more stable"
    one = claim(attack_claims(found, directions), says)
    assert one.verdict == HOLDS
    assert one.cases["settings of the code"].value == pytest.approx(-3 / 7)
    found["RDNGD, code"] = [record((0.1, 0.05, 0.04, 0.9)) for _ in range(5)]
    assert claim(attack_claims(found, directions), says).verdict == FAILS


def test_higher_and_accurate(found, directions):
    made = attack_claims(found, directions)
    higher = claim(made, "RDNGD reaches higher")
    assert higher.cases["settings of the code"].value == pytest.approx(0.9 / 0.8)
    assert higher.judged["settings of the text"] == FAILS
    accurate = claim(made, "Accurate")
    assert accurate.cases["settings of the code"].value == pytest.approx(0.05)
    assert accurate.verdict == FAILS
    alike = [{**d, "duels": 0.5} for d in directions]
    assert claim(attack_claims(found, alike), "Accurate").verdict == HOLDS


def test_claims_about_pictures(found, directions):
    made = attack_claims(found, directions)
    unseen = claim(made, "The perturbations")
    assert unseen.verdict == UNTESTED
    assert "32.0 dB" in unseen.why
    sphere = claim(made, "The sphere")
    assert sphere.cases["CIFAR-10"].value == 32 * 32 * 3 - 1
    assert sphere.verdict == FAILS
    json.dumps([c.as_json() for c in made], allow_nan=False)


# -- sections --------------------------------------------------------------------------------------


def outcomes(found, directions):
    common = {"eps": 0.05, "data": "/x", "iterations": 1000}
    made = [
        Outcome("attack", Task("", {**common, "label": label, "image": i}), r)
        for label, records in (*found.items(), (DIRECTIONS, directions))
        for i, r in enumerate(records)
    ]
    return made[::-1]  # in whatever order they finish


def test_only_images_that_all_methods_attacked_are_compared(found, directions):
    some = [o for o in outcomes(found, directions) if o.task.settings["image"] != 2]
    some = [o for o in some if (o.task.settings["label"], o.task.settings["image"]) != ("RGD", 4)]
    records, measured, images = by_label(some)
    assert images == [0, 1, 3]
    assert list(records) == list(LINES)
    assert {len(r) for r in records.values()} == {len(measured)} == {3}
    nothing = [o for o in some if o.task.settings["label"] != "PGD"]
    section = ATTACK.section(Plan(), nothing)
    assert section.parts == ["No image has been attacked by every method yet."]
    assert not section.claims


def test_a_section_with_the_papers_data(found, directions, tmp_path, monkeypatch):
    for figure in ("_image_curves", "_mean_curves"):  # drawn below
        monkeypatch.setattr(f"geoduel.reproduce.experiments.attack.{figure}", lambda found: None)
    section = ATTACK.section(Plan(attack_data=tmp_path), outcomes(found, directions))
    assert len(section.claims) == len(attack_claims(found, directions))
    (table,) = [part for part in section.parts if isinstance(part, Table)]
    rows = {row[0]: row for row in table.rows}
    assert rows["RDNGD, code"][2] == "5 of 5"
    assert rows["RDNGD, text"][2:6] == ["0 of 5", "1,000", "≥ 8", "1"]
    assert rows["RDNGD, text"][6] == "≥ 21,000"
    gallery = next(part for part in section.parts if isinstance(part, Gallery))
    assert len(gallery.rows) == 5
    quick = ATTACK.section(Plan(quick=True, attack_data=tmp_path), outcomes(found, directions))
    assert not quick.claims
    assert any(isinstance(p, str) and p.startswith("A quick run") for p in quick.parts)


def test_digits_judge_no_claim(tmp_path):
    """A real run of every method on one digit, up to the page."""
    tasks = [t for t in ATTACK.tasks(Plan(quick=True)) if t.settings["image"] == 0]
    for task in tasks:
        if task.settings["label"] != DIRECTIONS:
            task.settings["iterations"] = min(task.settings["iterations"], 15)
    records = [json.loads(json.dumps(ATTACK.run(t.settings))) for t in tasks]
    code = [t.settings["label"] for t in tasks].index("RDNGD, code")
    again = ATTACK.run(tasks[code].settings)
    assert again["loss"] == records[code]["loss"]  # the settings fix it
    made = [Outcome("attack", t, r) for t, r in zip(tasks, records, strict=True)]
    by, measured, _ = by_label(made)
    start = {label: r[0]["loss"][0] for label, r in by.items()}
    assert max(len(r[0]["loss"]) for label, r in by.items() if LINES[label].published) == QUICK + 1
    assert start["ZO-RGD"] == start["RDNGD, code"] == start["PGD"]  # the image itself
    assert by["RDNGD, code"][0]["fooled"]
    assert not any(by[f"RDNGD, code, {lie}"][0]["fooled"] for lie in LIES)
    assert by["RDNGD, text"][0]["moved"] <= 15 * 1e-6
    assert 0.2 < measured[0]["duels"] < 0.6 < measured[0]["values"]  # 10 and 500 in 63 dimensions
    assert abs(measured[0]["coin"]) < 4 / math.sqrt(63 * 5)
    section = ATTACK.section(Plan(), made)
    assert not section.claims
    assert any(isinstance(p, str) and "not the paper's data" in p for p in section.parts)
    assert [type(p) for p in section.parts].count(Figure) == 2
    page = write_report([section], tmp_path, title="t", notes=[], about={}).read_text()
    assert "Attack on a deep neural network" in page
    assert page.count("data:image/jpeg") == 6
