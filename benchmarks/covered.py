"""Which lines and branches the tests run, of the parts on which all else depends.

    python benchmarks/covered.py [--full] [--save] [--parts manifolds methods study web/guard.py]

Each part has the tests of its room, doctests among them, and those of what is built on it. A branch
is a way that the program may go after a test such as ``if``. What no test runs is printed.

Without arguments the part that is measured soonest. Needs what `make mutants` installs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from _results import Results
from _results import parser as results_parser

ROOT = Path(__file__).resolve().parents[1]
TESTS = {
    "manifolds": "tests/manifolds src/geoduel/manifolds tests/test_fast.py",
    "methods": "tests/methods src/geoduel/methods tests/test_optimize.py",
    "study": "tests/study src/geoduel/study tests/web/test_app.py",
    "web/guard.py": "tests/web/test_guard.py tests/web/test_adversaries.py",
}


def measure(part: str) -> dict[str, object]:
    """Number of lines and branches of a part, how many of them run, and which do not."""
    source = ROOT / "src" / "geoduel" / part
    with tempfile.TemporaryDirectory() as folder:
        data, report = Path(folder) / "data", Path(folder) / "report.json"
        run = [sys.executable, "-m", "coverage"]
        include = f"--include={source}" if source.is_file() else f"--include={source}/*"
        tests = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TESTS[part].split()]
        settings = os.environ | {"COVERAGE_FILE": str(data), "COVERAGE_RCFILE": os.devnull}
        for command in (["run", "--branch", include, *tests], ["json", "-q", "-o", str(report)]):
            subprocess.run([*run, *command], cwd=ROOT, env=settings, check=True)
        found = json.loads(report.read_text(encoding="utf-8"))
    total = found["totals"]
    for name, file in found["files"].items():
        if file["missing_lines"] or file["missing_branches"]:
            print(f"{name}: lines {file['missing_lines']}, branches {file['missing_branches']}")
    return {
        "lines": total["num_statements"],
        "lines_run": total["covered_lines"],
        "branches": total["num_branches"],
        "branches_run": total["covered_branches"],
    }


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--parts", nargs="+", choices=TESTS)
    args = parser.parse_args()
    try:
        import coverage  # noqa: F401
    except ImportError:
        print("coverage is not installed: `make mutants` installs it")
        return
    results = Results(__file__, args.save)
    for part in args.parts or (TESTS if args.full else ["web/guard.py"]):
        row = measure(part)
        print(part, row, flush=True)
        results.add(part, **row)


if __name__ == "__main__":
    main()
