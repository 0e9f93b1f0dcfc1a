"""The slots of a job, told ahead of the pipeline: which need a beat, and which is the last."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.config import CoreConfig
from extremum.hdl.counter import Cycle
from extremum.hdl.flow import delay, held
from extremum.hdl.job import AXES, job_layout, register
from extremum.hdl.schedule import InputSchedule


class SlotSchedule(wiring.Component):
    """Walks over the slots of one job after the other, as far ahead as two slots.

    What a slot needs is known before anyone asks whether it is there: the walk waits for a flag
    in a register, not for the beats.

    Latency: 4 clocks from a job's offer to its first slot. Throughput: one slot per clock, and no
    clock is lost between jobs.

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
        go = Signal(init=1)
        # The slots are counted one ahead of the walk over the lines, which so knows from a
        # register that the next job begins. Between jobs the walk goes on, to nowhere.
        counting, load = Signal(), Signal()
        counted = self._counted(m, load, go)
        m.d.comb += [load.eq(self.offered & (~counting | counted)), self.taken.eq(load & go)]
        active, begins, last = Signal(), Signal(), Signal()
        with m.If(go):
            m.d.sync += [
                counting.eq(load | (counting & ~counted)),
                active.eq(counting),
                begins.eq(load),
                last.eq(counted),
            ]
        wanted = self._wanted(m, begins, go)

        # A slot that finds the output occupied waits beside it, and the walk with it.
        slot, beside = Cat(wanted, last), Signal(2, reset_less=True)
        stuck = self.valid & ~self.ready
        m.d.sync += go.eq(~(stuck & (~go | active)))
        with m.If(go):
            m.d.sync += beside.eq(slot)
        with m.If(~stuck):
            m.d.sync += [
                self.valid.eq(~go | active),
                Cat(self.wanted, self.last).eq(Mux(go, slot, beside)),
            ]
        return m

    def _counted(self, m: Module, load: Value, go: Value) -> Value:
        """Return whether this is the job's last slot."""
        new_slots = register(self.config, self.job, "slots")
        slots = Cycle(m, held(m, new_slots, load & go, "slots"), "slot")
        slots.run(load, go, new_slots)
        return slots.last

    def _wanted(self, m: Module, load: Value, go: Value) -> Value:
        """Return whether this slot needs a beat.

        What is padding in any dimension, or behind the last input volume, does not.
        """
        config = self.config
        if not config.padding or not config.has_windows:
            return Const(1, 1)
        present: list[Value] = []
        lines_end: Value = Const(1)
        for axis in config.axes:
            schedule = InputSchedule(config, axis)
            m.submodules[AXES[axis]] = schedule
            m.d.comb += [
                schedule.job.eq(self.job),
                schedule.step.eq(go & (load | lines_end)),
                schedule.load.eq(load),
            ]
            lines_end = lines_end & schedule.last
            present.append(schedule.present)

        # The volumes are counted a clock late. A job whose first slot is a whole volume has no
        # slots behind its last one.
        ends, flushing, wanted, is_first = Signal(), Signal(), Signal(), Signal()
        late_load = delay(m, load & go, 1)
        new_volumes = register(config, self.job, "volumes")
        volumes = Cycle(m, held(m, new_volumes, late_load, "volumes"), "volume")
        volumes.run(late_load, delay(m, ends, 1), new_volumes)
        m.d.comb += ends.eq(go & (load | lines_end))
        with m.If(go):
            m.d.sync += is_first.eq(load)
        with m.If(ends):
            m.d.sync += flushing.eq(~load & (flushing | (volumes.last & ~is_first)))
        m.d.comb += wanted.eq(Cat(*present).all() & ~flushing)
        return wanted
