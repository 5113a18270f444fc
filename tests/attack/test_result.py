"""What an attack returns: shares after so many questions, and one line of print."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

from dataclasses import fields, replace  # noqa: E402

from geoduel.attack import AttackHistory, AttackResult, Trace  # noqa: E402
from geoduel.errors import ArgumentError  # noqa: E402


@pytest.fixture
def result():
    """Of four images: one was misclassified from the start, one resisted."""
    return AttackResult(
        images=torch.zeros(4, 1, 2, 2),
        success=torch.tensor([True, True, True, False]),
        comparisons=torch.tensor([0, 10, 30, 50]),
        forward_passes=torch.tensor([1, 21, 61, 101]),
        radius=torch.ones(4),
        ties=2,
        iterations=50,
        stop_reason="budget",
        seconds=1.5,
        method="auto",
        sees="comparisons",
        history=AttackHistory(),
        norm="l2",
        radii=torch.tensor([0.0, 0.4, 0.6, torch.inf]),
        trace=Trace([0, 1, 2, 1], [1, 21, 61, 80], [0.0, 0.5, 0.6, 0.4], [0.0, 0.1, 0.2, 0.3]),
    )


def test_success_after_so_many_comparisons(result):
    shares = [result.success_after(n) for n in (0, 9, 10, 30, 50)]
    assert shares == [0.25, 0.25, 0.5, 0.75, 0.75]  # who resists is never counted


def test_success_after_so_many_passes_where_nothing_is_compared(result):
    scored = replace(result, sees="scores", comparisons=torch.zeros(4, dtype=torch.int64))
    assert [scored.success_after(n) for n in (1, 20, 21, 100)] == [0.25, 0.25, 0.5, 0.75]


def test_a_result_prints_its_counts(result):
    assert repr(result) == (
        "AttackResult(3 of 4 images, method='auto', sees='comparisons', comparisons=90, "
        "forward_passes=184, stop_reason='budget', seconds=1.5)"
    )


def test_histories_start_empty_and_apart():
    one, two = AttackHistory(), AttackHistory()
    one.score.append(1.0)
    assert not any(getattr(two, f.name) for f in fields(two))


def test_radii_after_so_many_queries(result):
    assert result.radii_after(20).tolist() == [0.0, *[torch.inf] * 3]
    assert result.radii_after(61).tolist() == [0.0, 0.5, 0.6, torch.inf]
    assert result.radii_after(99, "linf").tolist() == [0.0, 0.3, 0.2, torch.inf]
    # Of the three that were right at first: the second in order.
    medians = [result.median_radius_after(n) for n in (20, 21, 61, 80)]
    assert medians == [torch.inf, torch.inf, 0.6, 0.6]
    with pytest.raises(ArgumentError, match="norm"):
        result.radii_after(3, "l1")


def test_the_report_tells_accuracies_before_and_after(result):
    assert (result.clean_accuracy, result.robust_accuracy) == (0.75, 0.25)
    said = dict(line.split("  ", 1) for line in result.report().splitlines())
    said = {name: text.strip() for name, text in said.items()}
    assert said["clean accuracy"] == "75.0%"
    assert said["robust accuracy"] == "25.0%"
    assert said["success rate"] == "2 of 3 classified right"
    assert said["median comparisons"] == "20 an image fooled"
    assert said["median L2"] == "0.5 an image fooled"
    none = replace(result, success=torch.zeros(4, dtype=torch.bool), norm="linf", sees="labels")
    assert "median" not in none.report()
    assert "sees labels, L∞" in none.report()
