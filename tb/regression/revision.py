"""What was tested: digests of the gateware, and of all that draws, runs and compares cases.

Comments, docstrings and the layout of Python count for nothing, so an explanation that is improved
does not make a regression start anew.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

GATEWARE = ("model", "hdl")
"""Packages of which the gateware is made: the golden model has the types and the operators."""

BENCH = (
    "host/plan",
    "host/driver",
    "host/simulation",
    "tb/regression",
    "tb/cores.py",
    "tb/coverage.py",
    "tb/coverage_block.py",
    "tb/coverage_point.py",
    "tb/refusal.py",
    "tb/scoreboard.py",
    "tb/sequences.py",
)
"""Packages and modules that decide what a seed stands for, and what is compared."""


@dataclass(frozen=True)
class Revision:
    """Twelve hexadecimal digits each for the gateware, and for the bench around it."""

    gateware: str
    bench: str


@cache
def revision() -> Revision:
    """Return the revision of the sources that this process runs."""
    return Revision(_digest(GATEWARE), _digest(BENCH))


def _digest(packages: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for package in packages:
        root = Path(str(files(f"extremum.{package.split('/')[0]}")))
        folder = root.joinpath(*package.split("/")[1:])
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.suffix in (".py", ".v", ".cpp", ".hpp"):
                digest.update(f"{package}/{path.relative_to(folder)}\0".encode())
                digest.update(_meaning(path))
    return digest.hexdigest()[:12]


def _meaning(path: Path) -> bytes:
    """Return what a file means to a machine; of Python, its syntax tree without docstrings."""
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
