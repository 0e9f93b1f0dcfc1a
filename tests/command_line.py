"""The command line as a function, for the suites that test it."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest

from extremum.host import accelerator
from extremum.host.cli import commands as cli
from extremum.host.cli.progress_bar import PHASES

GOLDEN = ["--backend", "model"]
COMPILING = f"extremum: {PHASES['compiling']}"


def run(line: str, *more: str) -> tuple[int, list[str], list[str]]:
    """Run a command line; return its status, the lines on stdout, and the lines on stderr.

    The lines about the compilation of a core are left out, since whether a core is compiled depends
    on what the cache has.
    """
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.main([*shlex.split(line), *more])
    told = [line for line in err.getvalue().splitlines() if COMPILING not in line]
    return status, out.getvalue().splitlines(), told


def spoil(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Make every result of an accelerator wrong, by applying `change` to it."""
    right = accelerator.Accelerator.run

    def wrong(self, problem, x):
        return change(right(self, problem, x))

    monkeypatch.setattr(accelerator.Accelerator, "run", wrong)
