"""Rounds: steps in lock step are sent what each would be sent alone."""

import numpy as np

from geoduel.methods.rounds import Failed, Round, _round, in_lock_step, renumbered


def climb(x, answers):
    """Asks pairs one at a time and several at once, and returns all it was told."""
    told = []
    for k in answers:
        pair = (x, x + k) if k == 0 else (np.stack([x] * k), np.stack([x + k] * k))
        told.append((yield pair))
    return told


def drive(rounds, answer, served=None):
    """Answers of ``answer(round)``; returns the ends and the rounds."""
    asked = []
    try:
        new = next(rounds)
        while True:
            asked.append(new)
            right = np.ones(len(new.who), bool) if served is None else served(new)
            new = rounds.send((answer(new), right))
    except StopIteration as end:
        return end.value, asked


def numbered(new: Round) -> np.ndarray:
    """Answers that tell which problem and which duel they are for: 10 i + k."""
    return 10.0 * new.x[..., 0] + np.arange(len(new.x))[:, None]


def test_each_step_is_sent_its_own_answers():
    points = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    steps = (climb(x, k) for x, k in zip(points, [(0, 2), (3,), (2, 0, 1)], strict=True))
    ends, asked = drive(in_lock_step(steps, 1), numbered)
    assert ends[0][0] == 10
    assert isinstance(ends[0][0], int)
    np.testing.assert_array_equal(ends[0][1], [10, 11])
    np.testing.assert_array_equal(ends[1][0], [20, 21, 22])
    np.testing.assert_array_equal(ends[2][0], [30, 31])
    assert ends[2][1] == 30
    np.testing.assert_array_equal(ends[2][2], [30])
    assert [new.who.tolist() for new in asked] == [[0, 1, 2], [0, 2], [2]]
    np.testing.assert_array_equal(asked[0].asked.sum(axis=0), [1, 3, 2])
    filled = ~asked[0].asked
    np.testing.assert_array_equal(asked[0].x[filled], asked[0].y[filled])


def test_places_that_are_not_asked_hold_the_first_point_twice():
    column = np.arange(20.0)[:, None]
    pairs = {
        4: (column[1:3], column[3:5]),
        5: (column[5:6], column[6:7]),
        7: (column[7:10], column[10:13]),
        9: (column[13], column[14]),
    }
    new = _round(pairs, 1)
    assert new.who.tolist() == [4, 5, 7, 9]
    assert new.x[..., 0].tolist() == [[1, 5, 7, 13], [2, 5, 8, 13], [1, 5, 9, 13]]
    assert new.y[..., 0].tolist() == [[3, 6, 10, 14], [4, 5, 11, 13], [1, 5, 12, 13]]
    assert new.asked.sum(axis=0).tolist() == [2, 1, 3, 1]


def test_a_step_that_is_not_served_ends_without_a_state():
    steps = [climb(np.array([j]), (0, 0)) for j in (1.0, 2.0)]
    ends, asked = drive(in_lock_step(steps, 1), numbered, lambda new: new.x[0, :, 0] < 2)
    assert ends == [[10, 10], None]
    assert [len(new.who) for new in asked] == [2, 1]


def test_an_error_ends_its_own_step_alone():
    def broken():
        yield np.zeros(1), np.ones(1)
        raise ValueError("broken")

    ends, _ = drive(in_lock_step([broken(), climb(np.ones(1), (0, 0))], 1), numbered)
    assert isinstance(ends[0], Failed)
    assert "broken" in str(ends[0].error)
    np.testing.assert_array_equal(ends[0].pair[1], np.ones(1))
    assert ends[1] == [10, 10]


def test_rounds_of_some_problems_have_their_numbers():
    steps = [climb(np.array([j]), (0,)) for j in (1.0, 2.0)]
    ends, asked = drive(renumbered(in_lock_step(steps, 1), [3, 7]), numbered)
    assert ends == [[10], [20]]
    assert asked[0].who.tolist() == [3, 7]


def test_no_steps_ask_nothing():
    assert drive(in_lock_step([], 1), numbered) == ([], [])
