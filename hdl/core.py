"""The core: from a stream of beats to a stream of winners and their positions."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from extremum.hdl import pooling, position, reduction
from extremum.hdl.config import POSITION_WIDTH, CoreConfig
from extremum.hdl.entrance import Entrance, status_layout
from extremum.hdl.flow import Words, delay
from extremum.hdl.job import AXES, job_layout
from extremum.hdl.key import Decoder, Encoder

FIFO_MARGIN = 9
"""Room in the output FIFO beyond the pipeline's length, so that credits return in time."""


def input_layout(config: CoreConfig) -> data.ArrayLayout:
    """Return the layout of an input beat: an element in the low bits of each lane."""
    return data.ArrayLayout(unsigned(config.element_width), config.lanes)


def output_layout(config: CoreConfig) -> data.StructLayout:
    """Return the layout of an output beat.

    ``value`` is the winning element, bit for bit, in the low bits of its lane; ``index`` is its
    position, or all ones if the window was empty; ``last`` marks the last beat of a job. Lanes
    without a slice are 0.
    """
    return data.StructLayout(
        {
            "value": input_layout(config),
            "index": data.ArrayLayout(unsigned(POSITION_WIDTH), config.lanes),
            "last": 1,
        }
    )


class Stage(Protocol):
    """A component of the pipeline, as it is connected."""

    job: data.View
    i: Words


def pipeline_latency(config: CoreConfig) -> int:
    """Return the clocks from a slot to the output FIFO."""
    axes = (axis for axis, window in enumerate(config.max_window) if window > 1)
    return (
        1
        + Encoder.LATENCY
        + sum(pooling.latency(config, axis) for axis in axes)
        + reduction.latency(config)
        + position.latency(config)
        + 1
    )


def latency(config: CoreConfig) -> int:
    """Return the clocks from taking a beat to offering a result that it completes.

    A clock in the input FIFO, the pipeline, and two in the output FIFO.
    """
    return 1 + pipeline_latency(config) + 2


class Core(wiring.Component):
    """Finds, for every window of a stream, its winner and the winner's position.

    A window slides over up to three dimensions, and ``length`` consecutive windows are reduced
    to one result. Pooling is a sliding window with ``length`` 1; argmin, argmax and their values
    are windows of one element, reduced.

    Beats come in the order of the slices' groups, then depth, height and width. Lane ``j`` of
    group ``g`` carries slice ``g * lanes + j``. Results leave in the order of the groups, then of
    the windows.

    Latency: :attr:`latency` clocks from the beat that completes a result to its first chance to
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
        whole; a job that is refused is taken and leaves its reason in the status.
    i : In(stream.Signature(input_layout(config)))
        Input beats. A job takes those that it needs, and no more.
    o : Out(stream.Signature(output_layout(config)))
        Output beats.
    status : Out(status_layout())
        ``busy``: a job is under way, or results of it have not left. ``refused``: the last job
        offered was refused. ``error``: why, a ``JobError``. ``empty``: a window of padding alone
        has been given since the last job that ran was taken.
    """

    job: stream.Interface
    i: stream.Interface
    o: stream.Interface
    status: data.View

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "job": In(stream.Signature(job_layout(config))),
                "i": In(stream.Signature(input_layout(config))),
                "o": Out(stream.Signature(output_layout(config))),
                "status": Out(status_layout()),
            }
        )

    @property
    def latency(self) -> int:
        """Clocks from taking a beat to offering a result that it completes."""
        return latency(self.config)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        job = self.job.payload
        depth = pipeline_latency(config) + FIFO_MARGIN
        m.submodules.entrance = entrance = Entrance(config, depth)
        m.submodules.i_fifo = i_fifo = SyncFIFO(width=input_layout(config).size, depth=2)
        m.submodules.o_fifo = o_fifo = SyncFIFOBuffered(
            width=output_layout(config).size, depth=depth
        )

        # The entrance: a slot is let in when its beat is here and its result has room.
        beat = delay(m, i_fifo.r_data, 1)
        m.d.comb += [
            i_fifo.w_data.eq(Value.cast(self.i.payload)),
            i_fifo.w_en.eq(self.i.valid),
            self.i.ready.eq(i_fifo.w_rdy),
            entrance.job.eq(job),
            entrance.job_valid.eq(self.job.valid),
            self.job.ready.eq(entrance.job_ready),
            entrance.beat_here.eq(i_fifo.r_rdy),
            i_fifo.r_en.eq(entrance.take),
        ]

        # The pipeline.
        m.submodules.encoder = encoder = Encoder(config)
        m.d.comb += [
            encoder.job.eq(job),
            encoder.token.eq(delay(m, entrance.token, 1)),
            encoder.valid.eq(delay(m, entrance.slot, 1)),
            Value.cast(encoder.lanes).eq(beat),
        ]
        flow = encoder.o
        taps: dict[str, int] = {}
        for axis in reversed(range(len(AXES))):
            if config.max_window[axis] > 1:
                window = pooling.SlidingWindow(config, axis, taps)
                m.submodules[f"window_{AXES[axis]}"] = window
                flow, taps = _connect(m, window, flow, job), window.o_taps
        m.submodules.reducer = reducer = reduction.Reducer(config, taps)
        flow = _connect(m, reducer, flow, job)
        self._finish(m, flow, taps, entrance, o_fifo)

        m.d.comb += [
            self.o.valid.eq(o_fifo.r_rdy),
            Value.cast(self.o.payload).eq(o_fifo.r_data),
            o_fifo.r_en.eq(self.o.ready),
            entrance.left.eq(o_fifo.r_rdy & self.o.ready),
            self.status.eq(entrance.status),
        ]
        return m

    def _finish(
        self,
        m: Module,
        flow: Words,
        taps: dict[str, int],
        entrance: Entrance,
        o_fifo: SyncFIFOBuffered,
    ) -> None:
        """Put value and position of every result into the output FIFO."""
        job = self.job.payload
        m.submodules.position = generator = position.PositionGenerator(self.config, taps)
        m.submodules.decoder = decoder = Decoder(self.config, taps)
        for component in (generator, decoder):
            _connect(m, component, flow, job)
        after = generator.latency
        values = delay(m, Value.cast(decoder.values), after - decoder.LATENCY)
        valid, empty = delay(m, flow.valid, after), delay(m, flow.empty, after)

        result = data.View(output_layout(self.config), Signal(output_layout(self.config)))
        m.d.sync += result.last.eq(generator.last)
        for lane in range(self.config.lanes):
            width = self.config.element_width
            value = values.word_select(lane, width)
            index = Mux(empty, (1 << POSITION_WIDTH) - 1, generator.positions[lane])
            live = generator.live[lane]
            m.d.sync += [
                result.value[lane].eq(Mux(live, value, 0)),
                result.index[lane].eq(Mux(live, index, 0)),
            ]
        given = Signal()
        m.d.sync += given.eq(valid)
        slot = delay(m, entrance.slot, pipeline_latency(self.config))
        m.d.comb += [
            o_fifo.w_data.eq(Value.cast(result)),
            o_fifo.w_en.eq(given),
            entrance.vanished.eq(slot & ~given),
            entrance.job_entered.eq(delay(m, entrance.token, pipeline_latency(self.config))),
            entrance.empty_given.eq(valid & empty),
        ]


def _connect(m: Module, component: Stage, flow: Words, job: Value) -> Words:
    """Feed a component of the pipeline, and return what flows out of it."""
    m.d.comb += component.job.eq(job)
    for name in ("token", "valid", "empty", "lanes"):
        m.d.comb += Value.cast(getattr(component.i, name)).eq(Value.cast(getattr(flow, name)))
    return getattr(component, "o", flow)
