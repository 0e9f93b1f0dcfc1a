"""The two output streams of a block: a job has ended when its last beat has left on both."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.axi.block import block_members
from extremum.hdl.axi.buffers import OutputBuffer, OutputRegister
from extremum.hdl.axi.outputs import give_by_buffers, job_left
from extremum.hdl.axi.streams import INDICES, VALUES, marks_lanes
from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import output_layout
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property

LANES = CoreConfig((DataType.UINT8,), lanes=2, max_window=(1, 1, 1), index_width=8)

COUNT = 4
"""Bits of the counts of jobs, which are compared modulo their range."""


class _Outputs(wiring.Component):
    """The output streams of a block, with a port in place of the core."""

    o: Any
    drops: Signal
    left: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        beat = output_layout(config, marks_lanes=marks_lanes(config))
        streams = {
            name: member for name, member in block_members(config).items()
            if name.startswith((VALUES, INDICES))
        }  # fmt: skip
        super().__init__(
            streams | {"o": In(stream.Signature(beat)), "drops": In(1), "left": Out(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core: Any = self
        taken = give_by_buffers(m, self, core, self.drops)
        m.d.comb += self.left.eq(job_left(m, self.config, taken, self.drops))
        return m


def ends(config: CoreConfig, beats: int, p: Property) -> None:
    """State when jobs end, by counts of their last beats. A stream holds so many ``beats``."""
    block, m = _Outputs(config), p.m
    inside = p.add("outputs", block)
    drops = block.drops
    ended = Signal(COUNT, name="ended")
    m.d.sync += ended.eq(Mux(drops, 0, ended + block.left))
    ahead, total = [], []
    for name in (VALUES, INDICES):
        valid, ready, last = (
            getattr(block, f"{name}_{part}") for part in ("tvalid", "tready", "tlast")
        )
        # What is offered as a soft reset comes belongs to a job that has been ended by it.
        is_old = Signal(name=f"{name}_is_old")
        m.d.sync += is_old.eq((drops | is_old) & valid & ~ready)
        leaves = p.before(valid & ready & last & ~drops & ~is_old)
        count = Signal(COUNT, name=f"{name}_jobs")
        m.d.sync += count.eq(Mux(drops, 0, count + leaves))
        ahead.append((count + leaves - ended - block.left)[:COUNT])
        offers, waits = _held(p, inside.part(name), beats)
        total.append((count + leaves + (offers & ~is_old) + waits)[:COUNT])
        p.reached(f"{name}: an old beat is taken", p.before(is_old & ready & last))
        own = inside.signal(f"{name.removeprefix('m_axis_')}_ahead")
        p.invariant(f"{name}: jobs ahead", own == (count - ended)[:COUNT])
        p.invariant(f"{name}: old beats", inside.signal(f"{name}_is_left") == is_old)
    value, index = ahead
    is_right = (value == 0) | (index == 0)
    p.claim("jobs end with their last beats on the stream that is behind", drops | is_right)
    within = (value <= beats) & (index <= beats)
    p.claim("no job ends before its last beat has left on both streams", drops | within)
    p.invariant("both streams get the last beats of the same jobs", total[0] == total[1])
    for name, most in (("values", value), ("positions", index)):
        p.reached(f"the stream of {name} is as far ahead as its sink can be", most == beats)


def _held(p: Property, inside: Inside, beats: int) -> tuple[Value, Value]:
    """Return of what a stream offers, and of what waits behind it, whether it is a job's last."""
    valid, word = inside.signal("o_valid"), inside.signal("o_data")
    if beats == 1:
        return valid & word[-1], Const(0, 1)
    is_ready, kept = inside.signal("is_ready"), inside.signal("kept")
    p.invariant("the copy of ready", inside.signal("is_full") == ~is_ready)
    p.invariant("the copy of valid", inside.signal("is_empty") == ~valid)
    return valid & word[-1], valid & ~is_ready & kept[-1]


MODULE = "extremum.hdl.axi.outputs"
ONE = Fault("a job ends as soon as its values have left", MODULE,
            "both = (value & index) | (value & (ahead[1] != 0)) | (index & (ahead[0] != 0))",
            "both = value")  # fmt: skip
KEPT = Fault("jobs that a soft reset ends are counted on one stream", MODULE,
             "Mux(drops, 0, own + flag - both)", "own + flag - both")  # fmt: skip
OLD = Fault("a beat that a soft reset leaves ends a job", MODULE,
            "~(drops | is_left)", "~drops")  # fmt: skip
TWICE = Fault(
    "a stream takes a beat for which the other has no room",
    MODULE,
    "sink.i_valid.eq(core.o.valid & room)",
    "sink.i_valid.eq(core.o.valid)",
)

CLAIM = (
    "a job ends a clock after its last beat has been taken on both streams, with the later one of "
    "them, and once; a beat that was offered before a soft reset ends none."
)

PROOFS = (
    Proof(
        "outputs-registers", "hdl/axi/outputs.py",
        f"In a block with two output streams that have a register each, {CLAIM}",
        partial(ends, LANES, OutputRegister.BEATS), depth=4, search=14,
        faults=(ONE, KEPT), quick=True,
    ),
    Proof(
        "outputs-buffers", "hdl/axi/outputs.py",
        f"In a block with two output streams that have a buffer of two beats each, {CLAIM}",
        partial(ends, replace(LANES, pipelining="small"), OutputBuffer.BEATS), depth=4, search=14,
        faults=(OLD, TWICE),
    ),
)  # fmt: skip
