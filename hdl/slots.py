"""The slots of a job, told ahead of the pipeline: which need a beat, and which is the last."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl import queue
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.counter import Cycle
from extremum.hdl.flow import delay, held, twin
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.schedule import InputSchedule

SLOTS = 16
"""Slots that wait in front of the entrance at most."""


def _stages(config: CoreConfig) -> int:
    """Return by how many clocks the outermost dimension is behind the innermost."""
    return len(config.axes) - 1 if config.padding and config.has_windows else 0


def latency(config: CoreConfig) -> int:
    """Return the clocks from taking a job to its first slot, beyond the one of any register."""
    return 1 + _stages(config) + queue.latency(SLOTS)


class SlotSchedule(wiring.Component):
    """Walks over the slots of one job after the other, as far ahead as a queue has room for them.

    What a slot needs is known before anyone asks whether it is there. Only the count of the slots
    waits, for a flag in a register; what follows from it never does.

    Latency: :func:`latency` clocks. Throughput: one slot per clock, and no clock is lost between
    jobs.

    Parameters
    ----------
    config
        Of the core.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    offered : In(1)
        The next job may begin.
    taken : Out(1)
        It does: its first slot is behind those of the job before.
    valid : Out(1)
        There is a slot.
    wanted : Out(1)
        It needs a beat.
    last : Out(1)
        It is its job's last.
    ready : In(1)
        It is taken, if there is one.
    """

    job: data.View
    offered: Signal
    taken: Signal
    valid: Signal
    wanted: Signal
    last: Signal
    ready: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "offered": In(1),
                "taken": Out(1),
                "valid": Out(1),
                "wanted": Out(1),
                "last": Out(1),
                "ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stages = _stages(self.config)
        m.submodules.queue = waiting = queue.Queue(2, SLOTS)
        # Two more are on their way before the sum knows of the first.
        change = Signal(signed(2))
        has_room, _ = queue.room(m, change, SLOTS - 2)

        counting, load = Signal(), Signal()
        counted = self._counted(m, load, has_room)
        token, slot = load & has_room, counting & has_room
        m.d.comb += [
            load.eq(self.offered & (~counting | counted)),
            self.taken.eq(token),
            change.eq(slot - (self.valid & self.ready)),
        ]
        with m.If(has_room):
            m.d.sync += counting.eq(load | (counting & ~counted))

        wanted = self._wanted(m, token, slot)
        m.d.comb += [
            waiting.write.eq(delay(m, slot, 1 + stages)),
            waiting.i.eq(Cat(wanted, delay(m, counted, 1 + stages))),
            self.valid.eq(waiting.valid),
            Cat(self.wanted, self.last).eq(waiting.o),
            waiting.ready.eq(self.ready),
        ]
        return m

    def _counted(self, m: Module, load: Value, go: Value) -> Value:
        """Return whether this is the job's last slot."""
        new_slots = register(self.config, self.job, "slots")
        slots = Cycle(m, held(m, new_slots, load & go, "slots"), "slot")
        slots.run(load, go, new_slots)
        return slots.last

    def _wanted(self, m: Module, token: Value, slot: Value) -> Value:
        """Return whether a slot needs a beat, late by a clock and those of the outermost dimension.

        What is padding in any dimension, or behind the last input volume, does not. Each dimension
        is a clock behind the one within it, and goes on when that ends.
        """
        config = self.config
        if not config.padding or not config.has_windows:
            return Const(1, 1)
        stages, present = _stages(config), []
        ends: Value = token | slot
        for stage, axis in enumerate(config.axes):
            token, begin, step = delay(m, token, 1), twin(m, token), delay(m, ends, 1)
            schedule = InputSchedule(config, axis)
            m.submodules[DIMENSIONS[axis]] = schedule
            m.d.comb += [
                schedule.job.eq(self.job),
                schedule.token.eq(token),
                schedule.begin.eq(begin),
                schedule.step.eq(step),
            ]
            present.append(delay(m, schedule.present, stages - stage))
            ends = token | (step & schedule.last)
        wanted = Signal()
        flushing = self._flushing(m, token, ends)
        m.d.comb += wanted.eq(Cat(*present).all() & ~flushing)
        return wanted

    def _flushing(self, m: Module, token: Value, ends: Value) -> Signal:
        """Return whether the last volume has ended.

        ``ends`` tells that with this slot one does, or that the next job begins. The volumes are
        counted a clock late: the slot behind the token meets the count of the job before. A job
        whose first slot is a whole volume has no slots behind its last one.
        """
        late_token = delay(m, token, 1)
        new_volumes = register(self.config, self.job, "volumes")
        volumes = Cycle(m, held(m, new_volumes, late_token, "volumes"), "volume")
        volumes.run(late_token, delay(m, ends, 1), new_volumes)
        flushing = Signal()
        with m.If(ends):
            m.d.sync += flushing.eq(~token & (flushing | (volumes.last & ~late_token)))
        return flushing
