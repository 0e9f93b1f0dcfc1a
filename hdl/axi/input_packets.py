"""The packets on ``s_axis``: each belongs to a job, and must be as long as the job needs."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.axi.commands import packet_layout
from extremum.hdl.axi.zero import late_is_zero
from extremum.hdl.config import CoreConfig
from extremum.hdl.timing import delay

LOW_BITS = 8
"""Bits of the beats left that are counted in every beat; those above them have time."""


class InputPackets(wiring.Component):
    """Lets the beats of each job's packet through to the core, and checks where TLAST is.

    A packet may pass before the core takes its job, and waits in a buffer. If TLAST comes early,
    beats are made up in the place of the missing ones, so that the job ends; its results mean
    nothing. If TLAST is late, the beats behind the job's last are dropped. Either way
    the next packet belongs to the next job.

    Latency: 0 clocks. Throughput: one beat per clock, also from one packet to the next if its job
    is offered in time.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    packet, expects, expected, drop, dropped
        See :class:`extremum.hdl.axi.commands.JobStarter`.
    i_valid, i_last, i_ready
        The stream from ``s_axis``, without its data, which go to the core as they are.
    o_valid, o_ready
        The stream to the core.
    early, late : Out(1)
        In this clock TLAST came too early; was missing at the job's last beat.
    busy : Out(1)
        A packet is expected or dropped.
    """

    packet: data.View
    expects: Signal
    expected: Signal
    drop: Signal
    dropped: Signal
    i_valid: Signal
    i_last: Signal
    i_ready: Signal
    o_valid: Signal
    o_ready: Signal
    early: Signal
    late: Signal
    busy: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "packet": In(packet_layout(config)),
                "expects": In(1),
                "expected": Out(1),
                "drop": In(1),
                "dropped": Out(1),
                "i_valid": In(1),
                "i_last": In(1),
                "i_ready": Out(1),
                "o_valid": Out(1),
                "o_ready": In(1),
                "early": Out(1),
                "late": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # At most one of these is set. ``passes``: the expected packet goes to the core. ``fills``:
        # it has ended early. ``drops``: beats are dropped up to TLAST.
        passes, fills, drops = (Signal(name=name) for name in ("passes", "fills", "drops"))
        # The packet that is dropped is that of a refused job, not the rest of one that is too long.
        is_refused = Signal(name="is_refused")
        beat, begins = Signal(name="beat"), Signal(name="begins")
        is_idle = ~self.busy
        is_last = self._count(m, beat, is_idle)
        # What passes in this clock, and the beat put in place of a missing one.
        passed, filled = passes & self.i_valid & self.o_ready, fills & self.o_ready
        ends = is_last & ((passed & self.i_last) | filled)
        m.d.comb += [
            self.o_valid.eq((passes & self.i_valid) | fills),
            self.i_ready.eq((passes & self.o_ready) | drops),
            beat.eq(passed | filled),
            self.early.eq(passed & self.i_last & ~is_last),
            self.late.eq(passed & ~self.i_last & is_last),
            begins.eq(self.expects & ~self.expected & (ends | is_idle)),
            self.busy.eq(passes | fills | drops),
        ]
        refuses = is_idle & self.drop & ~self.dropped
        m.d.sync += [
            self.expected.eq(begins),
            self.dropped.eq(drops & is_refused & self.i_valid & self.i_last),
            passes.eq(begins | (passes & ~(passed & (self.i_last | is_last)))),
            fills.eq((fills & ~(filled & is_last)) | self.early),
            drops.eq((drops & ~(self.i_valid & self.i_last)) | self.late | refuses),
        ]
        with m.If(is_idle):
            m.d.sync += is_refused.eq(refuses)
        return m

    def _count(self, m: Module, beat: Value, is_idle: Value) -> Signal:
        """Count the beats of a packet down; return whether the beat at hand is its last.

        Behind the last beat, and while no packet is expected, the count of the next packet is
        loaded, whether it is expected already or not: so what decides on that, late in the clock,
        does not lead to the counter.

        The low bits are counted in every beat. What their borrow makes of the bits above them has
        many clocks to settle, since the low bits borrow no more than once in ``2**LOW_BITS`` beats.
        """
        new = self.packet.input_beats
        new_low, new_high = new[:LOW_BITS], new[LOW_BITS:]
        is_last, low = Signal(name="is_last"), Signal.like(new_low, name="low_beats")
        begins = is_last | is_idle
        high_is_zero: Value = Const(1, 1)
        new_high_is_zero: Value = Const(1, 1)
        if len(new_high):
            high, high_is_zero = Signal.like(new_high, name="high_beats"), Signal(name="high_zero")
            new_high_is_zero = late_is_zero(m, new_high)
            loads = delay(m, (beat & is_last) | is_idle, 1)
            borrows = delay(m, beat & (low == 0) & ~is_last, 1)
            settled, is_zero = delay(m, borrows, 2), late_is_zero(m, high)
            with m.If(loads | borrows):
                m.d.sync += high.eq(Mux(loads, new_high, high - 1))
            with m.If((beat & is_last) | is_idle | settled):
                m.d.sync += high_is_zero.eq(Mux(settled, is_zero, new_high_is_zero))
        new_is_one = delay(m, new_high_is_zero & (new_low == 0), 1)
        with m.If(beat | is_idle):
            m.d.sync += [
                low.eq(Mux(begins, new_low, low - 1)),
                is_last.eq(Mux(begins, new_is_one, high_is_zero & (low == 1))),
            ]
        return is_last
