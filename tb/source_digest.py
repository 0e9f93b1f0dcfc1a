"""Digests of sources, by which evidence says what it speaks of.

Comments and the indentation of Python and C count for nothing, nor do Python's docstrings, so an
explanation that is improved makes no evidence old. Comments of Verilog count: some are for tools.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["ROOT", "changed_since", "digests_of", "source_digest"]

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the sources that this process runs."""

SUFFIXES = (".py", ".v", ".c", ".h", ".cpp", ".hpp")
"""Ends of the names of sources in a folder."""

C_SUFFIXES = (".c", ".h", ".cpp", ".hpp")
"""Those among them of C and C++."""

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

    Of Python it is the syntax tree without docstrings. Of C it is the text without comments and
    indentation; the ends of lines stay, since those of the preprocessor's lines have a meaning.
    """
    if path.suffix in C_SUFFIXES:
        return C_SPACE.sub(_least_space, path.read_text()).strip().encode()
    if path.suffix != ".py":
        return path.read_bytes()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                statement
                for statement in body
                if not (
                    isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
                )
            ]
    return ast.dump(tree).encode()


def _least_space(found: re.Match[str]) -> str:
    return found["literal"] or ("\n" if "\n" in found[0] else " ")
