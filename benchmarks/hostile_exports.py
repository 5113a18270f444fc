"""Exports that somebody has damaged or forged: whether an import is refused, or is sound.

The wounds are those of ``tests/study/test_intake.py``: bytes, spans, tokens (NaN, huge numbers,
deep nesting, other types), keys that stand twice, files that end too soon; seven in ten under
digests that were made right again. A file must be refused by the error that is documented, with
nothing stored; or it makes a study that opens, answers and exports. Where the digests are old, it
recommends what the whole file does.

    python benchmarks/hostile_exports.py [--full] [--save] [--count 30] [--kinds NAME ...]

Without arguments 30 of each kind of study; with ``--full`` 9,000 in all.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import traceback
from pathlib import Path

from _from_tests import test_module
from _results import Results
from _results import parser as results_parser

FULL = {"newton": 3000, "votes": 3000, "mixed": 2000, "bisection": 600, "rankings": 400}
FIRST_SEED = 3000
PARTS = 10  # of a kind, each with a seed of its own


def megabytes() -> float:
    """Most memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--count", type=int, help="of each kind")
    parser.add_argument("--kinds", nargs="*", default=list(FULL))
    given = parser.parse_args()
    intake = test_module("study/test_intake.py")
    results, bad = Results(__file__, given.save, seeds=[FIRST_SEED, FIRST_SEED + PARTS - 1]), 0
    for kind in given.kinds:
        count = given.count or (FULL[kind] if given.full else 30)
        refused = loaded = slowest = wrong = 0
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "s.jsonl")
            text = intake.write(path, intake.made(kind)).read_text()
            before = megabytes()
            for part in range(PARTS):
                try:
                    counts = intake.try_scars(text, path, count // PARTS, FIRST_SEED + part)
                except Exception:
                    wrong += 1
                    traceback.print_exc()
                    continue
                refused, loaded = refused + counts["refused"], loaded + counts["loaded"]
                slowest = max(slowest, counts["milliseconds"])
            grown = megabytes() - before
        bad += wrong
        told = {"refused": refused, "loaded": loaded, "wrong": wrong, "slowest": slowest}
        print(kind, told, f"{grown:.0f} MB", flush=True)
        results.add(kind, **told, megabytes=grown)
    sys.exit(f"{bad} things went wrong" if bad else 0)


if __name__ == "__main__":
    main()
