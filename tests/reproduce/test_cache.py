"""What is finished is found again, and only if nothing it depends on has changed."""

from __future__ import annotations

import pytest

from geoduel.reproduce.cache import Cache, key

SETTINGS = {"size": 5, "seed": 0, "step_size": "cosine", "radius": 1e-8}


@pytest.mark.parametrize(
    ("experiment", "version", "settings"),
    [
        ("other", 1, SETTINGS),
        ("one", 2, SETTINGS),
        ("one", 1, {**SETTINGS, "seed": 1}),
        ("one", 1, {**SETTINGS, "radius": 1.0000001e-8}),
        ("one", 1, {k: v for k, v in SETTINGS.items() if k != "radius"}),
    ],
)
def test_whatever_changes_makes_another_key(experiment, version, settings):
    assert key(experiment, version, settings) != key("one", 1, SETTINGS)


def test_the_order_of_settings_does_not_matter():
    assert key("one", 1, dict(reversed(SETTINGS.items()))) == key("one", 1, SETTINGS)


def test_settings_that_are_no_numbers_are_refused():
    """NaN differs from itself, so a result kept for it would never be found."""
    with pytest.raises(ValueError, match="JSON"):
        key("one", 1, {"radius": float("nan")})


def test_records_come_back_as_they_were(tmp_path):
    cache = Cache(tmp_path / "cache")
    record = {"gap": [0.1, 1e-300, 4.2e-8], "ties": 3}
    assert cache.load("a") is None
    cache.save("a", record)
    assert cache.load("a") == record
    assert [p.name for p in cache.folder.iterdir()] == ["a.json"]  # no part is left behind
    assert Cache(cache.folder, fresh=True).load("a") is None


@pytest.mark.parametrize("text", ["", '{"gap": [0.1', "[1, 2]", "\x00\xff"])
def test_damaged_files_count_as_absent(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    assert Cache(tmp_path).load("a") is None
