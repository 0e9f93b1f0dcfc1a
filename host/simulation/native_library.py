"""A compiled model that is loaded into this process: how it is opened, and how it ends."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from threading import get_ident
from typing import Any, NoReturn

from extremum.host.cache_files import ELSEWHERE
from extremum.host.errors import CacheError, SimulationError, WaveformError

NEVER = (1 << 64) - 1
"""A clock that does not come: the pumps' mark for what has not happened."""

POINTER, COUNT, NUMBER = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32

MESSAGE_BYTES = 256
"""Bytes of a pump's message."""


class State(IntEnum):
    """Why a pump returns; ``pump.hpp`` has the same."""

    RUNNING = 0
    DONE = 1
    FAILED = 2
    HUNGRY = 3
    FULL = 4
    UNWRITTEN = 5


ERRORS = {State.FAILED: SimulationError, State.UNWRITTEN: WaveformError}
"""What is raised for the states of a pump in which it cannot go on."""

Thread = tuple[int, int]
"""A process, and a thread of it."""

Function = tuple[Any, ...]
"""A function of a library: its name, the type of its result, and those of its arguments."""

_COMMON: tuple[Function, ...] = (
    ("pump_open", POINTER, ctypes.c_char_p, COUNT, COUNT, POINTER, ctypes.c_char_p),
    ("pump_clocks", COUNT, POINTER),
    ("pump_close", ctypes.c_int, POINTER),
)


def load(path: Path, functions: Sequence[Function]) -> ctypes.CDLL:
    """Load a library, and declare its functions beside those that every pump has.

    Raises
    ------
    CacheError
        The system refuses to load it, as it does from a disk whose programs may not run.
    """
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        told = f"a core in the cache cannot be loaded ({error})"
        raise CacheError(f"{told}: {ELSEWHERE}, on a disk whose programs may run") from error
    for name, result, *arguments in (*_COMMON, *functions):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def this_thread() -> Thread:
    """Return the process and the thread that call this."""
    return os.getpid(), get_ident()


def open_pump(
    library: ctypes.CDLL, waves: Path | None = None, wave_window: tuple[int, int] | None = None
) -> int:
    """Make the model of a library with its pump: see :class:`NativeModel`."""
    first, last = wave_window or (0, NEVER)
    path = os.fsencode(waves) if waves is not None else b""
    state, message = ctypes.c_int(), ctypes.create_string_buffer(MESSAGE_BYTES)
    opened = library.pump_open(path, first, last, ctypes.byref(state), message)
    if opened is None:
        raise ERRORS[State(state.value)](f"native: {os.fsdecode(message.value)}")
    return opened


class NativeModel:
    """A compiled model with its pump.

    Parameters
    ----------
    library
        The library, loaded by :func:`load`.
    waves
        VCD file to write, if any. It is complete when the model is closed.
    wave_window
        First and last clock to write, counted from the end of reset.

    Raises
    ------
    WaveformError
        The waveforms cannot be written.
    SimulationError
        The model cannot be started.
    """

    def __init__(
        self, library: ctypes.CDLL, waves: Path | None, wave_window: tuple[int, int] | None
    ) -> None:
        self._library, self._waves = library, waves
        self._first_wave = wave_window[0] if wave_window else 0
        self._caller: Thread | None = None
        self._opened: int | None = open_pump(library, waves, wave_window)
        # It also ends the model when nobody uses this object any more, or when Python ends.
        self._end = weakref.finalize(self, _end, library, self._opened, os.getpid())

    @property
    def _pump(self) -> int:
        """The pump, which the library's functions take.

        Raises
        ------
        RuntimeError
            Another thread is in the middle of a call.
        SimulationError
            The model has been closed.
        """
        self._check_thread()
        if self._opened is None:
            raise SimulationError("native has been closed")
        return self._opened

    def _check_thread(self) -> None:
        """Refuse a call while another thread is in the middle of one: the pump has one state."""
        caller, this = self._caller, this_thread()
        if caller is not None and caller != this and caller[0] == this[0]:
            raise RuntimeError(
                "native is in the middle of a call of another thread: one thread at a time may use "
                "a simulation"
            )

    def write_coverage(self, path: Path) -> None:
        """Write Verilator's counters, of a library that was compiled with ``coverage_write``."""
        assert self._pump
        self._library.coverage_write(os.fsencode(path))

    def close(self) -> None:
        """End the simulation. Waveforms are complete after this.

        In a forked copy of the process that started it, the simulation is left alone: Verilator's
        model must end in the process that it began in, and the waveforms are still being written.

        Raises
        ------
        RuntimeError
            Another thread is in the middle of a call.
        WaveformError
            Not all waveforms could be written, or the first clock to write never came. The
            simulation has ended all the same.
        """
        self._check_thread()
        self._opened = None
        clocks, error = self._end() or (None, 0)
        if error:
            raise WaveformError(
                f"native: cannot write all waveforms to {self._waves}: {os.strerror(error)}"
            )
        if clocks is not None and 0 < self._first_wave >= clocks:
            raise WaveformError(
                f"native: {self._waves} has no waveforms: wave_window begins at clock "
                f"{self._first_wave}, and the simulation had {clocks} clocks"
            )

    def _fail(self, state: int, message: bytes) -> NoReturn:
        """End a simulation that has ended in one of :data:`ERRORS`, and raise what it tells."""
        told = f"native: {message.decode(errors='replace')}"  # it is gone with the simulation
        self.abandon()
        raise ERRORS[State(state)](told)

    def abandon(self) -> None:
        """End the simulation after an error, which says more than that waveforms are missing."""
        with suppress(WaveformError):
            self.close()


def _end(library: ctypes.CDLL, opened: int, owner: int) -> tuple[int, int] | None:
    """End a model in the process that it began in; return its clocks, and what its waveforms lack.

    The latter is the number of the error that the operating system gave for them, or zero. In
    another process nothing is done, and None is returned.
    """
    if os.getpid() != owner:
        return None
    return library.pump_clocks(opened), library.pump_close(opened)
