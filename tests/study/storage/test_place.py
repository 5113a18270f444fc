"""What a caller may pass as ``storage``."""

from __future__ import annotations

from pathlib import Path

import pytest

from geoduel.errors import ArgumentError
from geoduel.study.storage import MemoryStorage, SQLStorage, as_storage


def test_a_storage_from_what_is_passed(url):
    assert isinstance(as_storage(None), MemoryStorage)
    memory = MemoryStorage()
    assert as_storage(memory) is memory
    opened = as_storage(url)
    assert isinstance(opened, SQLStorage)
    assert opened.url == url


@pytest.mark.parametrize("bad", [3, Path("duels.db"), b"sqlite:///duels.db"])
def test_anything_else_is_refused(bad):
    with pytest.raises(ArgumentError, match="storage must be a URL such as"):
        as_storage(bad)
