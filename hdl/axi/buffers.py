"""Buffers of two words that register a stream and cost no throughput."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class _Buffer(wiring.Component):
    """The ports of a buffer.

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

    def flags(self, m: Module) -> tuple[Signal, Signal]:
        """Add the flags; return whether a word comes and whether one leaves.

        The buffer has a word if ``o_valid`` is set, and two if ``i_ready`` is not.
        """
        is_full = Signal(name="is_full")
        m.d.comb += self.i_ready.eq(~is_full)
        m.d.sync += [
            self.o_valid.eq(self.i_valid | is_full | (self.o_valid & ~self.o_ready)),
            is_full.eq(self.o_valid & ~self.o_ready & (is_full | self.i_valid)),
        ]
        comes, leaves = Signal(name="comes"), Signal(name="leaves")
        m.d.comb += [
            comes.eq(self.i_valid & ~is_full),
            leaves.eq(self.o_valid & self.o_ready),
        ]
        return comes, leaves


class InputBuffer(_Buffer):
    """Takes a stream in: words go into registers at once, and a multiplexer gives them.

    A sink that decides late in the clock turns only the multiplexer.

    Latency: 1 clock. Throughput: one word per clock.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        comes, leaves = self.flags(m)
        newest, oldest = Signal(name="newest"), Signal(name="oldest")
        even, odd = (Signal(self.width, name=name, reset_less=True) for name in ("even", "odd"))
        m.d.sync += [newest.eq(newest ^ comes), oldest.eq(oldest ^ leaves)]
        with m.If(comes & ~newest):
            m.d.sync += even.eq(self.i_data)
        with m.If(comes & newest):
            m.d.sync += odd.eq(self.i_data)
        m.d.comb += self.o_data.eq(Mux(oldest, odd, even))
        return m


class OutputBuffer(_Buffer):
    """Gives a stream out: all its outputs are registers.

    ``i_ready`` comes from a register, so the source learns a clock late that the sink has stalled.
    What arrives in that clock waits in a second register.

    Latency: 1 clock. Throughput: one word per clock.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.flags(m)
        kept = Signal(self.width, name="kept", reset_less=True)
        with m.If(self.i_ready):
            m.d.sync += kept.eq(self.i_data)
        with m.If(self.o_ready | ~self.o_valid):
            m.d.sync += self.o_data.eq(Mux(self.i_ready, self.i_data, kept))
        return m
