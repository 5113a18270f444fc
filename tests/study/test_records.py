"""What a study hands out."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import geoduel as gd
from geoduel.study.log import Entry
from geoduel.study.records import as_duel, dataframe

PLANE = gd.Euclidean(2)
ENTRY = Entry(id=3, a=[0.1, 0.2], b=[1.0, 0.0], role="question", left="b", asked=5.0, rater="ann")


def test_a_duel_is_what_the_book_knows():
    duel = as_duel(ENTRY, np.dtype(np.float32), PLANE)
    assert (duel.id, duel.role, duel.left, duel.rater, duel.asked) == (3, "question", "b", "ann", 5)
    assert duel.a.dtype == np.float32
    np.testing.assert_array_equal(duel.a, np.float32([0.1, 0.2]))
    with pytest.raises(ValueError, match="read-only"):
        duel.b[0] = 2.0


def test_a_table_needs_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(gd.errors.MissingExtraError, match="pip install pandas"):
        dataframe([], PLANE)


def test_states():
    for change, state in (
        ({}, "open"),
        ({"answer": "tie"}, "answered"),
        ({"withdrawn": True}, "withdrawn"),
    ):
        assert as_duel(replace(ENTRY, **change), np.dtype(float), PLANE).state == state


def test_duels_are_equal_by_what_was_asked_and_said():
    """Not by when; arrays take part to the last bit."""
    duel = as_duel(ENTRY, np.dtype(float), PLANE)
    assert duel == as_duel(replace(ENTRY, asked=6.0), np.dtype(float), PLANE)
    assert hash(duel) == hash(as_duel(replace(ENTRY, answer="a"), np.dtype(float), PLANE))
    for change in ({"answer": "a"}, {"rater": "bob"}, {"a": [0.1, np.nextafter(0.2, 1)]}):
        assert duel != as_duel(replace(ENTRY, **change), np.dtype(float), PLANE)
    assert duel != 3


def test_points_with_names_are_dictionaries_and_arrays():
    sound = gd.space(gain=(-12, 12), bass=(-6, 6)).manifold
    duel = as_duel(ENTRY, np.dtype(float), sound)
    assert duel.a == {"gain": 0.1, "bass": 0.2}
    np.testing.assert_array_equal(duel.points, [[0.1, 0.2], [1.0, 0.0]])
    assert duel == as_duel(ENTRY, np.dtype(float), PLANE)


def test_a_table_has_a_column_for_each_point():
    """Questions that show fewer points than others have none in the columns of the rest."""
    pandas = pytest.importorskip("pandas")
    three = replace(ENTRY, id=4, more=([0.5, 0.5],), left=None, answer="c>ab", answered=7.5)
    three.held_since = 5.0  # as the book sets it
    duels = [as_duel(entry, np.dtype(float), PLANE) for entry in (ENTRY, three)]
    table = dataframe(duels, PLANE)
    assert list(table.columns[:3]) == ["a", "b", "c"]
    assert table.index.tolist() == [3, 4]
    assert table.loc[3, "c"] is None
    np.testing.assert_array_equal(table.loc[4, "c"], [0.5, 0.5])
    assert table.loc[4, "seconds"] == 2.5
    assert pandas.isna(table.loc[3, "seconds"])
    assert list(dataframe(duels[:1], PLANE).columns[:2]) == ["a", "b"]
    assert "c" not in dataframe(duels[:1], PLANE)
    assert dataframe([], PLANE).empty
