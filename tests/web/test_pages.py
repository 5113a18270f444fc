"""Templates and files of the pages."""

from __future__ import annotations

from importlib.resources import files

import jinja2
import pytest

from geoduel.web.pages import STATIC, page, static, token_page


def test_what_is_filled_in_is_escaped():
    text = page("message.html", title="<b>", message="A & b", form=False)
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert "A &amp; b" in text


def test_a_forgotten_value_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        page("message.html", title="Sorry")


def test_every_served_file_is_there():
    for name, kind in STATIC.items():
        assert static(name)
        assert kind.partition("/")[0] in ("text", "image")


def test_files_that_are_not_served(client):
    """Only the notebook reads the widget's part of the script."""
    there = {file.name for file in (files("geoduel.web") / "static").iterdir()}
    assert there - set(STATIC) == {"widget.js"}
    assert client.get("/static/widget.js").status_code == 404


def test_those_without_a_token_are_asked_for_it():
    assert 'name="token"' in token_page()
