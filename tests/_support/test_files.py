"""Files are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from geoduel._support.files import naming, on_disk, state_folder, write_whole


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


def test_an_error_without_a_name_gets_one(tmp_path):
    """Such as that of a full disk, which a file meets when it is written or closed."""

    def fail(file):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: .*a\.txt"):
        write_whole(tmp_path / "a.txt", fail)
    with pytest.raises(FileNotFoundError, match=r"b\.txt"), naming(tmp_path / "a.txt"):
        (tmp_path / "b.txt").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_disk_is_named_by_the_commands(tmp_path):
    from geoduel.bench.runs import _append
    from geoduel.reproduce.command import _write_records

    (tmp_path / "full.csv").symlink_to("/dev/full")
    for write in (lambda path: _append(path, {"a": 1}), lambda path: _write_records([], path)):
        with pytest.raises(OSError, match=r"No space left on device: .*full\.csv"):
            write(tmp_path / "full.csv")


def test_nothing_is_replaced_unasked(tmp_path):
    write_whole(tmp_path / "a.txt", "old", overwrite=False)
    with pytest.raises(FileExistsError, match=r"a\.txt exists"):
        write_whole(tmp_path / "a.txt", "new", overwrite=False)
    assert (tmp_path / "a.txt").read_text() == "old"


def test_permissions_are_those_of_any_new_file(tmp_path):
    write_whole(tmp_path / "a.txt", "")
    (tmp_path / "b.txt").write_text("")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_what_is_private_is_for_its_owner_alone(tmp_path):
    write_whole(tmp_path / "key", "secret", private=True)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_the_state_folder_is_made_for_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert state_folder() == tmp_path / "state" / "geoduel"
    if os.name == "posix":
        assert (tmp_path / "state" / "geoduel").stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert state_folder() is None


def test_the_disk_has_what_others_wrote(tmp_path, monkeypatch):
    synced, name = [], "fdatasync" if hasattr(os, "fdatasync") else "fsync"
    monkeypatch.setattr(os, name, lambda handle: synced.append(os.fstat(handle).st_ino))
    (tmp_path / "a.txt").write_text("new")
    on_disk(tmp_path / "a.txt")
    assert synced == [(tmp_path / "a.txt").stat().st_ino]
    with pytest.raises(FileNotFoundError):
        on_disk(tmp_path / "b.txt")
