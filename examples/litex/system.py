"""The LiteX system: a VexRiscv, the block as a slave of its bus, and a DMA for each stream."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from litex.build.generic_platform import Pins, Subsignal
from litex.gen import LiteXModule
from litex.soc.cores.dma import WishboneDMAReader, WishboneDMAWriter
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import stream, wishbone
from litex.soc.interconnect.axi import AXILiteInterface
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import ClockSignal, Finish, If, Instance, ResetSignal, Signal

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "firmware"))

from cases import CONFIG

from extremum.hdl.verilog import BLOCK

CLOCK = 50_000_000
"""Hertz of the system's clock on the board."""

SIM_PINS = [
    ("sys_clk", 0, Pins(1)),
    ("sys_rst", 0, Pins(1)),
    (
        "serial",
        0,
        Subsignal("source_valid", Pins(1)),
        Subsignal("source_ready", Pins(1)),
        Subsignal("source_data", Pins(8)),
        Subsignal("sink_valid", Pins(1)),
        Subsignal("sink_ready", Pins(1)),
        Subsignal("sink_data", Pins(8)),
    ),
]
"""What a simulated board has: a clock, and a console that takes whole bytes."""


class Bench(LiteXModule):
    """A clock counter for the program, and the end of a simulation.

    Parameters
    ----------
    ends
        Whether the simulator stops when the program says so.
    """

    def __init__(self, *, ends: bool) -> None:
        self.clocks = CSRStatus(32)
        self.end = CSRStorage()
        self.sync += self.clocks.status.eq(self.clocks.status + 1)
        if ends:
            self.sync += If(self.end.storage, Finish())


class System(SoCCore):
    """A VexRiscv with ROM, RAM and console, the block, and a DMA for each of its streams.

    Parameters
    ----------
    platform
        The board.
    crg
        What gives clock and reset.
    program
        Words of the ROM.
    simulated
        Whether it is simulated: then the console takes whole bytes.
    """

    def __init__(self, platform: Any, crg: Any, program: Sequence[int], *, simulated: bool) -> None:
        self.crg = crg
        SoCCore.__init__(
            self,
            platform,
            CLOCK,
            cpu_type="vexriscv",
            cpu_variant="minimal",
            integrated_rom_size=0x10000,
            integrated_rom_init=list(program),
            integrated_sram_size=0x8000,
            uart_name="sim" if simulated else "serial",
            with_timer=False,
            ident="extremum",
        )
        self.bench = Bench(ends=simulated)
        self._add_block(platform)

    def _add_block(self, platform: Any) -> None:
        lite = AXILiteInterface(data_width=32, address_width=32)
        region = SoCRegion(origin=0x90000000, size=0x1000, cached=False)
        self.bus.add_slave("block", lite, region)
        self.source = WishboneDMAReader(self._master("source"), endianness="big", with_csr=True)
        self.values = WishboneDMAWriter(self._master("values"), endianness="big", with_csr=True)
        self.indices = WishboneDMAWriter(self._master("indices"), endianness="big", with_csr=True)
        # A beat of positions is four words of the bus.
        self.words = stream.Converter(32 * CONFIG.lanes, 32)
        self.comb += self.words.source.connect(self.indices.sink)
        sent, values, beats = self.source.source, self.values.sink, self.words.sink
        self.specials += Instance(
            BLOCK,
            i_aclk=ClockSignal(),
            i_aresetn=~ResetSignal(),
            o_irq=Signal(),
            i_s_axil_awaddr=lite.aw.addr[:10],
            i_s_axil_awprot=0,
            i_s_axil_awvalid=lite.aw.valid,
            o_s_axil_awready=lite.aw.ready,
            i_s_axil_wdata=lite.w.data,
            i_s_axil_wstrb=lite.w.strb,
            i_s_axil_wvalid=lite.w.valid,
            o_s_axil_wready=lite.w.ready,
            o_s_axil_bresp=lite.b.resp,
            o_s_axil_bvalid=lite.b.valid,
            i_s_axil_bready=lite.b.ready,
            i_s_axil_araddr=lite.ar.addr[:10],
            i_s_axil_arprot=0,
            i_s_axil_arvalid=lite.ar.valid,
            o_s_axil_arready=lite.ar.ready,
            o_s_axil_rdata=lite.r.data,
            o_s_axil_rresp=lite.r.resp,
            o_s_axil_rvalid=lite.r.valid,
            i_s_axil_rready=lite.r.ready,
            i_s_axis_tdata=sent.data,
            i_s_axis_tkeep=0b1111,
            i_s_axis_tlast=sent.last,
            i_s_axis_tvalid=sent.valid,
            o_s_axis_tready=sent.ready,
            o_m_axis_value_tdata=values.data,
            o_m_axis_value_tkeep=Signal(CONFIG.lanes),  # LiteX's DMA writes whole words
            o_m_axis_value_tlast=values.last,
            o_m_axis_value_tvalid=values.valid,
            i_m_axis_value_tready=values.ready,
            o_m_axis_index_tdata=beats.data,
            o_m_axis_index_tkeep=Signal(4 * CONFIG.lanes),
            o_m_axis_index_tlast=beats.last,
            o_m_axis_index_tvalid=beats.valid,
            i_m_axis_index_tready=beats.ready,
        )

    def _master(self, name: str) -> Any:
        """Return a port of the bus for a DMA."""
        bus = wishbone.Interface(data_width=32, adr_width=30, addressing="word")
        self.bus.add_master(name, bus)
        return bus
