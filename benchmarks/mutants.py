"""Which faults the tests would see: mutants of the code, each run against tests that run its line.

    python benchmarks/mutants.py [--full] [--save] [--mutants 500] [--seed 0]
                                 [--modules manifolds methods/base.py ...] [--seconds 30]

A mutant is the code with one small fault: another operator, another number, a branch that is never
taken. A sample is drawn, each place of the code being as likely as any other.

Tests run once without a fault, which tells the lines and branches that each runs. A mutant is
killed if one of those that run its line then fails, or takes ten times as long. It is tried on the
tests and doctests of its own module first, then on ``--seconds`` of tests of what is built on it.
Survivors are printed with the changed line: a test is missing, or the two lines mean the same.

Without arguments a handful of mutants; with ``--full`` 500. Needs what `make mutants` installs.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path

from _faults import SOURCE, Mutant, mutants_of
from _results import Results
from _results import parser as results_parser
from _trial import AT_MOST, Outcome, load_others, trial

ROOT = SOURCE.parents[1]
PARTS = ("manifolds", "methods", "study", "web/guard.py")
# What a mutant that survived its own tests is tried on next.
_REPLAY = "tests/study/test_replay.py::test_methods_still_ask_what_their_version_asked"
_RUNS = "tests/test_optimize.py tests/methods/test_base.py tests/methods/paper/test_rdngd.py"
NEXT = {
    "_numerics": "tests/manifolds/test_golden.py tests/manifolds/test_rotations.py",
    "manifolds": "tests/manifolds/test_golden.py tests/manifolds/test_base.py tests/test_fast.py",
    "domains": f"tests/domains {_RUNS} tests/methods/paper/test_rdfw.py",
    "oracles": f"tests/oracles {_RUNS}",
    "methods": f"{_REPLAY} {_RUNS} tests/methods/test_named.py",
    "study": f"{_REPLAY} tests/study/test_intake.py tests/study/test_study.py",
    "web": "tests/web/test_adversaries.py tests/web/test_app.py",
    "optimize.py": _RUNS,
}


def modules_of(parts: list[str]) -> list[str]:
    """The modules in folders, and those that are named."""
    paths = [path for part in parts for path in ((SOURCE / part).rglob("*.py"))]
    paths += [SOURCE / part for part in parts if part.endswith(".py")]
    return sorted({str(p.relative_to(SOURCE)) for p in paths if p.name != "__init__.py"})


def draw(modules: list[str], n: int, seed: int) -> list[Mutant]:
    """A sample of mutants; faults of one kind in one line count as one place."""
    places: dict[tuple[str, int, str], list[Mutant]] = {}
    for mutant in (mutant for module in modules for mutant in mutants_of(module)):
        places.setdefault((mutant.module, mutant.line, mutant.kind), []).append(mutant)
    rng = random.Random(seed)
    chosen = rng.sample(sorted(places), min(n, len(places)))
    return [rng.choice(places[place]) for place in chosen]


def own_tests(module: str) -> list[str]:
    """Test file of a module, as ``tests`` mirrors the source, and its doctests."""
    path = Path(module)
    test = Path("tests") / path.parent / f"test_{path.stem.strip('_')}.py"
    return [str(test)] * (ROOT / test).exists() + [f"src/geoduel/{module}"]


def next_tests(room: str) -> list[str]:
    """Tests of what is built on the modules of a room, the quick ones."""
    return [test for test in NEXT.get(room, "").split() if (ROOT / test.split("::")[0]).exists()]


@dataclass
class Room:
    """What is known of the modules of one folder of the package."""

    drawn: int = 0
    killed: int = 0
    untouched: int = 0
    alive: list[str] = field(default_factory=list)

    def add(self, mutants: list[Mutant], found: Outcome) -> None:
        """Take in one module."""
        self.drawn += len(mutants)
        self.killed += len(found.killed)
        self.untouched += len(found.untouched)
        for mutant in mutants:
            if mutant not in found.killed:
                self.alive.append(f"{mutant.module}:{mutant.line} {mutant.change()}")


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--mutants", type=int, help="how many; 500 in full, else 3")
    parser.add_argument("--modules", nargs="+", help="only these, or all in these folders")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=AT_MOST, help="of other tests, a module")
    args = parser.parse_args()
    try:
        import coverage  # noqa: F401
    except ImportError:
        print("coverage is not installed: `make mutants` installs it")
        return
    load_others()
    parts = args.modules or (list(PARTS) if args.full else ["manifolds/sphere.py"])
    modules = modules_of(parts)
    sample = draw(modules, args.mutants or (500 if args.full else 3), args.seed)
    random.Random(args.seed).shuffle(modules)  # what is known before the end is a sample too
    results = Results(__file__, args.save, seed=args.seed, seconds=args.seconds)
    rooms: dict[str, Room] = defaultdict(Room)
    for module in modules:
        name = module.split("/")[0]
        mutants = [mutant for mutant in sample if mutant.module == module]
        try:
            found = trial(own_tests(module), next_tests(name), module, mutants, args.seconds)
        except RuntimeError as error:
            print(f"{module}: its {len(mutants)} mutants were not tried, {error}", flush=True)
            continue
        room = rooms[name]
        before = len(room.alive)
        room.add(mutants, found)
        killed = f"{len(found.killed)} of {len(mutants)} killed"
        print(f"{module}: {killed}, tests of {found.seconds:.1f} s", flush=True)
        for words in room.alive[before:]:
            print(f"  survived  {words}", flush=True)
        results.add(name, **asdict(room))
    for name, room in rooms.items():
        print(f"{name:12} {room.killed} of {room.drawn}")


if __name__ == "__main__":
    main()
