"""The plans: the registers of all small poolings describe what was asked for, in both languages."""

from __future__ import annotations

import itertools
from dataclasses import replace

from extremum.hdl.config import CoreConfig
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.plan.check import check
from extremum.tb.formal.plan.definition import Axis, axes_up_to
from extremum.tb.formal.proof import Checked, Exhaustion

ALONE = [Axis(1, 1, 1, 1, 0, 0)]
"""A dimension of one element."""
LINES = axes_up_to(8, 5, 4, 3, 4)
"""The geometries of single lines."""


def lines(fault: Fault | None) -> Checked:
    """Check two planes of one line each, in a core that holds all of it."""
    core = _core(window=(1, 5, 5), dilation=(1, 3, 3))
    return check(core, 2, itertools.product(ALONE, LINES), fault)


def planes(fault: Fault | None) -> Checked:
    """Check two planes, in a core that holds all of them."""
    axes = axes_up_to(4, 3, 2, 2, 1)
    core = _core(window=(1, 3, 3), dilation=(1, 2, 2))
    return check(core, 2, itertools.product(axes, axes), fault)


def volumes(fault: Fault | None) -> Checked:
    """Check two volumes, in a core that holds all of them."""
    axes = axes_up_to(2, 2, 2, 1, 1)
    core = _core(window=(2, 2, 2), dilation=(1, 1, 1))
    return check(core, 2, itertools.product(axes, axes_up_to(2, 2, 1, 1, 0), axes), fault)


def tiles(fault: Fault | None) -> Checked:
    """Check three planes on two lanes, in a core that holds short lines and small planes."""
    axes = axes_up_to(4, 2, 2, 1, 1)
    core = _core(window=(1, 2, 2), dilation=(1, 1, 1), lanes=2, line=2, plane=3)
    return check(core, 3, itertools.product(axes, axes), fault)


def counters(fault: Fault | None) -> Checked:
    """Check lines in a core that holds short ones, and whose counters are too short for many."""
    core = replace(
        _core(window=(1, 2, 4), dilation=(1, 1, 4), line=4),
        operators=("argmax", "max-pool"),
    )  # fmt: skip
    pairs = [Axis(2, 2, 1, 1, 0, 0)]
    return check(core, 1, itertools.product(pairs, axes_up_to(12, 4, 2, 4, 4)), fault)


def unpadded(fault: Fault | None) -> Checked:
    """Check lines, and planes of short lines, in a core without padding that holds short lines."""
    axes, inside = axes_up_to(4, 3, 2, 2, 1), axes_up_to(6, 3, 2, 2, 0)
    core = replace(
        _core(window=(1, 5, 5), dilation=(1, 3, 3), line=2, plane=3),
        padding=False, operators=("argmax", "max-pool"),
    )  # fmt: skip
    geometries = map(itertools.product, (ALONE, axes, inside), (LINES, axes, inside))
    return check(core, 2, itertools.chain(*geometries), fault)


def _core(
    *,
    window: tuple[int, int, int],
    dilation: tuple[int, int, int],
    lanes: int = 1,
    line: int = 256,
    plane: int = 3136,
) -> CoreConfig:
    return CoreConfig(
        (DataType.UINT8,), lanes=lanes, max_window=window, max_dilation=dilation, max_line=line,
        max_plane=plane, coordinate_width=4 if line < 256 else 16, operators=("max-pool",),
    )  # fmt: skip


JOB, REGISTERS, SLIDING, TILES, DRIVER = (
    "extremum.hdl.job", "extremum.host.plan.registers", "extremum.host.plan.sliding_jobs",
    "extremum.host.plan.tiles", "drivers/c/extremum.c",
)  # fmt: skip
WHERE = (
    "the registers follow the rules of a job, which takes as many elements as there are, and gives "
    "as many results as there are windows; each result is of the elements that the formulas of "
    "MAX_POOLING2 name, with their positions; the last slot is of use; and the C driver has the "
    "same registers."
)
EARLY, NEGATIVE, PADDED, EMPTY, CUT, GATHERED, LEFT_OUT = (
    "a window given early", "a line that begins in padding", "a line with slots for windows alone",
    "an empty window", "cut into tiles", "windows gathered by the host", "a tap left out",
)  # fmt: skip

PROOFS = (
    Exhaustion(
        "plan-lines", "host/plan/registers.py",
        "For all lines of up to 8 elements, windows of 5 taps, strides of 4, dilations of 3 and "
        f"paddings of 4 on either side: {WHERE}",
        lines, (EARLY, NEGATIVE, PADDED, EMPTY),
        (
            Fault("an early window is given a slot too late", REGISTERS,
                  "last - shift * dilation", "last - shift * dilation + (shift > 0)"),
            Fault("the next line begins a slot too early", REGISTERS,
                  "self.final - self.head + 1)", "self.final - self.head)"),
            Fault("a tap that no window needs is kept", DRIVER,
                  "larger(0, divide_up(head - size + 1, dilation))",
                  "larger(0, divide_up(head - size, dilation))"),
        ),
        quick=True,
    ),
    Exhaustion(
        "plan-unpadded", "host/plan/planner.py",
        "On a core without padding, which gives every window that fits and holds lines of 2 "
        "windows and planes of 3, for all lines of `plan-lines`, planes of `plan-planes`, and "
        "planes of up to 6 by 6 elements without any padding: the windows slide if no tap of them "
        "meets padding; and of all that slide, some of them with taps left out that meet padding "
        f"alone, {WHERE}",
        unpadded, (CUT, GATHERED, LEFT_OUT),
        (
            Fault("windows slide behind which others would fit", JOB,
                  " or self.final + self.stride < self.size", ""),
            Fault("a window slides that reaches a slot behind the elements", JOB,
                  "self.final >= self.size", "self.final > self.size"),
            Fault("the C driver slides windows behind which others would fit", DRIVER,
                  " || line->final + dimension->stride < size", ""),
        ),
    ),
    Exhaustion(
        "plan-planes", "host/plan/sliding_jobs.py",
        "For all planes of up to 4 by 4 elements, windows of 3 by 3 taps, strides and dilations "
        f"of 2 and paddings of 1 on every side: {WHERE}",
        planes, (EARLY, NEGATIVE, PADDED, EMPTY),
        (
            Fault("lines of elements are stored, not of windows", REGISTERS,
                  "words *= dimension.outputs", "words *= dimension.size"),
            Fault("the next line is reached from the last but one window", REGISTERS,
                  "within += (dimension.outputs - 1) * stride",
                  "within += dimension.outputs * stride"),
            Fault("the next plane is reached from its first window", SLIDING,
                  "slice_weight - within)", "slice_weight)"),
        ),
    ),
    Exhaustion(
        "plan-volumes", "host/plan/sliding_jobs.py",
        "For all volumes of up to 2 by 2 by 2 elements and windows of as many taps, with strides "
        f"of up to 2 and paddings of up to 1 in depth and width: {WHERE}",
        volumes, (EARLY, PADDED, EMPTY),
        (
            Fault("planes of elements are stored, not of windows", REGISTERS,
                  "words *= dimension.outputs", "words *= dimension.size"),
        ),
    ),
    Exhaustion(
        "plan-tiles", "host/plan/tiles.py",
        "For three planes on two lanes, of up to 4 by 4 elements, windows of 2 by 2 taps, strides "
        "of 2 and paddings of 1, cut into tiles for a core that holds lines of 2 windows and "
        f"planes of 3: {WHERE}",
        tiles, (CUT, EARLY, PADDED, EMPTY),
        (
            Fault("tiles are taken to lie at the number of their first window", SLIDING,
                  "(tile.offset + dimension.head)", "(tile.first + dimension.head)"),
            Fault("the C driver takes tiles to lie at the number of their first window", DRIVER,
                  "modulo(tiles[axis].offset + line.head)",
                  "modulo(tiles[axis].first + line.head)"),
        ),
    ),
    Exhaustion(
        "plan-counters", "host/plan/tiles.py",
        "For all planes of two lines of up to 12 elements, windows of 2 by 4 taps, strides of 2, "
        "dilations of 4 and paddings of 4 on either side in the width, on a core that holds lines "
        "of 4 windows and counts coordinates in 4 bits: the windows slide if there is a cut into "
        f"tiles that fit the storage and can be counted; and of all that slide, {WHERE}",
        counters, (CUT, GATHERED, LEFT_OUT, EARLY),
        (
            Fault("a line of one slot too many is taken for countable", TILES,
                  "max(line.head, 0) + line.period) < self._limit",
                  "max(line.head, 0) + line.period) <= self._limit"),
            Fault("tiles are taken for countable since the whole line is", TILES,
                  "= self._are_countable(count)",
                  "= self._are_countable(self.dimension.outputs)"),
            Fault("the C driver takes tiles for countable since the whole line is", DRIVER,
                  "if (is_countable(core, axis, dimension, count)) {",
                  "if (is_countable(core, axis, dimension, outputs)) {"),
        ),
    ),
)  # fmt: skip
