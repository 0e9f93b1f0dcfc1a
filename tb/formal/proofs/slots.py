"""The slots ahead of the pipeline: which need a beat, and where rows, planes and jobs end."""

from __future__ import annotations

from functools import partial
from typing import Any

from amaranth.hdl import Cat, Mux, Signal, Value
from amaranth.lib import data

from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import is_less_one
from extremum.hdl.registers import register
from extremum.hdl.slots import SlotSchedule
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.geometry import choose
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property

SETTLED = 4
"""Clocks for which a job's registers are on the port before it may begin."""

ENTERED = 8
"""Clocks for which they stay there behind its beginning; the core keeps them for longer."""


class _Walk:
    """A plain model: counters of columns, rows and planes, one within the other.

    Attributes
    ----------
    wanted, last
        The slot at hand holds an element; it is the job's last.
    """

    def __init__(self, p: Property, config: CoreConfig, step: Value, jobs: list[data.View]):
        # The first job, and behind it the second again and again.
        self.is_second = Signal(name="is_second")
        column, row, plane, slot = (
            Signal(6, name=name) for name in ("column", "row", "plane", "slot")
        )

        def own(name: str) -> Value:
            first, second = (register(config, job, name) + is_less_one(name) for job in jobs)
            return Mux(self.is_second, second, first)

        places = ((column, "width"), (row, "height"))
        present, ends = [], []
        for place, name in places:
            head, size, period = (own(f"{name}.{part}") for part in ("head", "size", "period"))
            lead = Mux(head < 0, -head, 0)
            present.append((place >= lead) & (place < lead + size))
            ends.append(place + 1 == period)
        self.wanted = Cat(*present, plane < own("volumes")).all()
        self.last = slot + 1 == own("slots")
        with p.m.If(step):
            p.m.d.sync += [
                slot.eq(Mux(self.last, 0, slot + 1)),
                column.eq(Mux(self.last | ends[0], 0, column + 1)),
                self.is_second.eq(self.is_second | self.last),
            ]
            with p.m.If(ends[0]):
                p.m.d.sync += [row.eq(Mux(ends[1], 0, row + 1)), plane.eq(plane + ends[1])]
            with p.m.If(self.last):
                p.m.d.sync += [row.eq(0), plane.eq(0)]
        self.column, self.row, self.plane, self.slot = column, row, plane, slot


def _small(config: CoreConfig, job: data.View, most: int) -> Value:
    """Return whether a job follows the rules, with lines of up to so many slots."""
    rules = []
    for name in ("height", "width"):
        head, size, period = (
            register(config, job, f"{name}.{part}") + is_less_one(part)
            for part in ("head", "size", "period")
        )
        lead: Any = choose(head < 0, -head, 0)
        rules += [lead + size <= period, period <= most]
    rules += [register(config, job, "volumes") < 3, register(config, job, "slots") < 32]
    return Cat(*rules).all()


def slots(config: CoreConfig, most: int, waits: bool, p: Property) -> None:
    """State which slots of two jobs need a beat, and which are their last.

    ``waits`` tells whether slots may wait until they are taken.
    """
    block, m = SlotSchedule(config), p.m
    p.add("slots", block, driven=("job", "offered"))
    p.never_reset()
    layout = Value.cast(block.job).shape()
    jobs = [data.View(block.job.shape(), p.constant(name, layout)) for name in ("one", "two")]
    for job in jobs:
        p.assume(_small(config, job, most))
    # The port changes once, long enough behind the beginning of the first job.
    has_begun, is_changed = Signal(name="has_begun"), Signal(name="is_changed")
    change = p.late(has_begun, ENTERED)
    m.d.sync += [has_begun.eq(has_begun | block.taken), is_changed.eq(is_changed | change)]
    m.d.comb += block.job.eq(Mux(is_changed, Value.cast(jobs[1]), Value.cast(jobs[0])))
    is_settled = p.late(is_changed, SETTLED) | (~has_begun & (p.age(SETTLED) == SETTLED))
    recent = Cat(p.late(block.taken, clock) for clock in range(1, ENTERED)).any()
    m.d.comb += block.offered.eq(is_settled & ~recent)
    if not waits:
        p.assume(block.ready)
    walk = _Walk(p, config, block.valid & block.ready, jobs)
    p.claim("a slot needs a beat if it holds an element",
            ~block.valid | (block.wanted == walk.wanted))  # fmt: skip
    p.claim("the last slot of a job is told", ~block.valid | (block.last == walk.last))
    p.claim("a job has begun before its slots come",
            ~block.valid | Mux(walk.is_second, is_changed, has_begun))  # fmt: skip
    slot = block.valid & block.ready
    p.reached("the flush behind the second plane", slot & block.last & (walk.plane == 2))
    p.reached("an element of the second row behind padding",
              slot & walk.wanted & (walk.row == 1) & (walk.column == 1)
              & p.before(slot & ~walk.wanted & (walk.column == 0)))  # fmt: skip
    p.reached("the last slot of the second job, the second of a row",
              slot & block.last & walk.is_second & (walk.column == 1))  # fmt: skip


PLANES = CoreConfig(
    (DataType.UINT8,), max_window=(1, 2, 2), max_dilation=(1, 1, 1), max_line=4,
    coordinate_width=4, index_width=8, operators=("max-pool",),
)  # fmt: skip
SLOTS = "extremum.hdl.slots"
FAULTS = (
    Fault("the slots behind the last plane need beats", SLOTS,
          "Cat(*present).all() & ~flushing)", "Cat(*present).all())"),
    Fault("a plane ends with each row", SLOTS,
          "volume = advance.outward(m, line_ends)", "volume = advance"),
    Fault("padding needs beats if it is in the height", SLOTS,
          "Cat(*present).all()", "present[0]"),
)  # fmt: skip

PROOFS = (
    Proof(
        "slots-planes", "hdl/slots.py",
        "For two jobs, one behind the other, of up to three planes with rows and columns of up to "
        "3 slots, for all registers that follow the rules: in each slot it is told whether it "
        "needs a beat, and whether it is the job's last, as nested counters say, and so where "
        "rows, planes and jobs end.",
        partial(slots, PLANES, 3, False), depth=36, search=36, faults=FAULTS, bounded=True,
    ),
    Proof(
        "slots-waiting", "hdl/slots.py",
        "The same of rows and columns of up to 2 slots, which wait for any time until they are "
        "taken.",
        partial(slots, PLANES, 2, True), depth=26, search=28, faults=FAULTS[:1], bounded=True,
    ),
)  # fmt: skip
