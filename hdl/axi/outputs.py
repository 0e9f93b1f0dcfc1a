"""The output streams of the block: they take the result beats of the core.

All streams take a beat in the same clock, but their sinks take it from them independently. So each
stream of a block has a register, which holds the beat until its sink has taken it, and the core
gives the next beat when all registers are free. That is known late in the clock, since TREADY comes
late. Two kinds of cores cannot use so late a signal: those of wide beats, where it has to reach
flip-flops that lie far apart, and those whose pipeline stops as a whole, where it has to reach all.
There the streams have buffers of two beats, which tell from a register whether they have space.
A dataflow block gives the one output stream of a fast core as it comes out of the core's registers.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from extremum.hdl.axi.buffers import OutputBuffer, OutputRegister
from extremum.hdl.axi.streams import INDICES, INPUT, VALUES, marks_lanes, port_widths
from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core
from extremum.hdl.latency import holds_one_job
from extremum.hdl.timing import delay

MOST_REGISTERED_BITS = 48
"""Most bits of TDATA of all streams for which they have registers.

With 40 bits `pool3x3-int8-indices` keeps its clock; with 64 `programmable-float32` fell from 198 to
165 MHz, on the way from TREADY to the enables of the result queue.
"""


def result_beats(core: Core) -> dict[str, Value]:
    """Return the core's beat as it goes to each output stream, by the stream's name.

    It is TDATA, in which each lane takes whole bytes; a bit for each lane that tells whether it
    holds a result; and TLAST.
    """
    config, payload = core.config, core.o.payload
    sources = {VALUES: payload.value if config.has_values else (),
               INDICES: payload.index if config.index_width else ()}  # fmt: skip
    filled: Value = Const((1 << config.lanes) - 1, config.lanes)
    if marks_lanes(config):
        filled = Value.cast(payload.filled)
    found: dict[str, Value] = {}
    for name, width in port_widths(config).items():
        if name != INPUT and width:
            lanes = [Value.cast(sources[name][n]).as_unsigned() for n in range(config.lanes)]
            empty = Const(0, width // config.lanes - len(lanes[0]))
            words = Cat(Cat(lane, empty) for lane in lanes)
            found[name] = Cat(words, filled, payload.last)
    return found


def give_directly(m: Module, block: wiring.Component, core: Core) -> None:
    """Give the beats of a core that has one output stream, from the registers of its queue."""
    ((name, beat),) = result_beats(core).items()
    tvalid, tready = _handshake(block, name)
    m.d.comb += [tvalid.eq(core.o.valid), core.o.ready.eq(tready)]
    _show(m, block, name, beat)


def give_by_buffers(
    m: Module, block: wiring.Component, core: Core, drops: Value | None = None
) -> list[Value]:
    """Give the core's beats to all streams at once, each behind a buffer.

    While ``drops`` is set, a soft reset ends the jobs: the beats that the streams offer stay until
    they are taken, but no longer count as the end of a job, and all beats behind them are dropped.
    A dataflow block has no soft reset, so ``drops`` is None, and does not tell when jobs end.

    Returns
    -------
    list of Value
        A flag for each stream: a clock ago a job's last beat was taken. There are none without
        ``drops``.
    """
    sinks, taken = {}, []
    for name, beat in result_beats(core).items():
        if _has_registers(core.config):
            sink = OutputRegister(len(beat))
        else:
            sink = OutputBuffer(len(beat), copies=core.config.lanes > 1)
        m.submodules[name] = sinks[name] = sink
        tvalid, tready = _handshake(block, name)
        m.d.comb += [
            sink.i_data.eq(beat),
            sink.drops.eq(Const(0, 1) if drops is None else drops),
            tvalid.eq(sink.o_valid),
            sink.o_ready.eq(tready),
        ]
        _show(m, block, name, sink.o_data)
        if drops is not None:
            is_left = Signal(name=f"{name}_is_left")
            m.d.sync += is_left.eq((drops | is_left) & tvalid & ~tready)
            # TREADY comes late in the clock, and what a job's end leads to lies far away.
            taken.append(delay(m, tvalid & tready & sink.o_data[-1] & ~(drops | is_left), 1))
    room = Cat(sink.i_ready for sink in sinks.values()).all()
    m.d.comb += core.o.ready.eq(room)
    for sink in sinks.values():
        m.d.comb += sink.i_valid.eq(core.o.valid & room)
    return taken


def _has_registers(config: CoreConfig) -> bool:
    """Return whether each stream has a register for one beat, and not a buffer of two."""
    bits = sum(width for name, width in port_widths(config).items() if name != INPUT)
    return bits <= MOST_REGISTERED_BITS and not holds_one_job(config)


def _handshake(block: wiring.Component, name: str) -> tuple[Signal, Signal]:
    """Return TVALID and TREADY of a stream of a block."""
    return getattr(block, f"{name}_tvalid"), getattr(block, f"{name}_tready")


def _show(m: Module, block: wiring.Component, name: str, beat: Value) -> None:
    """Put a beat of :func:`result_beats` on a stream of a block."""
    tdata, tkeep = getattr(block, f"{name}_tdata"), getattr(block, f"{name}_tkeep")
    lanes = beat[len(tdata) : -1]
    m.d.comb += [
        tdata.eq(beat[: len(tdata)]),
        tkeep.eq(Cat(lane.replicate(len(tkeep) // len(lanes)) for lane in lanes)),
        getattr(block, f"{name}_tlast").eq(beat[-1]),
    ]


def job_left(m: Module, config: CoreConfig, taken: list[Value], drops: Value) -> Value:
    """Return whether a job's last beat has been taken on all streams, on the last of them just now.

    One stream may be as many jobs ahead of the other as their buffers have beats. Jobs that a soft
    reset ends, while ``drops`` is set, are forgotten.
    """
    if len(taken) == 1:
        return taken[0]
    value, index = taken
    beats = (OutputRegister if _has_registers(config) else OutputBuffer).BEATS
    ahead = [Signal(range(1 + beats), name=f"{name}_ahead") for name in ("value", "index")]
    both = (value & index) | (value & (ahead[1] != 0)) | (index & (ahead[0] != 0))
    for own, flag in zip(ahead, taken, strict=True):
        m.d.sync += own.eq(Mux(drops, 0, own + flag - both))
    return both
