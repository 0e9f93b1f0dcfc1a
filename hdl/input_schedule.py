"""Which slots of one dimension hold an element of the tensor; the others take none."""

from __future__ import annotations

from operator import add

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.advance import Advance, AdvancePort, AdvanceSignature
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.coordinates import inside, least_coordinate, slots_before_zero
from extremum.hdl.line import Line, PlainLine
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.shadow import precomputed
from extremum.hdl.timing import timing_parameters


class InputSchedule(wiring.Component):
    """Walks over the slots of one line and tells which of them hold elements of the tensor.

    Latency: 0 clocks; ``present`` and ``last`` belong to the slot at hand.

    Parameters
    ----------
    config
        Configuration of the core.
    axis
        The dimension, as an index into ``DIMENSIONS``.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    advance : In(AdvanceSignature())
        The signals that go on from slot to slot. ``slot`` is ignored.
    present : Out(1)
        The slot holds an element.
    last : Out(1)
        The slot is the line's last.
    """

    job: data.View
    advance: AdvancePort
    present: Signal
    last: Signal

    def __init__(self, config: CoreConfig, axis: int):
        self.config = config
        self.axis = axis
        super().__init__(
            {
                "job": In(job_layout(config)),
                "advance": In(AdvanceSignature()),
                "present": Out(1),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        advance = Advance.of(self.advance)
        head, size_less_one, period_less_one = (
            register(self.config, self.job, f"{DIMENSIONS[self.axis]}.{name}")
            for name in ("head", "size", "period")
        )
        parameters = timing_parameters(self.config)
        if not parameters.counts_ahead:
            first = precomputed(m, parameters, least_coordinate, head)
            last = precomputed(m, parameters, add, first, period_less_one)
            walk = PlainLine(
                m, "slot", advance, shape=head.shape(), first=first, again=first, last=last
            )
            m.d.comb += [
                self.last.eq(walk.last),
                self.present.eq(inside(walk.coordinate, size_less_one)),
            ]
            return m
        line = Line(m, parameters, "slot", advance, slots_less_one=period_less_one)
        # The first element is in the slot of coordinate 0, and ``size`` slots hold elements.
        lead = precomputed(m, parameters, slots_before_zero, head)
        stop = precomputed(m, parameters, lambda lead, size: lead + size + 1, lead, size_less_one)
        begins, ends = line.at(lead, "begins"), line.at(stop, "ends")
        was_present = Signal()
        with m.If(advance.step):
            m.d.sync += was_present.eq(self.present & ~advance.begin & ~line.last)
        m.d.comb += [
            self.last.eq(line.last),
            self.present.eq(begins | (was_present & ~ends)),
        ]
        return m
