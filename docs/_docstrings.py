"""A griffe extension: docstrings are plain numpydoc, the pages are Markdown."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


def to_markdown(text: str) -> str:
    """Fence what is laid out in columns, and drop the colons that announce literal blocks."""
    text = text.replace(r"\*", "*")
    head, examples, tail = text.partition("\nExamples\n---")
    head = re.sub(r"^::$\n", "", head, flags=re.MULTILINE)
    head = re.sub(r"(?<=\S)::$", ":", head, flags=re.MULTILINE)
    rule = r"=+(?: =+)+"
    for block, language in (
        (rf"^{rule}\n(?:.+\n)+?{rule}\n(?:.+\n)+?{rule}$", "text"),  # simple tables
        (r"^(?:[A-Z][a-z]+ {3,}\S.*(?:\n {4,}\S.*)*(?:\n|\Z)){2,}", "text"),  # Point, Metric, ...
        (r"^>>> .*(?:\n.+)*", "pycon"),
    ):
        head = re.sub(
            block,
            lambda m, language=language: f"```{language}\n{m[0].rstrip()}\n```\n",
            head,
            flags=re.MULTILINE,
        )
    return head + examples + tail


class Docstrings(Extension):
    """Rewrite every docstring before it is parsed."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)
