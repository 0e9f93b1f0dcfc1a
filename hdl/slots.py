"""The schedule of a job's slots ahead of the pipeline: which need a beat, and which is the last."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl import queue
from extremum.hdl.advance import Advance, AdvancePort, AdvanceSignature
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.counter import ModuloCounter
from extremum.hdl.input_schedule import InputSchedule
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.shadow import shadow
from extremum.hdl.timing import Credits, Timed, timing_parameters


def _behind(config: CoreConfig) -> int:
    """Return the clocks by which the count of volumes is behind the innermost dimension."""
    return len(config.axes) if config.padding and config.has_windows else 0


def latency(config: CoreConfig) -> int:
    """Return the clocks from taking a job to its first slot, less one."""
    parameters = timing_parameters(config)
    return 1 + _behind(config) + queue.latency(parameters.slots_ahead, parameters)


class _Slots(wiring.Component):
    """What tells the slots of a job from each other: their count, and the count of the volumes."""

    config: CoreConfig
    job: data.View

    def _counted(self, m: Module, load: Value, go: Value) -> Value:
        """Return whether the slot at hand is the job's last."""
        parameters, new_slots = timing_parameters(self.config), self._register("slots")
        slots_less_one = shadow(m, parameters, new_slots, load & go, "slots")
        slots = ModuloCounter(m, parameters, slots_less_one, "slot")
        slots.run(load, go, new_slots)
        return slots.last

    def _flushing(self, m: Module, token: Value, ends: Value) -> Signal:
        """Return whether the last volume has ended, so that the slots are those of the flush.

        ``ends`` is set if a volume ends with the slot at hand, or if the next job begins.
        """
        parameters, new_volumes = timing_parameters(self.config), self._register("volumes")
        volumes_less_one = shadow(m, parameters, new_volumes, token, "volumes")
        volumes = ModuloCounter(m, parameters, volumes_less_one, "volume")
        volumes.run(token, ends, new_volumes)
        flushing = Signal()
        with m.If(ends):
            m.d.sync += flushing.eq(~token & (flushing | volumes.last))
        return flushing

    def _register(self, name: str) -> Value:
        return register(self.config, self.job, name)


class SlotWalk(_Slots):
    """Walks over the slots of one job, and tells of the slot at hand what it is.

    Latency: 0 clocks; ``wanted`` and ``last`` belong to the slot at hand.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    job : In(job_layout(config))
        Registers of the job.
    advance : In(AdvanceSignature())
        The signals that begin a job and go on from slot to slot.
    wanted : Out(1)
        The slot needs a beat.
    last : Out(1)
        The slot is its job's last.
    """

    advance: AdvancePort
    wanted: Signal
    last: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "advance": In(AdvanceSignature()),
                "wanted": Out(1),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, advance = self.config, Advance.of(self.advance)
        m.d.comb += self.last.eq(self._counted(m, advance.token, advance.step))
        if not config.padding or not config.has_windows:
            m.d.comb += self.wanted.eq(1)
            return m
        present: list[Value] = []
        for axis in config.axes:
            m.submodules[DIMENSIONS[axis]] = schedule = InputSchedule(config, axis)
            m.d.comb += schedule.job.eq(self.job)
            advance.drive(m, schedule.advance)
            present.append(schedule.present)
            advance = advance.outward_at_once(schedule.last)
        # A volume is a line of the outermost dimension.
        flushing = self._flushing(m, advance.token, advance.step)
        m.d.comb += self.wanted.eq(Cat(present).all() & ~flushing)
        return m


class SlotSchedule(_Slots):
    """Walks over the slots of one job after the other, as far ahead as a queue has space for them.

    So when a slot may enter the pipeline it is known already whether it needs a beat. Only the
    count of the slots waits, for a credit; everything that follows from the count never waits.

    Latency: :func:`latency` clocks. Throughput: one slot per clock, and no clock is lost between
    jobs.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    offered : In(1)
        The next job may begin.
    taken : Out(1)
        The next job begins: its first slot is behind those of the job before.
    valid : Out(1)
        There is a slot.
    wanted : Out(1)
        The slot needs a beat.
    last : Out(1)
        The slot is its job's last.
    ready : In(1)
        The slot is taken, if there is one.
    """

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
        parameters = timing_parameters(self.config)
        slots_ahead = parameters.slots_ahead
        m.submodules.queue = waiting = queue.Queue(2, slots_ahead, parameters)
        change = Signal(signed(2))
        # ``Credits.LATENCY`` more slots are on their way before the credits know of the first.
        limit = slots_ahead - Credits.LATENCY
        has_credit = Credits(m, parameters, change, limit, most=slots_ahead).available

        counting, load = Signal(), Signal()
        counted = self._counted(m, load, has_credit)
        token, slot = load & has_credit, counting & has_credit
        m.d.comb += [
            load.eq(self.offered & (~counting | counted)),
            self.taken.eq(token),
            change.eq(slot - (self.valid & self.ready)),
        ]
        with m.If(has_credit):
            m.d.sync += counting.eq(load | (counting & ~counted))

        wanted = self._wanted(m, token, slot)
        m.d.comb += [
            waiting.write.eq(Timed(m, slot).at(wanted.clock)),
            waiting.i.eq(Cat(wanted.value, Timed(m, counted).at(wanted.clock))),
            self.valid.eq(waiting.valid),
            Cat(self.wanted, self.last).eq(waiting.o),
            waiting.ready.eq(self.ready),
        ]
        return m

    def _wanted(self, m: Module, token: Value, slot: Value) -> Timed:
        """Return whether a slot needs a beat.

        A slot needs none if it is padding in any dimension, or comes after the last input volume.
        Each dimension is a clock behind the one within it, and goes on when that one's line ends;
        so are the volumes behind the outermost dimension.
        """
        config, clock = self.config, 1 + _behind(self.config)
        if not config.padding or not config.has_windows:
            return Timed(m, Const(1, 1), clock)
        present = []
        # The innermost line goes on with every slot that is counted.
        advance = Advance(token=token, begin=token, restart=token, step=slot, slot=slot)
        line_ends: Value = Const(1, 1)
        for number, axis in enumerate(config.axes):
            advance = advance.outward(m, line_ends)
            m.submodules[DIMENSIONS[axis]] = schedule = InputSchedule(config, axis)
            m.d.comb += schedule.job.eq(self.job)
            advance.drive(m, schedule.advance)
            present.append(Timed(m, schedule.present, 1 + number).at(clock))
            line_ends = schedule.last
        # A volume is a line of the outermost dimension.
        volume = advance.outward(m, line_ends)
        wanted = Signal()
        flushing = self._flushing(m, volume.token, volume.step)
        m.d.comb += wanted.eq(Cat(*present).all() & ~flushing)
        return Timed(m, wanted, clock)
