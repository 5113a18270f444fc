"""The experiments ask what the paper asks, and report what was measured."""

import json
import math

import numpy as np
import pytest

from geoduel import theory
from geoduel.manifolds import SPD, Hyperbolic, Rotations
from geoduel.reproduce import EXPERIMENTS, Plan
from geoduel.reproduce.convergence import DEFAULT, Curve, paces, summary
from geoduel.reproduce.experiments.constrained import paper_batch
from geoduel.reproduce.experiments.lemmas import mean_direction, triangles, wrong_signs
from geoduel.reproduce.experiments.rates import STUDIES, fit

PUBLISHED = {
    ("rayleigh", "RDNGD constant"): {"iterations": 50_000, "radius": 1e-8},
    ("rayleigh", "RDNGD cosine"): {"iterations": 50_000, "radius": 1e-8},
    ("rayleigh", "ZO-RGD"): {"iterations": 50_000, "smoothing": 1e-6},
    ("karcher", "RDNGD constant"): {"iterations": 5_000, "radius": 1e-8},
    ("karcher", "RDNGD cosine"): {"iterations": 5_000, "radius": 1e-8},
    ("karcher-toolbox", "ZO-RGD"): {"iterations": 5_000, "smoothing": 1e-6},
    ("constrained", "RDFW"): {"iterations": 5_000, "radius": 1e-8},
}


@pytest.mark.parametrize(("name", "label"), PUBLISHED)
def test_full_runs_have_the_settings_of_the_paper(name, label):
    tasks = EXPERIMENTS[name].tasks(Plan(seeds=1, all_sizes=True))
    found = [t.settings for t in tasks if t.settings["label"] == label]
    assert len(found) == 2  # both sizes of the paper
    for settings in found:
        assert settings | PUBLISHED[name, label] == settings


def test_batches_of_the_constrained_experiment():
    """M_k = ceil((k+1)/500): 27,500 duels in 5,000 iterations."""
    assert [paper_batch(k) for k in (0, 499, 500, 4_999)] == [1, 1, 2, 10]
    assert sum(map(paper_batch, range(5_000))) == 27_500


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tasks_are_json_and_the_same_in_every_process(name):
    """Settings hold no address of a function, or a cache would never be hit."""
    tasks = EXPERIMENTS[name].tasks(Plan(quick=True, seeds=2))
    texts = [json.dumps(t.settings, allow_nan=False) for t in tasks]
    assert len(set(texts)) == len(texts)
    assert not any(" at 0x" in text for text in texts)


def test_a_run_repeats_but_for_its_times():
    experiment = EXPERIMENTS["rayleigh"]
    task = next(
        t for t in experiment.tasks(Plan(quick=True, seeds=1)) if t.settings["label"] == "RGD"
    )
    one, two = (experiment.run(task.settings) for _ in range(2))
    for record in (one, two):
        assert all(t >= 0 for t in record.pop("seconds"))
    assert one == two
    assert one["gap"][0] == one["start"] > one["gap"][-1]


def curve(label, gaps, duels, start=1.0):
    records = [
        {"sees": "duels", "start": start, "iteration": list(range(len(g))), "duels": duels,
         "seconds": [0.1 * i for i in range(len(g))], "gap": g, "ties": 0}
        for g in gaps
    ]  # fmt: skip
    return Curve("rayleigh", 100, label, {}, records)


def test_the_default_method_is_paced_by_the_paper_s_final_gap():
    paper = curve("RDNGD cosine", [[1.0, 0.5, 0.1], [1.0, 0.4, 0.2]], [0, 100, 200])
    own = curve(DEFAULT, [[1.0, 0.1, 0.01], [1.0, 0.3, 0.1]], [0, 10, 20])
    (pace,) = paces(EXPERIMENTS["rayleigh"], [paper, own])
    assert pace.theirs == 200
    assert pace.ours == 15  # 10 on the first seed, 20 on the second
    assert pace.ratio == 15  # 200/10 and 200/20
    assert (pace.missed, pace.seeds) == (0, 2)


def test_a_run_that_ended_where_it_began_is_no_goal():
    paper = curve("RDFW", [[1.0, 3.0, 2.0]], [0, 100, 200])
    own = curve(DEFAULT, [[1.0, 0.1, 0.01]], [0, 10, 20])
    assert paces(EXPERIMENTS["rayleigh"], [paper, own]) == []


def test_summary_takes_medians_over_seeds():
    gaps = [[1.0, 0.5, 0.1], [1.0, 0.4, 0.3], [1.0, 0.6, 0.2]]
    (row,) = summary([curve("RDNGD cosine", gaps, [0, 100, 200])])
    assert row["at 50 %"] == 0.5
    assert row["at 100 %"] == 0.2
    assert (row["duels"], row["seeds"], row["iterations"]) == (200, 3, 2)


def test_fit_recovers_a_line_and_its_error():
    rng = np.random.default_rng(0)
    x = np.tile(np.linspace(0, 3, 7), 50)
    y = 2.0 - 1.5 * x + 0.1 * rng.standard_normal(x.size)
    line = fit(x, y)
    assert abs(line.slope + 1.5) <= 4 * line.error
    # The standard error of a slope is σ/√(Σ (x - x̄)²).
    assert line.error == pytest.approx(0.1 / math.sqrt(((x - x.mean()) ** 2).sum()), rel=0.15)


@pytest.fixture(scope="module")
def errata():
    """Records of the quick errata by what they show."""
    experiment = EXPERIMENTS["errata"]
    tasks = experiment.tasks(Plan(quick=True, seeds=1))
    return {
        t.label: experiment.run({**t.settings, "draws": 100})
        for t in tasks
        if "float32, radius" not in t.label
    }


def test_growing_accuracies_stall(errata):
    """Erratum E1: the printed ε_k grow, and the run ends where its first phases left it."""
    printed = errata["RRDNGD, ε_k as printed"]["gap"]
    proven = errata["RRDNGD, ε_k as the proof needs"]["gap"]
    assert proven[-1] <= 1e-6 < printed[-1]
    half = len(printed) // 2
    assert printed[half] == printed[-1]  # no progress any more


def test_radii_below_rounding_make_coin_flips(errata):
    """Erratum E9: in float32 a radius of 1e-6 tells nothing, in float64 it does."""
    single, double = (errata[f"right signs: Rayleigh, {t}"] for t in ("float32", "float64"))
    at = dict(zip(single["radius"], range(99), strict=False))
    assert 0.3 < single["right"][at[1e-8]] < 0.7
    assert single["right"][at[1e-3]] > 0.97
    assert double["right"][at[1e-8]] > 0.97


@pytest.mark.filterwarnings("ignore::geoduel.errors.RadiusWarning")  # the theorem's own radius
@pytest.mark.parametrize("name", STUDIES)
def test_theorems_keep_their_promise(name):
    """No run needs more duels than the theorem allows for its ε and d."""
    study = STUDIES[name]
    duels, allowed = study.run(study.dimension, study.accuracies[0], 1)
    assert np.isfinite(duels).all()
    assert duels.max() <= allowed


def test_rdngd_needs_more_duels_in_higher_dimension():
    """Table 1: in proportion to d."""
    few, many = (STUDIES["bowl"].run(d, 1e-2, 0)[0].mean() for d in (4, 16))
    assert few < many
    assert 2.5 < many / few < 6.5


@pytest.mark.parametrize("manifold", [Rotations(2), SPD(2)], ids=repr)
def test_lemma_3_2_is_measured(manifold):
    found = mean_direction(manifold, 20_000, np.random.default_rng(0))
    assert abs(found["constant"] - found["exact"]) <= 5 * found["error"] + 1e-12


def test_lemma_3_1_fails_as_printed_on_so_2():
    """Erratum E4: beyond Lν/|g| = 2 every sign is wrong, though γ < 1."""
    found = wrong_signs(1, 100, np.random.default_rng(0))
    broken = dict(zip(found["reach"], found["wrong"], strict=True))
    assert broken[2.2] == 1.0 > theory.flip_coefficient(1, "printed") * 2.2
    assert broken[1.6] == 0.0


def test_lemma_b_2_bounds_triangles_of_the_hyperbolic_plane():
    found = triangles(Hyperbolic(2), -1.0, 5_000, np.random.default_rng(0))
    for largest, bound in zip(found["largest"], found["bound"], strict=True):
        assert 0.8 * bound <= largest <= bound * (1 + 1e-9)
