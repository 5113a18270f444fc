"""What an attack returns: shares after so many questions, and one line of print."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

from dataclasses import fields, replace  # noqa: E402

from geoduel.attack import AttackHistory, AttackResult  # noqa: E402


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
