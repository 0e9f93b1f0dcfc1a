"""Compiles a core to a shared library, together with the pump that feeds it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from amaranth.hdl import Shape

from extremum.hdl.axi.register_map import ADDRESS_BITS
from extremum.hdl.axi.streams import INDICES, INPUT, VALUES, is_programmable, port_widths
from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import job_layout, status_layout
from extremum.hdl.registers import job_shapes
from extremum.host import cache, tools
from extremum.host.processes import CommandFailedError, Processes
from extremum.host.simulation.plain_paths import plain
from extremum.host.simulation.verilated import (
    RUNTIME,
    cache_key,
    compile_groups,
    compiler_version,
    precompile,
    refused,
    runtime,
    verilator_variables,
)

LIBRARY = "core.so"

HERE = Path(str(files("extremum.host.simulation")))
HEADERS = tuple(
    HERE / name for name in ("model.hpp", "pump.hpp", "streams.hpp", "lite.hpp", "sink.hpp")
)
LINT = Path(str(files("extremum.hdl"))) / "lint.vlt"
TOP = "extremum_native"

VERILATE = (
    # "func-opt" would cut wide concatenations into pieces: a fifth slower on 16 lanes.
    "--cc", "-O3", "-fno-func-opt", "--x-initial", "unique", "--no-timing",
    "--timescale-override", "1ns/1ns", "--top-module", TOP, "--prefix", "Vcore",
    "--Mdir", "model", "--output-split", "6000", *tools.VERILATOR_WORKAROUNDS,
)  # fmt: skip

NATIVE = ("-fvisibility=hidden", "-DVL_USER_FATAL", "-DVL_USER_STOP", "-DVL_USER_FINISH")
"""Options of all C++ files: the pump has functions of its own for ``$fatal`` and its like."""

FAST = (
    "-O1", "-ftree-vectorize", "-finline-functions", "-finline-small-functions",
    "-fpartial-inlining", "-fexpensive-optimizations", "-fschedule-insns2",
)  # fmt: skip
"""Optimisation of what runs in every clock: as fast as with ``-O2``, compiled in half the time."""

SLOW = ("-O0",)
"""Optimisation of what runs once: it need not be fast, and is much of the text."""

SLOW_WEIGHT = 0.4
"""Time to compile a byte of what runs once, beside one of what runs in every clock."""

FILE_BYTES = 1_200_000
"""Generated C++ that is compiled as one file: reading the headers takes over a second for each."""

LARGE_VERILOG = 500_000
"""Characters of a core for which Verilator takes as long as to precompile the headers beside it."""

COMMON_HEADER = "common.hpp"
"""What is precompiled for a large core: Verilator's header, with those that it includes."""

VERILATOR = ("verilated.cpp", "verilated_threads.cpp")
VERILATOR_WAVES = ("verilated_vcd_c.cpp",)

TellStage = Callable[[str], None]
"""Is called with what is done next: ``"translating it to C++ (Verilator)"``, for example."""


@dataclass(frozen=True)
class Pump:
    """What drives the ports of a compiled core: a top module around it, and C++ beside it.

    Parameters
    ----------
    verilog, cpp
        The two files.
    parameters
        Parameters of the top module.
    macros
        Macros of the C++.
    defines
        Macros of the Verilog: the ports that are missing.
    """

    verilog: Path
    cpp: Path
    parameters: Mapping[str, int]
    macros: Mapping[str, int]
    defines: Sequence[str] = field(default=())


def pump_of(config: CoreConfig, bus: str) -> Pump:
    """Return what drives a core (bus ``"none"``), or the AXI block around it (``"axi"``)."""
    lanes = {"LANES": config.lanes, "LANE_BITS": config.element_width}
    if bus == "axi":
        widths = port_widths(config)
        streams = {
            "VALUE_BITS": max(8, widths[VALUES]),
            "INDEX_BITS": max(8, widths[INDICES]),
        }
        there = {
            "LITE": is_programmable(config),
            "VALUE": bool(widths[VALUES]),
            "INDEX": bool(widths[INDICES]),
        }
        return Pump(
            HERE / "axi_pump.v",
            HERE / "axi_pump.cpp",
            {"ADDRESS_BITS": ADDRESS_BITS, "INPUT_BITS": widths[INPUT], **streams},
            {"ADDRESS_BITS": ADDRESS_BITS, **lanes, **streams},
            [f"EXTREMUM_NO_{name}" for name, is_there in there.items() if not is_there],
        )
    job_bits = {"JOB_BITS": Shape.cast(job_layout(config)).width}
    return Pump(
        HERE / "pump.v",
        HERE / "pump.cpp",
        {
            **job_bits,
            "STATUS_BITS": status_layout().size,
            **lanes,
            "VALUE_BITS": config.element_width if config.has_values else 0,
            "INDEX_BITS": config.index_width,
        },
        {**job_bits, **lanes},
        () if job_shapes(config) else ("EXTREMUM_NO_JOB",),
    )


def compile_native(
    config: CoreConfig,
    *,
    bus: str = "none",
    waves: bool = False,
    verilog: str | None = None,
    tell: TellStage | None = None,
    flags: Sequence[str] = (),
) -> Path:
    """Compile a core to a shared library, unless that has been done before.

    No compiler is needed if the cache holds the library.

    Parameters
    ----------
    config
        Configuration of the core.
    bus
        ``"none"`` for the bare core, ``"axi"`` for the AXI block around it.
    waves
        Whether the library shall be able to write waveforms.
    verilog
        Verilog of a module with the name and the ports of the core or the block, which are used
        if it is None.
    tell
        Called with each stage of the compilation, if there is one.
    flags
        Further options of the C++ compiler and the linker, such as those of sanitizers.

    Returns
    -------
    Path
        The library.

    Raises
    ------
    ToolError
        A tool is missing or too old, or the cache cannot be used.
    SimulationError
        Verilator or the compiler refused the core.
    """
    tools.require(*tools.to_run("native"))
    with ThreadPoolExecutor(1) as pool, Processes() as processes:
        pump = pump_of(config, bus)
        build = _Build(pump, waves, tell or (lambda stage: None), processes, pool, flags=flags)
        text = cache.verilog(config, build.generating, bus=bus) if verilog is None else verilog
        sources = (pump.verilog, pump.cpp, *HEADERS)
        key = _key(text, *(path.read_text() for path in sources), waves, *flags)

        def make(folder: Path) -> None:
            with plain(folder) as place:
                build.make(text, place)

        return cache.kept("native", key, make, maker=build.compiler) / LIBRARY


def _key(*parts: object) -> str:
    """Return what the library depends on: these, and how it is compiled."""
    return cache_key(*parts, *VERILATE, *FAST, *SLOW, *RUNTIME, *NATIVE)


class _Build:
    """One compilation.

    Verilator's own part, the *runtime*, is compiled once for all cores. It depends on no core, so
    at the very first use it is compiled while Python generates the Verilog.
    """

    def __init__(
        self,
        pump: Pump,
        waves: bool,
        tell: TellStage,
        processes: Processes,
        pool: ThreadPoolExecutor,
        *,
        flags: Sequence[str] = (),
    ) -> None:
        self._flags = flags
        self._pump, self._waves, self._tell = pump, waves, tell
        self._processes, self._pool = processes, pool
        self._started: Future[list[Path]] | None = None
        self.compiler = compiler_version()

    def generating(self) -> None:
        """Note that the Verilog is being generated, and use the time."""
        if self.compiler is not None:
            self._start_runtime()
        self._tell("generating the Verilog (Amaranth)")

    def make(self, verilog: str, folder: Path) -> None:
        """Compile the core and put the library into the folder."""
        tools.require(*tools.BACKEND_TOOLS["native"])
        runtime = self._start_runtime()
        # After a failure another program may still write here: it must not hide the failure.
        with TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as name:
            build = Path(name)
            (build / "core.v").write_text(verilog)
            options = self._options(build)
            try:
                self._tell("translating it to C++ (Verilator)")
                started = []
                if len(verilog) >= LARGE_VERILOG and (os.cpu_count() or 1) > 1:
                    started.append(precompile(self._processes, COMMON_HEADER, options, build))
                    options = ["-include", COMMON_HEADER, *options]
                self._processes.run(["verilator", *self._verilate()], build, verilator_variables())
                self._tell("compiling the C++")
                with suppress(CommandFailedError):  # then the header is read as it is
                    self._processes.wait(*started)
                objects = [*self._compile_model(build, options), *runtime.result()]
                link = [
                    "c++",
                    "-shared",
                    *map(str, objects),
                    "-o",
                    LIBRARY,
                    "-pthread",
                    *self._flags,
                ]
                self._processes.run(link, build)
            except CommandFailedError as error:
                raise refused(error) from error
            (build / LIBRARY).rename(folder / LIBRARY)

    def _verilate(self) -> list[str]:
        """Return Verilator's arguments."""
        pump = self._pump
        arguments = [*VERILATE, *(f"-G{name}={n}" for name, n in pump.parameters.items())]
        arguments += [f"+define+{name}" for name in pump.defines]
        if self._waves:
            arguments.append("--trace-vcd")
        return [*arguments, "core.v", str(pump.verilog), str(LINT)]

    def _macros(self) -> list[str]:
        return [f"-D{name}={number}" for name, number in self._pump.macros.items()]

    def _options(self, folder: Path) -> list[str]:
        """Return the options with which the model and the pump are compiled in a folder."""
        options = [*FAST, *NATIVE, f"-I{folder / 'model'}", *self._macros(), *self._flags]
        return [*options, "-DEXTREMUM_WAVES"] if self._waves else options

    def _compile_model(self, folder: Path, options: Sequence[str]) -> list[Path]:
        """Compile what Verilator wrote, and the pump; return the objects."""
        sources = sorted((folder / "model").glob("*.cpp"))
        slow = [path for path in sources if path.stem.endswith("Slow")]
        fast = [path for path in sources if path not in slow]
        size = sum(path.stat().st_size for path in fast)
        count = min(os.cpu_count() or 1, -(-size // FILE_BYTES))
        # Both kinds share files, so that the headers are read less often.
        groups = {}
        for number, group in enumerate(_balanced([self._pump.cpp, *fast], slow, count)):
            rest = folder / f"slow{number}.hpp"
            rest.write_text(_not_optimised([path for path in group if path in slow]))
            often = [path for path in group if path not in slow]
            groups[f"model{number}"] = ([*often, rest], options)
        return compile_groups(self._processes, groups, folder)

    def _start_runtime(self) -> Future[list[Path]]:
        """Have the runtime compiled in another thread, unless that has been started."""
        if self._started is None:
            self._started = self._pool.submit(self._runtime)
        return self._started

    def _runtime(self) -> list[Path]:
        """Return the objects of the runtime, compiled once for all cores."""
        # Nothing of the runtime runs in a clock but what writes waveforms.
        groups = [(VERILATOR, SLOW), *([(VERILATOR_WAVES, RUNTIME)] if self._waves else [])]
        flags = (*NATIVE, *self._flags)
        return [
            runtime(self._processes, names, flags, self.compiler, optimisation=optimisation)
            for names, optimisation in groups
        ]


def _balanced(fast: Sequence[Path], slow: Sequence[Path], count: int) -> list[list[Path]]:
    """Divide sources into groups that take about the same time to compile."""
    weights = {path: path.stat().st_size for path in fast}
    weights |= {path: round(SLOW_WEIGHT * path.stat().st_size) for path in slow}
    groups: list[list[Path]] = [[] for _ in range(count)]
    sums = [0] * count
    for source in sorted(weights, key=lambda source: weights[source], reverse=True):
        smallest = sums.index(min(sums))
        groups[smallest].append(source)
        sums[smallest] += weights[source]
    return groups


def _not_optimised(sources: Sequence[Path]) -> str:
    """Return C++ that includes sources without optimisation; another compiler may optimise them."""
    includes = "".join(f'#include "{path}"\n' for path in sources)
    return (
        f'#pragma GCC push_options\n#pragma GCC optimize("O0")\n{includes}#pragma GCC pop_options\n'
    )
