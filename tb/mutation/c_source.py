"""Mutants of a source in C: one operator, number, condition or statement changed in each.

tree-sitter tells where these are. What preprocessor macros stand for is left alone.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

OPERATORS = {
    "binary_expression": {
        "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
        "==": ("!=", "<=", ">="), "!=": ("==",),
        "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("/",),
        "<<": (">>",), ">>": ("<<",), "&": ("|",), "|": ("&",),
        "&&": ("||",), "||": ("&&",),
    },
    "assignment_expression": {
        "+=": ("-=",), "-=": ("+=",), "*=": ("/=",), "/=": ("*=",), "|=": ("&=",), "&=": ("|=",),
    },
    "update_expression": {"++": ("--",), "--": ("++",)},
}  # fmt: skip
"""What an operator is replaced by, by the kind of expression."""

REMOVED = ("expression_statement", "continue_statement", "break_statement")
"""Statements that are left out."""


@dataclass(frozen=True)
class Change:
    """A place of a source where something else can stand.

    Attributes
    ----------
    operator
        What is done, such as ``replace < by <=``.
    line
        Its line, the first one being 1.
    first, last
        The bytes of the source that are replaced, from the first to the one behind the last.
    new
        What takes their place.
    """

    operator: str
    line: int
    first: int
    last: int
    new: bytes

    def apply(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.first] + self.new + source[self.last :]


@cache
def changes(source: bytes) -> tuple[Change, ...]:
    """Return all changes of a source, from its first byte to its last."""
    return tuple(
        Change(operator, node.start_point[0] + 1, node.start_byte, node.end_byte, new)
        for each in _nodes(_parsed(source))
        for operator, node, new in _changes_of(each)
    )


def numbered(source: bytes) -> list[tuple[Change, int]]:
    """Return all changes of a source, each with its number among those of the same kind."""
    seen: Counter[str] = Counter()
    found = []
    for change in changes(source):
        found.append((change, seen[change.operator]))
        seen[change.operator] += 1
    return found


def mutated(source: bytes, operator: str, occurrence: int) -> bytes:
    """Return a source with one change, which is named as :func:`numbered` does."""
    same = [change for change in changes(source) if change.operator == operator]
    return same[occurrence].apply(source)


def is_another_program(source: bytes, mutant: bytes, headers: Path) -> bool:
    """Return whether a compiler takes a mutant, and does not make the same of it as of its source.

    Parameters
    ----------
    source, mutant
        Both texts.
    headers
        The folder of the headers that they include.

    Raises
    ------
    RuntimeError
        The source itself cannot be compiled.
    """
    own = _object(source, headers)
    if own is None:
        raise RuntimeError("the source cannot be compiled without a mutant")
    return _object(mutant, headers) not in (None, own)


@cache
def _object(source: bytes, headers: Path) -> bytes | None:
    """Compile a source, and return the object file; None if it cannot be compiled."""
    with tempfile.TemporaryDirectory(prefix="extremum-c-") as folder:
        target = Path(folder) / "mutant.o"
        compiler = [shutil.which("gcc") or "cc", "-std=c99", "-O1", "-w", f"-I{headers}"]
        ran = subprocess.run(
            [*compiler, "-x", "c", "-c", "-", "-o", str(target)],
            input=source, capture_output=True, check=False,
        )  # fmt: skip
        return None if ran.returncode else target.read_bytes()


def _parsed(source: bytes) -> Any:
    """Return the root of a source's tree."""
    # Few installations have these packages, so that they are imported by name.
    tree_sitter, grammar = map(importlib.import_module, ("tree_sitter", "tree_sitter_c"))
    return tree_sitter.Parser(tree_sitter.Language(grammar.language())).parse(source).root_node


def _nodes(node: Any) -> Iterator[Any]:
    """Return a node of a tree and all below it, as they begin in the source."""
    yield node
    for child in node.children:
        yield from _nodes(child)


def _changes_of(node: Any) -> Iterator[tuple[str, Any, bytes]]:
    """Return what can be changed at a node: the kind of change, what is replaced, and by what."""
    if replaced := OPERATORS.get(node.type):
        sign = node.child_by_field_name("operator")
        old = sign.text.decode()
        for new in replaced.get(old, ()):
            yield f"replace {old} by {new}", sign, new.encode()
    elif node.type == "unary_expression" and node.text.startswith(b"!"):
        yield "no !", node.child_by_field_name("operator"), b""
    elif node.type == "number_literal":
        yield "number + 1", node, b"(" + node.text + b" + 1)"
        if node.text.rstrip(b"uUlL") != b"0":
            yield "number - 1", node, b"(" + node.text + b" - 1)"
    elif node.type in ("if_statement", "conditional_expression"):
        for value in (b"0", b"1"):
            told = "true" if value == b"1" else "false"
            condition = node.child_by_field_name("condition")
            yield f"condition {told}", condition, b"(" + value + b")"
    elif node.type in REMOVED:
        yield "no statement", node, b";"
