"""What was tested: digests of the gateware, and of all that draws, runs and compares cases.

The AXI block is built around the core and never the other way about. So what is shown of a core
stays shown while only the block around it changes, and the core has a digest of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from extremum.tb.evidence import EvidenceError
from extremum.tb.source_digest import source_digest

GATEWARE = ("model", "hdl")
"""Packages of which the gateware is made: the golden model has the types and the operators."""

BLOCK = "hdl/axi"
"""The part of the gateware that no core is made of."""

BENCH = (
    "host/plan",
    "host/driver",
    "host/simulation",
    "host/simulation/ports.vlt",
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
    return Revision(
        source_digest(GATEWARE), source_digest(BENCH), source_digest(GATEWARE, without=BLOCK)
    )


def require_unchanged() -> None:
    """Make sure that the gateware is still the one that :func:`revision` told first.

    A long run calls that function before it begins, and this one before it writes what it found.

    Raises
    ------
    EvidenceError
        The sources have changed in between, so nobody knows what was run.
    """
    if source_digest(GATEWARE) != revision().gateware:
        raise EvidenceError("the gateware's sources have changed meanwhile: nothing is written")
