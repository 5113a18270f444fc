"""Golden-section search: the bracket, the accuracy, and the duels that theory says."""

import math

import numpy as np
import pytest

from geoduel.methods.descent.golden import golden_section


def search(f, length=1.0, accuracy=1e-3, most=math.inf):
    duels, answer, count = golden_section(lambda t: t, length, accuracy, most), None, 0
    try:
        while True:
            x, y = duels.send(answer)
            assert max(abs(x), abs(y)) <= most * (1 + 1e-12)
            answer, count = int(np.sign(f(x) - f(y))), count + 1
    except StopIteration as done:
        return done.value, count


@pytest.mark.parametrize("best", [0.0, 0.3, -0.7, 5.0, -1000.0, 1e-4])
@pytest.mark.parametrize("shape", [abs, np.square, lambda t: np.exp(t) - t])
def test_it_finds_the_bottom_of_a_valley(best, shape):
    found, count = search(lambda t: shape((t - best) / 10))
    scale = max(1.0, abs(best))
    assert abs(found - best) <= 4e-3 * scale  # the bracket is at most four times as wide
    doublings = 2 + max(0, math.ceil(math.log2(scale)))
    assert count <= 1 + doublings + math.ceil(math.log(1e3) / math.log((1 + math.sqrt(5)) / 2))


def test_each_duel_cuts_by_the_golden_ratio():
    counts = [search(np.square, accuracy=a)[1] for a in (1e-2, 1e-6)]
    assert counts[1] - counts[0] == pytest.approx(math.log(1e4) / math.log(1.618), abs=1)


def test_the_line_ends():
    assert search(lambda t: -t, most=3.0)[0] == pytest.approx(3.0, abs=0.01)
    assert search(lambda t: t, length=9.0, most=3.0)[0] == pytest.approx(-3.0, abs=0.01)


def test_a_bracket_that_is_narrow_enough_is_not_cut():
    """Both neighbours of 0 lose, or 1 wins and 2 loses; the middle of the bracket is returned."""
    assert search(lambda t: abs(t - 0.2), accuracy=1.0) == (0.0, 2)
    assert search(lambda t: abs(t - 0.9), accuracy=1.0) == (1.0, 2)
