"""The native simulation: the core compiled to a shared library, pumped from NumPy buffers."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np
from amaranth.hdl import Shape

from extremum.hdl.config import CoreConfig
from extremum.hdl.core import input_layout, output_layout
from extremum.hdl.job import job_layout
from extremum.host import cache, tools
from extremum.host.errors import SimulationError
from extremum.host.simulators import Measured, verilator_variables

LIBRARY = "core.so"
SLICE_SECONDS = 0.1
"""Time after which the pump returns to Python, to show progress and to be interrupted."""

_NEVER = (1 << 64) - 1
_DONE, _FAILED = 1, 2

_VERILATE = (
    "--cc", "-O3", "--x-initial", "unique", "--no-timing", "--timescale-override", "1ns/1ns",
    "--prefix", "Vcore", "--Mdir",
)  # fmt: skip
_COMPILE = (
    "-std=c++20", "-fPIC", "-fvisibility=hidden", "-w",
    "-DVL_USER_FATAL", "-DVL_USER_STOP", "-DVL_USER_FINISH",
)  # fmt: skip


class _Request(ctypes.Structure):
    """As the pump declares it."""

    _fields_ = (
        ("jobs", ctypes.c_void_p),
        ("job_count", ctypes.c_uint64),
        ("beats", ctypes.c_void_p),
        ("beat_count", ctypes.c_uint64),
        ("results", ctypes.c_void_p),
        ("result_count", ctypes.c_uint64),
        ("statuses", ctypes.c_void_p),
        ("watchdog", ctypes.c_uint64),
        ("input_stalls", ctypes.c_uint32),
        ("output_stalls", ctypes.c_uint32),
        ("seed", ctypes.c_uint32),
    )


class _Outcome(ctypes.Structure):
    """As the pump declares it."""

    _fields_ = (
        ("clock", ctypes.c_uint64),
        ("first", ctypes.c_uint64),
        ("last", ctypes.c_uint64),
        ("given", ctypes.c_uint64),
        ("statuses", ctypes.c_uint64),
        ("message", ctypes.c_char * 256),
    )


def compile_native(config: CoreConfig, *, waves: bool = False) -> Path:
    """Compile the core to a shared library, unless that has been done before.

    Parameters
    ----------
    config
        Of the core.
    waves
        Whether it shall be able to write waveforms.

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
    text = cache.verilog(config)
    pump = Path(str(files("extremum.host") / "pump.cpp"))
    release = version("verilator")
    parts = [text, pump.read_text(), release, *_VERILATE, *_COMPILE, os.uname().machine, str(waves)]
    with cache.entry("native", "\0".join(parts)) as folder:
        library = folder / LIBRARY
        if not library.exists():
            build = folder / "build"
            shutil.rmtree(build, ignore_errors=True)
            build.mkdir()
            (build / "core.v").write_text(text)
            partial = _build(config, pump, build, waves=waves)
            partial.rename(library)
            shutil.rmtree(build)
        return library


def _build(config: CoreConfig, pump: Path, build: Path, *, waves: bool) -> Path:
    from extremum.hdl.verilog import TOP  # noqa: PLC0415 - slow, seldom needed

    variables = verilator_variables()
    root = Path(variables["VERILATOR_ROOT"])
    lint = Path(str(files("extremum.hdl") / "lint.vlt"))
    model = build / "model"
    trace = ("--trace-vcd",) if waves else ()
    _call(
        ["verilator", *_VERILATE, str(model), *trace, "--top-module", TOP, "core.v", str(lint)],
        build,
        variables,
    )
    widths = {
        "JOB_BITS": Shape.cast(job_layout(config)).width,
        "I_BITS": input_layout(config).size,
        "O_BITS": output_layout(config).size,
    }
    flags = [
        *_COMPILE,
        *(f"-I{path}" for path in (root / "include", root / "include" / "vltstd", model)),
        *(f"-D{name}={width}" for name, width in widths.items()),
        *(("-DEXTREMUM_WAVES",) if waves else ()),
    ]
    runtime = ("verilated", "verilated_threads", *(("verilated_vcd_c",) if waves else ()))
    sources = [pump, *model.glob("*.cpp"), *(root / "include" / f"{n}.cpp" for n in runtime)]

    def compile_one(source: Path) -> str:
        # What runs once need not be fast, and is most of the text.
        level = "-O0" if source.stem.endswith("Slow") else "-O2"
        made = build / f"{source.stem}.o"
        _call(["c++", *flags, level, "-c", str(source), "-o", str(made)], build)
        return str(made)

    # The large ones first, so that no processor ends up waiting for the last.
    sources.sort(key=lambda source: source.stat().st_size, reverse=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, sources))
    library = build / LIBRARY
    _call(["c++", "-shared", *objects, "-o", str(library), "-pthread"], build)
    return library


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


class NativeSimulator:
    """A core that runs in this process, compiled to machine code.

    Parameters
    ----------
    config
        Of the core.
    waves
        VCD file to write, if any. It is complete when the simulator is closed.
    wave_window
        First and last clock to write, counted from the end of reset, over all runs.

    Raises
    ------
    ToolError
        A tool is missing or too old.
    SimulationError
        The core cannot be compiled, or its waveforms cannot be written.
    """

    def __init__(
        self,
        config: CoreConfig,
        waves: Path | None = None,
        wave_window: tuple[int, int] | None = None,
    ) -> None:
        self._job_bytes = -(-Shape.cast(job_layout(config)).width // 8)
        self._beat_bytes = -(-input_layout(config).size // 8)
        self._result_bytes = -(-output_layout(config).size // 8)
        self._library = load(compile_native(config, waves=waves is not None))
        first, last = wave_window or (0, _NEVER)
        path = os.fsencode(waves) if waves is not None else b""
        self._pump: int | None = self._library.pump_open(path, first, last)
        if self._pump is None:
            raise SimulationError(f"native: cannot write waveforms to {waves}")

    def run(
        self,
        jobs: list[int],
        beats: np.ndarray,
        results: int,
        *,
        watchdog: int,
        input_stalls: int = 0,
        output_stalls: int = 0,
        seed: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> Measured:
        """Do as :meth:`extremum.host.simulators.Simulator.run`, in the same clocks.

        Raises
        ------
        SimulationError
            The core hung or broke a stream rule; the message names the clock of the run, and of
            the simulation if they differ.
        """
        if self._pump is None:
            raise SimulationError("native has been closed")
        if beats.shape[1] != self._beat_bytes:
            raise ValueError(f"a beat must have {self._beat_bytes} bytes, not {beats.shape[1]}")
        # These names keep the buffers alive while the pump works on them.
        beats = np.ascontiguousarray(beats, np.uint8)
        block = b"".join(job.to_bytes(self._job_bytes, "little") for job in jobs)
        payloads = np.frombuffer(block, np.uint8)
        given = np.empty((results, self._result_bytes), np.uint8)
        statuses = np.zeros(len(jobs), np.uint64)
        request = _Request(
            payloads.ctypes.data, len(jobs), beats.ctypes.data, len(beats), given.ctypes.data,
            results, statuses.ctypes.data, watchdog, input_stalls, output_stalls,
            seed & 0xFFFFFFFF,
        )  # fmt: skip
        self._library.pump_begin(self._pump, ctypes.byref(request))
        outcome: _Outcome = self._library.pump_outcome(self._pump).contents
        while (state := self._library.pump_advance(self._pump, SLICE_SECONDS)) != _DONE:
            if state == _FAILED:
                raise SimulationError(f"native: {outcome.message.decode(errors='replace')}")
            if progress is not None:
                progress(outcome.clock)
        cycles = 0 if outcome.first == _NEVER else outcome.last - outcome.first + 1
        return Measured(given, cycles, tuple(map(int, statuses[: outcome.statuses])))

    def idle(self, clocks: int) -> None:
        """Clock the core without looking at its ports: the measure of what the pump costs."""
        self._library.pump_idle(self._pump, clocks)

    def close(self) -> None:
        """End the simulation. Waveforms are complete after this."""
        if self._pump is not None:
            self._library.pump_close(self._pump)
            self._pump = None


def load(path: Path) -> ctypes.CDLL:
    """Load a library that :func:`compile_native` made, and declare its functions."""
    library = ctypes.CDLL(str(path))
    pump, count, number = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
    for name, result, *arguments in (
        ("pump_open", pump, ctypes.c_char_p, count, count),
        ("pump_begin", None, pump, ctypes.POINTER(_Request)),
        ("pump_advance", ctypes.c_int, pump, ctypes.c_double),
        ("pump_outcome", ctypes.POINTER(_Outcome), pump),
        ("pump_idle", None, pump, count),
        ("pump_close", None, pump),
        ("pump_stalls", None, number, number, count, pump),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
