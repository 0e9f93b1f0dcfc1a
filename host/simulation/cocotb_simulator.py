"""The core in a simulator under cocotb: compiled, started as a process, and sent its runs."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import input_layout, output_layout
from extremum.hdl.verilog import TOP, TOPS
from extremum.host import cache, tools
from extremum.host.errors import SimulationError
from extremum.host.processes import CommandFailedError, Processes
from extremum.host.simulation.backend import JobRun, Measured, Take, WatchClocks
from extremum.host.simulation.cocotb_link import PROCESS, CocotbLink
from extremum.host.simulation.packing import pack_beats, unpack_results
from extremum.host.simulation.plain_paths import link_to, plain
from extremum.host.simulation.verilated import (
    MAKE_SETTINGS,
    compiler_version,
    runtime,
    verilator_variables,
)

_BENCH = "extremum.host.simulation.server"

_MAKEFLAGS = " ".join(
    [
        MAKE_SETTINGS,
        # What runs in every clock, and what runs once. Under cocotb nearly all time goes to Python,
        # so a short compilation is worth more than a fast model.
        "OPT_FAST=-O1",
        "OPT_SLOW=-O0",
        # The runtime has been compiled, and only has to be linked.
        "VM_GLOBAL_FAST=",
        "USER_LDLIBS=runtime.o",
    ]
)

_PORTS = Path(str(files("extremum.host.simulation"))) / "ports.vlt"

_VERILATE = ("-O3", "--x-initial", "unique", "--output-split", "0", *tools.VERILATOR_WORKAROUNDS)
"""Verilator's options. Without a split there are few files, each of which reads all headers."""

_RUNTIME = ("verilated.cpp", "verilated_dpi.cpp", "verilated_vpi.cpp", "verilated_threads.cpp")
_RUNTIME_WAVES = ("verilated_vcd_c.cpp",)


_FIRST_EVENT = re.compile(r"reg (\\\$auto\$verilog_backend\S+ ) = 0;")
"""A signal of Yosys on which all gates depend, so that its first value is an event for them.

Icarus gives it that value before it waits for events. So gates none of whose inputs ever change
would stay undefined; an assignment in time step 0 is an event that they all see.
"""


def compile_core(
    config: CoreConfig,
    simulator: str,
    *,
    bus: str = "none",
    waves: bool = False,
    verilog: str | None = None,
    top: str | None = None,
    settings: Sequence[Path] = (),
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Compile the core for a simulator, unless that has been done before.

    No compiler is needed if the cache holds the simulation.

    Parameters
    ----------
    config
        Configuration of the core.
    simulator
        ``"verilator"`` or ``"icarus"``.
    bus
        ``"none"`` for the bare core, ``"axi"`` for the AXI block around it.
    waves
        Whether it shall be able to write waveforms.
    verilog
        Verilog of a module with the name and the ports of the core; the core itself, if None.
    top
        The module that is simulated, if ``verilog`` has another one.
    settings
        Further configuration files of Verilator.
    tell
        Called with each stage of the compilation, if there is one.

    Returns
    -------
    Path
        The folder of the compiled simulation.

    Raises
    ------
    ToolError
        A tool is missing or too old, or the cache cannot be used.
    SimulationError
        The simulator refused the core.
    """
    needed = tools.to_run(simulator)
    tools.require(*needed)
    say = tell or (lambda stage: None)
    text = verilog
    if text is None:
        text = cache.verilog(config, lambda: say("generating the Verilog (Amaranth)"), bus=bus)
    if simulator == "icarus":
        text = _FIRST_EVENT.sub(r"reg \1; initial \1 <= 0;", text)
    versions = {name: tools.TOOLS[name].find() for name in needed}
    module = top or TOPS[bus]
    vlt = (_PORTS, *settings)
    how = [_MAKEFLAGS, *_VERILATE, *(path.read_text() for path in vlt)]
    key = "\0".join([text, repr(versions), sys.prefix, str(waves), module, *how])
    maker = compiler_version() if simulator == "verilator" else ""

    def make(folder: Path) -> None:
        tools.require(*tools.BACKEND_TOOLS[simulator])
        say(f"compiling it for {simulator}")
        with plain(folder) as place:
            build = place / "build"
            _compile(simulator, text, build, vlt, top=module, waves=waves, compiler=maker)

    return cache.kept(simulator, key, make, maker=maker) / "build"


def _compile(
    simulator: str,
    verilog: str,
    build: Path,
    vlt: Sequence[Path],
    *,
    top: str,
    waves: bool,
    compiler: str | None,
) -> None:
    """Compile Verilog in a new folder."""
    build.mkdir()
    (build / "core.v").write_text(verilog)
    request = {
        "simulator": simulator,
        "build_dir": str(build),
        "sources": [str(build / "core.v")],
        "waves": waves,
        "top": top,
    }
    variables: dict[str, str] = {}
    if simulator == "verilator":
        python = Path(sys.executable)
        includer = f"PYTHON3={link_to(python.parent) / python.name}"
        variables = verilator_variables() | {"MAKEFLAGS": f"{_MAKEFLAGS} {includer}"}
        settings = (files("extremum.hdl") / "lint.vlt", *vlt)
        request["sources"] = [*request["sources"], *map(str, settings)]
        request["arguments"] = list(_VERILATE)
    with Processes() as processes:
        if simulator == "verilator":
            names = (*_RUNTIME, *(_RUNTIME_WAVES if waves else ()))
            shutil.copy(runtime(processes, names, (), compiler), build / "runtime.o")
        command = processes.start([*PROCESS, "build", json.dumps(request)], build, variables)
        try:
            processes.wait(command)
        except CommandFailedError as error:
            if error.is_disk_full:
                raise cache.full() from error
            raise SimulationError(
                f"{simulator} did not compile the core: {error.reason}"
            ) from error
    # Precompiled headers: nearly all of the folder's size, and never read again.
    for header in build.glob("*.gch"):
        header.unlink()


class CocotbSimulator(CocotbLink):
    """A core that runs under cocotb in a simulator, in a process of its own.

    Parameters
    ----------
    config
        Configuration of the core.
    name
        ``"verilator"`` or ``"icarus"``.
    waves
        VCD file to write, if any. It is complete when the simulator is closed.
    verilog, tell
        See :func:`compile_core`.

    Raises
    ------
    ToolError
        A tool is missing or too old.
    SimulationError
        The simulator does not compile the core, or does not start.
    WaveformError
        The file for the waveforms cannot be opened.
    """

    def __init__(
        self,
        config: CoreConfig,
        name: str,
        waves: Path | None = None,
        *,
        verilog: str | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._config = config
        build = compile_core(config, name, waves=waves is not None, verilog=verilog, tell=tell)
        super().__init__(name, build, TOP, _BENCH, waves)

    def run(self, run: JobRun, take: Take, watch: WatchClocks | None = None) -> Measured:
        """Do as :meth:`extremum.host.simulation.backend.Simulator.run`."""
        packed = [pack_beats(piece, self._config) for piece in run.beats]
        if (beats := sum(map(len, packed))) != run.beats_in:
            raise ValueError(f"the pieces hold {beats} beats, and beats_in says {run.beats_in}")
        block, cycles, statuses, taken = self._ask(
            {
                "jobs": list(run.jobs),
                "beats": b"".join(piece.tobytes() for piece in packed),
                "beat_bytes": input_layout(self._config).size // 8,
                "results": sum(run.beats_out),
                "watchdog": run.watchdog,
                "input_stalls": run.input_stalls,
                "output_stalls": run.output_stalls,
                "job_stalls": run.job_stalls,
                "seed": run.seed,
                "stop_after": run.stop_after,
            },
            watch,
        )
        try:
            values, positions = self._results(block, run)
        except BaseException:
            self._kill()
            raise
        take(values, positions)
        return Measured(cycles, tuple(statuses), taken)

    def reset(self, clocks: int = 1) -> None:
        """Do as :meth:`extremum.host.simulation.backend.Simulator.reset`."""
        self._ask({"reset": clocks})

    def _results(self, block: bytes, run: JobRun) -> tuple[np.ndarray, np.ndarray]:
        """Return values and positions, if the right results are marked as the last of a job."""
        size = -(-output_layout(self._config).size // 8)
        rows = np.frombuffer(block, np.uint8).reshape(-1, size)
        values, positions, last = unpack_results(rows, run.dtype, self._config)
        expected = np.zeros(sum(run.beats_out), bool)
        expected[np.cumsum([count for count in run.beats_out if count], dtype=int) - 1] = True
        expected = expected[: len(rows)]
        if (wrong := np.flatnonzero(last != expected)).size:
            marked = "" if last[wrong[0]] else "not "
            raise SimulationError(
                f"{self.name}: result {wrong[0]} is {marked}marked as its job's last"
            )
        return values, positions
