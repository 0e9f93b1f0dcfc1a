"""The core: from a stream of beats to a stream of winners and their positions."""

from __future__ import annotations

from amaranth.hdl import Const, EnableInserter, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.admission import Admission, credit_delay
from extremum.hdl.config import CoreConfig
from extremum.hdl.datapath import Datapath
from extremum.hdl.job_kinds import job_kind
from extremum.hdl.latency import queue_depth, results_of
from extremum.hdl.pass_buffer import PassBuffer
from extremum.hdl.ports import (
    input_layout,
    intake_layout,
    job_layout,
    output_layout,
    status_layout,
)
from extremum.hdl.queue import result_queue
from extremum.hdl.registers import job_shapes
from extremum.hdl.timing import copy_count, timing_parameters


class Core(wiring.Component):
    """Finds, for every window of a stream, its winner and the winner's position.

    A window slides over up to three dimensions, and ``length`` consecutive windows are reduced
    to one result. Pooling is a sliding window with ``length`` 1; argmin, argmax and their values
    are windows of one element, reduced.

    Beats come in the order of the slices' groups, then depth, height and width. Lane ``j`` of
    group ``g`` carries slice ``g * lanes + j``. Results leave in the order of the groups, then of
    the windows. In a job that folds, a beat carries as many consecutive elements of one slice as
    there are lanes, and results leave packed.

    Latency: :func:`extremum.hdl.latency.latency` clocks from the beat that completes a result to
    its first chance to leave. Throughput: one slot of the schedule per clock, so one beat in and
    one beat out.
    Backpressure: a stall of either stream loses nothing and repeats nothing. No output of a fast
    core depends combinationally on an input. In a small or balanced one whose windows may reach
    into padding, ``i.ready`` depends on ``job.payload``, which stays as long as the job is on the
    port, and on nothing else.

    Parameters
    ----------
    config
        Configuration of the core.
    closed_in_reset
        Whether a fast core without a job port keeps ``i.ready`` low during a reset, which takes a
        flip-flop. With a job port it is low in any case. Small and balanced cores ignore this.
    marks_lanes
        Whether an output beat tells which of its lanes hold a result: a flip-flop, and a bit of the
        result queue, for each lane.
    tells_intake
        Whether a core with a job port tells its source which beats belong to which job. The source
        must be able to learn within the clock that a beat is not taken. Small and balanced cores
        then have no register for such a beat, and ``i.ready`` also depends on ``o.ready``
        combinationally: this is the one exception to what is said under backpressure.

    Members
    -------
    job : In(stream.Signature(job_layout(config)))
        The registers of one job. They stay on the port until the job's token has reached the end of
        the pipeline; in a small or balanced core, until its last slot has. A job
        that is refused is taken and leaves its reason in the status. If all registers are fixed
        there is no such port, and one job follows the other.
    i : In(stream.Signature(input_layout(config)))
        Input beats. A job takes those that it needs, and no more.
    o : Out(stream.Signature(output_layout(config, marks_lanes=marks_lanes)))
        Output beats.
    status : Out(status_layout())
        ``busy``: a job is under way, or results of it have not left. ``refused``: the last job
        offered was refused. ``error``: the reason, a ``JobError``. ``empty``: a window of padding
        alone has been given by the last job that ran. A fast core clears it when it takes the next
        job, the others when that begins. A core without a job port has no status.
    intake : Out(intake_layout())
        ``active`` and ``ended``: which job the beats belong to. Only with ``tells_intake``.
    """

    job: stream.Interface
    i: stream.Interface
    o: stream.Interface
    status: data.View
    intake: data.View

    def __init__(
        self,
        config: CoreConfig,
        *,
        closed_in_reset: bool = False,
        marks_lanes: bool = False,
        tells_intake: bool = False,
    ):
        self.config = config
        self.closed_in_reset = closed_in_reset
        self.marks_lanes = marks_lanes
        self.tells_intake = tells_intake
        ports = {
            "i": In(stream.Signature(input_layout(config))),
            "o": Out(stream.Signature(output_layout(config, marks_lanes=marks_lanes))),
        }
        if job_shapes(config):
            ports = {
                "job": In(stream.Signature(job_layout(config))),
                **ports,
                "status": Out(status_layout()),
            }
        if tells_intake:
            ports["intake"] = Out(intake_layout())
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        if timing_parameters(self.config).holds_one_job:
            return self._stopping()
        return self._running()

    def _running(self) -> Module:
        """Return a core whose pipeline never waits: results wait in a queue, and slots outside."""
        m = Module()
        config = self.config
        parameters = timing_parameters(config)
        m.submodules.queue = queue = result_queue(
            len(Value.cast(self.o.payload)), queue_depth(config), parameters,
            writes=copy_count(parameters, config.lanes),
        )  # fmt: skip
        m.submodules.admission = admission = Admission(
            config, queue.depth, results_of(config, credit_delay(config)),
            closed_in_reset=self.closed_in_reset, tells_active=self.tells_intake,
        )  # fmt: skip
        m.d.comb += [
            admission.beat_here.eq(self.i.valid),
            self.i.ready.eq(admission.beat_wanted),
            self.o.valid.eq(queue.valid),
            Value.cast(self.o.payload).eq(queue.o),
            queue.ready.eq(self.o.ready),
            admission.beat_left.eq(queue.valid & self.o.ready),
        ]
        job = data.View(job_layout(config), Signal(job_layout(config)))
        if job_shapes(config):
            m.d.comb += [
                job.eq(self.job.payload),
                admission.job_valid.eq(self.job.valid),
                self.job.ready.eq(admission.job_ready),
                self.status.eq(admission.status),
            ]
        m.d.comb += admission.job.eq(job)
        path = Datapath(m, config, admission, job, self.i.payload, marks_lanes=self.marks_lanes)
        path.give(queue.write, queue.i)
        if self.tells_intake:
            self._tell_intake(m, admission, Const(1, 1))
        return m

    def _stopping(self) -> Module:
        """Return a core whose pipeline stops as a whole while a beat waits to leave.

        The beat waits in the packer's register. A beat that comes in while the pipeline stands
        waits in a register of its own, since the source is told a clock later.
        """
        outer, m = Module(), Module()
        config = self.config
        go = Signal(name="go")
        outer.submodules.pipeline = EnableInserter(go)(m)
        m.submodules.admission = admission = Admission(config, 0, 0, tells_active=self.tells_intake)
        beat_in = Value.cast(self.i.payload)
        if self.tells_intake:
            outer.d.comb += [
                admission.beat_here.eq(self.i.valid),
                self.i.ready.eq(admission.beat_wanted & go),
            ]
            self._tell_intake(outer, admission, go)
        else:
            outer.submodules.passed = passed = PassBuffer(len(beat_in))
            outer.d.comb += [
                passed.i_valid.eq(self.i.valid),
                passed.i_data.eq(beat_in),
                self.i.ready.eq(passed.i_ready),
                passed.o_wanted.eq(admission.beat_wanted),
                passed.o_taken.eq(go),
                admission.beat_here.eq(passed.o_valid),
            ]
            beat_in = passed.o_data
        job = data.View(job_layout(config), Signal(job_layout(config)))
        if job_shapes(config):
            leaves = Signal(name="job_leaves")
            outer.d.sync += leaves.eq(admission.job_ready & go)
            outer.d.comb += [
                job.eq(self.job.payload),
                admission.job_valid.eq(self.job.valid & ~leaves),
                self.job.ready.eq(leaves),
                self.status.eq(admission.status),
            ]
        outer.d.comb += admission.job.eq(job)
        elements = data.View(input_layout(config), beat_in)
        beat = Value.cast(self.o.payload)
        path = Datapath(m, config, admission, job, elements, marks_lanes=self.marks_lanes, go=go)
        path.give(self.o.valid, beat)
        outer.d.comb += [
            go.eq(~self.o.valid | self.o.ready),
            admission.beat_waits.eq(self.o.valid),
        ]
        return outer

    def _tell_intake(self, m: Module, admission: Admission, go: Value) -> None:
        """Tell which job the beats belong to. ``go`` tells whether the pipeline moves on."""
        m.d.comb += [
            self.intake.active.eq(admission.active),
            self.intake.ended.eq(job_kind(self.config).has_ended(m, admission, go)),
        ]
