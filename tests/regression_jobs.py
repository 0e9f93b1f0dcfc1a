"""Jobs for tests of the random regression: right ones, and such that fail."""

from __future__ import annotations

from dataclasses import replace

from extremum.tb.regression.case import Item

CORE, BLOCK = "reduction", "axi-reduction"
"""Names of a core and of a block that reduce."""

ROWS = Item(
    "reduction",
    {"function": "argmax", "sizes": [3, 40], "data_type": "float32", "axes": [1]},
)
FAILS = replace(ROWS, fault="early")
"""One that is right, and one whose TLAST comes too early."""

BEFORE, BEHIND, NEXT, LOOKED_AT = 1 << 8, 2 << 9, 3 << 9, 1 << 11
"""Bits of the number of a fault: a right job before it; one behind it, or whatever is next, without
a pause; and whether the error of one before it is looked at first."""
