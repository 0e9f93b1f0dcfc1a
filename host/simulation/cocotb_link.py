"""A simulator under cocotb in a process of its own, and the connection to the bench within it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from extremum.host.errors import SimulationError
from extremum.host.processes import Command, Processes

_START_SECONDS = 60
SILENCE_SECONDS = 300
"""A simulation tells its progress; one that says nothing for so long is given up."""

_SOCKET_PATH_BYTES = 90
"""Operating systems allow a local socket's path little more than 100 bytes."""

PROCESS = [sys.executable, "-m", "extremum.host.simulation.cocotb_process"]
"""Starts the process that compiles or simulates."""


class CocotbLink:
    """A compiled simulation that runs, and answers requests one by one.

    The process and all that it started end with this one, however this one ends. An exception of
    any kind while an answer is awaited ends the simulation.

    Parameters
    ----------
    name
        ``"verilator"`` or ``"icarus"``.
    build
        The folder of the compiled simulation.
    top
        The module that is simulated.
    bench
        The bench that answers, a module with a cocotb test.
    waves
        VCD file to write, if any. It is complete when the simulation is closed.

    Raises
    ------
    SimulationError
        The simulator does not start.
    """

    def __init__(self, name: str, build: Path, top: str, bench: str, waves: Path | None) -> None:
        self.name = name
        self._connection: Connection | None = None
        self._processes = Processes()
        self._owner = os.getpid()
        self._folder = _short_folder()
        self._waves, self._waves_before = waves, _written_at(waves)
        try:
            self._start(build, top, bench, waves)
        except BaseException:
            self._kill()
            raise

    def _start(self, build: Path, top: str, bench: str, waves: Path | None) -> None:
        address = str(self._folder / "socket")
        request = {
            "simulator": self.name,
            "build_dir": str(build),
            "test_dir": str(self._folder),
            "module": bench,
            "waves": None if waves is None else str(waves.resolve()),
            "environment": {"EXTREMUM_ADDRESS": address},
            "top": top,
        }
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen(1)
            listener.settimeout(0.2)
            command = [*PROCESS, "simulate", json.dumps(request)]
            self._command = self._processes.start(command, self._folder)
            for _ in range(5 * _START_SECONDS):
                with suppress(TimeoutError):
                    link, _ = listener.accept()
                    link.setblocking(True)
                    self._connection = Connection(link.detach())
                    return
                if self._command.process.poll() is not None:
                    break
        raise SimulationError(f"{self.name} did not start: {_last_words(self._command)}")

    def _ask(self, request: Any, told: Callable[..., None] | None = None) -> list[Any]:
        """Send a request and return its answer; ``told`` is called with each sign of progress.

        Raises
        ------
        SimulationError
            The simulation ended or failed, or has been closed.
        """
        if self._connection is None:
            raise SimulationError(f"{self.name} has been closed")
        try:
            self._connection.send(request)
            return self._answer(self._connection, told)
        except (EOFError, OSError) as error:
            words = _last_words(self._command)
            self._kill()
            raise SimulationError(f"{self.name} ended before its results came: {words}") from error
        except BaseException:
            self._kill()
            raise

    def _answer(self, connection: Connection, told: Callable[..., None] | None) -> list[Any]:
        while True:
            if not connection.poll(SILENCE_SECONDS):
                raise SimulationError(
                    f"{self.name} gave no sign of life for {SILENCE_SECONDS} seconds"
                )
            kind, *answer = connection.recv()
            if kind == "done":
                return answer
            if kind == "error":
                raise SimulationError(f"{self.name}: {answer[0]}")
            if told is not None:
                told(*answer)

    def close(self) -> None:
        """End the simulation. Waveforms are complete after this.

        In a forked copy of the process that started it, the simulation goes on.

        Raises
        ------
        SimulationError
            The simulator has written no waveforms, and did not say so.
        """
        connection = self._connection if os.getpid() == self._owner else None
        if connection is not None:
            with suppress(OSError):
                connection.send(None)
            with suppress(subprocess.TimeoutExpired):
                self._command.process.wait(_START_SECONDS)
        self._kill()
        waves = self._waves if connection is not None else None
        # A device or a pipe does not tell when it was written.
        if waves is None or (waves.exists() and not waves.is_file()):
            return
        if _written_at(waves) == self._waves_before:
            raise SimulationError(
                f"{self.name} wrote no waveforms to {str(waves)!r}: give a path that has only "
                "letters, digits and signs of ASCII, also in its folders"
            )

    def _kill(self) -> None:
        """End the simulation in whatever state it is."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if os.getpid() == self._owner:
            self._processes.end()
            shutil.rmtree(self._folder, ignore_errors=True)


def _written_at(path: Path | None) -> int | None:
    """Return when a file was written last, in nanoseconds; None if there is none."""
    try:
        return None if path is None else path.stat().st_mtime_ns
    except OSError:
        return None


def _last_words(command: Command) -> str:
    return (command.last_words or ["it left no message"])[-1]


def _short_folder() -> Path:
    """Return a new temporary folder whose path is short enough for a socket in it."""
    folder = Path(tempfile.mkdtemp(prefix="extremum-"))
    if len(os.fsencode(folder)) > _SOCKET_PATH_BYTES:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="extremum-", dir="/tmp"))
    return folder
