"""A simulator under cocotb in a process of its own, and the connection to the bench within it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from extremum.host.errors import SimulationError, WaveformError
from extremum.host.processes import Command, Processes
from extremum.host.simulation.wave_pipe import WavePipe

_START_SECONDS = 60
"""How long a simulator may take to start."""

_CLOSE_SECONDS = 60
"""How long it may take to end when it is closed; its waveforms are written meanwhile."""

_LAST_WORDS_SECONDS = 1
"""How long one that has failed may take to end; then it is read what it has said until then."""

SILENCE_SECONDS = 300
"""A simulation tells its progress; one that says nothing for so long is given up."""

WAVES_SECONDS = 5
"""How long waveforms of a simulation that has failed may take to be written; a disk may hang."""

_SOCKET_PATH_BYTES = 90
"""Operating systems allow a local socket's path little more than 100 bytes."""

_WAVES = "waves.vcd"
"""The pipe for waveforms, in the folder in which the simulator runs."""

_RETURN_CODE = re.compile(r"return code: -(\d+)$")
"""What cocotb says, if a signal has ended the simulator and not what started it."""

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
    WaveformError
        The file for the waveforms cannot be opened.
    """

    def __init__(self, name: str, build: Path, top: str, bench: str, waves: Path | None) -> None:
        self.name = name
        self._connection: Connection | None = None
        self._processes = Processes()
        self._owner = os.getpid()
        self._folder = _short_folder()
        # Also if nobody uses this object any more, or Python ends.
        self._clean = weakref.finalize(self, _remove, self._folder, self._owner, self._processes)
        self._waves: WavePipe | None = None
        try:
            if waves is not None:
                with self._named():
                    self._waves = WavePipe(self._folder / _WAVES, waves)
            self._start(build, top, bench)
        except BaseException:
            self._kill()
            raise

    def _start(self, build: Path, top: str, bench: str) -> None:
        address = str(self._folder / "socket")
        request = {
            "simulator": self.name,
            "build_dir": str(build),
            "test_dir": str(self._folder),
            "module": bench,
            "waves": None if self._waves is None else _WAVES,
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
        WaveformError
            Waveforms could not be written, as far as is known by now.
        """
        if self._connection is None:
            raise SimulationError(f"{self.name} has been closed")
        try:
            self._connection.send(request)
            answer = self._answer(self._connection, told)
            self._check_waves()
            return answer
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
        WaveformError
            Not all waveforms could be written. The simulation has ended all the same.
        """
        connection = self._connection if os.getpid() == self._owner else None
        if connection is not None:
            with suppress(OSError):
                connection.send(None)
            with suppress(subprocess.TimeoutExpired):
                self._command.wait(_CLOSE_SECONDS)
        self._kill(None)
        if connection is not None:
            self._check_waves()

    def _check_waves(self) -> None:
        if self._waves is not None:
            with self._named():
                self._waves.check()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Put the simulator's name into messages about waveforms."""
        try:
            yield
        except WaveformError as error:
            raise WaveformError(f"{self.name}: {error}") from error.__cause__

    def _kill(self, seconds: float | None = WAVES_SECONDS) -> None:
        """End the simulation in whatever state it is; its waveforms may take so long to follow."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if os.getpid() == self._owner:
            try:
                self._processes.end()
                if self._waves is not None:
                    self._waves.close(seconds)
            finally:
                self._clean()


def _remove(folder: Path, owner: int, processes: Processes) -> None:
    """End what still runs in a folder, and remove it, in the process that made it.

    A bench that ended later would make the folder again, for its results.
    """
    if os.getpid() == owner:
        try:
            processes.end()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _last_words(command: Command) -> str:
    """Return what a simulator that ends says of an error, or else the signal that ended it."""
    status = None
    with suppress(subprocess.TimeoutExpired):
        # What started the simulator speaks of its end only when it has noticed it.
        status = command.wait(_LAST_WORDS_SECONDS)
    words, number = (command.last_words or ["it left no message"])[-1], 0
    if told := _RETURN_CODE.search(words):
        number = int(told[1])
    elif status is not None and not command.complaints:
        # Where the lifeline lives on, it tells a signal as shells do.
        number = -status if status < 0 else status - 128
    if number > 0:
        with suppress(ValueError):
            return f"{signal.Signals(number).name} ended it"
    return words


def _short_folder() -> Path:
    """Return a new temporary folder whose path is short enough for a socket in it."""
    folder = Path(tempfile.mkdtemp(prefix="extremum-"))
    if len(os.fsencode(folder)) > _SOCKET_PATH_BYTES:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="extremum-", dir="/tmp"))
    return folder
