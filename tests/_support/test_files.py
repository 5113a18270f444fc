"""Files are whole or not there."""

from __future__ import annotations

import os

import pytest

from geoduel._support.files import write_whole


def test_text_bytes_and_writers(tmp_path):
    for content in ("über", "über".encode(), lambda file: file.write("über".encode())):
        write_whole(tmp_path / "a.txt", content)
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "über"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    def fail(file):
        file.write(b"half")
        raise OSError("the disk is full")

    write_whole(tmp_path / "a.txt", "old")
    with pytest.raises(OSError, match="full"):
        write_whole(tmp_path / "a.txt", fail)
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_nothing_is_replaced_unasked(tmp_path):
    write_whole(tmp_path / "a.txt", "old", overwrite=False)
    with pytest.raises(FileExistsError, match=r"a\.txt exists"):
        write_whole(tmp_path / "a.txt", "new", overwrite=False)
    assert (tmp_path / "a.txt").read_text() == "old"


def test_permissions_are_those_of_any_new_file(tmp_path):
    write_whole(tmp_path / "a.txt", "")
    (tmp_path / "b.txt").write_text("")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode
