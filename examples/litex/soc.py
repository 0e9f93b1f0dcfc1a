"""A LiteX system that pools tensors with the block: a simulation, and a bitstream for an ECP5.

Usage: ``python examples/litex/soc.py simulate`` or ``... bitstream``, with ``--output FOLDER``. It
needs the extra ``soc``, for the bitstream also the extra ``fpga``, and Debian's packages
``gcc-riscv64-unknown-elf``, and for the simulation ``libevent-dev``, ``libjson-c-dev`` and
``zlib1g-dev``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

try:
    from litex.build.io import CRG
    from litex.build.sim import SimPlatform
    from litex.build.sim.config import SimConfig
    from litex.soc.integration.builder import Builder
    from litex.soc.integration.common import get_mem_data
    from litex_boards.platforms import lattice_ecp5_evn
    from litex_boards.targets.lattice_ecp5_evn import _CRG
    from system import CLOCK, SIM_PINS, System
except ModuleNotFoundError as error:
    sys.exit(f"soc: {error}: `make soc` installs LiteX and runs this")

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "firmware"))

from cases import CONFIG
from firmware_build import build

from extremum.host import cache
from extremum.host.processes import Processes
from extremum.host.simulation.plain_paths import is_plain
from extremum.host.simulation.verilated import MAKE_SETTINGS, verilator_variables

HERE = Path(__file__).resolve().parent
LONGEST = 3600
"""Seconds after which a tool is given up."""


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
    logging.disable(logging.INFO)  # LiteX tells all that it does, and of the board's serial port
    with contextlib.redirect_stdout(io.StringIO()):
        return _prepare(folder, simulated=simulated, **options)


def _prepare(folder: Path, *, simulated: bool, **options: Any) -> Path:
    _, builder = system(folder, (), simulated=simulated)
    builder.build(run=False, **options)
    include = [folder / "software" / "include", Path(str(files("litex"))) / "soc/software/include"]
    image = build(folder, HERE, march="rv32i", system_headers=include)
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
    flags = f"{MAKE_SETTINGS} PYTHON3={sys.executable}"
    run(["bash", "build_sim.sh"], gateware, verilator_variables() | {"MAKEFLAGS": flags})
    # LiteX's console ends the simulation at the end of its input, which this one does not have.
    command = 'rm -f "$0" && mkfifo "$0" && exec obj_dir/Vsim 0<>"$0"'
    said = run(["bash", "-c", command, "input"], gateware, {}).replace("\r", "")
    # The simulator has words of its own, in front of the program's and behind them.
    first, last = said.find("A short packet"), said.rfind("PASS\n")
    if first < 0 or last < first:
        raise RuntimeError(f"the program did not say that all is right:\n{said}")
    return said[first:last] + "PASS\n"


def bitstream(folder: Path) -> str:
    """Build the bitstream; return what it uses, the clock that it reaches, and its size.

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
    told = re.findall(r"(Max frequency for clock +'(.*)':.*)", log)
    reached = list({clock: line for line, clock in told}.values())  # the last of each, when routed
    missed = [line for line in reached if "(FAIL" in line] if reached else ["no timing report"]
    if missed:
        raise RuntimeError(f"the clock is not reached: {missed[0]}")
    (image,) = gateware.glob("*.bit")
    used = [" ".join(line.split()) for line in used]
    return "\n".join([*used, *reached, f"{image}: {image.stat().st_size} bytes"]) + "\n"


def run(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> str:
    """Run a program; return what it says. It ends with this process at the latest.

    Raises
    ------
    RuntimeError
        It failed, or took longer than :data:`LONGEST`.
    """
    with Processes() as processes:
        process = processes.start(command, folder, variables)
        try:
            status = process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"no end after {LONGEST} s:\n{process.text}") from None
    if status:
        raise RuntimeError(f"{command[0]} ended with status {status}:\n{process.text}")
    return process.text


def main() -> int:
    """Simulate the system, or build its bitstream, as the command line says."""
    parser = argparse.ArgumentParser(description="A LiteX system with the block.")
    parser.add_argument("what", choices=("simulate", "bitstream"))
    parser.add_argument("--output", type=Path, default=Path("build/litex"))
    arguments = parser.parse_args()
    for path in (arguments.output.resolve(), Path(sys.executable)):
        if not is_plain(path):
            parser.error(f"LiteX takes no path with a space or a special character: {path}")
    make = {"simulate": simulate, "bitstream": bitstream}[arguments.what]
    try:
        print(make(arguments.output / arguments.what), end="")
    except (RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
