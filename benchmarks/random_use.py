"""Random use of studies: whether all handles agree, and nothing breaks, whatever people do.

The histories are those of ``tests/study/test_random_use.py``: questions, answers, ties, skips,
rankings, infeasible points, votes, undos, reports, late answers, several handles, reloads, exports,
imports, deletion; on manifolds, sets, catalogues, categories and whole numbers. After each history
all handles, and a study loaded anew, must agree to the last bit.

    python benchmarks/random_use.py [--full] [--save] [--histories 3] [--kinds NAME ...]

Without arguments 3 histories a kind; with ``--full`` 10,000 in all, a 32nd as many of those
with the package's own methods for people, whose answers take long.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import sys
import time
import traceback
import warnings
from collections import Counter
from typing import Any

from _from_tests import test_module
from _results import Results
from _results import parser as results_parser

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import get_state_machine_test

import geoduel as gd

STEPS, ALL, PEOPLE = 30, 10_000, 1 / 32
FIRST_SEED = 2000


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


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--histories", type=int, help="of each kind")
    parser.add_argument("--kinds", nargs="*", help="of studies")
    given = parser.parse_args()
    module = test_module("study/test_random_use.py")
    kinds = given.kinds or list(module.KINDS)
    shares = {kind: PEOPLE if kind in module.PEOPLE else 1.0 for kind in module.KINDS}
    unit = ALL / sum(shares.values()) if given.full else 3
    results = Results(__file__, given.save, seed=FIRST_SEED, steps=STEPS)
    wrong = 0
    for kind in kinds:
        most = given.histories or max(1, -int(-unit * (shares[kind] if given.full else 1) // 1))
        counts: Counter[str] = Counter()
        how = settings(
            max_examples=most,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        began, failed = time.perf_counter(), 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", gd.errors.TiesWarning)
            try:
                use = get_state_machine_test(counted(module.only(kind), counts), settings=how)
                seed(FIRST_SEED + list(module.KINDS).index(kind))(use)()
            except Exception:
                failed = 1
                traceback.print_exc()
        wrong += failed
        took = time.perf_counter() - began
        print(f"{kind:24s} {dict(counts)} wrong {failed} {took:.0f} s", flush=True)
        results.add(kind, **counts, wrong=failed)
    sys.exit(f"{wrong} kinds of studies went wrong" if wrong else 0)


if __name__ == "__main__":
    main()
