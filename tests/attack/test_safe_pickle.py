"""Pickles are read without running them, and only those of CIFAR-10."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

from geoduel.attack import cifar10  # noqa: E402
from geoduel.attack.safe_pickle import Reader  # noqa: E402
from geoduel.errors import ArgumentError  # noqa: E402


class Mischief:
    """What a pickle can do: anything."""

    def __reduce__(self):
        import os

        return os.system, ("touch /tmp/geoduel-was-here",)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({"data": Mischief(), "labels": [1]}),
        pickle.dumps({"data": np.zeros((1, 3072), dtype=object), "labels": [1]}, 2),
        pickle.dumps({"data": np.zeros((1, 3072)), "labels": [1]}, 2),
        pickle.dumps({"data": np.zeros((2, 3072), dtype=np.uint8), "labels": [1]}, 2),
        pickle.dumps({"data": np.zeros((1, 3072), dtype=np.uint8), "labels": [11]}, 2),
        pickle.dumps([1, 2]),
        b"",
        b"no pickle",
    ],
)
def test_other_pickles_are_refused(tmp_path, content):
    (tmp_path / "test_batch").write_bytes(content)
    with pytest.raises(ArgumentError, match="test_batch"):
        cifar10(tmp_path)
    assert not Path("/tmp/geoduel-was-here").exists()


def test_arrays_of_bytes_come_back():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7), dtype=np.uint8)
    for protocol in (2, 3, 4):
        content = pickle.dumps({"data": pixels, "labels": [1, 2]}, protocol)
        found = Reader(io.BytesIO(content)).load()
        np.testing.assert_array_equal(found["data"].pixels(), pixels)
        assert found["labels"] == [1, 2]


def test_names_are_refused_before_they_are_looked_up():
    with pytest.raises(pickle.UnpicklingError, match=r"wants to run .*system: refused"):
        Reader(io.BytesIO(pickle.dumps(Mischief()))).load()
    with pytest.raises(pickle.UnpicklingError, match="persistent"):
        Reader(io.BytesIO(b"Pnowhere\n.")).load()
