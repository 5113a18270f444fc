"""Random use of studies: whether all handles agree, and nothing breaks, whatever people do.

The histories are those of ``tests/study/test_random_use.py``: questions, answers, ties, skips,
rankings, infeasible points, votes, undos, reports, late answers, several handles, reloads, exports,
imports, deletion; on manifolds, sets, catalogues, categories and whole numbers. After each history
all handles, and a study loaded anew, must agree to the last bit.

    python benchmarks/random_use.py [--full] [--save] [--more] [--histories 74] [--minutes 9]
                                    [--kinds NAME ...]

There are rounds over all kinds of studies, until there are so many histories: 74, or with
``--full`` 10,000, which takes hours; or until the time is over. A round has eight of a kind, and
three where each answer takes a method for people long. ``--more`` adds to what is stored.
"""

from __future__ import annotations

import math
import sys
import time
import traceback
import warnings
from collections import Counter
from typing import Any

from _from_tests import test_module
from _results import Results, read
from _results import parser as results_parser
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import get_state_machine_test

import geoduel as gd

STEPS, ROUND = 30, 8
COUNTED = ("histories", "duels", "answers", "wrong")
FIRST_SEED, APART = 2000, 100  # seeds of one round and of the next


def counted(machine: type[Any], counts: Counter[str]) -> type[Any]:
    """The machine, which counts what was done."""

    class Counted(machine):
        def teardown(self) -> None:
            super().teardown()
            counts["histories"] += 1
            if hasattr(self, "handles"):
                duels = self.handles[0].duels
                counts["duels"] += len(duels)
                counts["answers"] += sum(duel.state == "answered" for duel in duels)

    return Counted


def histories(machine: type[Any], count: int, first_seed: int, counts: Counter[str]) -> None:
    """So many histories of a machine; what goes wrong is printed and counted, and ends them."""
    how = settings(
        max_examples=count,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],  # type: ignore[arg-type]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", gd.errors.TiesWarning)
        try:
            use = get_state_machine_test(counted(machine, counts), settings=how)
            seed(first_seed)(use)()
        except Exception:
            counts["wrong"] += 1
            traceback.print_exc()


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--more", action="store_true", help="add to the results that are stored")
    parser.add_argument("--histories", type=int, help="in all")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which none begins")
    parser.add_argument("--kinds", nargs="*", help="of studies")
    given = parser.parse_args()
    module = test_module("study/test_random_use.py")
    kinds = given.kinds or list(module.KINDS)
    most = given.histories or (10_000 if given.full else len(module.KINDS))
    unit = ROUND if given.full or given.histories else 1
    stored = read("random_use") if given.more else {}
    counts = {
        kind: Counter({key: stored.get(kind, {}).get(key, 0) for key in ("rounds", *COUNTED)})
        for kind in kinds
    }
    results = Results(__file__, given.save, steps=STEPS)
    until = time.monotonic() + 60 * given.minutes
    while sum(c["histories"] for c in counts.values()) < most and time.monotonic() < until:
        for kind in kinds:
            own = counts[kind]
            own["rounds"] += 1
            first = FIRST_SEED + APART * own["rounds"] + list(module.KINDS).index(kind)
            histories(
                module.only(kind), min(unit, 3) if kind in module.PEOPLE else unit, first, own
            )
            results.add(kind, **own)
            if time.monotonic() > until:
                break
        print({key: sum(c[key] for c in counts.values()) for key in COUNTED}, flush=True)
    wrong = sum(own["wrong"] for own in counts.values())
    sys.exit(f"{wrong} rounds went wrong" if wrong else 0)


if __name__ == "__main__":
    main()
