"""Exports that somebody has damaged or forged: whether an import is refused, or is sound.

The wounds are those of ``tests/study/test_intake.py``: bytes, spans, tokens (NaN, huge numbers,
deep nesting, other types), keys that stand twice, files that end too soon; seven in ten under
digests that were made right again. A file must be refused by the error that is documented, with
nothing stored; or it makes a study that opens, answers and exports. Where the digests are old, it
recommends what the whole file does.

    python benchmarks/hostile_exports.py [--full] [--save] [--rounds 1] [--minutes 9]
                                         [--kinds NAME ...]

A round has 90 files, fewer of the kinds of studies whose replay takes long. There is one, or with
``--full`` a hundred, or as many as there is time for.
"""

from __future__ import annotations

import math
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from _from_tests import test_module
from _results import Results
from _results import parser as results_parser

ROUND = {"newton": 30, "votes": 30, "mixed": 20, "bisection": 6, "rankings": 4}
FIRST_SEED = 3000


def megabytes() -> float:
    """Most memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--rounds", type=int, help="of 90 files")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which none begins")
    parser.add_argument("--kinds", nargs="*", default=list(ROUND))
    given = parser.parse_args()
    rounds = given.rounds or (100 if given.full else 1)
    until = time.monotonic() + 60 * given.minutes
    intake = test_module("study/test_intake.py")
    found: dict[str, Counter[str]] = {kind: Counter(wrong=0, slowest=0) for kind in given.kinds}
    results, before = Results(__file__, given.save), megabytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        texts = {k: intake.write(path, intake.made(k)).read_text() for k in given.kinds}
        for number in range(rounds):
            for kind, own in found.items():
                seed = FIRST_SEED + number
                try:
                    counts = intake.try_scars(texts[kind], path, ROUND[kind], seed)
                except Exception:
                    own["wrong"] += 1
                    traceback.print_exc()
                    continue
                own.update({key: counts[key] for key in ("refused", "loaded")})
                own["slowest"] = max(own["slowest"], counts["milliseconds"])
                grown = megabytes() - before
                results.add(kind, **own, seeds=[FIRST_SEED, seed], megabytes=grown)
            if time.monotonic() > until:
                break
    print({kind: dict(own) for kind, own in found.items()})
    bad = sum(own["wrong"] for own in found.values())
    sys.exit(f"{bad} rounds went wrong" if bad else 0)


if __name__ == "__main__":
    main()
