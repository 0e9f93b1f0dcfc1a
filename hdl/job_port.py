"""The job port: the registers of a job are checked, and the job is refused or offered."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.ports import JobError, job_layout
from extremum.hdl.registers import job_shapes, register
from extremum.hdl.timing import delay


class CheckedJobPort(wiring.Component):
    """Looks at a job for a clock, then offers it to the pipeline or refuses it.

    An offered job stays on the port until its token, or its last slot if jobs do not overlap, has
    left the pipeline; a refused one is taken at once, and its reason stays in the status. A core
    without a job port offers its only job again as soon as it may.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    job, valid, ready
        The job port.
    may_offer : In(1)
        The next job may be offered. Only a core without a job port uses it.
    offered : Out(1)
        A job may begin.
    taken : In(1)
        The job begins.
    entered : In(1)
        The token of the job, or its last slot, has reached the pipeline's end.
    entering : Out(1)
        A job is on its way into the pipeline.
    refused : Out(1)
        The last job that came to the port was refused.
    error : Out(JobError)
        The reason why the last job was refused.
    """

    job: data.View
    valid: Signal
    ready: Signal
    may_offer: Signal
    offered: Signal
    taken: Signal
    entered: Signal
    entering: Signal
    refused: Signal
    error: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "valid": In(1),
                "ready": Out(1),
                "may_offer": In(1),
                "offered": Out(1),
                "taken": In(1),
                "entered": In(1),
                "entering": Out(1),
                "refused": Out(1),
                "error": Out(JobError),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if not job_shapes(self.config):
            m.d.comb += self.offered.eq(self.may_offer)
            return m
        seen, refuses = Signal(name="seen"), Signal(name="refuses")
        is_faulty, fault = self._check(m)
        m.d.sync += [
            seen.eq(self.valid & ~(seen | self.offered | refuses | self.entering)),
            self.offered.eq((seen & ~is_faulty) | (self.offered & ~self.taken)),
            refuses.eq(seen & is_faulty),
            self.entering.eq((self.offered | self.entering) & ~self.entered),
        ]
        with m.If(seen):
            m.d.sync += [self.refused.eq(is_faulty), self.error.eq(fault)]
        m.d.comb += self.ready.eq(self.entered | refuses)
        return m

    def _check(self, m: Module) -> tuple[Value, Value]:
        """Return, a clock later, whether a register on the job port is wrong, and the reason."""
        config = self.config
        shapes = job_shapes(config)

        def value(name: str) -> Value:
            return register(config, self.job, name)

        def any_late(*flags: Value) -> Value:
            return delay(m, Cat(*flags).any(), 1) if flags else Const(0, 1)

        def above(part: str, limits: Sequence[int]) -> list[Value]:
            names = ((f"{DIMENSIONS[axis]}.{part}", limits[axis]) for axis in config.axes)
            return [_is_above(value(name), limit) for name, limit in names if name in shapes]

        def zero(*names: str) -> Value:
            return any_late(*(value(name) == 0 for name in names if name in shapes))

        scheduled = [DIMENSIONS[axis] for axis in config.axes]
        counts = (zero(f"{name}.window", f"{name}.dilation") for name in scheduled)
        furthest = [most - 1 for most in config.max_spacing]
        found = {
            JobError.COUNT: Cat(zero("tail"), *counts).any(),
            JobError.WINDOW: any_late(*above("window", config.max_window)),
            # Each of these comparisons takes a whole clock, so they are joined after a register.
            JobError.SPACING: Cat(any_late(flag) for flag in above("spacing", furthest)).any(),
        }
        if "data_type" in shapes:
            found[JobError.DATA_TYPE] = any_late(value("data_type") >= len(config.data_types))
        if "tail" in shapes:
            found[JobError.TAIL] = any_late(value("tail") > config.lanes)
        fault: Value = Const(JobError.NONE, JobError)
        for error, is_found in reversed(found.items()):
            fault = Mux(is_found, Const(error, JobError), fault)
        return Cat(*found.values()).any(), fault


def _is_above(value: Value, limit: int) -> Value:
    """Return whether a number exceeds a limit.

    For a limit of all ones this needs no comparison: the number exceeds it if a higher bit is set.
    """
    bits = bits_for(limit)
    return value[bits:].any() if limit == (1 << bits) - 1 else value > limit
