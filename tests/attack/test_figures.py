"""What an attack looks like: the counts in its table, the curves, the pictures."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")
pytest.importorskip("matplotlib", reason="needs the extra plot")

from geoduel.attack import AttackHistory, AttackResult, Pictures, Trace  # noqa: E402
from geoduel.attack.figures import (  # noqa: E402
    line_style,
    picture_grid,
    progress_figure,
    table,
)


@pytest.fixture
def result():
    """Of three images: two fooled, after 10 and 15 comparisons."""
    return AttackResult(
        images=torch.full((3, 1, 4, 4), 0.6),
        success=torch.tensor([True, True, False]),
        comparisons=torch.tensor([10, 15, 50]),
        forward_passes=torch.tensor([21, 30, 101]),
        radius=torch.ones(3),
        ties=1,
        iterations=50,
        stop_reason="budget",
        seconds=1.26,
        method="auto",
        sees="comparisons",
        history=AttackHistory([0, 50], [0, 50], [3, 152], [0.0, 1.2], [0.0, 2 / 3], [-1.0, 0.5]),
        norm="l2",
        radii=torch.tensor([0.8, 1.0, torch.inf]),
        trace=Trace(),
    )


def test_the_table_counts_what_was_fooled(result):
    blind = replace(result, success=torch.zeros(3, dtype=torch.bool), sees="gradients")
    rows = table({"own": result, "other": blind})
    assert rows[0] == {
        "method": "own",
        "sees": "comparisons",
        "fooled": 2,
        "images": 3,
        "comparisons": 12.5,  # half-way between the two
        "forward_passes": 25.5,
        "radius": pytest.approx(0.9),
        "ties": 1,
        "seconds": 1.3,
    }
    assert rows[1]["fooled"] == 0
    assert rows[1]["comparisons"] is rows[1]["forward_passes"] is None


SEEN = ("comparisons", "labels", "scores", "gradients")


def test_curves_are_told_apart_by_what_a_method_sees():
    styles = [line_style(i, "x", s) for i, s in enumerate(SEEN)]
    assert len({s["linestyle"] for s in styles}) == len({s["color"] for s in styles}) == len(SEEN)


@pytest.mark.parametrize(
    ("x", "at"), [("forward_passes", [1, 152 / 3]), ("iteration", [0, 50]), ("seconds", [0, 1.2])]
)
def test_progress_is_drawn_against_passes_an_image_iterations_or_time(result, x, at):
    figure = progress_figure({"own": result}, "margin", x)
    left, right = figure.axes
    assert left.lines[0].get_xdata() == pytest.approx(at)
    assert left.lines[0].get_ydata() == pytest.approx([-1.0, 0.5])
    assert right.lines[0].get_ydata() == pytest.approx([0, 2 / 3])


def test_an_attack_without_a_model_has_no_score_to_draw(result):
    result.history.score.clear()
    left, right = progress_figure({"own": result}, "margin").axes
    assert not left.lines
    assert len(right.lines) == 1


def test_pictures_name_the_answers_and_magnify_the_differences(result):
    pictures = Pictures(torch.full((3, 1, 4, 4), 0.5), torch.zeros(3, dtype=torch.int64), ("cat",))
    answers = torch.tensor([[0.0, 1.0]])
    figure = picture_grid(pictures, {"own": result}, lambda z: answers.expand(len(z), 2), rows=2)
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert titles == ["cat", "1", "", "own, × 5", "cat", "1", "", "× 5"]  # 0.5 over 0.1
