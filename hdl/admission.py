"""The admission: jobs are checked, and slots let into the pipeline one by one."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl import window_schedule
from extremum.hdl.advance import AdvancePort, AdvanceSignature
from extremum.hdl.config import CoreConfig
from extremum.hdl.job_kinds import job_kind
from extremum.hdl.job_port import CheckedJobPort
from extremum.hdl.ports import job_layout, status_layout
from extremum.hdl.timing import Credits, timing_parameters


def credit_delay(config: CoreConfig) -> int:
    """Return how many slots are let in before it is known whether one takes a credit.

    The slot is known to the control a clock after it entered. Then it takes the clocks of the
    control, one more to the flag ``result``, and the latency of the credits.
    """
    return 1 + window_schedule.latency(config) + 1 + Credits.LATENCY


class Admission(wiring.Component):
    """Checks jobs, and lets their slots into the pipeline one by one.

    A fast pipeline cannot wait, so there a slot enters when a job is under way, the beat that it
    needs is here, and the result queue has space for every result that may come of the slots let
    in. A credit stands for one beat of the result queue: a result takes one, and returns it when
    its beat has left the core, or at once if it shares its beat with the next result. In a small or
    balanced core there are no credits, since the pipeline stops instead.

    Parameters
    ----------
    config
        Configuration of the core.
    queue_depth
        Beats that the result queue holds; 0 in a small or balanced core, which has none.
    in_flight
        Beats that may come of the slots whose results are not known yet; 0 where there is no queue.
    closed_in_reset
        See :class:`extremum.hdl.core.Core`.
    tells_active
        Whether there is a port ``active``.

    Members
    -------
    job, job_valid, job_ready
        The job port.
    beat_here : In(1)
        A beat can be taken.
    beat_wanted : Out(1)
        The next slot needs a beat: if there is one, it is taken.
    slot : Out(1)
        A slot enters.
    end : Out(1)
        The slot would be the job's last. It stays 0 where jobs never end
        (:class:`extremum.hdl.job_kinds.EndlessJobs`), and in a fast core whose jobs end with their
        plane (``PlaneJobs``): these do not use it.
    advance : Out(AdvanceSignature())
        What the control is told of the slot, as many clocks after it entered as the kind of jobs
        has registers there (:mod:`extremum.hdl.job_kinds`).
    result_known, beat_shared, beat_left : In(1)
        A slot that was let in gives a result; a result shares its beat with the next one; a beat
        left the core.
    plane_end : In(1)
        In a fast core, the slot that entered in the clock before, if one did, was the last of a
        plane or volume; in a small or balanced core, the slot that is about to enter is.
    beat_waits : In(1)
        A beat waits to leave. Only a small or balanced core looks at it.
    job_entered : In(1)
        The job may leave its port, since no stage needs it there any more: in a fast core its token
        has reached the pipeline's end, in a small or balanced core its last slot has.
    empty_given : In(1)
        An empty window has been given.
    active : Out(1)
        A job is under way: its last slot has not entered, or has in the clock before. Only with
        ``tells_active``.
    status : Out(status_layout())
        Status of the core.
    """

    job: data.View
    job_valid: Signal
    job_ready: Signal
    beat_here: Signal
    beat_wanted: Signal
    slot: Signal
    end: Signal
    advance: AdvancePort
    result_known: Signal
    beat_shared: Signal
    beat_left: Signal
    beat_waits: Signal
    plane_end: Signal
    job_entered: Signal
    empty_given: Signal
    active: Signal
    status: data.View

    def __init__(
        self,
        config: CoreConfig,
        queue_depth: int,
        in_flight: int,
        *,
        closed_in_reset: bool = False,
        tells_active: bool = False,
    ):
        self.config = config
        self.queue_depth = queue_depth
        self.in_flight = in_flight
        self.closed_in_reset = closed_in_reset
        self.tells_active = tells_active
        super().__init__(
            {
                "job": In(job_layout(config)),
                "job_valid": In(1),
                "job_ready": Out(1),
                "beat_here": In(1),
                "beat_wanted": Out(1),
                "slot": Out(1),
                "end": Out(1),
                "advance": Out(AdvanceSignature()),
                "result_known": In(1),
                "beat_shared": In(1),
                "beat_left": In(1),
                "beat_waits": In(1),
                "plane_end": In(1),
                "job_entered": In(1),
                "empty_given": In(1),
                "status": Out(status_layout()),
            }
            | ({"active": Out(1)} if tells_active else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        parameters = timing_parameters(config)
        credits, has_credit = None, Const(1, 1)
        if not parameters.holds_one_job:
            change = self.result_known - self.beat_shared - self.beat_left
            limit = self.queue_depth - self.in_flight + 1
            credits = Credits(
                m, parameters, change, limit,
                most=self.queue_depth, none_in_reset=self.closed_in_reset,
            )  # fmt: skip
            has_credit = credits.available
        m.submodules.port = port = CheckedJobPort(config)
        m.d.comb += [
            port.job.eq(self.job),
            port.valid.eq(self.job_valid),
            port.entered.eq(self.job_entered),
            self.job_ready.eq(port.ready),
            self.status.refused.eq(port.refused),
            self.status.error.eq(port.error),
        ]
        advance, active = job_kind(config).admit(m, self, port, has_credit)
        advance.drive(m, self.advance)
        if self.tells_active:
            m.d.comb += self.active.eq(active)
        busy = active | port.entering
        if credits is None:
            m.d.comb += self.status.busy.eq(busy | self.beat_waits)
        else:
            # The core is also busy with slots whose result is not known yet: they may take a
            # credit.
            recent = Signal(credit_delay(config) - 1)
            m.d.sync += recent.eq(Cat(self.slot, recent))
            m.d.comb += self.status.busy.eq(busy | ~credits.none_used | recent.any())
        # The token comes behind the last word of the job before, so all empty windows of that job
        # have been given.
        with m.If(advance.token if parameters.holds_one_job else self.job_entered):
            m.d.sync += self.status.empty.eq(0)
        with m.If(self.empty_given):
            m.d.sync += self.status.empty.eq(1)
        return m
