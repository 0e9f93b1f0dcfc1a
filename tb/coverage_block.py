"""What the random jobs must have met of an AXI block: resets, errors, accesses to registers."""

from __future__ import annotations

from extremum.hdl.axi.register_map import BlockError
from extremum.tb.coverage_point import Point

CODES = tuple(code.name for code in BlockError if code)
ACCESSES = (
    "read of a constant",
    "read of a counter",
    "read of the status",
    "read where nothing can be read",
    "write where nothing can be written",
    "write of the enabled events",
    "write of a part of a command",
    "write without a byte",
    "clear of the counters",
)

AROUND = (
    "alone",
    "a right job before it",
    "a right job behind it",
    "an error before it",
    "an earlier error is told",
)

BLOCK_POINTS = (
    Point(
        "block reset",
        "In which phase was a block reset, and how?",
        {
            "phase": ("before the first beat", "between beats", "after the last beat"),
            "reset": ("aresetn", "soft"),
        },
    ),
    Point(
        "block errors",
        "Which error did a job of a block end with, and what was around it, without a pause?",
        {"code": CODES, "around": AROUND},
        (
            (
                "the queue is filled in an idle block, and emptied behind it",
                lambda code, around: code == "QUEUE_FULL" and around != "alone",
            ),
        ),
    ),
    Point(
        "block errors and stalls",
        "Did the ports of a block rest around an error?",
        {"code": CODES, "stalls": ("none", "some")},
    ),
    Point(
        "errors ended by a reset",
        "Which error did a job of a block have that a reset ended within its packet?",
        {
            "code": tuple(code for code in CODES if code != "QUEUE_FULL"),
            "reset": ("aresetn", "soft"),
        },
    ),
    Point(
        "accesses",
        "Which registers of a block were accessed beside its jobs, and when?",
        {"access": ACCESSES, "when": ("idle", "jobs under way")},
    ),
)
"""The points of blocks."""
