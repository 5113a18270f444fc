"""The package as a whole: quick to import, light, documented, and true to its examples."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest

import geoduel

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(geoduel.__file__).parent
PUBLIC = sorted(set(geoduel.__all__) - {"__version__"})
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def python(code: str) -> str:
    """Output of ``code`` in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_is_quick():
    """0.3 s, the best of several; processor time, since other programs may be running.

    They slow the processor all the same, so the limit is for a machine at rest: where NumPy alone
    takes longer than 0.12 s, it grows in proportion.
    """
    idle = float(python("import time; print(time.process_time())"))
    seconds, limit = [], 0.3
    for _ in range(10):
        numpy = float(python("import time, numpy; print(time.process_time())")) - idle
        limit = 0.3 * max(1.0, numpy / 0.12)
        seconds.append(float(python("import time, geoduel; print(time.process_time())")) - idle)
        if seconds[-1] < limit:
            return
    pytest.fail(f"import geoduel took {min(seconds):.2f} s at best, limit {limit:.2f} s")


def test_import_needs_the_core_alone():
    code = (
        "import sys; before = set(sys.modules); import geoduel;"
        "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    )
    third_party = {
        name
        for name in python(code).split()
        if name not in sys.stdlib_module_names and not name.startswith(("_", "cython_runtime"))
    }
    assert third_party <= {"geoduel", "numpy", "scipy", "array_api_compat"}


def test_version_is_one():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    logged = re.search(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited is not None
    assert logged is not None
    assert geoduel.__version__ == cited[1] == logged[1]
    try:
        installed = version("geoduel")
    except PackageNotFoundError:
        pytest.skip("geoduel is not installed, only on the path")
    assert installed == geoduel.__version__


def test_package_is_typed():
    assert (SOURCE / "py.typed").is_file()


def is_interface(thing) -> bool:
    return inspect.isabstract(thing) or getattr(thing, "_is_protocol", False)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_documented(name):
    """Each name has a docstring; so have its methods, or the interface they implement has."""
    thing = getattr(geoduel, name)
    if not (inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)):
        pytest.skip(f"{name} is a constant or a type alias, which hold no docstring")
    assert inspect.getdoc(thing), f"geoduel.{name} has no docstring"
    if inspect.isclass(thing):
        interfaces = [c for c in (getattr(geoduel, n) for n in PUBLIC) if is_interface(c)]
        bare = [
            member
            for member, value in vars(thing).items()
            if not member.startswith("_")
            and (inspect.isfunction(value) or isinstance(value, property | classmethod))
            and not any(inspect.getdoc(getattr(c, member, None)) for c in [thing, *interfaces])
        ]
        assert not bare, f"geoduel.{name} has methods without a docstring: {bare}"


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_in_the_reference(name):
    """`docs/api.md` shows what the modules it lists export in their ``__all__``."""
    pages = re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    thing = getattr(geoduel, name)
    shown = inspect.ismodule(thing) and thing.__name__ in pages
    for page in pages:
        module = import_module(page)
        shown |= name in module.__all__ and getattr(module, name) is thing
    assert shown, f"no module in docs/api.md exports geoduel.{name}"


@pytest.mark.parametrize(
    ("layer", "forbidden"),
    [
        ("manifolds", "oracle direction schedules theory domains algorithms baselines optimize"),
        ("algorithms", "baselines optimize problems"),
    ],
)
def test_imports_run_downwards(layer, forbidden):
    """Geometry knows nothing of duels; a method that holds only duels cannot peek at f."""
    above = {*forbidden.split(), "study", "web", "reproduce", "bench", "plotting", "cli"}
    for path in (SOURCE / layer).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names]
                own = node.level > 0
            elif isinstance(node, ast.Import):
                names, own = [alias.name for alias in node.names], False
            else:
                continue
            for name in names:
                part = name.removeprefix("geoduel.").split(".")[0]
                mine = own or name.startswith("geoduel.")
                assert not (mine and part in above), f"{path.relative_to(SOURCE)} imports {name}"


def blocks(page: Path) -> list[str]:
    """Python blocks of a page, each preceded by blank lines so that tracebacks give its line."""
    text = page.read_text(encoding="utf-8")
    return [
        "\n" * (text[: match.start(1)].count("\n")) + match[1]
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_examples_run(page, tmp_path, monkeypatch):
    """The blocks of a page run in order and share their names."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks(page):
        need = re.match(r"\s*# needs (\w+)\n", block)
        if need and find_spec(need[1]) is None:
            pytest.skip(f"the example needs {need[1]}, which is not installed")
        exec(compile(block, str(page), "exec"), names)


def test_docs_name_real_files():
    """A page that maps the paper to the code is worth nothing once a file has moved."""
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for path in re.findall(
            r"(?:src|tests|benchmarks)/[\w/.]*\w\.py", page.read_text(encoding="utf-8")
        ):
            assert (ROOT / path).is_file(), f"{page.name} names {path}, which does not exist"
