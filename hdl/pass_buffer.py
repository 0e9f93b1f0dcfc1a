"""A skid buffer in front of a pipeline that learns late in the clock whether it takes a beat."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class PassBuffer(wiring.Component):
    """A skid buffer without latency: lets a beat through at once, and keeps it if it is not taken.

    A sink that wants a beat may find out late in the clock that it cannot take it. Its source is
    told that the beat is wanted, and the beat waits here.

    Latency: 0 clocks. Throughput: one beat per clock.

    Parameters
    ----------
    width
        Bits of a beat.

    Members
    -------
    i_valid, i_data, i_ready
        The stream that comes in.
    o_valid, o_data
        The beat that goes out.
    o_wanted : In(1)
        The sink wants a beat. It wants it until it takes it.
    o_taken : In(1)
        The sink takes the beat that it wants, if there is one.
    """

    i_valid: Signal
    i_data: Signal
    i_ready: Signal
    o_valid: Signal
    o_data: Signal
    o_wanted: Signal
    o_taken: Signal

    def __init__(self, width: int):
        self.width = width
        super().__init__(
            {
                "i_valid": In(1),
                "i_data": In(width),
                "i_ready": Out(1),
                "o_valid": Out(1),
                "o_data": Out(width),
                "o_wanted": In(1),
                "o_taken": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        is_full, kept = Signal(name="is_full"), Signal(self.width, name="kept", reset_less=True)
        m.d.comb += [
            self.i_ready.eq(self.o_wanted & ~is_full),
            self.o_valid.eq(self.i_valid | is_full),
            self.o_data.eq(Mux(is_full, kept, self.i_data)),
        ]
        m.d.sync += is_full.eq(self.o_wanted & self.o_valid & ~self.o_taken)
        with m.If(~is_full):
            m.d.sync += kept.eq(self.i_data)
        return m
