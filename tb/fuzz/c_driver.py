"""The structures of the C driver with any numbers, in a process with the sanitizers."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

from extremum.tb.fuzz.sanitizers import SANITIZERS, environment
from extremum.tb.fuzz.target import Target, new_folder, require

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "extremum.tb.c_driver.comparison"
SOURCE = ROOT / "drivers" / "c" / "extremum.c"
OPERATORS = 500
"""Operators that are planned for one input: a process takes a while to start."""


@cache
def _library() -> Path:
    path = new_folder() / "extremum.so"
    flags = ("-std=c99", "-O1", "-shared", "-fPIC")
    subprocess.run(["gcc", *flags, *SANITIZERS, SOURCE, "-o", path], check=True)
    return path


def survive(seed: int) -> str:
    """Plan operators whose structures hold any numbers; the sanitizers find nothing."""
    ran = subprocess.run(
        [sys.executable, "-m", PROGRAM, str(_library()), "anything", str(OPERATORS), str(seed)],
        env=os.environ | environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    require(ran.returncode == 0, f"seed {seed}: status {ran.returncode}, {ran.stderr[-2000:]}")
    return f"{OPERATORS} operators"


TARGETS = (
    Target(
        "C driver",
        "structures of the C driver that hold any numbers: an error code, or jobs; the "
        "sanitizers find nothing",
        lambda: st.integers(0, (1 << 32) - 1),
        survive,
        prepare=_library,
    ),
)
