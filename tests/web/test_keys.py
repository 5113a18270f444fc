"""Links: each lets in one kind of people, and tells nothing of the others."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import os
import time

import pytest

from geoduel.errors import ArgumentError
from geoduel.web.keys import (
    NAMED,
    OWNER,
    RATER,
    Keys,
    Who,
    checked_token,
    made_token,
    token_in,
)

TOKEN = "a token of many characters"


@pytest.fixture
def keys():
    return Keys(TOKEN)


def test_each_token_stands_for_one(keys):
    assert keys.read(TOKEN) == Who(OWNER)
    assert keys.read(keys.rater) == Who(RATER)
    assert keys.read(keys.personal("tilt", "Ann", 12)) == Who(NAMED, "tilt", "Ann", 12)
    for link in (0, 12):
        assert keys.read(keys.personal("tilt", "Ann", link, "a5")) == Who(
            NAMED, "tilt", "Ann", link, "a5"
        )
    for study, name in (("tilt", "Ann"), ("tilt", "Änn/Lee \N{SNOWMAN}"), ("x", "a/b"), ("x", "")):
        assert keys.read(keys.personal(study, name)) == Who(NAMED, study, name)


def test_the_same_token_gives_the_same_links_and_another_one_others(keys):
    assert Keys(TOKEN).rater == keys.rater
    assert Keys(TOKEN).personal("tilt", "Ann") == keys.personal("tilt", "Ann")
    other = Keys(TOKEN + "!")
    assert other.rater != keys.rater
    assert other.read(keys.rater) is other.read(keys.personal("tilt", "Ann")) is None


def test_signatures_have_128_bits(keys):
    for signed in (keys.rater, keys.personal("tilt", "Ann").split(".")[1]):
        assert len(bytes.fromhex(signed)) == 16


def test_names_cannot_be_forged(keys):
    ann, bob = keys.personal("tilt", "Ann"), keys.personal("tilt", "Bob")
    (name, signed), (other, _) = ann.split("."), bob.split(".")
    forged = [
        f"{other}.{signed}",  # her signature under his name
        f"{name}.{keys.rater}",
        f"{name}.",
        name,
        f".{signed}",
        ann + "0",
        ann[:-1],
        ann.upper(),
        f"{name}=.{signed}",
        f"{name}.{signed}.{signed}",
        keys.personal("tilt/Ann", "")[:-1],
        "é",
        "\udce9",
        "." * 1000,
        "",
    ]
    assert [keys.read(token) for token in forged] == [None] * len(forged)
    # Where a study's name ends is part of what is signed: an address has no slash.
    assert keys.read(keys.personal("x", "y/z")) == Who(NAMED, "x", "y/z")


def test_one_altered_character_voids_a_token(keys):
    for token in (TOKEN, keys.rater, keys.personal("tilt", "Ann")):
        for place, character in itertools.product(range(len(token)), "0aZ."):
            altered = token[:place] + character + token[place + 1 :]
            assert altered == token or keys.read(altered) is None


def test_no_link_tells_the_owners_token_quickly(keys):
    """A guess at a chosen token costs what the stretching costs, whatever link it is tried at."""
    for message in (b"geoduel rater", b"rater", b"cookie\0rater", b"cookie\0owner"):
        fast = hmac.new(TOKEN.encode(), message, hashlib.sha256).hexdigest()[:32]
        assert fast not in (keys.rater, *(keys.cookie(Who(r))[1] for r in (OWNER, RATER)))
    start = time.process_time()
    for n in range(3):
        Keys(f"another token of {n} characters")
    assert (time.process_time() - start) / 3 > 0.005


def test_cookies_hold_no_token_of_owner_and_shared_link(keys):
    held = {role: keys.cookie(Who(role)) for role in (OWNER, RATER)}
    assert {ending for ending, _ in held.values()} == {""}
    for role, (_, value) in held.items():
        assert keys.recall(value) == Who(role)
        assert keys.read(value) is None  # it is no token
    assert keys.recall(TOKEN) is keys.recall(keys.rater) is None  # nor are they cookies
    ann, bob = Who(NAMED, "tilt", "Ann"), Who(NAMED, "tilt", "Bob")
    assert keys.recall(keys.cookie(ann)[1]) == ann
    assert keys.cookie(ann)[0] != keys.cookie(bob)[0]  # a browser keeps both


def test_a_ticket_lets_in_once_and_soon(keys, monkeypatch):
    ticket = keys.ticket()
    assert not keys.redeem(ticket[:-1])
    assert keys.redeem(ticket)
    assert not keys.redeem(ticket)
    late = keys.ticket()
    now = time.monotonic()
    monkeypatch.setattr("geoduel.web.keys.time.monotonic", lambda: now + 3600)
    assert not keys.redeem(late)
    assert keys.read(ticket) is None


@pytest.mark.parametrize("token", ["", "sunshine2024", "a" * 40, "abcabcabcabcabcabcabcabc"])
def test_tokens_that_are_easy_to_guess_are_refused(token):
    with pytest.raises(ArgumentError, match="token must have"):
        checked_token(token)
    assert checked_token(TOKEN) == TOKEN


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "geoduel"


def test_made_tokens_are_the_same_at_each_start_and_others_elsewhere(folder):
    made = made_token("serve\npalette")
    assert checked_token(made) == made
    assert len(made) == 32
    assert made_token("serve\npalette") == made
    assert made_token("serve\nother") != made
    (folder / "link-key").unlink()
    assert made_token("serve\npalette") != made


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o644])
def test_a_key_that_others_could_read_is_made_anew(folder, mode):
    made = made_token("x")
    assert (folder / "link-key").stat().st_mode & 0o777 == 0o600
    (folder / "link-key").chmod(mode)
    assert made_token("x") != made
    assert (folder / "link-key").stat().st_mode & 0o777 == 0o600


def test_where_nothing_can_be_kept_tokens_last_for_one_run(folder, monkeypatch):
    folder.parent.joinpath("file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent / "file"))
    assert made_token("x") != made_token("x")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent))
    folder.mkdir()
    (folder / "link-key").write_text("short")
    (folder / "link-key").chmod(0o600)
    assert made_token("x") != made_token("x")


def test_a_file_with_a_token_is_read_or_made(tmp_path):
    (tmp_path / "given").write_text(f"{TOKEN}\n")
    assert token_in(tmp_path / "given") == TOKEN
    made = token_in(tmp_path / "made")
    assert token_in(tmp_path / "made") == made == checked_token(made)
    with pytest.raises(OSError, match="none"):
        token_in(tmp_path / "none" / "token")
