"""Which faults the tests would see: mutants of the code, each run against tests that run its line.

    python benchmarks/mutants.py [--full] [--save] [--mutants 500] [--seed 0] [--minutes 60]
                                 [--modules manifolds methods/base.py ...] [--seconds 8]
                                 [--watched 8]

A mutant is the code with one small fault: another operator, another number, a branch that is never
taken. A sample is drawn, each place of the code being as likely as any other.

Tests run once without a fault, of each file as many as take ``--watched`` seconds, which tells the
lines and branches that each runs. A mutant is killed if one of those that run its line then fails,
or takes ten times as long. Those of its own module come first, the quickest before the others, as
many as take ``--seconds`` together.
Survivors are printed with the changed line: a test is missing, or the two lines mean the same.
Those that mean the same are in ``alike.json`` with the reason, and count as neither.

Where ``--minutes`` are too few, the first half goes to watching the tests of modules in random
order, and the mutants of those modules are tried in the second. What was seen is kept in
``--folder``, so that a run that was interrupted goes on; survivors are tried again when one of
their tests has changed. Without arguments a handful of mutants; with ``--full`` 500.
Needs what `make mutants` installs.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from _faults import SOURCE, Mutant, mutants_of
from _results import Results
from _results import parser as results_parser
from _trial import Usual, digest, load_others, try_at_import, try_mutants, watch

ROOT = SOURCE.parents[1]
PARTS = ("manifolds", "methods", "study", "web/guard.py")
# Folders and files of tests that run these parts; browsers and the command line are too slow.
TESTS = (
    "manifolds methods study domains oracles test_optimize.py test_errors.py test_package.py"
    " test_fast.py test_testing.py test_result.py test_habits.py test_reproducible.py"
    " test_schedules.py web/test_guard.py web/test_guarded.py web/test_adversaries.py"
    " web/test_app.py web/test_keys.py web/test_connections.py web/test_owner.py web/test_server.py"
)
ALIKE = Path(__file__).with_name("alike.json")


def modules_of(parts: Sequence[str]) -> list[str]:
    """The modules in folders, and those that are named."""
    paths = [path for part in parts for path in ((SOURCE / part).rglob("*.py"))]
    paths += [SOURCE / part for part in parts if part.endswith(".py")]
    return sorted({str(p.relative_to(SOURCE)) for p in paths if p.name != "__init__.py"})


def draw(modules: list[str], n: int, seed: int) -> list[Mutant]:
    """A sample of mutants; faults of one kind in one line count as one place.

    Each place has a random number of its own, and the least are drawn: a change of the code
    changes the sample only where it is.
    """
    places: dict[tuple[str, str, str, int], list[Mutant]] = {}
    for module in modules:
        lines = (SOURCE / module).read_text(encoding="utf-8").splitlines()
        before = Counter[str]()
        nth = [before.update([line]) or before[line] for line in map(str.strip, lines)]
        for mutant in mutants_of(module):
            k = mutant.line - 1
            place = module, mutant.kind, lines[k].strip(), nth[k]
            places.setdefault(place, []).append(mutant)
    numbers = {place: random.Random(f"{seed} {place}") for place in places}
    order = sorted(places, key=lambda place: numbers[place].random())
    return [numbers[place].choice(places[place]) for place in order[:n]]


def own_tests(module: str) -> list[str]:
    """Test file of a module, as ``tests`` mirrors the source, and its doctests."""
    path = Path(module)
    test = Path("tests") / path.parent / f"test_{path.stem.strip('_')}.py"
    return [str(test)] * (ROOT / test).exists() + [f"src/geoduel/{module}"]


def all_tests() -> list[str]:
    """Files of tests that run the parts of the package that mutants are drawn from."""
    paths = [ROOT / "tests" / name for name in TESTS.split()]
    files = [f for path in paths for f in ([path] if path.is_file() else path.rglob("test_*.py"))]
    return sorted(str(file.relative_to(ROOT)) for file in files)


class Book:
    """What is known of mutants, in a file that later runs go on with.

    Parameters
    ----------
    path : Path
    modules : sequence of str
        Those whose mutants count, as they are now.
    """

    def __init__(self, path: Path, modules: Sequence[str]) -> None:
        self.path = path
        self.states = {module: digest([SOURCE / module]) for module in modules}
        self.rows: dict[tuple[str, int], dict[str, Any]] = {}
        self.first: dict[tuple[str, int], dict[str, Any]] = {}  # before tests were written for it
        self.read()

    def read(self) -> None:
        """Take in what other processes have written."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        for row in map(json.loads, lines):
            if row["state"] == self.states.get(row["module"]):
                key = row["module"], row["number"]
                self.rows[key] = row
                self.first.setdefault(key, row)

    def of(self, mutant: Mutant) -> dict[str, Any] | None:
        """What is known of a mutant."""
        return self.rows.get((mutant.module, mutant.number))

    def knows(self, mutant: Mutant, tests: Iterable[str]) -> bool:
        """Whether a mutant need not be tried with these tests."""
        row = self.of(mutant)
        return row is not None and (row["test"] is not None or row["tests"] == _state(tests))

    def add(self, mutant: Mutant, test: str | None, tests: Collection[str]) -> None:
        """Keep what came of a mutant: the test that saw it, and which were tried."""
        row = {
            "module": mutant.module,
            "number": mutant.number,
            "line": mutant.line,
            "change": mutant.change(),
            "test": test,
            "run": len(tests),
            "state": self.states[mutant.module],
            "tests": _state(tests),
        }
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        found = "killed by " + test if test else f"SURVIVED {len(tests)} tests"
        print(f"{mutant.module}:{mutant.line} {row['change']}  {found}", file=sys.stderr)


def _state(tests: Iterable[str]) -> str:
    """Digest of the files that tests are in."""
    return digest(ROOT / file for file in {test.split("::")[0] for test in tests})


def try_all(sample: Sequence[Mutant], usual: Usual, book: Book, seconds: float, end: float) -> None:
    """Try mutants until the time is up."""
    plans = {m: usual.tests_of(m, own_tests(m.module), seconds) for m in sample}
    left = [mutant for mutant in sample if not book.knows(mutant, plans[mutant])]
    early = {mutant for mutant in left if usual.acts_at_import(mutant)}

    def report(mutant: Mutant, test: str | None) -> None:
        book.add(mutant, test, plans[mutant])

    for k in range(0, len(left), 100):  # what is known when the time is up is a sample too
        some = left[k : k + 100]
        late = {mutant: plans[mutant] for mutant in some if mutant not in early}
        early |= set(try_mutants(late, report, end))
        for mutant in some:
            if mutant in early and time.time() < end:
                report(mutant, try_at_import(mutant, plans[mutant]))


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--mutants", type=int, help="how many; 500 in full, else 3")
    parser.add_argument("--modules", nargs="+", help="only these, or all in these folders")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=8.0, help="of tests, a mutant")
    parser.add_argument("--watched", type=float, default=8.0, help="seconds of a file's tests")
    parser.add_argument("--minutes", type=float, default=600.0, help="in all")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "mutants"))
    args = parser.parse_args()
    try:
        import coverage  # noqa: F401
    except ImportError:
        print("coverage is not installed: `make mutants` installs it")
        return
    load_others()
    parts = args.modules or (PARTS if args.full else ["manifolds/sphere.py"])
    modules = modules_of(parts)
    own = {module: own_tests(module) for module in shuffled(modules, args.seed)}
    files = [file for tests in own.values() for file in tests] + all_tests() * args.full
    began = time.time()
    usual = watch(files, own, args.folder, args.watched, began + 30 * args.minutes)
    ready = [module for module in modules if usual.files.issuperset(own[module])]
    drawn = draw(modules, args.mutants or (500 if args.full else 3), args.seed)
    sample = [mutant for mutant in drawn if mutant.module in ready]
    book = Book(args.folder / "mutants.jsonl", modules)
    try_all(sample, usual, book, args.seconds, began + 60 * args.minutes)
    book.read()  # what other processes have written
    alike = json.loads(ALIKE.read_text())
    results = Results(
        __file__, args.save, seed=args.seed, seconds=args.seconds, watched=args.watched
    )
    for room in dict.fromkeys(module.split("/")[0] for module in ready):
        there = [module for module in ready if module.startswith(room)]
        row = summary(there, sample, usual, book, alike)
        results.add(room, **row)
        print(room, {key: value for key, value in row.items() if key != "alive"})


def shuffled(modules: Sequence[str], seed: int) -> list[str]:
    """In random order: those whose tests were watched when the time is up are a sample too."""
    return random.Random(seed).sample(modules, len(modules))


def summary(
    modules: Sequence[str],
    sample: Sequence[Mutant],
    usual: Usual,
    book: Book,
    alike: dict[str, str],
) -> dict[str, Any]:
    """What is known of modules."""
    drawn = [row for m in sample if m.module in modules and (row := book.of(m))]
    alive = [row for row in drawn if not row["test"]]
    same = [row for row in alive if f"{row['module']} {row['change']}" in alike]
    first = [book.first[row["module"], row["number"]] for row in drawn]
    counts = [usual.covered[module].counts for module in modules]
    lines, run_lines, branches, run_branches = (sum(each) for each in zip(*counts, strict=True))
    return {
        "modules": len(modules),
        "drawn": len(drawn),
        "killed": len(drawn) - len(alive),
        "at_first": sum(row["test"] is not None for row in first),
        "alike": len(same),
        "untouched": sum(not row["run"] for row in alive),
        "alive": [f"{r['module']}:{r['line']} {r['change']}" for r in alive if r not in same],
        "lines": (run_lines, lines),
        "branches": (run_branches, branches),
    }


if __name__ == "__main__":
    main()
