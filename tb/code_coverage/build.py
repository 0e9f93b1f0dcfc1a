"""Compiles a core or a block to a native library that counts what of its Verilog is executed."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from extremum.hdl.config import CoreConfig
from extremum.host import cache
from extremum.host.processes import CommandFailedError, Processes
from extremum.host.simulation.native_build import (
    HEADERS,
    HERE,
    LIBRARY,
    LINT,
    NATIVE,
    VERILATE,
    VERILATOR,
    pump_of,
)
from extremum.host.simulation.verilated import (
    cache_key,
    compile_groups,
    compiler_version,
    refused,
    runtime,
    verilator_variables,
)

KINDS = ("--coverage-line", "--coverage-expr", "--coverage-toggle")
"""What is counted. Counters of state machines (also in ``--coverage``) end Verilator 5.048 with an
internal error, and Amaranth's Verilog names no state machines."""

CORE = "core.v"
"""Name of the file of Verilog in the counters' data."""

COUNTS = "-DVM_COVERAGE=1"
QUIET = "quiet.vlt"
WRITER = Path(str(files("extremum.tb.code_coverage"))) / "coverage.cpp"
RUNTIME = (*VERILATOR, "verilated_cov.cpp")


def compile_counting(config: CoreConfig, bus: str, verilog: str) -> Path:
    """Compile Verilog with counters to a library, unless the cache holds it; return its path.

    The library is one that :func:`extremum.host.simulation.native_build.compile_native` makes, and
    has a function ``coverage_write`` beside.

    Parameters
    ----------
    config
        Configuration of the core.
    bus
        ``"none"`` for the bare core, ``"axi"`` for the AXI block around it.
    verilog
        The Verilog of the core or the block.

    Raises
    ------
    SimulationError
        Verilator or the compiler refused it.
    """
    pump = pump_of(config, bus)
    texts = [path.read_text() for path in (pump.verilog, pump.cpp, *HEADERS, WRITER)]
    key = cache_key(verilog, *texts, *VERILATE, *KINDS, *NATIVE)
    compiler = compiler_version()

    def make(folder: Path) -> None:
        arguments = [*VERILATE, *KINDS, *(f"-G{name}={n}" for name, n in pump.parameters.items())]
        arguments += [f"+define+{name}" for name in pump.defines]
        with TemporaryDirectory(dir=folder) as name, Processes() as processes:
            build = Path(name)
            flags = [*NATIVE, COUNTS, f"-I{build / 'model'}", f"-I{HERE}"]
            flags += [f"-D{name}={number}" for name, number in pump.macros.items()]
            (build / CORE).write_text(verilog)
            (build / QUIET).write_text('`verilator_config\ncoverage_off -file "*pump.v"\n')
            base = runtime(processes, RUNTIME, (*NATIVE, COUNTS), compiler)
            try:
                command = ["verilator", *arguments, CORE, str(pump.verilog), QUIET, str(LINT)]
                processes.run(command, build, verilator_variables())
                sources = sorted((build / "model").glob("*.cpp"))
                slow = [path for path in sources if path.stem.endswith("Slow")]
                fast = [pump.cpp, WRITER, *(path for path in sources if path not in slow)]
                # What declares the counters is most of the text, and takes minutes to optimise.
                groups = {"fast": (fast, ["-O1", *flags]), "slow": (slow, ["-O0", *flags])}
                objects = compile_groups(processes, groups, build)
                link = ["c++", "-shared", *map(str, [*objects, base]), "-o", LIBRARY, "-pthread"]
                processes.run(link, build)
            except CommandFailedError as error:
                raise refused(error) from error
            (build / LIBRARY).rename(folder / LIBRARY)

    return cache.kept("coverage", key, make, maker=compiler) / LIBRARY
