"""The constrained Karcher mean: the batches of the paper."""

from __future__ import annotations

from geoduel.reproduce.experiments.constrained import paper_batch


def test_batches_of_the_constrained_experiment():
    """M_k = ceil((k+1)/500): 27,500 duels in 5,000 iterations."""
    assert [paper_batch(k) for k in (0, 499, 500, 4_999)] == [1, 1, 2, 10]
    assert sum(map(paper_batch, range(5_000))) == 27_500
