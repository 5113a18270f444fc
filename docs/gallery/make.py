"""Runs the pages of the gallery, and keeps the picture and the words that each of them makes.

python docs/gallery/make.py [PAGE ...]   # by default all

A page's picture is what its code saves, and the block after the code is what its code prints.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"(<!-- output -->\n```text\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """All pages but the index."""
    return sorted(path for path in HERE.glob("*.md") if path.stem != "index")


def run(page: Path) -> tuple[str, bytes]:
    """What the code of a page prints, and the picture that it saves, with few colours."""
    blocks = CODE.findall(page.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "example"}
    said, home = io.StringIO(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
        os.chdir(folder)
        try:
            for block in blocks:
                exec(compile(block, str(page), "exec", dont_inherit=True), names)
        finally:
            os.chdir(home)
        with Image.open(Path(folder) / f"{page.stem}.png") as picture:
            small = io.BytesIO()
            picture.convert("RGB").quantize(128).save(small, "PNG", optimize=True)
        return said.getvalue(), small.getvalue()


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for page in pages():
        if wanted and page.stem not in wanted:
            continue
        began = time.process_time()
        said, picture = run(page)
        text = page.read_text(encoding="utf-8")
        page.write_text(
            OUTPUT.sub(lambda m, said=said: m[1] + said + m[3], text), "utf-8"
        )
        file = HERE.parent / "images" / f"gallery-{page.stem}.png"
        file.write_bytes(picture)
        print(
            f"{page.stem}: {time.process_time() - began:.1f} s, {len(picture) // 1024} KiB"
        )
        print(said)
