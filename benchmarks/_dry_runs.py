"""Follow tutorials word for word, each in an environment made from nothing, and time that.

A dry run does what the page tells a reader: makes an environment, runs the `pip install` that the
page names, and then its blocks, one after the other. It fails where a block does, and where all of
it takes longer than ten minutes, set-up included. What it cannot do is read; the pages are meant to
take ten minutes with that.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEARN = ROOT / "docs" / "learn"
PAGES = ("first-duel", "ask-people", "many-workers")
LIMIT = 600.0  # seconds


def blocks(page: str) -> list[str]:
    """The Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def installs(page: str) -> str:
    """What the page tells to install in a clone: ``.`` or ``.[web]``."""
    found = re.search(r"pip install '?(\.(?:\[[\w,]+\])?)'?", page)
    return found[1] if found else "."


def dry_run(name: str, folder: Path) -> tuple[float, float]:
    """Seconds for the set-up, and for the blocks, of one page."""
    page = (LEARN / f"{name}.md").read_text(encoding="utf-8")
    began = time.perf_counter()
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    where = installs(page)
    subprocess.run([python, "-m", "pip", "install", "--quiet", where], cwd=ROOT, check=True)
    ready = time.perf_counter()
    file = folder / "tutorial.py"
    file.write_text("\n".join(blocks(page)), encoding="utf-8")
    subprocess.run([python, file.name], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return ready - began, time.perf_counter() - ready


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", default=PAGES, help=f"by default {' '.join(PAGES)}")
    late = []
    for name in parser.parse_args().pages:
        with tempfile.TemporaryDirectory() as folder:
            setup, run = dry_run(name, Path(folder))
        print(f"{name}: {setup + run:.0f} s, of these {setup:.0f} s for the set-up", flush=True)
        if setup + run > LIMIT:
            late.append(name)
    if late:
        print(f"longer than {LIMIT:.0f} s: {', '.join(late)}", file=sys.stderr)
    return bool(late)


if __name__ == "__main__":
    sys.exit(main())
