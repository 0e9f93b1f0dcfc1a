"""Waveforms that a simulator writes in a process of its own, on their way into a file.

Where a disk is full, Icarus leaves half a file and says nothing, and Verilator retries for ever.
Icarus opens no file whose path is not ASCII, either. So they write to a named pipe, and what comes
through it is written to the file here, where an error becomes a `WaveformError`.
"""

from __future__ import annotations

import io
import os
import select
import stat
import threading
import weakref
from dataclasses import dataclass, field
from pathlib import Path

from extremum.host.errors import WaveformError

__all__ = ["WavePipe"]

_LOOK_MILLISECONDS = 50
_CHUNK_BYTES = 1 << 16


class WavePipe:
    """A named pipe, and the thread that copies what comes through it into a file.

    After an error the pipe is emptied all the same, so that the simulator goes on. The thread ends
    with :meth:`close`, or when nobody uses this object any more.

    Parameters
    ----------
    pipe
        Path of the pipe, which is made here.
    target
        The file. It keeps what it holds until something comes through the pipe.

    Raises
    ------
    WaveformError
        The file cannot be opened, or is a pipe.
    """

    def __init__(self, pipe: Path, target: Path) -> None:
        self._target = target
        os.mkfifo(pipe)
        try:
            if target.is_fifo():
                raise WaveformError(f"cannot write waveforms to {target}: it is a pipe")
            # Without a buffer, so that an error belongs to what it happens to. What the file holds
            # stays until the simulator has something to put in its place.
            file = io.FileIO(os.open(target, os.O_WRONLY | os.O_CREAT, 0o666), "w")
        except OSError as error:
            raise WaveformError(f"cannot write waveforms to {target}: {error.strerror}") from error
        source = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        # Our own end for writing keeps the pipe open before the simulator opens it and after it
        # has closed it: so there is no end of file.
        end = os.open(pipe, os.O_WRONLY)
        is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        self._copy = _Copy(source, end, file, is_plain)
        self._thread = threading.Thread(target=self._copy.run, name=str(pipe), daemon=True)
        self._thread.start()
        self._closing = weakref.finalize(self, self._copy.is_closing.set)

    def check(self) -> None:
        """Look whether something could not be written.

        Raises
        ------
        WaveformError
            It could not, as far as is known by now.
        """
        if (error := self._copy.error) is not None:
            told = f"cannot write all waveforms to {self._target}: {error.strerror}"
            raise WaveformError(told) from error

    def close(self, seconds: float | None = None) -> None:
        """Write what is still in the pipe, behind the end of the simulator.

        This takes no more than some seconds, if so many are given: a disk may not answer.
        """
        self._closing()
        self._thread.join(seconds)


@dataclass
class _Copy:
    """What a thread does: it copies a pipe into a file, and closes both.

    Parameters
    ----------
    source, end
        Both ends of the pipe.
    file
        The file, without a buffer.
    has_to_be_emptied
        Whether what the file holds goes when the first bytes come.

    Attributes
    ----------
    error
        The first error; None if there is none.
    is_closing
        Is set when the simulator has ended.
    """

    source: int
    end: int
    file: io.FileIO
    has_to_be_emptied: bool
    error: OSError | None = None
    is_closing: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Copy until the simulator has ended and the pipe is empty."""
        poll = select.poll()
        poll.register(self.source, select.POLLIN)
        while True:
            # Looked at first: behind the end of the simulator nothing more comes.
            is_closing = self.is_closing.is_set()
            if poll.poll(0 if is_closing else _LOOK_MILLISECONDS):
                self._write(memoryview(os.read(self.source, _CHUNK_BYTES)))
            elif is_closing:
                break
        os.close(self.source)
        os.close(self.end)
        try:
            self.file.close()
        except OSError as error:
            self.error = self.error or error

    def _write(self, chunk: memoryview) -> None:
        while chunk and self.error is None:
            try:
                if self.has_to_be_emptied:
                    self.file.truncate(0)
                    self.has_to_be_emptied = False
                chunk = chunk[self.file.write(chunk) :]
            except OSError as error:
                self.error = error
