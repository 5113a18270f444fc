"""The constrained Karcher mean: the batches of the paper, and the facts of its interval."""

from __future__ import annotations

import pytest

from geoduel.reproduce.claims import FAILS, HOLDS, UNTESTED
from geoduel.reproduce.experiments.constrained import (
    REFINED,
    claims,
    lines,
    margin,
    missed,
    paper_batch,
)
from geoduel.reproduce.experiments.karcher import PAPER, problem


def test_batches_of_the_constrained_experiment():
    """M_k = ceil((k+1)/500): 27,500 duels in 5,000 iterations."""
    assert [paper_batch(k) for k in (0, 499, 500, 4_999)] == [1, 1, 2, 10]
    assert sum(map(paper_batch, range(5_000))) == 27_500


def test_the_karcher_mean_lies_inside_and_the_closed_form_misses():
    """Bhatia's H ⪯ G ⪯ A; erratum E6."""
    p = problem(PAPER, 5, 0)
    assert margin(p) > 0
    assert missed(p) > 1e-4


@pytest.mark.parametrize(("end", "verdict"), [(1e-6, HOLDS), (0.5, FAILS)])
def test_high_accuracy_is_a_share_of_the_start_s_gap(curve, end, verdict):
    rdfw = curve("RDFW", [[1.0, end]] * 5, [0, 20], size=5)
    coin = curve("RDFW, coin", [[1.0, 0.9]] * 5, [0, 20], size=5, control="coin")
    (claim,) = claims("uniform", [rdfw, coin])
    assert claim.verdict == verdict
    assert claim.cases["n = 5"].value == pytest.approx(end)


def test_a_coin_that_does_as_well_leaves_the_claim_undecided(curve):
    rdfw = curve("RDFW", [[1.0, 1e-6]] * 5, [0, 20], size=5)
    coin = curve("RDFW, coin", [[1.0, 1e-6]] * 5, [0, 20], size=5, control="coin")
    (claim,) = claims("uniform", [rdfw, coin])
    assert claim.verdict == UNTESTED


def test_the_refined_minimiser_runs_on_the_small_matrices_alone():
    labels = {n: [line.label for line in lines(PAPER, n, False)] for n in (5, 10)}
    assert REFINED in labels[5]
    assert REFINED not in labels[10]
    assert [line.label for line in lines("uniform", 5, False)] == ["RDFW"]
