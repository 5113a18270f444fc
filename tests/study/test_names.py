"""Names of raters, which are given once, and whose links can be taken back."""

import json

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.command import printable
from geoduel.study.log import EMPTY, chain
from geoduel.study.names import claim, holders, link_numbers, rater_name, revoke_link


def study():
    return gd.create_study(gd.Rotations(2), rng=0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "a" * 41,
        "a\x00b",
        "a\u200bb",
        "\u200cab",
        "a\u200d",
        "a \u200db",
        "a\u200c\u200cb",
    ],
)
def test_what_is_no_name(text):
    with pytest.raises(errors.ArgumentError, match="1 to 40 printable"):
        rater_name(text)


@pytest.mark.parametrize("text", ["نیما\u200cپور", "क्\u200dष", "👩\u200d🔬 Ann"])
def test_scripts_that_say_how_letters_join_have_names(text):
    assert rater_name(text) == text
    assert printable(text) == text


def test_names_that_look_alike_are_given_once():
    s = study()
    assert claim(s, "Eve")
    assert not claim(s, "E\u200dve")
    assert not claim(s, "Eve\ufe0f")
    assert claim(s, "Ann")
    assert not claim(s, "ＡＮＮ")
    s.tell(s.ask(rater="Bob"), "a")
    assert not claim(s, "bob")
    assert holders(s, "ann") == ["Ann"]
    assert holders(s, "BOB") == ["Bob"]
    assert holders(s, "Cid") == []


def test_a_name_that_nobody_has_has_no_link_to_take_back():
    """A slip would leave the link good that was meant, and shut a name that nobody has."""
    s = study()
    assert claim(s, "Ann")
    with pytest.raises(errors.ArgumentError, match="got 'ann'; perhaps 'Ann' is meant"):
        revoke_link(s, "ann")
    with pytest.raises(errors.ArgumentError, match=r"rater must be one of study .*'Annn'$"):
        revoke_link(s, "Annn")
    assert link_numbers(s) == {}
    assert claim(s, "Annn")


@pytest.mark.parametrize(
    "written", ["Zoe\u0308", "Zo\u00eb", " Zo\u00eb\n", "Ann\t Lee", "Ann\u00a0Lee"]
)
def test_a_name_made_in_python_is_that_of_the_page(written):
    s = study()
    s.tell(s.ask(rater=written), "a")
    s.enqueue(*np.stack([np.eye(2), -np.eye(2)]), rater=written)
    s.report_preference(np.eye(2), -np.eye(2), rater=written)
    assert {duel.rater for duel in s.duels} == {rater_name(written)}
    assert np.array_equal(s.recommend(rater=written), s.recommend(rater=rater_name(written)))
    assert list(s.disagreement([written])) == [written]
    s.undo(written)
    s.undo(written)
    assert s.progress().answered == s.progress().reports == 0


def test_a_log_of_old_keeps_its_names(tmp_path):
    """It may have a name that is written in two ways."""
    s = study()
    duel = s.ask(rater="x")
    lines = s.export().replace('"rater":"x"', '"rater":"Zoe\\u0308"').splitlines()
    digest = EMPTY
    for line in lines[1:-1]:
        digest = chain(digest, line)
    (tmp_path / "s.jsonl").write_text(
        "\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"digest": digest})]) + "\n"
    )
    old = gd.import_study(tmp_path / "s.jsonl")
    assert old.ask(rater="Zoe\u0308") == old.duel(duel.id)
    old.tell(duel.id, "a")
    assert list(old.progress().raters) == ["Zoe\u0308"]


def test_links_are_counted_for_each_rater():
    s = study()
    assert claim(s, "Ann Lee")
    s.ask(rater="Bob")
    assert revoke_link(s, " Ann  Lee ") == 1
    assert revoke_link(s, "Bob") == 1
    assert revoke_link(s, "Ann Lee") == 2
    assert link_numbers(s) == {"Ann Lee": 2, "Bob": 1}
    assert not claim(s, "Ann Lee")


def test_names_have_one_to_forty_characters():
    for name in ("A", "x" * 40, f"  {'x' * 40} "):
        assert rater_name(name) == name.strip()
    for name in ("", " ", "x" * 41):
        with pytest.raises(errors.ArgumentError, match="1 to 40"):
            rater_name(name)
