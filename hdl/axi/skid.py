"""A buffer that registers a stream in both directions and costs no throughput."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class SkidBuffer(wiring.Component):
    """Passes a stream on; all its outputs are registers.

    ``i_ready`` comes from a register, so the source learns a clock late that the sink has stalled.
    What arrives in that clock waits in a second register.

    Latency: 1 clock. Throughput: one word per clock.

    Parameters
    ----------
    width
        Bits of a word.

    Members
    -------
    i_valid, i_data, i_ready
        The stream that comes in.
    o_valid, o_data, o_ready
        The stream that goes out.
    """

    i_valid: Signal
    i_data: Signal
    i_ready: Signal
    o_valid: Signal
    o_data: Signal
    o_ready: Signal

    def __init__(self, width: int):
        self.width = width
        super().__init__(
            {
                "i_valid": In(1),
                "i_data": In(width),
                "i_ready": Out(1),
                "o_valid": Out(1),
                "o_data": Out(width),
                "o_ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        is_kept = Signal(name="is_kept")
        kept = Signal(self.width, name="kept", reset_less=True)
        m.d.comb += self.i_ready.eq(~is_kept)
        with m.If(~is_kept):
            m.d.sync += kept.eq(self.i_data)
        with m.If(self.o_ready | ~self.o_valid):
            m.d.sync += [self.o_valid.eq(self.i_valid | is_kept), is_kept.eq(0)]
            with m.If(is_kept):
                m.d.sync += self.o_data.eq(kept)
            with m.Else():
                m.d.sync += self.o_data.eq(self.i_data)
        with m.Elif(self.i_valid):
            m.d.sync += is_kept.eq(1)
        return m
