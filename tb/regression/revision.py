"""What was tested: digests of the gateware, and of all that draws, runs and compares cases.

The AXI block is built around the core and never the other way about. So what is shown of a core
stays shown while only the block around it changes, and the core has a digest of its own.

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

BLOCK = "hdl/axi"
"""The part of the gateware that no core is made of."""

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
    """Twelve hexadecimal digits each for the gateware, the bench around it, and the core alone."""

    gateware: str
    bench: str
    core: str


@cache
def revision() -> Revision:
    """Return the revision of the sources that this process runs."""
    return Revision(_digest(GATEWARE), _digest(BENCH), _digest(GATEWARE, without=BLOCK))


def _digest(packages: tuple[str, ...], without: str | None = None) -> str:
    """Return the digest of packages, without the files below one folder."""
    digest = hashlib.sha256()
    for package in packages:
        root = Path(str(files(f"extremum.{package.split('/')[0]}")))
        folder = root.joinpath(*package.split("/")[1:])
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            name = f"{package}/{path.relative_to(folder)}"
            is_left_out = without is not None and name.startswith(f"{without}/")
            if path.suffix in (".py", ".v", ".cpp", ".hpp") and not is_left_out:
                digest.update(f"{name}\0".encode())
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
