"""Duels without values: what a preference may say."""

from __future__ import annotations

import numpy as np
import pytest
from samples.duels import BATCH, FAR, NEAR

from geoduel.errors import OracleError
from geoduel.oracles import answers, from_preference


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        *[("a", -1), ("b", 1), ("tie", 0), ("left", -1), ("right", 1)],
        *[(True, -1), (False, 1), (np.True_, -1), (np.False_, 1)],
    ],
)
def test_preferences(said, answer):
    oracle = from_preference(lambda a, b: said)
    assert answers(oracle, NEAR, FAR, 1) == answer
    np.testing.assert_array_equal(answers(oracle, BATCH, FAR, 1), [answer] * 3)


@pytest.mark.parametrize("said", ["middle", None, 1, 0.0, np.array([True]), "A"])
def test_preferences_of_another_kind_are_errors(said):
    with pytest.raises(OracleError, match='expected "a", "b", "tie"'):
        from_preference(lambda a, b: said)(NEAR, FAR)
