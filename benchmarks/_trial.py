"""Runs tests against code with faults: collected once, and each fault in a process of its own."""

from __future__ import annotations

import ast
import ctypes
import gc
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from _faults import SOURCE, Mutant, parsed

__all__ = ["AT_MOST", "Outcome", "load_others", "trial"]

ROOT = SOURCE.parents[1]
# Seconds of processor time.
LONGEST = 900.0  # for tests of code without a fault
AT_MOST = 30.0  # for tests of other modules; for those that one mutant is tried on
MEMORY = 4 << 30  # bytes
# Packages of others that tests import: loaded once, before processes fork.
OTHERS = (
    "numpy scipy.linalg scipy.optimize scipy.special scipy.stats hypothesis pytest _pytest.doctest"
    " array_api_strict array_api_compat.numpy torch fastapi httpx jinja2 PIL.Image"
)


@dataclass
class Outcome:
    """What tests say about a module and mutants of it.

    Attributes
    ----------
    killed : set of Mutant
        Those that a test fails with, or takes ten times as long.
    untouched : set of Mutant
        Those that no test runs.
    seconds : float
        Processor time of the tests without a fault.
    """

    killed: set[Mutant]
    untouched: set[Mutant]
    seconds: float


def load_others() -> None:
    """Import what the tests need of other packages, which each of the processes then has."""
    for name in OTHERS.split():
        with suppress(ImportError):
            importlib.import_module(name)


def trial(
    own: list[str],
    others: list[str],
    module: str,
    mutants: list[Mutant],
    seconds: float = AT_MOST,
) -> Outcome:
    """Try mutants of a module on its own tests, and the survivors on others.

    Tests run once without a fault, then for each mutant those that run its line, until one fails.

    Parameters
    ----------
    own, others : list of str
        Files of tests.
    module : str
        Path below ``src/geoduel``.
    mutants : list of Mutant
    seconds : float
        Processor time of other tests, first those that name a class of the module or its method;
        and of tests that one mutant is tried on, the quickest first.

    Raises
    ------
    RuntimeError
        If a test fails without any fault.
    """
    answer = _in_child(lambda: _Trial(module, mutants, seconds=seconds).run(own, others))
    if not answer or "failed" in answer:
        raise RuntimeError(f"tests fail without any fault: {answer}")
    killed, untouched = set(), set()
    for mutant, (passed, run) in zip(mutants, answer["verdicts"], strict=True):
        if passed is None and run:  # the fault must be there when the module is imported
            names, limit = list(run), 10 + 10 * sum(run.values())
            passed = _in_child(
                lambda m=mutant, n=names: _Trial(module, chosen=n).run_with(m), limit
            )
        if not run:
            untouched.add(mutant)
        elif not passed:
            killed.add(mutant)
    return Outcome(killed, untouched, answer["seconds"])


class _Trial:
    """A plugin of pytest that runs tests without a fault, then for each mutant."""

    def __init__(
        self,
        module: str,
        mutants: Sequence[Mutant] = (),
        chosen: Sequence[str] = (),
        seconds: float = AT_MOST,
    ) -> None:
        self.module, self.mutants, self.chosen, self.seconds = module, mutants, chosen, seconds
        self.path = str(SOURCE / module)
        self.watching = False
        self.answer: Any = None

    def run(self, own: list[str], others: list[str]) -> Any:
        """What `trial` makes an `Outcome` of, or what ``failed``."""
        import coverage

        self.own = own
        self.cov = coverage.Coverage(None, include=[self.path], config_file=False)
        self.cov.start()
        self.watching = True
        _pytest([*own, *others], self)
        return self.answer

    def run_with(self, mutant: Mutant) -> bool:
        """Whether tests pass with a mutant in place of its module from the first import on."""
        code = compile(mutant.tree(), self.path, "exec")
        get_code = importlib.machinery.SourceFileLoader.get_code

        def instead(loader: Any, fullname: str) -> CodeType | None:
            return code if loader.path == self.path else get_code(loader, fullname)

        importlib.machinery.SourceFileLoader.get_code = instead
        _pytest(sorted({test.split("::")[0] for test in self.chosen}), self)
        return self.answer == {"failed": None}

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.answer = {"failed": str(excrepr)}

    def pytest_runtest_protocol(self, item: Any) -> None:
        if self.watching:
            self.cov.switch_context(item.nodeid)

    def pytest_runtestloop(self, session: Any) -> bool:
        self.session = session
        self.items = {item.nodeid: item for item in session.items}
        if session.testsfailed:
            self.answer = {"failed": "collection"}
        elif self.chosen:
            there = [test for test in self.chosen if test in self.items]
            self.answer = {"failed": self._failing(there)}
        else:
            self.answer = self._all()
        return True

    def _all(self) -> Any:
        """Try all mutants."""
        names = [node.name for node in parsed(self.module).body if isinstance(node, ast.ClassDef)]
        names.append(Path(self.module).stem.replace("_", "-"))  # of a method
        own, others = [], []
        for test in self.items:
            (own if test.split("::")[0] in self.own else others).append(test)
        others.sort(key=lambda test: not any(name in test for name in names))
        answer = self._usual(own, LONGEST)
        if "failed" in answer:
            return answer
        verdicts = [self._verdict(mutant, answer) for mutant in self.mutants]
        if others and not all(passed is False for passed, _ in verdicts):
            more = self._usual(others, self.seconds)
            if "failed" in more:
                return more
            for k, (passed, run) in enumerate(verdicts):
                if passed is not False:
                    again, then = self._verdict(self.mutants[k], more)
                    verdicts[k] = (again if then else passed), run | then
            answer["seconds"] += more["seconds"]
        return {"seconds": answer["seconds"], "verdicts": verdicts}

    def _usual(self, tests: list[str], at_most: float) -> Any:
        """What tests do without a fault: which lines each runs and how long it takes."""

        def work() -> Any:
            each: dict[str, float] = {}
            for test, failed, seconds in self._run(tests):
                if failed:
                    return {"failed": test}
                each[test] = seconds
                if sum(each.values()) > at_most:
                    break
            self.cov.stop()
            near = self.cov.get_data().contexts_by_lineno(self.path)
            return {
                "each": each,
                "seconds": sum(each.values()),
                "near": {k: [test for test in tests if test in each] for k, tests in near.items()},
                "imported": [str(line) for line in near if "" in near[line]],
            }

        return _in_child(work, LONGEST) or {"failed": f"no end in {LONGEST} s"}

    def _verdict(self, mutant: Mutant, usual: Any) -> tuple[bool | None, dict[str, float]]:
        """Whether tests pass with a mutant, None if that is not known yet; and which to run."""
        near, each = usual["near"], usual["each"]
        lines = [str(line) for line in _statement(mutant) if str(line) in near]
        tests = {test for line in lines for test in near[line]}
        imported = not mutant.inside or any(line in usual["imported"] for line in lines)
        acts = bool(tests) and not imported
        if not acts and (lines or not mutant.inside):
            tests = {test for found in near.values() for test in found}
        run: dict[str, float] = {}
        for test in sorted(tests, key=lambda test: each[test]):
            if not run or sum(run.values()) + each[test] < self.seconds:
                run[test] = each[test]

        def work(fault: Mutant | None, tests: Sequence[str]) -> list[str | None]:
            self.cov.stop()
            self.watching = False
            if fault and not _put(fault):
                return ["not put"]
            return [self._failing(tests)]

        while run and acts:
            limit = 10 + 10 * sum(run.values())
            ended = _in_child(lambda: work(mutant, list(run)), limit)
            if ended == ["not put"]:
                break
            if ended is None or ended == [None]:
                return ended is not None, run
            so_far = list(run)[: list(run).index(ended[0]) + 1]
            if _in_child(lambda t=so_far: work(None, t), limit) == [None]:
                return False, run
            del run[ended[0]]  # it fails without the fault too, in this order
        return None, run

    def _run(self, tests: Sequence[str]) -> Iterator[tuple[str, bool, float]]:
        """Run tests: the name of each, whether one has failed, and its processor time."""
        items = [self.items[test] for test in tests]
        for item, after in zip_longest(items, items[1:]):
            began = time.process_time()
            self.session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            yield item.nodeid, bool(self.session.testsfailed), time.process_time() - began

    def _failing(self, tests: Sequence[str]) -> str | None:
        """Name of the first test that fails."""
        return next((test for test, failed, _ in self._run(tests) if failed), None)


def _pytest(tests: list[str], plugin: Any) -> int:
    """Run pytest in a fresh state of the package, silently."""
    import pytest

    for name in [name for name in sys.modules if name.split(".")[0] == "geoduel"]:
        del sys.modules[name]
    os.chdir(ROOT)
    rewritten = "ignore::pytest.PytestAssertRewriteWarning"  # of modules that are loaded already
    command = ["-q", "-s", "--no-header", "-p", "no:cacheprovider"]
    return int(pytest.main([*command, "-W", rewritten, *tests], [plugin]))


def _statement(mutant: Mutant) -> range:
    """The lines of the statement that a mutant changes, of a compound one its head."""
    best = range(mutant.line, mutant.line + 1)
    for node in ast.walk(parsed(mutant.module)):
        if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno or 0
            if mutant.line <= end and not isinstance(node, ast.FunctionDef | ast.ClassDef):
                best = range(node.lineno, end + 1)
    return best


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


def _in_child(work: Callable[[], Any], seconds: float | None = None) -> Any:
    """What a function returns in a process of its own; None if that is killed or takes too long.

    Processor time counts, which other programs on the machine do not change.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        child = os.fork()
        if not child:
            try:
                os.setsid()
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # end with the process that waits
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, -1))
                if seconds is not None:
                    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, -1))
                    signal.alarm(60 + 30 * int(seconds))  # it may wait for ever
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
