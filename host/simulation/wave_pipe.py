"""Waveforms that a simulator writes in a process of its own, on their way into a file.

Where a disk is full, Icarus leaves half a file and says nothing, and Verilator tries again without
an end. Icarus opens no file whose path is not ASCII, either. So they write to a named pipe, and
what comes through it is written here, where every error is noticed.
"""

from __future__ import annotations

import os
import select
import threading
from pathlib import Path

from extremum.host.errors import WaveformError

__all__ = ["WavePipe"]

_LOOK_MILLISECONDS = 50
_CHUNK_BYTES = 1 << 16


class WavePipe:
    """A named pipe, and the thread that copies what comes through it into a file.

    After an error the pipe is emptied all the same, so that the simulator goes on.

    Parameters
    ----------
    pipe
        Path of the pipe, which is made here.
    target
        The file.

    Raises
    ------
    WaveformError
        The file cannot be opened.
    """

    def __init__(self, pipe: Path, target: Path) -> None:
        self._target = target
        self._error: OSError | None = None
        try:
            # Without a buffer, so that an error belongs to what it happens to.
            self._file = target.open("wb", buffering=0)
        except OSError as error:
            raise WaveformError(f"cannot write waveforms to {target}: {error.strerror}") from error
        os.mkfifo(pipe)
        self._source = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        # With an end of our own, the pipe has one before the simulator opens it, and behind.
        self._end = os.open(pipe, os.O_WRONLY)
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._copy, name=str(pipe), daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        while True:
            # Looked at first: behind the end of the simulator nothing more comes.
            is_closing = self._is_closing.is_set()
            if poll.poll(0 if is_closing else _LOOK_MILLISECONDS):
                self._write(memoryview(os.read(self._source, _CHUNK_BYTES)))
            elif is_closing:
                return

    def _write(self, chunk: memoryview) -> None:
        while chunk and self._error is None:
            try:
                chunk = chunk[self._file.write(chunk) :]
            except OSError as error:
                self._error = error

    def check(self) -> None:
        """Make sure that all has been written so far.

        Raises
        ------
        WaveformError
            It has not.
        """
        if self._error is not None:
            raise WaveformError(
                f"cannot write all waveforms to {self._target}: {self._error.strerror}"
            ) from self._error

    def close(self) -> None:
        """Write what is still in the pipe, behind the end of the simulator. Raises nothing."""
        if self._is_closing.is_set():
            return
        self._is_closing.set()
        self._thread.join()
        os.close(self._source)
        os.close(self._end)
        try:
            self._file.close()
        except OSError as error:
            self._error = self._error or error
