"""A griffe extension: docstrings are plain numpydoc, the pages are Markdown."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

RULE = r"=+(?: =+)+"
TABLE = re.compile(rf"^{RULE}\n(?:.+\n)+?{RULE}\n(?:.+\n)+?{RULE}$", re.MULTILINE)
SESSION = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
ENTRY = r"^([A-Z][a-z]+(?: [a-z]+)?) {2,}(\S.*(?:\n{1,2} {8,}\S.*)*)(?:\n|\Z)"
ENTRIES = re.compile(rf"(?:{ENTRY}){{2,}}", re.MULTILINE)


def to_markdown(text: str) -> str:
    """Rewrite what Markdown would run together: tables, sessions, and entries in two columns."""
    text = text.replace(r"\*", "*")
    head, examples, tail = text.partition("\nExamples\n---")
    head = re.sub(r"<(\w[^<>\n]{0,20}, ?[^<>\n]{1,20})>", r"⟨\1⟩", head)  # no HTML tag
    head = re.sub(r"^::$\n", "", head, flags=re.MULTILINE)  # announces a literal block
    head = re.sub(r"(?<=\S)::$", ":", head, flags=re.MULTILINE)
    head = TABLE.sub(lambda m: f"```text\n{m[0]}\n```\n", head)
    head = SESSION.sub(lambda m: f"```pycon\n{m[0]}\n```\n", head)
    head = ENTRIES.sub(
        lambda m: "\n" + re.sub(ENTRY, item, m[0], flags=re.MULTILINE), head
    )
    return head + examples + tail


def item(entry: re.Match[str]) -> str:
    """Turn "Metric    <u, v> = ...", an entry of a class docstring, into an item of a list."""
    return f"- **{entry[1]}**: {' '.join(entry[2].split())}\n"


class Docstrings(Extension):
    """Rewrite every docstring before it is parsed."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)
