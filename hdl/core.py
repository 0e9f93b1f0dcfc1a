"""The core: from a stream of beats to a stream of winners and their positions."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, EnableInserter, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl import fold, key, packer, position, reduction, sliding_window, window_schedule
from extremum.hdl.admission import Admission, credit_delay
from extremum.hdl.advance import Advance
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.job_kinds import job_kind
from extremum.hdl.latency import (
    beat_clocks,
    pipeline_latency,
    queue_depth,
    result_latency,
    results_of,
    walk_clock,
    word_clock,
)
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
from extremum.hdl.timing import Timed, copied, copy_count, timing_parameters
from extremum.hdl.words import Words, feed, pass_through


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
    core depends combinationally on an input. In a small or balanced one ``i.ready`` depends on
    ``job.payload``, which stays as long as the job is on the port, and on nothing else.

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
        must be able to learn within the clock that a beat is not taken: small and balanced cores
        then keep none, and ``i.ready`` depends on ``o.ready`` combinationally.

    Members
    -------
    job : In(stream.Signature(job_layout(config)))
        The registers of one job. They stay on the port until the job's token has reached the end of
        the pipeline; where the pipeline holds one job at a time, until its last slot has. A job
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
        if timing_parameters(self.config).is_one_job:
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
        self._pipeline(m, admission, job, self.i.payload, beat_given=queue.write, beat=queue.i)
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
        self._pipeline(m, admission, job, elements, beat_given=self.o.valid, beat=beat, go=go)
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

    def _pipeline(
        self,
        m: Module,
        admission: Admission,
        job: data.View,
        elements: data.View,
        *,
        beat_given: Value,
        beat: Value,
        go: Value | None = None,
    ) -> None:
        """Add all that lies between the admission of slots and the output beats, which it drives.

        Every clock is counted from the one in which the slot enters. ``go`` tells whether the
        pipeline moves on, if it can stop.
        """
        m.submodules.windows = schedule = window_schedule.WindowSchedule(self.config)
        words = self._words(m, admission, schedule, job, elements)
        winners, tap_bits = self._winners(m, words, schedule, job, go)
        self._finish(
            m, words, winners, tap_bits,
            job=job, admission=admission, schedule=schedule, beat_given=beat_given, beat=beat,
        )  # fmt: skip

    def _words(
        self,
        m: Module,
        admission: Admission,
        schedule: window_schedule.WindowSchedule,
        job: data.View,
        elements: data.View,
    ) -> Words:
        """Return the keys of each beat, with the control of its slot."""
        config, beat = self.config, beat_clocks(self.config)
        walked = walk_clock(config)
        m.submodules.encoder = encoder = key.KeyEncoder(config)
        advance = Advance.of(admission.advance)
        advance.later(m, walked - beat).drive(m, schedule.advance)
        m.d.comb += [
            schedule.job.eq(job),
            schedule.end.eq(Timed(m, admission.end).at(walked)),
            admission.plane_end.eq(schedule.plane_end),
            admission.result_known.eq(schedule.result),
            encoder.job.eq(job),
            encoder.token.eq(advance.token),
            Value.cast(encoder.elements).eq(Timed(m, Value.cast(elements)).at(beat)),
        ]
        return Words(
            token=Timed(m, advance.token, beat),
            valid=Timed(m, advance.slot, beat),
            control=Timed(m, schedule.control, walked + window_schedule.latency(config)),
            lanes=Timed(m, encoder.keys, beat + key.latency(config)),
            step=Timed(m, advance.step, beat),
        ).moved_to(word_clock(config))

    def _winners(
        self,
        m: Module,
        words: Words,
        schedule: window_schedule.WindowSchedule,
        job: data.View,
        go: Value | None,
    ) -> tuple[Words, dict[str, int]]:
        """Return the winner of each window, or of each row, and the bits of its tap numbers."""
        config, begun = self.config, words
        tap_bits: dict[str, int] = {}
        for axis in config.axes:
            window = sliding_window.SlidingWindow(config, axis, tap_bits)
            m.submodules[f"{DIMENSIONS[axis]}_window"] = window
            if go is not None:
                m.d.comb += window.go.eq(go)
            words = pass_through(m, window, words, job, sliding_window.latency(config, axis))
            tap_bits = window.o_tap_bits
        if config.can_fold:
            m.submodules.fold = folded = fold.Fold(config, tap_bits)
            words = pass_through(m, folded, words, job, fold.latency(config))
            tap_bits = folded.o_tap_bits
        if config.has_reduction:
            m.submodules.reducer = reducer = reduction.Reducer(config, tap_bits)
            if reduction.is_ordinal_given(config):
                m.d.comb += reducer.number.eq(schedule.number)
            if reduction.has_early(config):
                early, first = words.token.clock - 1, begun.control.value.first
                m.d.comb += [
                    reducer.early_first.eq(self._given(m, begun, first).at(early)),
                    reducer.early_other.eq(self._given(m, begun, ~first).at(early)),
                ]
            words = pass_through(m, reducer, words, job, reduction.latency(config))
        return words, tap_bits

    def _given(self, m: Module, words: Words, flag: Value) -> Timed:
        """Return whether a word with ``flag`` set gives a window in every dimension.

        It is valid in the clock in which the word goes into the first stage of windows.
        """
        control = words.control.value
        emits = (control[f"emit_{DIMENSIONS[axis]}"] for axis in self.config.axes)
        return Timed(m, words.valid.value & flag & Cat(*emits).all(), words.valid.clock)

    def _finish(
        self,
        m: Module,
        words: Words,
        winners: Words,
        tap_bits: dict[str, int],
        *,
        job: data.View,
        admission: Admission,
        schedule: window_schedule.WindowSchedule,
        beat_given: Value,
        beat: Value,
    ) -> None:
        """Put the value and the position of every result into output beats."""
        config, end = self.config, pipeline_latency(self.config)
        found = winners.token.clock + result_latency(config)
        early = found - packer.clocks_ahead(config)
        # Which group and which result is the last is known at the head of the pipeline already, so
        # these two flags wait for the result.
        known = walk_clock(config) + window_schedule.group_latency(config)
        last_group, done = (
            Timed(m, flag, known).at(early) for flag in (schedule.last_group, schedule.done)
        )
        empty = Timed(m, winners.control.value.empty, winners.control.clock)
        m.submodules.packer = packing = packer.Packer(config, marks_lanes=self.marks_lanes)
        m.d.comb += [
            packing.job.eq(job),
            packing.token.eq(winners.token.at(early)),
            packing.valid.eq(winners.valid.at(early)),
            packing.last_group.eq(last_group),
            packing.done.eq(done),
            beat_given.eq(packing.o_valid),
            beat.eq(Value.cast(packing.o)),
            admission.job_entered.eq(
                Timed(m, admission.slot & admission.end).at(end)
                if timing_parameters(config).is_one_job
                else winners.token.at(end)
            ),
            admission.empty_given.eq(winners.valid.at(found) & empty.at(found)),
            admission.beat_shared.eq(packing.packed),
        ]
        if config.has_values:
            m.submodules.decoder = decoder = key.KeyDecoder(config, tap_bits)
            clock, count = winners.token.clock, copy_count(timing_parameters(config), config.lanes)
            tokens = copied(m, (winners if count == 1 else words).token, clock, count, "token")
            m.d.comb += [
                decoder.job.eq(job),
                decoder.token.eq(Cat(tokens)),
                decoder.empty.eq(Cat(self._empties(m, words, winners, clock))),
                decoder.lanes.eq(winners.lanes.value),
            ]
            decoded = winners.token.clock + key.restore_latency(config)
            values = Timed(m, Value.cast(decoder.values), decoded).at(found)
            for lane in range(config.lanes):
                value = values.word_select(lane, config.element_width)
                m.d.comb += packing.results[lane].value.eq(value)
        if config.index_width:
            indices = self._indices(m, words, winners, tap_bits, job=job, found=found)
            empties = self._empties(m, words, winners, found)
            for lane, index in enumerate(indices):
                is_empty = empties[lane // timing_parameters(config).lanes_of_copy]
                all_ones = is_empty.replicate(config.index_width)
                m.d.comb += packing.results[lane].index.eq(index | all_ones)

    def _empties(self, m: Module, words: Words, winners: Words, clock: int) -> list[Value]:
        """Return the copies, valid in a clock, of whether the winner's window has no element."""
        count = copy_count(timing_parameters(self.config), self.config.lanes)
        # Copies need the flag ahead of the winner, so they take it from the words in front of it.
        control = (winners if count == 1 else words).control
        return copied(m, Timed(m, control.value.empty, control.clock), clock, count, "empty")

    def _indices(
        self,
        m: Module,
        words: Words,
        winners: Words,
        tap_bits: dict[str, int],
        *,
        job: data.View,
        found: int,
    ) -> list[Value]:
        """Return the index of every lane's winner: its position in the tensor, or in its row.

        In a pooling the ordinal is 0, and in a reduction the generated position is 0, so the index
        is the OR of the two.
        """
        config = self.config
        indices: list[Value] = [Value.cast(0)] * config.lanes
        if config.has_windows:
            m.submodules.position = generator = position.PositionGenerator(config, tap_bits)
            feed(m, generator, winners, job)
            gives = self._given(m, words, words.control.value.last)
            ahead = winners.token.clock - position.clocks_ahead(config)
            m.d.comb += [
                generator.early_token.eq(words.token.at(ahead)),
                generator.early_valid.eq(gives.at(ahead)),
                Value.cast(generator.early_control).eq(Value.cast(words.control.at(ahead))),
            ]
            summed = winners.token.clock + position.latency(config)
            positions = Timed(m, Value.cast(generator.positions), summed).at(found)
            indices = [
                positions.word_select(lane, config.index_width) for lane in range(config.lanes)
            ]
        if config.has_reduction:
            for lane in range(config.lanes):
                winner = winners.lanes.value[lane]
                ordinal = Value.cast(winner.ordinal)
                if config.can_fold:
                    ordinal = ordinal | Value.cast(winner.tap_lane)
                ordinal = Timed(m, ordinal, winners.lanes.clock).at(found)
                indices[lane] = indices[lane] | ordinal
        return indices
