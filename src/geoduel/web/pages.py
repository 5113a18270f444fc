"""HTML from templates; everything that is filled in is escaped."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

__all__ = ["STATIC", "page", "static", "token_page"]

STATIC = {
    "style.css": "text/css; charset=utf-8",
    "duel.js": "text/javascript; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "level.js": "text/javascript; charset=utf-8",
    "name.js": "text/javascript; charset=utf-8",
    "owner.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""Files that are served, by name; there is no way to any other."""


@cache
def static(name: str) -> bytes:
    """Return a file of the folder ``static``."""
    return (files("geoduel.web") / "static" / name).read_bytes()


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("geoduel.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(template: str, root: str = "", **values: Any) -> str:
    """Fill in a template; ``root`` is the path at which a proxy shows the server."""
    return _templates().get_template(template).render(root=root, **values)


def token_page(root: str = "") -> str:
    """Return the page for those who come without a token."""
    title = "This page is private"
    return page("message.html", title=title, message=None, form=True, root=root, site="geoduel")
