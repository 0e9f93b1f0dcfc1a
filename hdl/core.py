"""The core: from a stream of beats to a stream of winners and their positions."""

from __future__ import annotations

from typing import Any, Protocol

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl import fold, key, pooling, position, queue, reduction, slots, windows
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.entrance import Entrance, blind
from extremum.hdl.flow import Flow, Words, candidate_layout, delay, twin
from extremum.hdl.key import Decoder, Encoder
from extremum.hdl.ports import input_layout, job_layout, output_layout, status_layout
from extremum.hdl.queue import Queue
from extremum.hdl.registers import ends_with_plane, job_shapes
from extremum.hdl.results import Packer, lead
from extremum.hdl.windows import WindowSchedule

QUEUE_MARGIN = 12
"""Room in the result queue beyond the pipeline's length, so that it is known in time."""


class Stage(Protocol):
    """A component of the pipeline, as it is connected."""

    job: data.View
    i: Words


def _result_latency(config: CoreConfig) -> int:
    """Return the clocks from a winner to its value and its position."""
    value = Decoder.LATENCY if config.has_values else 0
    return max(position.latency(config), value, lead(config))


def _code_latency(config: CoreConfig) -> int:
    """Return the clocks from an element to its code and the control of its slot."""
    return max(key.latency(config), windows.latency(config))


def _winner_latency(config: CoreConfig) -> int:
    """Return the clocks from a code to the winner that it completes."""
    windows = sum(pooling.latency(config, axis) for axis in config.axes)
    return windows + fold.latency(config) + reduction.latency(config)


def pipeline_latency(config: CoreConfig) -> int:
    """Return the clocks from a slot to the result queue."""
    return 1 + _code_latency(config) + _winner_latency(config) + _result_latency(config) + 1


def latency(config: CoreConfig) -> int:
    """Return the clocks from taking a beat to offering a result that it completes."""
    return pipeline_latency(config) + queue.latency(_queue_depth(config))


def job_interval(config: CoreConfig) -> int:
    """Return the slots that a job must have to be followed by the next without a bubble.

    Shorter jobs follow each other within as many clocks, or a few less. A job stays on its port
    until its token has left the pipeline; then the next one is looked at, and its slots begin.
    """
    begin = 0 if ends_with_plane(config) else slots.latency(config)
    return pipeline_latency(config) + 3 + begin


def _queue_depth(config: CoreConfig) -> int:
    """Return how many beats wait at most: what may come of the slots in the pipeline."""
    return queue.depth(_results_in(config, pipeline_latency(config) + QUEUE_MARGIN) + 1)


def _results_in(config: CoreConfig, count: int) -> int:
    """Return how many results may come of so many slots."""
    fixed = dict(config.fixed)
    apart = fixed.get("length", 1)
    if config.has_windows and not config.padding:
        apart = min(fixed.get("width.stride", 1), fixed.get("width.window", 1))
    return -(-count // apart)


class Core(wiring.Component):
    """Finds, for every window of a stream, its winner and the winner's position.

    A window slides over up to three dimensions, and ``length`` consecutive windows are reduced
    to one result. Pooling is a sliding window with ``length`` 1; argmin, argmax and their values
    are windows of one element, reduced.

    Beats come in the order of the slices' groups, then depth, height and width. Lane ``j`` of
    group ``g`` carries slice ``g * lanes + j``. Results leave in the order of the groups, then of
    the windows. In a job that folds, a beat carries as many consecutive elements of one slice as
    there are lanes, and results leave packed.

    Latency: :func:`latency` clocks from the beat that completes a result to its first chance to
    leave. Throughput: one slot of the schedule per clock, so one beat in and one beat out.
    Backpressure: a stall of either stream loses nothing and repeats nothing. No output of the
    core depends combinationally on an input.

    Parameters
    ----------
    config
        What the core is built for.

    Members
    -------
    job : In(stream.Signature(job_layout(config)))
        The registers of one job. They stay on the port until the job has entered the pipeline
        whole; a job that is refused is taken and leaves its reason in the status. If all
        registers are fixed there is no such port, and one job follows the other.
    i : In(stream.Signature(input_layout(config)))
        Input beats. A job takes those that it needs, and no more.
    o : Out(stream.Signature(output_layout(config)))
        Output beats.
    status : Out(status_layout())
        ``busy``: a job is under way, or results of it have not left. ``refused``: the last job
        offered was refused. ``error``: why, a ``JobError``. ``empty``: a window of padding alone
        has been given since the last job that ran was taken. Left out with the job port.
    """

    job: stream.Interface
    i: stream.Interface
    o: stream.Interface
    status: data.View

    def __init__(self, config: CoreConfig):
        self.config = config
        ports = {
            "i": In(stream.Signature(input_layout(config))),
            "o": Out(stream.Signature(output_layout(config))),
        }
        if job_shapes(config):
            ports = {
                "job": In(stream.Signature(job_layout(config))),
                **ports,
                "status": Out(status_layout()),
            }
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        results = Queue(output_layout(config).size, _queue_depth(config))
        m.submodules.queue = results
        m.submodules.entrance = entrance = Entrance(
            config, results.depth, _results_in(config, blind(config))
        )
        m.d.comb += [
            entrance.beat_here.eq(self.i.valid),
            self.i.ready.eq(entrance.beat_wanted),
            self.o.valid.eq(results.valid),
            Value.cast(self.o.payload).eq(results.o),
            results.ready.eq(self.o.ready),
            entrance.left.eq(results.valid & self.o.ready),
        ]
        job = data.View(job_layout(config), Signal(job_layout(config)))
        if job_shapes(config):
            m.d.comb += [
                job.eq(self.job.payload),
                entrance.job_valid.eq(self.job.valid),
                self.job.ready.eq(entrance.job_ready),
                self.status.eq(entrance.status),
            ]
        m.d.comb += entrance.job.eq(job)

        codes, schedule = self._enter(m, entrance, job)
        flow: Words = codes
        taps: dict[str, int] = {}
        for axis in config.axes:
            window = pooling.SlidingWindow(config, axis, taps)
            m.submodules[f"window{axis}"] = window
            _feed(m, window, flow, job)
            flow, taps = window.o, window.o_taps
        if config.can_fold:
            folded = fold.Fold(config, taps)
            m.submodules.fold = folded
            _feed(m, folded, flow, job)
            flow, taps = folded.o, folded.o_taps
        if config.has_reduction:
            m.submodules.reducer = reducer = reduction.Reducer(config, taps)
            _feed(m, reducer, flow, job)
            flow = reducer.o
        indices = self._indices(m, codes, flow, taps, job) if config.index_width else []
        self._finish(
            m, flow, taps, indices, job=job, entrance=entrance, schedule=schedule, results=results
        )
        return m

    def _enter(self, m: Module, entrance: Entrance, job: data.View) -> tuple[Words, WindowSchedule]:
        """Return the stream of codes, each with the control of its slot, and who tells it."""
        config = self.config
        m.submodules.windows = schedule = WindowSchedule(config)
        m.submodules.encoder = encoder = Encoder(config)
        slot = delay(m, entrance.slot, 1)
        if ends_with_plane(config):
            token, begin, step = entrance.token, entrance.token, entrance.step
        else:
            token, step = delay(m, entrance.token, 1), delay(m, entrance.step, 1)
            begin = twin(m, entrance.token)
        m.d.comb += [
            schedule.job.eq(job),
            schedule.token.eq(token),
            schedule.begin.eq(begin),
            schedule.slot.eq(slot),
            schedule.step.eq(step),
            schedule.end.eq(delay(m, entrance.end, 1)),
            entrance.plane_end.eq(schedule.plane_end),
            entrance.promised.eq(schedule.result),
            encoder.job.eq(job),
            encoder.token.eq(token),
            Value.cast(encoder.elements).eq(delay(m, Value.cast(self.i.payload), 1)),
        ]
        flow: Any = Flow(config, candidate_layout(config, {})).create(path=("codes",))
        clocks = _code_latency(config)
        control = delay(m, Value.cast(schedule.control), clocks - windows.latency(config))
        m.d.comb += [
            flow.token.eq(delay(m, token, clocks)),
            flow.valid.eq(delay(m, slot, clocks)),
            flow.step.eq(delay(m, step, clocks)),
            flow.control.eq(control),
            Value.cast(flow.lanes).eq(
                delay(m, Value.cast(encoder.codes), clocks - key.latency(config))
            ),
        ]
        return flow, schedule

    def _finish(
        self,
        m: Module,
        flow: Words,
        taps: dict[str, int],
        indices: list[Value],
        *,
        job: data.View,
        entrance: Entrance,
        schedule: WindowSchedule,
        results: Queue,
    ) -> None:
        """Put value and position of every result into the queue."""
        config, after = self.config, _result_latency(self.config)
        m.submodules.packer = packer = Packer(config)
        valid, empty = delay(m, flow.valid, after), delay(m, flow.control.empty, after)
        token, early = delay(m, flow.token, after), lead(config)
        # What is known of a result at the head meets it here.
        way = pipeline_latency(config) - 3 - windows.latency(config)
        m.d.comb += [
            packer.job.eq(job),
            packer.token.eq(delay(m, flow.token, after - early)),
            packer.valid.eq(delay(m, flow.valid, after - early)),
            packer.last_group.eq(delay(m, schedule.last_group, way - early)),
            packer.done.eq(delay(m, schedule.done, way - early)),
            results.write.eq(packer.o_valid),
            results.i.eq(Value.cast(packer.o)),
            entrance.job_entered.eq(delay(m, token, 1)),
            entrance.empty_given.eq(valid & empty),
            entrance.packed.eq(packer.packed),
        ]
        if config.has_values:
            m.submodules.decoder = decoder = Decoder(config, taps)
            m.d.comb += [
                decoder.job.eq(job),
                decoder.token.eq(flow.token),
                decoder.empty.eq(flow.control.empty),
                decoder.lanes.eq(flow.lanes),
            ]
            values = delay(m, Value.cast(decoder.values), after - Decoder.LATENCY)
            for lane in range(config.lanes):
                value = values.word_select(lane, config.element_width)
                m.d.comb += packer.results[lane].value.eq(value)
        for lane, index in enumerate(indices):
            all_ones = empty.replicate(config.index_width)
            m.d.comb += packer.results[lane].index.eq(index | all_ones)

    def _indices(
        self, m: Module, codes: Words, flow: Words, taps: dict[str, int], job: data.View
    ) -> list[Value]:
        """Return the position of every lane's winner: in its tensor, or in its row.

        Where windows slide the ordinal is 0, and where they do not the position is.
        """
        config, after = self.config, _result_latency(self.config)
        indices: list[Value] = [Value.cast(0)] * config.lanes
        if config.has_windows:
            m.submodules.position = generator = position.PositionGenerator(config, taps)
            _feed(m, generator, flow, job)
            emits = (codes.control[f"emit_{DIMENSIONS[axis]}"] for axis in config.axes)
            gives = codes.valid & codes.control.last & Cat(*emits).all()
            ahead = _winner_latency(config) - position.lead(config)
            m.d.comb += [
                generator.early_token.eq(delay(m, codes.token, ahead)),
                generator.early_valid.eq(delay(m, gives, ahead)),
                Value.cast(generator.early_control).eq(delay(m, Value.cast(codes.control), ahead)),
            ]
            positions = delay(m, Value.cast(generator.positions), after - position.latency(config))
            indices = [
                positions.word_select(lane, config.index_width) for lane in range(config.lanes)
            ]
        if config.has_reduction:
            for lane in range(config.lanes):
                winner = flow.lanes[lane]
                ordinal = Value.cast(winner.ordinal)
                if config.can_fold:
                    ordinal = ordinal | Value.cast(winner.tap_lane)
                indices[lane] = indices[lane] | delay(m, ordinal, after)
        return indices


def _feed(m: Module, component: Stage, flow: Words, job: data.View) -> None:
    """Connect what goes into a component of the pipeline."""
    m.d.comb += component.job.eq(job)
    for name in ("token", "valid", "step", "control", "lanes"):
        m.d.comb += Value.cast(getattr(component.i, name)).eq(Value.cast(getattr(flow, name)))
