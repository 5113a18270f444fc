"""Runs tests against code with faults: collected once, and each fault in a process of its own."""

from __future__ import annotations

import ast
import ctypes
import gc
import hashlib
import importlib
import importlib.machinery
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from _faults import SOURCE, Mutant, parsed

__all__ = ["AT_IMPORT", "Usual", "digest", "load_others", "try_at_import", "try_mutants", "watch"]

ROOT = SOURCE.parents[1]
# Seconds of processor time.
PATIENCE = (3.0, 10.0)  # a test may take so long, and so many times as long as without a fault
WAIT = 180.0  # seconds by the clock that a test may wait, on a machine that is busy with others
CHUNK = 8  # files of tests that one process watches
MEMORY = 4 << 30  # bytes
AT_IMPORT, NO_END = "at import", "takes far too long"
# Packages of others that tests import: loaded once, before processes fork.
OTHERS = (
    "numpy scipy.linalg scipy.optimize scipy.special scipy.stats hypothesis pytest _pytest.doctest"
    " array_api_strict array_api_compat.numpy torch fastapi httpx jinja2 PIL.Image sqlalchemy"
)


def load_others() -> None:
    """Import what the tests need of other packages, which each of the processes then has."""
    for name in OTHERS.split():
        with suppress(ImportError):
            importlib.import_module(name)


class Covered(NamedTuple):
    """Lines of a module and those that tests run, its branches and those; the lines left out."""

    counts: tuple[int, int, int, int]
    missing: list[int]


@dataclass
class Usual:
    """What tests do without a fault.

    Attributes
    ----------
    files : set
        Files of tests that were run.
    each : dict
        Processor time by test.
    near : dict
        By module, the tests that run each line; ``""`` stands for the import.
    covered : dict
        By module, how much of it runs.
    """

    files: set[str] = field(default_factory=set)
    each: dict[str, float] = field(default_factory=dict)
    near: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    covered: dict[str, Covered] = field(default_factory=dict)

    def tests_of(self, mutant: Mutant, own: Sequence[str], seconds: float) -> dict[str, float]:
        """Tests that run what a mutant changes, in the order to try them, and their times.

        Its own come first, then replayed logs, the quickest of each first.
        """
        near = self.near.get(mutant.module, {})
        lines = [line for line in _statement(mutant) if line in near]
        tests = {test for line in lines for test in near[line]}
        if "" in tests:  # it acts when the module is loaded
            tests = {test for found in near.values() for test in found} - {""}

        def order(test: str) -> tuple[bool, bool, float]:
            file = test.split("::")[0]
            return file not in own, "test_replay" not in file, self.each[test]

        chosen: dict[str, float] = {}
        for test in sorted(tests & self.each.keys(), key=order):
            if not chosen or sum(chosen.values()) + self.each[test] < seconds:
                chosen[test] = self.each[test]
        return chosen

    def acts_at_import(self, mutant: Mutant) -> bool:
        """Whether the fault must be there when the module is loaded."""
        near = self.near.get(mutant.module, {})
        return not mutant.inside or any("" in near.get(line, ()) for line in _statement(mutant))


def watch(
    files: Sequence[str],
    own: dict[str, list[str]],
    folder: Path,
    seconds: float,
    end: float,
) -> Usual:
    """Run tests without a fault, those that `folder` does not know from an earlier run.

    It knows a file of tests until that changes, or the module whose own tests are in it, or more
    seconds are given to a file that took all it had. Of a module that has changed the own tests
    alone tell which lines are run.

    Parameters
    ----------
    files : sequence of str
        Files of tests, or of code with doctests.
    own : dict
        Paths below ``src/geoduel`` of the modules whose lines count, each with its own tests.
    folder : Path
        Keeps what was seen.
    seconds : float
        Processor time of one file's tests; those that come later are left out.
    end : float
        Time when to stop.
    """
    import coverage

    folder.mkdir(parents=True, exist_ok=True)
    modules, owners = list(own), {file: {m for m in own if file in own[m]} for file in files}
    states = {file: digest([ROOT / file]) for file in files}
    code = {module: digest([SOURCE / module]) for module in modules}
    known: dict[str, Path] = {}  # file of tests, where it was watched last
    for path in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime):
        seen = json.loads(path.read_text())
        changed = {module for module, state in code.items() if seen["code"].get(module) != state}
        cut = seen["cut"] if seconds > seen["seconds"] else ()
        for file, state in seen["states"].items():
            same = state == states.get(file) and changed.isdisjoint(owners[file])
            if same and file not in cut:
                known[file] = path
    new = [file for file in states if file not in known]
    for k in range(0, len(new), CHUNK):
        if time.time() > end:
            break
        some = new[k : k + CHUNK]
        path = folder / f"{digest([ROOT / file for file in some])}.json"
        found = _in_child(lambda s=some, p=path: _watched(s, modules, p, seconds))
        each, cut = found or ({}, [])
        kept = {"states": {file: states[file] for file in some}, "code": code, "each": each}
        path.write_text(json.dumps(kept | {"seconds": seconds, "cut": cut}))
        known |= dict.fromkeys(some, path)
        print(f"watched {sum(each.values()):.0f} s of {' '.join(some)}", flush=True)
    usual = Usual(files=set(known))
    every = coverage.CoverageData(no_disk=True)
    for path in sorted(set(known.values())):
        seen = json.loads(path.read_text())
        here = {test for test in seen["each"] if known.get(test.split("::")[0]) == path}
        usual.each |= {test: seen["each"][test] for test in here}
        kept = coverage.CoverageData(str(path.with_suffix(".coverage")))
        kept.read()
        data = coverage.CoverageData(no_disk=True)
        data.update(kept)
        other = [module for module in seen["code"] if seen["code"][module] != code.get(module)]
        data.purge_files([str(SOURCE / module) for module in other])  # its lines were others then
        every.update(data)
        for module in modules:
            near = usual.near.setdefault(module, {})
            for line, tests in data.contexts_by_lineno(str(SOURCE / module)).items():
                near.setdefault(line, []).extend(t for t in tests if not t or t in here)
    cov = coverage.Coverage(None, branch=True, config_file=False)
    cov.get_data().update(every)
    for module in modules:
        found = cov._analyze(str(SOURCE / module))
        n = found.numbers
        counts = n.n_statements, n.n_executed, n.n_branches, n.n_executed_branches
        usual.covered[module] = Covered(counts, sorted(found.missing))
    return usual


def _watched(files: list[str], modules: Sequence[str], path: Path, seconds: float) -> Any:
    """Time of each test that passes, and the files with tests that were left out.

    Which lines a test runs is kept beside ``path``.
    """
    import coverage

    cov = coverage.Coverage(
        str(path.with_suffix(".coverage")),
        branch=True,
        include=[str(SOURCE / module) for module in modules],
        config_file=False,
    )
    cov.erase()
    cov.start()
    plugin = _Watch(cov, seconds)
    _pytest(files, plugin)
    cov.stop()
    cov.save()
    return plugin.each, plugin.cut


def digest(paths: Iterable[Path]) -> str:
    """Digest of files."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]


class _Plugin:
    """A plugin of pytest that runs the tests itself."""

    items: dict[str, Any]
    session: Any

    def pytest_runtestloop(self, session: Any) -> bool:
        self.session = session
        self.items = {item.nodeid: item for item in session.items}
        self.loop()
        return True

    def loop(self) -> None:
        """What to do once the tests are collected."""
        raise NotImplementedError

    def tests(self, names: Sequence[str]) -> Iterator[tuple[str, bool, float]]:
        """Run tests: the name of each, whether it has failed, and its processor time."""
        items = [self.items[test] for test in names]
        for item, after in zip_longest(items, items[1:]):
            failed, began = self.session.testsfailed, time.process_time()
            self.session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            yield item.nodeid, self.session.testsfailed > failed, time.process_time() - began


class _Watch(_Plugin):
    """Times tests, and says which of them runs."""

    def __init__(self, cov: Any, seconds: float) -> None:
        self.cov, self.seconds = cov, seconds
        self.each: dict[str, float] = {}
        self.cut: list[str] = []

    def pytest_runtest_protocol(self, item: Any) -> None:
        self.cov.switch_context(item.nodeid)

    def loop(self) -> None:
        spent: dict[str, float] = {}
        for file in dict.fromkeys(test.split("::")[0] for test in self.items):
            names = [test for test in self.items if test.split("::")[0] == file]
            before = Counter[str]()  # the first case of each test comes before the second of any
            nth = {n: before.update([n.split("[")[0]]) or before[n.split("[")[0]] for n in names}
            order = sorted(names, key=nth.__getitem__)
            for test, failed, seconds in self.tests(order):
                if not failed:
                    self.each[test] = seconds
                spent[file] = spent.get(file, 0.0) + seconds
                if spent[file] > self.seconds and test != order[-1]:
                    self.cut.append(file)
                    break


class _One(_Plugin):
    """Runs chosen tests until one fails, and remembers that."""

    failing: str | None = None

    def __init__(self, chosen: dict[str, float]) -> None:
        self.chosen = chosen

    def loop(self) -> None:
        if not self.session.testsfailed:
            there = {test: t for test, t in self.chosen.items() if test in self.items}
            self.failing = _failing(self, there)


class _Many(_Plugin):
    """Tries mutants, each in a process of its own."""

    def __init__(
        self,
        plans: dict[Mutant, dict[str, float]],
        report: Callable[[Mutant, str | None], None],
        end: float,
    ) -> None:
        self.plans, self.report, self.end = plans, report, end
        self.early: list[Mutant] = []

    def loop(self) -> None:
        for mutant, chosen in self.plans.items():
            if time.time() > self.end:
                break
            test = self.verdict(mutant, chosen)
            if test == AT_IMPORT:
                self.early.append(mutant)
            else:
                self.report(mutant, test)

    def verdict(self, mutant: Mutant, chosen: dict[str, float]) -> str | None:
        """Which test sees a mutant, if any; ``AT_IMPORT`` where it changes no function."""
        left = {test: seconds for test, seconds in chosen.items() if test in self.items}

        def work(fault: Mutant | None, tests: dict[str, float]) -> dict[str, str | None]:
            if fault and not _put(fault):
                return {"failing": AT_IMPORT}
            return {"failing": _failing(self, tests)}

        while left:
            ended = _in_child(lambda: work(mutant, left))
            if ended is None:
                sound = _in_child(lambda: work(None, left)) is not None
                return NO_END if sound else None
            failing = ended["failing"]
            if failing in (None, AT_IMPORT):
                return failing
            names = list(left)
            so_far = {test: left[test] for test in names[: names.index(failing) + 1]}
            if _in_child(lambda s=so_far: work(None, s)) == {"failing": None}:
                return failing
            del left[failing]  # it fails without the fault too, in this order
        return None


def try_mutants(
    plans: dict[Mutant, dict[str, float]],
    report: Callable[[Mutant, str | None], None],
    end: float,
) -> list[Mutant]:
    """Try mutants on tests; those that act only when their module is loaded are returned.

    Parameters
    ----------
    plans : dict
        Tests for each mutant, with their processor times.
    report : callable
        Is called in another process with each mutant and the test that sees it, if any.
    end : float
        Time when to stop.
    """
    files = sorted({test.split("::")[0] for plan in plans.values() for test in plan})
    mutants = list(plans)

    def work() -> list[int]:
        plugin = _Many(plans, report, end)
        _pytest(files, plugin)
        return [mutants.index(mutant) for mutant in plugin.early]

    return [mutants[k] for k in (_in_child(work) or [])]


def try_at_import(mutant: Mutant, chosen: dict[str, float]) -> str | None:
    """Which test sees a mutant that is there when its module is loaded, if any."""
    ended = _in_child(lambda: _loaded_with(mutant, chosen))
    return NO_END if ended is None else ended["failing"]


def _loaded_with(mutant: Mutant, chosen: dict[str, float]) -> dict[str, str | None]:
    """Run tests with a mutant in place of its module from the first import on."""
    path = str(SOURCE / mutant.module)
    code = compile(mutant.tree(), path, "exec")
    get_code = importlib.machinery.SourceFileLoader.get_code

    def instead(self: Any, fullname: str) -> CodeType | None:
        return code if self.path == path else get_code(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = instead
    plugin = _One(chosen)
    ended = _pytest(sorted({test.split("::")[0] for test in chosen}), plugin)
    return {"failing": plugin.failing or (None if ended in (0, 5) else "collection")}


def _failing(plugin: _Plugin, tests: dict[str, float]) -> str | None:
    """Name of the first test that fails; the process ends if one takes far too long."""
    for name, seconds in tests.items():
        limit = PATIENCE[0] + PATIENCE[1] * seconds
        signal.setitimer(signal.ITIMER_PROF, limit)  # other programs on the machine do not count
        signal.alarm(int(WAIT + 20 * limit))  # it may wait for ever
        if next(plugin.tests([name]))[1]:
            return name
    return None


def _pytest(tests: list[str], plugin: Any) -> int:
    """Run pytest in a fresh state of the package, silently."""
    import pytest

    for name in [name for name in sys.modules if name.split(".")[0] == "geoduel"]:
        del sys.modules[name]
    os.chdir(ROOT)
    # Files that are named are loaded by pytest, without the fault, where it rewrites assertions.
    command = ["-q", "-s", "--no-header", "-p", "no:cacheprovider", "--assert=plain"]
    return int(pytest.main([*command, *tests], [plugin]))


def _statement(mutant: Mutant) -> range:
    """The lines of the statement that a mutant changes, of a compound one its head."""
    around = [lines for lines in _statements(mutant.module) if mutant.line in lines]
    return around[-1] if around else range(mutant.line, mutant.line + 1)


@cache
def _statements(module: str) -> list[range]:
    """The lines of all statements in a module, of compound ones their heads; outer ones first."""
    found = []
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno or 0
            found.append(range(node.lineno, end + 1))
    return found


def _put(mutant: Mutant) -> bool:
    """Change the code of the functions that are loaded; False if there is none to change."""
    path = str(SOURCE / mutant.module)
    olds, news = (
        _functions(compile(tree, path, "exec")) for tree in (parsed(mutant.module), mutant.tree())
    )
    changes = [(a, b) for a, b in zip(olds, news, strict=True) if a != b]
    put = False
    for function in [item for item in gc.get_objects() if type(item) is FunctionType]:
        for old, new in changes:
            if function.__code__.co_filename == path and function.__code__ == old:
                if len(new.co_freevars) != len(old.co_freevars):
                    return False
                function.__code__ = new
                put = True
    return put


def _functions(code: CodeType) -> list[CodeType]:
    """All code objects within one, in order."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return [found for part in inner for found in (part, *_functions(part))]


def _in_child(work: Callable[[], Any]) -> Any:
    """What a function returns in a process of its own; None if that is killed."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        child = os.fork()
        if not child:
            try:
                os.setsid()
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # end with the process that waits
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, -1))
                json.dump({"done": work()}, file)
            except Exception:
                file.seek(0)
                json.dump({"error": traceback.format_exc()}, file)
            finally:
                file.flush()
                os._exit(0)
        os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # servers that tests began
        file.seek(0)
        text = file.read()
    answer = json.loads(text) if text else {"done": None}
    if "error" in answer:  # of this script: pytest keeps those of tests
        raise RuntimeError(answer["error"])
    return answer["done"]
