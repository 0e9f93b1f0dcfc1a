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


def _stages(config: CoreConfig) -> int:
    """Return by how many steps the outermost dimension is behind the innermost."""
    return len(config.axes) - 1 if config.padding and config.has_windows else 0


def latency(config: CoreConfig) -> int:
    """Return the clocks from taking a job to its first slot, beyond the one of any register."""
    return 2 + _stages(config)


class SlotSchedule(wiring.Component):
    """Walks over the slots of one job after the other, as far ahead as two slots.

    What a slot needs is known before anyone asks whether it is there: the walk waits for a flag
    in a register, not for the beats.

    Latency: :func:`latency` clocks. Throughput: one slot per clock, and no
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
        begins = staged(m, go, load, 1)
        wanted, stages = self._wanted(m, begins, go), _stages(self.config)
        active, last = (staged(m, go, flag, 1 + stages) for flag in (counting, counted))
        with m.If(go):
            m.d.sync += counting.eq(load | (counting & ~counted))

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
        """Return whether a slot needs a beat, late by the steps of the outermost dimension.

        What is padding in any dimension, or behind the last input volume, does not. Each dimension
        is a step behind the one within it.
        """
        config = self.config
        if not config.padding or not config.has_windows:
            return Const(1, 1)
        stages, wanted = _stages(config), Signal()
        steps: Value = Const(1, 1)
        ends, present = steps, []
        for stage, axis in enumerate(config.axes):
            schedule = InputSchedule(config, axis)
            m.submodules[AXES[axis]] = schedule
            m.d.comb += [
                schedule.job.eq(self.job),
                schedule.step.eq(go & steps),
                schedule.load.eq(load),
            ]
            present.append(staged(m, go, schedule.present, stages - stage))
            ends = load | (steps & schedule.last)
            if stage < stages:
                load, steps = staged(m, go, load, 1), staged(m, go, ends, 1)
        m.d.comb += wanted.eq(Cat(*present).all() & ~self._flushing(m, load, ends, go))
        return wanted

    def _flushing(self, m: Module, load: Value, ends: Value, go: Value) -> Signal:
        """Return whether the last volume has ended.

        ``ends`` tells that with this slot one does, or that the next job begins. The volumes are
        counted a clock late. A job whose first slot is a whole volume has no slots behind its
        last one.
        """
        late_load = delay(m, load & go, 1)
        new_volumes = register(self.config, self.job, "volumes")
        volumes = Cycle(m, held(m, new_volumes, late_load, "volumes"), "volume")
        volumes.run(late_load, delay(m, ends & go, 1), new_volumes)
        flushing, is_first = Signal(), staged(m, go, load, 1)
        with m.If(go & ends):
            m.d.sync += flushing.eq(~load & (flushing | (volumes.last & ~is_first)))
        return flushing


def staged(m: Module, go: Value, flag: Value, steps: int) -> Value:
    """Return a flag as it was some steps ago."""
    for _ in range(steps):
        register = Signal()
        with m.If(go):
            m.d.sync += register.eq(flag)
        flag = register
    return flag
