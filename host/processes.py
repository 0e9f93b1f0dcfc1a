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
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO

from extremum.host import lifeline


class Command:
    """A program that was started.

    Parameters
    ----------
    name
        Name of the program, for messages.
    process
        The process that runs it, which leads a group of its own.
    output
        File that receives what it prints. It is closed when the program has ended.
    """

    def __init__(self, name: str, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        self.name, self.process = name, process
        self._output = output
        self._text: str | None = None
        self._lock = Lock()

    def wait(self, seconds: float | None = None) -> int:
        """Wait until it has ended, and close its files; return its status.

        Raises
        ------
        subprocess.TimeoutExpired
            It has not ended within so many seconds.
        """
        status = self.process.wait(seconds)
        with self._lock:
            if self._text is None:
                self._text = self._read()
                self._output.close()
                if self.process.stdin is not None:
                    self.process.stdin.close()
        return status

    def kill(self) -> None:
        """End it and all that it started, unless it has ended."""
        if self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.wait()

    @property
    def has_ended(self) -> bool:
        """Whether somebody has waited for its end."""
        return self._text is not None

    @property
    def text(self) -> str:
        """What it has printed so far."""
        with self._lock:
            return self._read() if self._text is None else self._text

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
        return [line.strip() for line in self.text.splitlines() if line.strip(" *\t")]

    def _read(self) -> str:
        """Read what it has printed so far, while its file is open."""
        # Its standard output shares the file's position, which must stay as it is.
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode(errors="replace")


class CommandFailedError(Exception):
    """A program ended with another status than 0.

    Attributes
    ----------
    name : str
        Name of the program.
    reason : str
        The first line of its output that speaks of an error, or else its first line.
    is_disk_full : bool
        Whether it says so anywhere.
    """

    def __init__(self, name: str, words: Sequence[str]) -> None:
        super().__init__(f"{name}: {words[0]}")
        self.name = name
        self.reason = words[0]
        self.is_disk_full = any("no space left on device" in line.lower() for line in words)


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
        self._started: list[Command] = []
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
            started, self._started = self._started, []
        for command in started:
            command.kill()

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
            output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the program has ended
            try:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", lifeline.__file__, program, *command[1:]],
                    stdin=subprocess.PIPE,  # the lifeline
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=folder,
                    env=environment,
                    start_new_session=True,
                )
            except BaseException:
                output.close()
                raise
            started = Command(Path(program).name, process, output)
            # Those that have ended are forgotten, since there may be thousands of them.
            self._started = [each for each in self._started if not each.has_ended] + [started]
        return started

    def wait(self, *commands: Command) -> None:
        """Wait until programs have ended.

        Raises
        ------
        CommandFailedError
            One of them ended with another status than 0.
        """
        for command in commands:
            if status := command.wait():
                words = command.last_words or [f"it ended with status {status}"]
                raise CommandFailedError(command.name, words)

    def run(
        self,
        command: Sequence[str],
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Start a program and wait until it has ended: see :meth:`start` and :meth:`wait`."""
        self.wait(self.start(command, folder, variables))
