"""The packets of results: one for each job, whose beats tell which lanes hold a result."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.axi.commands import packet_layout
from extremum.hdl.axi.zero import ZERO_CLOCKS, late_is_zero
from extremum.hdl.config import CoreConfig
from extremum.hdl.queue import Queue
from extremum.hdl.timing import delay, timing_parameters

JOBS = 4
"""Jobs whose results may be on their way; the next one waits."""

STABLE = 2
"""Clocks for which the numbers of a job stand at the queue's output before they are used."""

LOW_BITS = 4
"""Bits of the full beats left that are counted in every beat; those above them have time."""


class ResultLanes(wiring.Component):
    """Tells which lanes of a result beat hold a result: all, up to the last beats of a job.

    That a beat is taken is known late in the clock. So ``lanes`` comes from registers, which take
    the lanes of the following beat, decided a beat ahead, and the beats are counted a clock late.

    Parameters
    ----------
    config
        Configuration of the core, which has more than one lane.

    Members
    -------
    packet : In(packet_layout(config))
        How the packets of a job look.
    accepted : In(1)
        The core has taken the job, whose results will come behind those of the jobs before it.
    may_start : Out(1)
        Another job may be offered to the core.
    valid : Out(1)
        ``lanes`` is that of the next result beat.
    lanes : Out
        A bit for each lane.
    beat, last : In(1)
        A result beat is taken; it is its job's last.
    """

    packet: data.View
    accepted: Signal
    may_start: Signal
    valid: Signal
    lanes: Signal
    beat: Signal
    last: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "packet": In(packet_layout(config)),
                "accepted": In(1),
                "may_start": Out(1),
                "valid": Out(1),
                "lanes": Out(config.lanes),
                "beat": In(1),
                "last": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        told = Cat(self.packet.full_beats, self.packet.result_lanes)
        parameters = timing_parameters(self.config)
        m.submodules.queue = queue = Queue(len(told), JOBS, parameters)
        load = Signal(name="load")
        # What is loaded leaves the queue a clock later: the load is decided late in the clock.
        loaded = delay(m, load, 1)
        m.d.comb += [queue.write.eq(self.accepted), queue.i.eq(told), queue.ready.eq(loaded)]
        # A job counts from its offer on; only one is offered at a time.
        waiting = Signal(range(JOBS + 1), name="waiting")
        m.d.sync += waiting.eq(waiting + self.accepted - loaded)
        m.d.comb += self.may_start.eq(waiting != JOBS)

        stable = Signal(STABLE, name="stable")
        m.d.sync += stable.eq(Mux(loaded, 0, Cat(queue.valid, stable[:-1])))
        ends = self.beat & self.last
        m.d.comb += load.eq(stable[-1] & ~loaded & (~self.valid | ends))
        m.d.sync += self.valid.eq(load | (self.valid & ~ends))

        width = len(self.packet.full_beats)
        new_full, new_count = queue.o[:width], queue.o[width:]
        new_rest = delay(m, Cat(new_count > lane for lane in range(self.config.lanes)), 1)
        new_high_is_zero = late_is_zero(m, new_full[LOW_BITS:])
        # The first, second and third beat of the next job are behind its full beats.
        new_ends = [
            new_high_is_zero & delay(m, new_full[:LOW_BITS] <= beats, 1) for beats in range(3)
        ]
        second_next_is_rest = self._count(m, new_full, new_high_is_zero, new_ends[2], loaded)
        next_is_rest = Signal(name="next_is_rest")
        rest = Signal(self.config.lanes, name="rest")
        with m.If(~self.valid | self.beat):
            with m.If(~self.valid | self.last):
                m.d.sync += [
                    self.lanes.eq(new_rest | (~new_ends[0]).replicate(len(rest))),
                    next_is_rest.eq(new_ends[1]),
                    rest.eq(new_rest),
                ]
            with m.Else():
                m.d.sync += [
                    self.lanes.eq(self.lanes & (rest | (~next_is_rest).replicate(len(rest)))),
                    next_is_rest.eq(second_next_is_rest),
                ]
        return m

    def _count(
        self, m: Module, new: Value, new_high_is_zero: Value, new_ends: Value, loaded: Value
    ) -> Value:
        """Count the full beats left down; return whether the second next beat is behind them.

        The count lags by a clock. What the low bits borrow from those above them has time to
        settle, as in :class:`extremum.hdl.axi.input_packets.InputPackets`. Behind the full beats
        the count means nothing, and nobody asks for it.
        """
        low, high = (
            Signal(LOW_BITS, name="low_beats"),
            Signal(len(new) - LOW_BITS, name="high_beats"),
        )
        high_is_zero = Signal(name="high_is_zero")
        late_beat, late_zero = delay(m, self.beat, 1), late_is_zero(m, high)
        borrows = Signal(name="borrows")
        settles = Signal(ZERO_CLOCKS + 1, name="settles")
        m.d.sync += [
            borrows.eq(late_beat & (low == 0)),
            settles.eq(Mux(loaded, 0, Cat(borrows, settles[:-1]))),
        ]
        with m.If(loaded):
            m.d.sync += [Cat(low, high).eq(new), high_is_zero.eq(new_high_is_zero), borrows.eq(0)]
        with m.Else():
            with m.If(late_beat):
                m.d.sync += low.eq(low - 1)
            with m.If(borrows):
                m.d.sync += high.eq(high - 1)
            with m.If(settles[-1]):
                m.d.sync += high_is_zero.eq(late_zero)
        return Mux(loaded, new_ends, high_is_zero & (low <= Mux(late_beat, 3, 2)))
