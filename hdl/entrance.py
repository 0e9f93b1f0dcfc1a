"""The entrance of the pipeline: jobs are checked, and slots let in one by one."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.config import POSITION_WIDTH, CoreConfig
from extremum.hdl.job import AXES, JobError, job_layout
from extremum.hdl.schedule import Countdown, InputSchedule


def status_layout() -> data.StructLayout:
    """Return the layout of the core's status: see :class:`extremum.hdl.core.Core`."""
    return data.StructLayout({"busy": 1, "refused": 1, "error": 3, "empty": 1})


class Entrance(wiring.Component):
    """Lets slots into the pipeline.

    A slot enters when a job is under way, the beat that it needs is here, and there is a credit:
    room in the output FIFO for the result that it may become. A credit returns when the slot
    leaves the pipeline without a result, or its result the FIFO.

    Parameters
    ----------
    config
        Of the core.
    credits
        Depth of the output FIFO.

    Members
    -------
    job, job_valid, job_ready
        The job port.
    beat_here : In(1)
        A beat can be taken.
    take : Out(1)
        It is taken.
    token : Out(1)
        A job's first slot is in the next clock or later.
    slot : Out(1)
        A slot enters.
    vanished, left : In(1)
        A slot left the pipeline without a result; a result left the core.
    job_entered : In(1)
        The token has reached the pipeline's end.
    empty_given : In(1)
        An empty window has been given.
    status : Out(status_layout())
        Status of the core.
    """

    job: data.View
    job_valid: Signal
    job_ready: Signal
    beat_here: Signal
    take: Signal
    token: Signal
    slot: Signal
    vanished: Signal
    left: Signal
    job_entered: Signal
    empty_given: Signal
    status: data.View

    def __init__(self, config: CoreConfig, credits: int):
        self.config = config
        self.credits = credits
        super().__init__(
            {
                "job": In(job_layout(config)),
                "job_valid": In(1),
                "job_ready": Out(1),
                "beat_here": In(1),
                "take": Out(1),
                "token": Out(1),
                "slot": Out(1),
                "vanished": In(1),
                "left": In(1),
                "job_entered": In(1),
                "empty_given": In(1),
                "status": Out(status_layout()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job = self.job

        # Jobs. A new one is checked for a clock, and waits for the last slot of the one before.
        checked, entering = Signal(), Signal()
        error = Signal(JobError)
        fault = self._check(m)
        active = Signal()
        slots = Countdown(m, POSITION_WIDTH, "slot")
        begin, refuse = Signal(), Signal()
        m.d.comb += [
            begin.eq(checked & (error == JobError.NONE) & (~active | (self.slot & slots.last))),
            refuse.eq(checked & (error != JobError.NONE)),
            self.token.eq(begin),
            self.job_ready.eq(self.job_entered | refuse),
        ]
        m.d.sync += [
            checked.eq(self.job_valid & ~entering & ~checked),
            error.eq(fault),
        ]
        with m.If(checked & ~begin & ~refuse):
            m.d.sync += checked.eq(1)
        with m.If(begin):
            m.d.sync += entering.eq(1)
        with m.If(self.job_entered):
            m.d.sync += entering.eq(0)

        # Slots.
        inner_last = None
        present = []
        for axis in reversed(range(len(AXES))):
            schedule = InputSchedule(self.config, axis)
            m.submodules[AXES[axis]] = schedule
            step = self.slot if inner_last is None else self.slot & inner_last
            m.d.comb += [
                schedule.registers.eq(job[AXES[axis]]),
                schedule.token.eq(begin),
                schedule.step.eq(step),
            ]
            inner_last = schedule.last if inner_last is None else inner_last & schedule.last
            present.append(schedule.present)
        beats = Countdown(m, POSITION_WIDTH, "beat")
        flushing = Signal()
        needs_beat = Signal()
        credit, outstanding = self._credit(m)
        m.d.comb += [
            needs_beat.eq(Cat(present).all() & ~flushing),
            self.slot.eq(active & credit & (self.beat_here | ~needs_beat)),
            self.take.eq(self.slot & needs_beat),
        ]
        with m.If(begin):
            m.d.sync += active.eq(1)
            m.d.sync += flushing.eq(0)
            slots.load(job.slots)
            beats.load(job.beats)
        with m.Elif(self.slot):
            slots.step()
            m.d.sync += active.eq(~slots.last)
            with m.If(self.take):
                beats.step()
                m.d.sync += flushing.eq(beats.last)

        # Status.
        m.d.comb += self.status.busy.eq(active | entering | outstanding)
        with m.If(begin | refuse):
            m.d.sync += [
                self.status.refused.eq(refuse),
                self.status.error.eq(error),
            ]
        # The token is behind the last word of the job before.
        with m.If(self.job_entered):
            m.d.sync += self.status.empty.eq(0)
        with m.If(self.empty_given):
            m.d.sync += self.status.empty.eq(1)
        return m

    def _credit(self, m: Module) -> tuple[Signal, Signal]:
        """Return whether there is a credit, and whether one has not come back yet."""
        credits = Signal(range(self.credits + 1), init=self.credits)
        m.d.sync += credits.eq(credits + self.vanished + self.left - self.slot)
        credit, outstanding = Signal(), Signal()
        m.d.comb += [credit.eq(credits != 0), outstanding.eq(credits != self.credits)]
        return credit, outstanding

    def _check(self, m: Module) -> Signal:
        """Return what is wrong with the registers on the job port, if anything."""
        job = self.job
        config = self.config
        counts = [job.slots, job.beats, job.length, job.groups, job.tail]
        windows, spacings = [], []
        for axis, name in enumerate(AXES):
            registers = job[name]
            counts += [
                registers.window,
                registers.stride,
                registers.dilation,
                registers.size,
                registers.outputs,
                registers.period,
                registers.inner,
                registers.spacing,
            ]
            windows.append(registers.window > config.max_window[axis])
            spacings.append((registers.window > 1) & (registers.spacing > config.max_spacing[axis]))
        fault = Signal(JobError)
        with m.If(Cat(*(count == 0 for count in counts)).any()):
            m.d.comb += fault.eq(JobError.COUNT)
        with m.Elif(Cat(*windows).any()):
            m.d.comb += fault.eq(JobError.WINDOW)
        with m.Elif(Cat(*spacings).any()):
            m.d.comb += fault.eq(JobError.SPACING)
        with m.Elif(job.data_type >= len(config.data_types)):
            m.d.comb += fault.eq(JobError.DATA_TYPE)
        with m.Elif(job.tail > config.lanes):
            m.d.comb += fault.eq(JobError.TAIL)
        return fault
