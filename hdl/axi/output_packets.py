"""The packets of results: one for each job, whose beats tell which lanes hold a result."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.axi.commands import packet_layout
from extremum.hdl.config import CoreConfig
from extremum.hdl.counter import Cycle
from extremum.hdl.queue import Queue
from extremum.hdl.shadow import shadow
from extremum.hdl.timing import delay, timing_parameters

JOBS = 4
"""Jobs whose results may be on their way; the next one waits."""

STABLE = 2
"""Clocks for which the length of a packet stands on a counter's port before it is loaded."""


class ResultLanes(wiring.Component):
    """Tells which lanes of a result beat hold a result: all, up to the last beats of a job.

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
        parameters = timing_parameters(self.config)
        told = Cat(self.packet.full_beats, self.packet.result_lanes)
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
        m.d.comb += load.eq(stable[-1] & ~loaded & (~self.valid | (self.beat & self.last)))
        width = len(self.packet.full_beats)
        new_full, new_lanes = queue.o[:width], queue.o[width:]
        # The step behind the full beats is the first beat in which lanes may be without a result.
        full_beats = shadow(m, new_full, load, "full_beats")
        beats = Cycle(m, parameters, full_beats, "result")
        beats.run(load, load | self.beat, new_full)
        result_lanes = shadow(m, new_lanes, load, "result_lanes")
        is_past = Signal(name="is_past")
        with m.If(load):
            m.d.sync += [self.valid.eq(1), is_past.eq(0)]
        with m.Elif(self.beat):
            with m.If(self.last):
                m.d.sync += self.valid.eq(0)
            with m.If(beats.last):
                m.d.sync += is_past.eq(1)
        is_partial: Value = beats.last | is_past
        m.d.comb += self.lanes.eq(
            Cat(~is_partial | (result_lanes > lane) for lane in range(self.config.lanes))
        )
        return m
