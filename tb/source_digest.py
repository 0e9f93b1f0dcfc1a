"""Digests of sources, by which evidence says what it speaks of.

What only people and type checkers read counts for nothing, so that an explanation or an annotation
that is improved makes no evidence old. This is, of Python and C, comments and indentation; and of
Python, docstrings, annotations, overloads, what is imported from ``typing`` or ``numpy.typing``,
and what only happens ``if TYPE_CHECKING``. Comments of Verilog count: some are for tools.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "changed_since", "digests_of", "source_digest"]

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the sources that this process runs."""

SUFFIXES = (".py", ".v", ".c", ".h", ".cpp", ".hpp")
"""Ends of the names of sources in a folder."""

C_SUFFIXES = (".c", ".h", ".cpp", ".hpp")
"""Those among them of C and C++."""

FOR_TYPES = ("typing", "numpy.typing")
"""Modules from which nothing is imported that does something when it runs."""

C_SPACE = re.compile(
    r"""
    (?P<literal> " (?: \\. | [^"\\] )* " | ' (?: \\. | [^'\\\n] )* ' )
    | (?: \s | // [^\n]* | /\* .*? \*/ )+
    """,
    re.DOTALL | re.VERBOSE,
)
"""White space and comments of C; or a literal, in which neither is what it seems."""


def source_digest(names: Iterable[str], *, without: str | None = None, root: Path = ROOT) -> str:
    """Return twelve hexadecimal digits that change when one of some sources does.

    Parameters
    ----------
    names
        Folders and files, such as ``host/plan``. Of a folder all sources count, at any depth; a
        file that is named counts whatever it is.
    without
        A folder that does not count.
    root
        The tree that they are in.

    Raises
    ------
    FileNotFoundError
        There is no such folder or file.
    """
    digest = hashlib.sha256()
    for given in names:
        folder = root / given
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            name = f"{given}/{path.relative_to(folder)}"
            is_left_out = without is not None and name.startswith(f"{without}/")
            is_source = path == folder or path.suffix in SUFFIXES
            if is_source and not is_left_out:
                digest.update(f"{name}\0".encode())
                digest.update(_meaning(path))
    return digest.hexdigest()[:12]


def digests_of(names: Iterable[str], *, root: Path = ROOT) -> dict[str, str]:
    """Return the digest of each folder or file by its name, for evidence that speaks of them."""
    return {name: source_digest([name], root=root) for name in names}


def changed_since(digests: Mapping[str, str]) -> list[str]:
    """Return those names whose sources have changed, or are gone, since `digests_of` was called."""
    return [name for name, digest in digests.items() if digest != _digest_or_none(name)]


def _digest_or_none(name: str) -> str | None:
    try:
        return source_digest([name])
    except FileNotFoundError:
        return None


def _meaning(path: Path) -> bytes:
    """Return what a file means to a machine.

    Of Python it is the syntax tree, see `_OnlyCode`. Of C it is the text without comments and
    indentation; the ends of lines stay, since those of the preprocessor's lines have a meaning.
    """
    if path.suffix in C_SUFFIXES:
        return C_SPACE.sub(_least_space, path.read_text()).strip().encode()
    if path.suffix != ".py":
        return path.read_bytes()
    return ast.dump(_OnlyCode().visit(ast.parse(path.read_text()))).encode()


def _least_space(found: re.Match[str]) -> str:
    return found["literal"] or ("\n" if "\n" in found[0] else " ")


class _OnlyCode(ast.NodeTransformer):
    """Leaves out of a syntax tree what has no effect when it runs.

    An annotation has none, but that a dataclass looks which attributes have one, and which of these
    are class variables.
    """

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_docstring = isinstance(node.value, ast.Constant)
        return None if is_docstring else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST | None:
        if any(_names(decorator, "overload") for decorator in node.decorator_list):
            return None
        node.returns = None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        is_class_variable = "ClassVar" in ast.dump(node.annotation)
        node.annotation = ast.Constant(is_class_variable)
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module in FOR_TYPES else node

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        return node.orelse or None if _names(node.test, "TYPE_CHECKING") else node


def _names(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
