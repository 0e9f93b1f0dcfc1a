"""Compiles a core to a shared library, together with the pump that feeds it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from amaranth.hdl import Shape

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import job_layout, status_layout
from extremum.hdl.registers import job_shapes
from extremum.host import cache, tools
from extremum.host.errors import SimulationError
from extremum.host.simulation.cocotb_simulator import verilator_variables

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
    "-std=c++20", "-fPIC", "-fvisibility=hidden", "-w",
    "-DVL_USER_FATAL", "-DVL_USER_STOP", "-DVL_USER_FINISH",
)  # fmt: skip


def compile_native(
    config: CoreConfig,
    *,
    waves: bool = False,
    verilog: str | None = None,
    compiling: Callable[[], None] | None = None,
) -> Path:
    """Compile a core to a shared library, unless that has been done before.

    Parameters
    ----------
    config
        Of the core.
    waves
        Whether it shall be able to write waveforms.
    verilog
        Of a module with the name and the ports of the core; the core itself, if None.
    compiling
        Called before the core is compiled.

    Returns
    -------
    Path
        The library.

    Raises
    ------
    ToolError
        A tool is missing or too old.
    SimulationError
        Verilator or the compiler refused the core.
    """
    tools.require(*tools.BACKEND_TOOLS["native"])
    text = cache.verilog(config, compiling) if verilog is None else verilog
    with cache.entry("native", _key(text, *(path.read_text() for path in PUMP), waves)) as folder:
        library = folder / LIBRARY
        if not library.exists():
            if compiling is not None:
                compiling()
            build = folder / "build"
            shutil.rmtree(build, ignore_errors=True)
            build.mkdir()
            (build / "core.v").write_text(text)
            partial = _build(config, build, waves=waves)
            partial.rename(library)
            shutil.rmtree(build)
        return library


def _key(*parts: object) -> str:
    """Return what a compiled file depends on: these, the machine, and how it is compiled."""
    release = version("verilator")
    return "\0".join(map(str, [*parts, release, *VERILATE, *COMPILE, os.uname().machine]))


def _build(config: CoreConfig, build: Path, *, waves: bool) -> Path:
    """Compile the Verilog in the folder; return the library."""
    widths = {
        "JOB_BITS": Shape.cast(job_layout(config)).width,
        "STATUS_BITS": status_layout().size,
        "LANES": config.lanes,
        "LANE_BITS": config.element_width,
        "VALUE_BITS": config.element_width if config.has_values else 0,
        "INDEX_BITS": config.index_width,
    }
    parameters = [f"-G{name}={width}" for name, width in widths.items()]
    if not job_shapes(config):
        parameters.append("+define+EXTREMUM_NO_JOB")
    trace = ["--trace-vcd"] if waves else []
    sources = ["core.v", str(HERE / "pump.v"), str(LINT)]
    _call(["verilator", *VERILATE, *trace, *parameters, *sources], build, verilator_variables())
    macros = {
        "JOB_BITS": widths["JOB_BITS"],
        "LANES": config.lanes,
        "LANE_BITS": config.element_width,
    }
    flags = [f"-I{build / 'model'}", *(f"-D{name}={value}" for name, value in macros.items())]
    if waves:
        flags.append("-DEXTREMUM_WAVES")
    models = [HERE / "pump.cpp", *(build / "model").glob("*.cpp")]
    objects = [*_runtime(waves=waves), *_compile(models, flags, build)]
    library = build / LIBRARY
    _call(["c++", "-shared", *map(str, objects), "-o", str(library), "-pthread"], build)
    return library


def _runtime(*, waves: bool) -> list[Path]:
    """Return Verilator's own part of every model, compiled once for all cores."""
    names = ["verilated", "verilated_threads", *(["verilated_vcd_c"] if waves else [])]
    include = Path(verilator_variables()["VERILATOR_ROOT"]) / "include"
    with cache.entry("runtime", _key(*names)) as folder:
        made = [folder / f"{name}.o" for name in names]
        if not all(path.exists() for path in made):
            build = folder / "build"
            build.mkdir(exist_ok=True)
            for partial in _compile([include / f"{name}.cpp" for name in names], [], build):
                partial.rename(folder / partial.name)
            build.rmdir()
        return made


def _compile(sources: Iterable[Path], flags: Sequence[str], build: Path) -> list[Path]:
    """Compile C++ files to as many objects."""
    include = Path(verilator_variables()["VERILATOR_ROOT"]) / "include"
    common = [*COMPILE, f"-I{include}", f"-I{include / 'vltstd'}", *flags]

    def compile_one(source: Path) -> Path:
        # What runs once need not be fast, and is most of the text.
        level = "-O0" if source.stem.endswith("Slow") else "-O2"
        made = build / f"{source.stem}.o"
        _call(["c++", *common, level, "-c", str(source), "-o", str(made)], build)
        return made

    # The large ones first, so that no processor ends up waiting for the last.
    ordered = sorted(sources, key=lambda source: source.stat().st_size, reverse=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, ordered))


def _call(command: Sequence[str], folder: Path, variables: dict[str, str] | None = None) -> None:
    environment = os.environ | (variables or {})
    command = [shutil.which(command[0], path=environment.get("PATH")) or command[0], *command[1:]]
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        lines = [line.strip() for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
        said = [line for line in lines if "error" in line.lower()] or lines or ["no message"]
        raise SimulationError(f"{Path(command[0]).name} did not compile the core: {said[0]}")
