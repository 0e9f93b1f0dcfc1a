"""AXI4-Lite: the five channels on one side, reads and writes of words on the other."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.axi.register_map import ADDRESS_BITS, WORD_BITS, WORD_BYTES

WORD_ADDRESS_BITS = ADDRESS_BITS - 2


class Response(IntEnum):
    """The answers of AXI4-Lite that the block gives."""

    OKAY = 0
    SLVERR = 2


class WordBus(wiring.Signature):
    """Reads and writes of whole words, as the AXI4-Lite port asks for them.

    A write is asked for in the clock in which ``write`` is set. Its address, data and strobes are
    valid in this clock and the next one, in which it is carried out and answered by
    ``write_error``. None is asked for while ``write_waits`` is set. ``read`` and its address stay
    until ``read_done``, and ``read_error`` is valid in that clock. ``read_data`` is valid from the
    next clock on, until ``read`` is set again.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "write": Out(1),
                "write_address": Out(WORD_ADDRESS_BITS),
                "write_data": Out(WORD_BITS),
                "write_strobes": Out(WORD_BYTES),
                "write_error": In(1),
                "write_waits": In(1),
                "read": Out(1),
                "read_address": Out(WORD_ADDRESS_BITS),
                "read_done": In(1),
                "read_data": In(WORD_BITS),
                "read_error": In(1),
            }
        )


class AxiLiteSignature(wiring.Signature):
    """The signals of an AXI4-Lite port, as the side that asks drives them."""

    def __init__(self) -> None:
        super().__init__(
            {
                "awaddr": Out(ADDRESS_BITS),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(WORD_BITS),
                "wstrb": Out(WORD_BYTES),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(ADDRESS_BITS),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(WORD_BITS),
                "rresp": In(2),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


class AxiLitePort(wiring.Component):
    """Answers AXI4-Lite; the address and the data of a write may come in any order.

    Every output is a register, and nothing is taken during a reset. A write takes two clocks, a
    read as long as the registers need and two clocks more; reads and writes do not wait for each
    other.

    Members
    -------
    axi : In(AxiLiteSignature())
        The port.
    bus : Out(WordBus())
        What it asks for.
    """

    axi: Any
    bus: Any

    def __init__(self) -> None:
        super().__init__({"axi": In(AxiLiteSignature()), "bus": Out(WordBus())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._writes(m)
        self._reads(m)
        return m

    def _writes(self, m: Module) -> None:
        axi, bus = self.axi, self.bus
        has_address, has_data = Signal(name="has_address"), Signal(name="has_data")
        takes_address, takes_data = axi.awvalid & axi.awready, axi.wvalid & axi.wready
        with m.If(takes_address):
            m.d.sync += bus.write_address.eq(axi.awaddr[2:])
        with m.If(takes_data):
            m.d.sync += [bus.write_data.eq(axi.wdata), bus.write_strobes.eq(axi.wstrb)]
        m.d.comb += bus.write.eq(
            has_address & has_data & (axi.bready | ~axi.bvalid) & ~bus.write_waits
        )
        for has, takes, ready in (
            (has_address, takes_address, axi.awready),
            (has_data, takes_data, axi.wready),
        ):
            following = (has | takes) & ~bus.write
            m.d.sync += [has.eq(following), ready.eq(~following)]
        answers = Signal(name="answers")
        m.d.sync += answers.eq(bus.write)
        with m.If(answers):
            m.d.sync += [
                axi.bvalid.eq(1),
                axi.bresp.eq(Mux(bus.write_error, Response.SLVERR, Response.OKAY)),
            ]
        with m.Elif(axi.bready):
            m.d.sync += axi.bvalid.eq(0)

    def _reads(self, m: Module) -> None:
        axi, bus = self.axi, self.bus
        has_address = Signal(name="has_read_address")
        takes, is_done = axi.arvalid & axi.arready, bus.read & bus.read_done
        with m.If(takes):
            m.d.sync += bus.read_address.eq(axi.araddr[2:])
        following = (has_address | takes) & ~is_done
        m.d.sync += [has_address.eq(following), axi.arready.eq(~following)]
        m.d.comb += [
            axi.rdata.eq(bus.read_data),
            bus.read.eq(has_address & ~axi.rvalid),
        ]
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(is_done):
            m.d.sync += [
                axi.rvalid.eq(1),
                axi.rresp.eq(Mux(bus.read_error, Response.SLVERR, Response.OKAY)),
            ]
