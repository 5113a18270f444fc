"""The README as a package index shows it: there, links to files of the repository lead nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def for_index(readme: str, source: str | None) -> str:
    """Return the README with absolute links, below the address of the source.

    Without an address the words of a link stay, and pictures go. So do comments, which only the
    documentation reads.
    """
    readme = re.sub(r"<!--.*?-->\n?", "", readme, flags=re.DOTALL)
    relative = r"(!?)\[([^]]*)\]\((?!https?:|#|mailto:)([^)]*)\)"
    if source is None:
        readme = re.sub(rf"{relative}", lambda m: "" if m[1] else m[2], readme)
        return re.sub(r"\n{3,}", "\n\n", readme)
    kinds = {"!": "raw", "": "blob"}  # as hosts of repositories name a picture and a page
    where = source.rstrip("/")
    return re.sub(relative, lambda m: f"{m[1]}[{m[2]}]({where}/{kinds[m[1]]}/main/{m[3]})", readme)


class ReadmeHook(MetadataHookInterface):
    """Puts the README into the package's metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add ``readme``; ``Source`` of the project's URLs is where its links lead."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text, source)}
