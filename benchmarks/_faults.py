"""Small faults that a person might make, put into Python code one at a time."""

from __future__ import annotations

import ast
import copy
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["SOURCE", "Mutant", "mutants_of", "parsed"]

SOURCE = Path(__file__).resolve().parents[1] / "src" / "geoduel"

_PAIRS = [
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.BitAnd, ast.BitOr),
    (ast.And, ast.Or),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
]
_LIKE: dict[type, type] = {
    **dict(_PAIRS),
    **{b: a for a, b in _PAIRS},
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}


_CACHE = re.compile(r"^(functools\.)?(lru_)?cache\b")


@dataclass(frozen=True)
class Mutant:
    """A module with one fault in it.

    Attributes
    ----------
    module : str
        Path below ``src/geoduel``.
    number : int
        Which of all faults that are possible there.
    line : int
        Where the fault is.
    kind : str
        Kind of node of the syntax tree that it changes.
    inside : bool
        Whether it is in the body of a function, so that it acts only when that is called.
    """

    module: str
    number: int
    line: int
    kind: str
    inside: bool

    def tree(self) -> ast.Module:
        """The whole module with the fault in it."""
        tree = parsed(self.module)
        _Faults(self.module, self.number).generic_visit(tree)  # in place
        return ast.fix_missing_locations(tree)

    def change(self) -> str:
        """The lines that differ, in one, without comments."""
        before, after = (self._around(t) for t in (parsed(self.module), self.tree()))
        lines = difflib.unified_diff(before, after, n=0, lineterm="")
        changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        return " | ".join(f"{line[0]} {line[1:].strip()}" for line in changed)

    def _around(self, tree: ast.Module) -> list[str]:
        """Lines of the statement at the top of the module that the fault is in."""
        around = next(node for node in tree.body if self.line <= (node.end_lineno or 0))
        return ast.unparse(around).splitlines()


def mutants_of(module: str) -> list[Mutant]:
    """All faults that can be made in a module.

    None is made where it could not be seen, or only in words: in annotations, docstrings and the
    texts of errors, in the size of a cache or whether there is one, and in whose line a warning
    names.
    """
    faults = _Faults(module)
    faults.visit(parsed(module))
    return faults.found


@cache
def _text(module: str) -> str:
    return (SOURCE / module).read_text(encoding="utf-8")


def parsed(module: str) -> ast.Module:
    """Syntax tree of a module."""
    return ast.parse(_text(module))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """Copy of a node in which fields differ."""
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _others(node: ast.AST) -> Iterator[ast.AST]:
    """What might stand in a node's place by mistake."""
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op) in _LIKE:
            yield _with(node, op=_LIKE[type(op)]())
        case ast.Compare(ops=ops):
            for k, op in enumerate(ops):
                yield _with(node, ops=[*ops[:k], _LIKE[type(op)](), *ops[k + 1 :]])
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield _with(node, value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield _with(node, value=value + 1)
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.For():
            yield _with(node, iter=ast.Tuple([], ast.Load()))
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.FunctionDef(decorator_list=decorators):
            for k in [k for k, one in enumerate(decorators) if not _CACHE.search(ast.unparse(one))]:
                yield _with(node, decorator_list=[*decorators[:k], *decorators[k + 1 :]])


class _Faults(ast.NodeTransformer):
    """Lists the faults of a module, and makes the one with a given number."""

    def __init__(self, module: str, number: int | None = None) -> None:
        self.module, self.number = module, number
        self.found: list[Mutant] = []
        self.depth = 0
        self.raising = False

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return node
        if isinstance(node, ast.keyword) and node.arg in ("maxsize", "stacklevel"):
            return node
        if isinstance(node, ast.JoinedStr) and self.raising:
            return node
        for other in _others(node):
            here, kind, inside = len(self.found), type(node).__name__, self.depth > 0
            line = getattr(node, "lineno", 0)
            self.found.append(Mutant(self.module, here, line, kind, inside))
            if here == self.number:
                return ast.copy_location(other, node)
        return super().visit(node)

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        body, node.body = node.body, []
        self.generic_visit(node)  # decorators and defaults
        self.depth += 1
        node.body = [self.visit(part) for part in body]
        self.depth -= 1
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        self.raising = True
        self.generic_visit(node)
        self.raising = False
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        names = [name for name in ("annotation", "returns") if getattr(node, name, None)]
        types = {name: getattr(node, name) for name in names}
        for name in names:
            setattr(node, name, None)
        super().generic_visit(node)
        for name, value in types.items():
            setattr(node, name, value)
        return node
