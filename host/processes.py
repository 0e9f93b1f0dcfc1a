"""Compilers and other programs that run side by side, and end when they are no longer wanted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO

from extremum.host import lifeline


@dataclass(frozen=True)
class Command:
    """A program that was started.

    Parameters
    ----------
    name
        Name of the program, for messages.
    process
        The process that runs it, which leads a group of its own.
    output
        File that receives what it prints.
    """

    name: str
    process: subprocess.Popen[bytes]
    output: IO[bytes]

    @property
    def last_words(self) -> list[str]:
        """The lines that it has printed so far; only those that speak of an error, if any do."""
        return self.complaints or self._lines()

    @property
    def complaints(self) -> list[str]:
        """The lines that it has printed so far and that speak of an error.

        A warning of Verilator counts as an error if nothing else has made it stop.
        """
        told = [line for line in self._lines() if "Exiting due to" not in line]
        for sign in ("error", "%warning"):
            if found := [line for line in told if sign in line.lower()]:
                return found
        return []

    def _lines(self) -> list[str]:
        """The lines that it has printed so far."""
        # Its standard output shares the file's position, which must stay as it is.
        size = os.fstat(self.output.fileno()).st_size
        text = os.pread(self.output.fileno(), size, 0).decode(errors="replace")
        return [line.strip() for line in text.splitlines() if line.strip(" *\t")]


class CommandFailedError(Exception):
    """A program ended with another status than 0.

    Attributes
    ----------
    name : str
        Name of the program.
    reason : str
        The first line of its output that speaks of an error, or else its first line.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


def temporary_folder() -> dict[str, str]:
    """Return the environment variables that tell programs where temporary files are made.

    Python looks for a folder that can be written; others fail where the user's variables name none.
    """
    return dict.fromkeys(("TMPDIR", "TEMP", "TMP"), tempfile.gettempdir())


class Processes:
    """Starts programs; whatever still runs at the end of the ``with`` block is killed.

    They also end with this process, however it ends: see :mod:`extremum.host.lifeline`. Threads
    may share one object.

    Examples
    --------
    >>> with Processes() as processes:
    ...     one, two = processes.start(["true"]), processes.start(["true"])
    ...     processes.wait(one, two)
    """

    def __init__(self) -> None:
        self._running: list[Command] = []
        self._lock = Lock()
        self._ended = False
        self._owner = os.getpid()

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill what still runs. In a forked copy of the process that started it, do nothing."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            self._ended = True
            running, self._running = self._running, []
        for command in running:
            _kill(command)

    def start(
        self,
        command: Sequence[str],
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Command:
        """Start a program.

        Parameters
        ----------
        command
            The program and its arguments.
        folder
            Where it runs; in this process's folder, if None.
        variables
            Environment variables that are changed for it.
        """
        environment = os.environ | temporary_folder() | dict(variables or {})
        program = shutil.which(command[0], path=environment.get("PATH")) or command[0]
        with self._lock:
            if self._ended:
                raise RuntimeError("no program is started after the others were ended")
            output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the program is
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", lifeline.__file__, program, *command[1:]],
                stdin=subprocess.PIPE,  # the lifeline
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
            started = Command(Path(program).name, process, output)
            self._running.append(started)
        return started

    def wait(self, *commands: Command) -> None:
        """Wait until programs have ended.

        Raises
        ------
        CommandFailedError
            One of them ended with another status than 0.
        """
        for command in commands:
            status = command.process.wait()
            if status:
                words = command.last_words or [f"it ended with status {status}"]
                raise CommandFailedError(command.name, words[0])

    def run(
        self,
        command: Sequence[str],
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Start a program and wait until it has ended: see :meth:`start` and :meth:`wait`."""
        self.wait(self.start(command, folder, variables))


def _kill(command: Command) -> None:
    """End a program and all that it started, unless it has ended."""
    if command.process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(command.process.pid, signal.SIGKILL)
        command.process.wait()
    if command.process.stdin is not None:
        command.process.stdin.close()
    command.output.close()
