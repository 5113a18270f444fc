"""Which faults the tests would see: mutants of the code, each run against its own tests.

    python benchmarks/mutants.py [--full] [--save] [--mutants 500] [--seed 0]
                                 [--modules manifolds/sphere.py ...] [--python PYTHON]

A mutant is the code with one small fault: another operator, another number, a branch that is never
taken. cosmic-ray makes them. Of all that are possible a sample is drawn, each place of the code
being as likely as any other. Mutants that differ in annotations or docstrings alone are not drawn.

A mutant is killed if a test fails, or takes ten times as long as without it. It is tried on the
tests and doctests of its own module first, then on quick ones of what is built on it. Survivors
are printed with the changed line: a test is missing, or the two lines mean the same.

Without arguments a handful of mutants; with ``--full`` 500. `make mutants` installs what it needs.
"""

from __future__ import annotations

import ast
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from _results import Results
from _results import parser as results_parser

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "geoduel"
ROOMS = ("manifolds", "_numerics", "domains", "oracles", "methods", "study")
FILES = ("web/guard.py", "web/keys.py", "optimize.py")
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
LONGEST = 300.0  # seconds that tests may take
# What a mutant that survived its own tests is tried on next.
_RUNS = "tests/test_optimize.py tests/methods/test_base.py tests/methods/paper/test_rdngd.py"
NEXT = {
    "_numerics": "tests/manifolds/test_golden.py tests/manifolds/test_rotations.py",
    "manifolds": "tests/manifolds/test_golden.py tests/manifolds/test_base.py tests/test_fast.py",
    "domains": f"tests/domains {_RUNS} tests/methods/paper/test_rdfw.py",
    "oracles": f"tests/oracles {_RUNS}",
    "methods": f"{_RUNS} tests/methods/test_named.py tests/study/test_replay.py",
    "study": "tests/study/test_study.py tests/study/test_replay.py tests/study/test_transfer.py",
    "web": "tests/web/test_adversaries.py tests/web/test_app.py",
    "optimize.py": _RUNS,
}


# The fault a person might make: for each operator the one that is most like it.
_ALIKE = {
    "BinaryOperator": "Add_Sub Sub_Add Mul_Div Div_Mul Pow_Mul FloorDiv_Mul Mod_FloorDiv"
    " BitAnd_BitOr BitOr_BitAnd",
    "ComparisonOperator": "Lt_LtE LtE_Lt Gt_GtE GtE_Gt Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is",
    "UnaryOperator": "Delete_Not Delete_USub",
}
OPERATORS = [
    *(f"core/Replace{kind}_{pair}" for kind, pairs in _ALIKE.items() for pair in pairs.split()),
    *(f"core/Replace{a}With{b}" for a, b in (("And", "Or"), ("Or", "And"))),
    *(f"core/Replace{a}With{b}" for a, b in (("True", "False"), ("False", "True"))),
    *(f"core/Replace{a}With{b}" for a, b in (("Break", "Continue"), ("Continue", "Break"))),
    *("core/AddNot", "core/NumberReplacer", "core/RemoveDecorator", "core/ZeroIterationForLoop"),
]


@dataclass(frozen=True)
class Mutant:
    """One fault: which operator of cosmic-ray, and where it is applied."""

    module: str
    operator: str
    occurrence: int
    line: int

    def code(self) -> str:
        """The whole module with the fault in it."""
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator

        text = (SOURCE / self.module).read_text(encoding="utf-8")
        return mutate_code(text, get_operator(self.operator)(), self.occurrence) or text

    def change(self) -> str:
        """The lines that differ, in one."""
        before = (SOURCE / self.module).read_text(encoding="utf-8").splitlines()
        lines = difflib.unified_diff(before, self.code().splitlines(), n=0, lineterm="")
        changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        return " | ".join(f"{line[0]} {line[1:].strip()}" for line in changed)


def mutants_of(module: str) -> list[Mutant]:
    """All faults that can be made in a module, each place once for each kind of operator."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    tree = get_ast((SOURCE / module).read_text(encoding="utf-8"))
    nodes = list(ast_nodes(tree))
    found = []
    for name in OPERATORS:
        kind = get_operator(name)()
        places = [start for node in nodes for start, _ in kind.mutation_positions(node)]
        found += [Mutant(module, name, k, line) for k, (line, _) in enumerate(places)]
    return found


class Bare(ast.NodeTransformer):
    """Leaves out what the program does not depend on: annotations and docstrings."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        only_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if only_types else self.generic_visit(node)


def meaning(text: str) -> str:
    """What a module does, as text."""
    return ast.dump(Bare().visit(ast.parse(text)))


def draw(modules: list[str], n: int, rng: random.Random) -> list[Mutant]:
    """A sample of mutants that differ in what they do; kinds of operators count alike a line."""
    places: dict[tuple[str, int, str], list[Mutant]] = {}
    for module in modules:
        for mutant in mutants_of(module):
            kind = mutant.operator.split("_")[0]
            places.setdefault((module, mutant.line, kind), []).append(mutant)
    order = sorted(places)
    rng.shuffle(order)
    sample: list[Mutant] = []
    for place in order:
        mutant = rng.choice(places[place])
        if len(sample) == n:
            break
        text = (SOURCE / mutant.module).read_text(encoding="utf-8")
        try:
            differs = meaning(mutant.code()) != meaning(text)
        except SyntaxError:
            continue  # nobody could commit that
        if differs:
            sample.append(mutant)
    return sample


def own_tests(module: str) -> list[str]:
    """Test file of a module, as ``tests`` mirrors the source, and its doctests."""
    path = Path(module)
    test = Path("tests") / path.parent / f"test_{path.stem.strip('_')}.py"
    return [str(test)] * (ROOT / test).exists() + [f"src/geoduel/{module}"]


def next_tests(module: str) -> list[str]:
    """Tests of what is built on a module, the quick ones."""
    return [test for test in NEXT.get(Path(module).parts[0], "").split() if (ROOT / test).exists()]


def passes(copy: Path, python: str, tests: list[str], seconds: float) -> tuple[bool, float]:
    """Whether the tests of a copy of the project pass, and how long they took."""
    env = os.environ | THREADS | {"PYTHONPATH": str(copy / "src"), "HYPOTHESIS_SEED": "0"}
    command = [python, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
    began = time.monotonic()
    try:
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False, time.monotonic() - began
    if done.returncode not in (0, 1, 2, 3):  # 4, 5: nothing was run
        raise RuntimeError(f"pytest {tests}: {done.stdout.decode()[-2000:]}")
    return done.returncode == 0, time.monotonic() - began


def survives(mutant: Mutant, copy: Path, python: str, usual: dict[str, float]) -> bool:
    """Whether no test sees a mutant; ``usual`` remembers how long tests take without one."""
    target = copy / "src" / "geoduel" / mutant.module
    for tests in (own_tests(mutant.module), next_tests(mutant.module)):
        if not tests:
            continue
        key = " ".join(tests)
        if key not in usual:
            fine, usual[key] = passes(copy, python, tests, LONGEST)
            if not fine:
                raise SystemExit(f"these tests fail without any mutant: {key}")
        target.write_text(mutant.code(), encoding="utf-8")
        try:
            fine, _ = passes(copy, python, tests, 10 + 10 * usual[key])
        finally:
            shutil.copyfile(SOURCE / mutant.module, target)
        if not fine:
            return False
    return True


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--mutants", type=int, help="how many; 500 in full, else 3")
    parser.add_argument("--modules", nargs="+", help="only these, such as manifolds/sphere.py")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--python", default=sys.executable, help="the one that has pytest")
    args = parser.parse_args()
    python = os.path.abspath(args.python)  # the tests run in another folder
    try:
        import cosmic_ray.plugins  # noqa: F401
    except ImportError:
        print(
            "cosmic-ray is not installed: `make mutants` installs it in an environment of its own"
        )
        return

    modules = args.modules or ["manifolds/sphere.py"]
    if args.full and not args.modules:
        paths = [p for room in ROOMS for p in (SOURCE / room).rglob("*.py")]
        paths += [SOURCE / file for file in FILES]
        modules = sorted(str(p.relative_to(SOURCE)) for p in paths if p.name != "__init__.py")
    n = args.mutants or (500 if args.full else 3)
    sample = draw(modules, n, random.Random(args.seed))
    results = Results(__file__, args.save, seed=args.seed)

    killed: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    alive: dict[str, list[str]] = {}
    usual: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / ROOT.name
        if (data := ROOT.parent / "shared").is_dir():  # reference values, for tests that have them
            (copy.parent / "shared").symlink_to(data)
        for part in ("src", "tests", "docs", "benchmarks"):
            shutil.copytree(ROOT / part, copy / part)
        for file in (path for path in ROOT.iterdir() if path.is_file()):
            shutil.copy(file, copy)
        for k, mutant in enumerate(sample, 1):
            room = mutant.module.split("/")[0]
            drawn[room] += 1
            if survives(mutant, copy, python, usual):
                words = f"{mutant.module}:{mutant.line} {mutant.change()}"
                alive.setdefault(room, []).append(words)
                print(f"survived  {words}", flush=True)
            else:
                killed[room] += 1
            total, left = sum(killed.values()), len(sample) - k
            print(f"{total} of {k} killed, {left} to go", end="\r", flush=True)
            row = {"drawn": drawn[room], "killed": killed[room], "alive": alive.get(room, [])}
            results.add(room, **row)
    print(f"{sum(killed.values())} of {len(sample)} mutants killed")
    for room in sorted(drawn):
        print(f"  {room:12} {killed[room]} of {drawn[room]}")


if __name__ == "__main__":
    main()
