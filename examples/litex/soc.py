"""A LiteX system that pools tensors with the block: a simulation, and a bitstream for an ECP5.

Usage: ``python examples/litex/soc.py simulate`` or ``... bitstream``, with ``--output FOLDER``. It
needs the extra ``soc``, for the bitstream also the extra ``fpga``, and Debian's packages
``gcc-riscv64-unknown-elf``, and for the simulation ``libevent-dev``, ``libjson-c-dev`` and
``zlib1g-dev``.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.build.sim.config import SimConfig
from litex.gen import LiteXModule
from litex.soc.cores.dma import WishboneDMAReader, WishboneDMAWriter
from litex.soc.integration.builder import Builder
from litex.soc.integration.common import get_mem_data
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import stream, wishbone
from litex.soc.interconnect.axi import AXILiteInterface
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from litex_boards.platforms import lattice_ecp5_evn
from litex_boards.targets.lattice_ecp5_evn import _CRG
from migen import ClockSignal, Finish, If, Instance, ResetSignal, Signal

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "firmware"))

import build  # noqa: E402 - from the folder above
from cases import CONFIG  # noqa: E402

from extremum.hdl.verilog import BLOCK  # noqa: E402
from extremum.host import cache  # noqa: E402
from extremum.host.simulation.verilated import verilator_variables  # noqa: E402

CLOCK = 50_000_000
"""Hertz of the system's clock on the board."""

LONGEST = 600
"""Seconds after which a simulation is given up."""

MAKEFLAGS = (
    "CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD=-std=gnu++20 "
    "CFG_CXXFLAGS_STD_NEWEST=-std=gnu++20 CFG_CXXFLAGS_COROUTINES=-fcoroutines"
)
"""What the makefile of Verilator's Python package lacks."""

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


def system(folder: Path, program: Sequence[int], *, simulated: bool) -> tuple[System, Builder]:
    """Return the system and what builds it in a folder; the block's Verilog is put there."""
    if simulated:
        platform = SimPlatform("SIM", SIM_PINS)
        crg = CRG(platform.request("sys_clk"))
    else:
        platform = lattice_ecp5_evn.Platform(toolchain="trellis")
        crg = _CRG(platform, CLOCK, None)
    folder.mkdir(parents=True, exist_ok=True)
    block = folder / "extremum_axi.v"
    block.write_text(cache.verilog(CONFIG, bus="axi"))
    platform.add_source(str(block))
    made = System(platform, crg, program, simulated=simulated)
    return made, Builder(made, output_dir=str(folder), compile_software=False)


def prepare(folder: Path, *, simulated: bool, **options: Any) -> Path:
    """Generate the system, with the program in its ROM; return the folder of its gateware.

    The program is compiled with the addresses of a first system, whose ROM is empty.
    """
    logging.disable(logging.INFO)  # LiteX tells all that it does
    _, builder = system(folder, (), simulated=simulated)
    builder.build(run=False, **options)
    include = [folder / "software" / "include", Path(str(files("litex"))) / "soc/software/include"]
    image = build.build(folder, HERE, march="rv32i", system_headers=include)
    program = get_mem_data(str(image), data_width=32, endianness="little")
    made, builder = system(folder, program, simulated=simulated)
    builder.build(run=False, **options)
    _name_sources_by_place(folder / "gateware", made.platform)
    return folder / "gateware"


def _name_sources_by_place(folder: Path, platform: Any) -> None:
    """Let the scripts of the tools name their sources by relative paths.

    YoWASP's tools see another folder in the place of the system's temporary one.
    """
    for script in (*folder.glob("*.ys"), *folder.glob("*.sh")):
        text = script.read_text()
        for source, *_ in platform.sources:
            text = text.replace(str(source), os.path.relpath(source, folder))
        script.write_text(text)


def simulate(folder: Path) -> str:
    """Build the simulation, run it, and return what the program printed.

    Raises
    ------
    RuntimeError
        The simulator refused the system, or the program does not say that all went well.
    """
    config = SimConfig()
    config.add_clocker("sys_clk", freq_hz=CLOCK)
    config.add_module("serial2console", "serial")
    gateware = prepare(
        folder, simulated=True, sim_config=config, interactive=False, jobs=1, opt_level="O2"
    )
    print("Compiling the simulation takes a minute.", file=sys.stderr)
    flags = f"{MAKEFLAGS} PYTHON3={sys.executable}"
    run(["bash", "build_sim.sh"], gateware, verilator_variables() | {"MAKEFLAGS": flags})
    said = run(["obj_dir/Vsim"], gateware, {}).replace("\r", "")
    said = said[said.find("A short packet") :]
    text = said[: said.rfind("PASS\n") + 5] if "PASS\n" in said else ""
    if not text:
        raise RuntimeError(f"the program did not say that all is right:\n{said}")
    return text


def bitstream(folder: Path) -> str:
    """Build the bitstream; return its timing report in two lines.

    Raises
    ------
    RuntimeError
        A tool refused the system, or the clock is slower than :data:`CLOCK`.
    """
    gateware = prepare(folder, simulated=False)
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("yosys", "nextpnr-ecp5", "ecppack"):
        (tools / name).unlink(missing_ok=True)
        (tools / name).symlink_to(Path(sys.executable).with_name(f"yowasp-{name}"))
    print("Synthesis, placement and routing take some minutes.", file=sys.stderr)
    path = os.pathsep.join([str(tools.resolve()), os.environ.get("PATH", "")])
    (script,) = gateware.glob("build_*.sh")
    log = run(["bash", script.name], gateware, {"PATH": path})
    (gateware / "tools.log").write_text(log)
    used = re.findall(r"^Info:\s+(?:Total LUT4s|Total DFFs|DP16KD):.*", log, re.MULTILINE)
    reached = re.findall(r"Max frequency for clock .*", log)
    (image,) = gateware.glob("*.bit")
    return "\n".join([*used, reached[-1], f"{image}: {image.stat().st_size} bytes"]) + "\n"


def run(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> str:
    """Run a program with an empty input that stays open; return what it says.

    Raises
    ------
    RuntimeError
        It failed, or took longer than :data:`LONGEST`.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | variables,
    ) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        status = process.wait()
    if status:
        raise RuntimeError(f"{command[0]} ended with status {status}:\n{said}")
    return said


def main() -> int:
    """Simulate the system, or build its bitstream, as the command line says."""
    parser = argparse.ArgumentParser(description="A LiteX system with the block.")
    parser.add_argument("what", choices=("simulate", "bitstream"))
    parser.add_argument("--output", type=Path, default=Path("build/litex"))
    arguments = parser.parse_args()
    make = {"simulate": simulate, "bitstream": bitstream}[arguments.what]
    try:
        print(make(arguments.output / arguments.what), end="")
    except (RuntimeError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
