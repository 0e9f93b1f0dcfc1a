"""Buffers of one or two words that register a stream and cost no throughput."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class _Buffer(wiring.Component):
    """The ports of a buffer. While ``o_valid`` is set it holds a word.

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

    def __init__(self, width: int, more: dict[str, wiring.Member] | None = None):
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
            | (more or {})
        )


class InputBuffer(_Buffer):
    """A register slice that takes a stream in: words go into registers, a multiplexer gives them.

    ``o_ready`` may come late in the clock: it enables none of these registers, and only turns the
    multiplexer. While ``i_ready`` is not set the buffer holds two words, or is in reset.

    Latency: 1 clock. Throughput: one word per clock.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        is_ready = Signal(name="is_ready")
        will_be_ready = ~(self.o_valid & ~self.o_ready & (~is_ready | self.i_valid))
        m.d.comb += self.i_ready.eq(is_ready)
        m.d.sync += [
            is_ready.eq(will_be_ready),
            self.o_valid.eq(
                (self.i_valid & is_ready) | (self.o_valid & ~(self.o_ready & is_ready))
            ),
        ]
        newest, oldest = Signal(name="newest"), Signal(name="oldest")
        even, odd = (Signal(self.width, name=name, reset_less=True) for name in ("even", "odd"))
        next_newest = newest ^ (self.i_valid & is_ready)
        m.d.sync += [newest.eq(next_newest), oldest.eq(oldest ^ (self.o_valid & self.o_ready))]
        # The free register takes what stands on the port, valid or not: so its enable, which drives
        # many flip-flops, is a flip-flop itself.
        for word, is_next in ((even, ~next_newest), (odd, next_newest)):
            takes = Signal(name=f"takes_{word.name}")
            m.d.sync += takes.eq(will_be_ready & is_next)
            with m.If(takes):
                m.d.sync += word.eq(self.i_data)
        m.d.comb += self.o_data.eq(Mux(oldest, odd, even))
        return m


class OutputBuffer(_Buffer):
    """A register slice, also called skid buffer: gives a stream out, all outputs from registers.

    ``i_ready`` comes from a register, so the source learns a clock late that the sink has stalled.
    What arrives in that clock waits in a second register. While ``i_ready`` is not set it holds two
    words; during a reset nothing is taken.

    Latency: 1 clock. Throughput: one word per clock.

    Parameters
    ----------
    width
        Bits of a word.
    copies
        The flip-flops of the words are enabled by copies of ``i_ready`` and ``o_valid``, since they
        are many and lie far apart.

    Members
    -------
    drops : In(1)
        The word that waits is dropped, and so is one that comes in this clock. The word that is
        offered stays.
    """

    BEATS = 2
    """How many words it holds."""

    drops: Signal

    def __init__(self, width: int, *, copies: bool = False):
        self.copies = copies
        super().__init__(width, {"drops": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        is_ready = Signal(name="is_ready")
        comes = self.i_valid & is_ready & ~self.drops
        waits = self.o_valid & ~is_ready & ~self.drops
        m.d.comb += self.i_ready.eq(is_ready)
        will_be_ready = ~(self.o_valid & ~self.o_ready & (waits | comes))
        will_be_valid = comes | waits | (self.o_valid & ~self.o_ready)
        m.d.sync += [is_ready.eq(will_be_ready), self.o_valid.eq(will_be_valid)]
        is_full, is_empty = ~is_ready, ~self.o_valid
        if self.copies:
            is_full, is_empty = Signal(name="is_full", init=1), Signal(name="is_empty", init=1)
            m.d.sync += [is_full.eq(~will_be_ready), is_empty.eq(~will_be_valid)]
        kept = Signal(self.width, name="kept", reset_less=True)
        with m.If(~is_full):
            m.d.sync += kept.eq(self.i_data)
        with m.If(self.o_ready | is_empty):
            m.d.sync += self.o_data.eq(Mux(is_full, kept, self.i_data))
        return m


class OutputRegister(_Buffer):
    """Gives a stream out from one register; the source learns within the clock what is taken.

    Latency: 1 clock. Throughput: one word per clock.

    Members
    -------
    drops : In(1)
        A word that comes in this clock is dropped. The word that is offered stays.
    """

    BEATS = 1
    """How many words it holds."""

    drops: Signal

    def __init__(self, width: int):
        super().__init__(width, {"drops": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        is_free = ~self.o_valid | self.o_ready
        m.d.comb += self.i_ready.eq(is_free)
        with m.If(is_free):
            m.d.sync += [self.o_valid.eq(self.i_valid & ~self.drops), self.o_data.eq(self.i_data)]
        return m
