"""Names of raters, which are given once, and whose links can be taken back."""

import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.names import claim, holders, link_numbers, rater_name, revoke_link


def study():
    return gd.create_study(gd.Rotations(2), rng=0)


@pytest.mark.parametrize("text", ["", "   ", "a" * 41, "a\x00b", "a\u200bb"])
def test_what_is_no_name(text):
    with pytest.raises(errors.ArgumentError, match="1 to 40 printable"):
        rater_name(text)


def test_names_that_look_alike_are_given_once():
    s = study()
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
