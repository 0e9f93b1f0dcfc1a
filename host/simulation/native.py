"""The native simulation: the core compiled to a shared library, pumped from NumPy buffers."""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from amaranth.hdl import Shape

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import job_layout
from extremum.host.pieces import checked_total
from extremum.host.simulation import native_library, stalls
from extremum.host.simulation.backend import JobRun, Measured, Take, WatchClocks
from extremum.host.simulation.native_build import compile_native
from extremum.host.simulation.native_library import (
    COUNT,
    MESSAGE_BYTES,
    NEVER,
    NUMBER,
    POINTER,
    NativeModel,
    State,
    this_thread,
)

SLICE_SECONDS = 0.1
"""Seconds after which the pump returns to Python, which may be interrupted or tell progress."""

BUFFER_ELEMENTS = 1 << 16
"""Elements that the pump's buffer for results holds, about."""


class PhasesStruct(ctypes.Structure):
    """Stalls that change, with the layout of ``Phases`` in ``streams.hpp``."""

    _fields_ = (("first", ctypes.c_void_p), ("count", ctypes.c_uint64))

    @classmethod
    def of(cls, rests: int | stalls.Phases) -> PhasesStruct:
        """Return a rate in percent, or rates that change, as the pump takes them."""
        pairs = [(1, rests)] if isinstance(rests, int) else list(rests)
        array = np.array(pairs, np.uint64).reshape(-1, 2)
        made = cls(array.ctypes.data, len(array))
        made.kept = array  # the structure only points to it
        return made


class _Request(ctypes.Structure):
    """A run, with the layout of ``Request`` in ``pump.cpp``."""

    _fields_ = (
        ("jobs", ctypes.c_void_p),
        ("ends", ctypes.c_void_p),
        ("job_count", ctypes.c_uint64),
        ("beat_count", ctypes.c_uint64),
        ("statuses", ctypes.c_void_p),
        ("watchdog", ctypes.c_uint64),
        ("stop_after", ctypes.c_uint64),
        ("input_stalls", PhasesStruct),
        ("output_stalls", PhasesStruct),
        ("job_stalls", PhasesStruct),
        ("seed", ctypes.c_uint32),
    )


class _Outcome(ctypes.Structure):
    """What came of a run so far, with the layout of ``Outcome`` in ``pump.cpp``."""

    _fields_ = (
        ("clock", ctypes.c_uint64),
        ("first", ctypes.c_uint64),
        ("last", ctypes.c_uint64),
        ("taken", ctypes.c_uint64),
        ("given", ctypes.c_uint64),
        ("statuses", ctypes.c_uint64),
        ("message", ctypes.c_char * MESSAGE_BYTES),
    )


class NativeSimulator(NativeModel):
    """A core that runs in this process, compiled to machine code.

    Parameters
    ----------
    config
        Configuration of the core.
    waves
        VCD file to write, if any. It is complete when the simulator is closed.
    wave_window
        First and last clock to write, counted from the end of reset, over all runs.
    verilog, tell
        See :func:`extremum.host.simulation.native_build.compile_native`.
    library
        The compiled core, if it has been compiled in another way.

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
        *,
        verilog: str | None = None,
        tell: Callable[[str], None] | None = None,
        library: Path | None = None,
    ) -> None:
        self._lanes, self._element_bytes = config.lanes, config.element_width // 8
        self._job_bytes = -(-Shape.cast(job_layout(config)).width // 8)
        if library is None:
            library = compile_native(config, waves=waves is not None, verilog=verilog, tell=tell)
        super().__init__(load(library), waves, wave_window)

    def run(self, run: JobRun, take: Take, watch: WatchClocks | None = None) -> Measured:
        """Do as :meth:`extremum.host.simulation.backend.Simulator.run`.

        A message names the clock of the run, and of the simulation if they differ.
        """
        pump = self._pump
        try:
            self._caller = this_thread()
            return self._carry_out(pump, run, take, watch)
        except BaseException:
            self.abandon()
            raise
        finally:
            self._caller = None

    def _carry_out(self, pump: int, run: JobRun, take: Take, watch: WatchClocks | None) -> Measured:
        # These names keep the buffers alive while the pump works on them.
        jobs = np.frombuffer(
            b"".join(job.to_bytes(self._job_bytes, "little") for job in run.jobs), np.uint8
        )
        # A job that is refused gives no result, so there may be fewer ends than jobs.
        ends = np.zeros(len(run.jobs), np.uint64)
        ends[:] = sum(run.beats_out)
        counts = list(itertools.accumulate(count for count in run.beats_out if count))
        ends[: len(counts)] = counts
        statuses = np.zeros(len(run.jobs), np.uint64)
        rests = [PhasesStruct.of(r) for r in (run.input_stalls, run.output_stalls, run.job_stalls)]
        request = _Request(
            jobs.ctypes.data, ends.ctypes.data, len(run.jobs), run.beats_in,
            statuses.ctypes.data, run.watchdog,
            NEVER if run.stop_after is None else run.stop_after, *rests, run.seed & 0xFFFFFFFF,
        )  # fmt: skip
        self._library.pump_begin(pump, ctypes.byref(request))
        outcome: _Outcome = self._library.pump_outcome(pump).contents
        told = "the pieces hold {} beats than beats_in says"
        pieces = checked_total(run.beats, run.beats_in, len, told)
        buffer = _ResultBuffer(self._lanes, run, take)
        watched = time.monotonic()
        while (state := self._library.pump_advance(pump, SLICE_SECONDS)) != State.DONE:
            if state in native_library.ERRORS:
                self._fail(state, outcome.message)
            if state == State.HUNGRY:
                self._feed(pieces)
            elif state == State.FULL:
                buffer.give(outcome.given)
                self._library.pump_drain(pump, *buffer.arguments)
            if watch is not None and time.monotonic() >= watched + SLICE_SECONDS:
                watch(outcome.clock, outcome.taken)
                watched = time.monotonic()
        if outcome.taken == run.beats_in:
            for _ in pieces:  # an error, if there are any left
                pass
        buffer.give(outcome.given)
        cycles = 0 if outcome.first == NEVER else outcome.last - outcome.first + 1
        return Measured(cycles, tuple(map(int, statuses[: outcome.statuses])), outcome.taken)

    def _feed(self, pieces: Iterator[np.ndarray]) -> None:
        """Hand the pump its next beats."""
        beats = next(pieces)
        if beats.shape[1:] != (self._lanes,) or beats.itemsize > self._element_bytes:
            raise ValueError(
                f"beats must be {self._lanes} lanes of at most {self._element_bytes} bytes, not "
                f"{beats.dtype} of sizes {beats.shape}"
            )
        self._fed = np.ascontiguousarray(beats)  # kept, since the pump only points to it
        self._library.pump_feed(self._pump, self._fed.ctypes.data, len(beats), beats.itemsize)

    def reset(self, clocks: int = 1) -> None:
        """Do as :meth:`extremum.host.simulation.backend.Simulator.reset`."""
        self._library.pump_reset(self._pump, clocks)

    def idle(self, clocks: int) -> None:
        """Clock the core without looking at its ports: the measure of what the pump costs."""
        self._library.pump_idle(self._pump, clocks)


class _ResultBuffer:
    """Arrays that the pump fills with results again and again.

    Parameters
    ----------
    lanes
        Elements of a result.
    run
        The run, which tells the type and the number of the results.
    take
        Is called with the results whenever the arrays are full.
    """

    def __init__(self, lanes: int, run: JobRun, take: Take) -> None:
        most = max(1, BUFFER_ELEMENTS // (lanes * run.together)) * run.together
        beats = min(sum(run.beats_out), most)
        self._values = np.empty((beats, lanes), run.dtype)
        self._positions = np.empty((beats, lanes), np.uint32)
        self._take = take
        self._given = 0

    def give(self, given: int) -> None:
        """Give away what came since the last call; ``given`` counts all results of the run."""
        count, self._given = given - self._given, given
        if count:
            self._take(self._values[:count], self._positions[:count])

    @property
    def arguments(self) -> tuple[int, int, int, int]:
        """What `pump_drain` takes."""
        return (
            self._values.ctypes.data,
            self._positions.ctypes.data,
            len(self._values),
            self._values.itemsize,
        )


def load(path: Path) -> ctypes.CDLL:
    """Load a library that :func:`compile_native` made, and declare its functions."""
    return native_library.load(
        path,
        (
            ("pump_begin", None, POINTER, ctypes.POINTER(_Request)),
            ("pump_feed", None, POINTER, POINTER, COUNT, NUMBER),
            ("pump_drain", None, POINTER, POINTER, POINTER, COUNT, NUMBER),
            ("pump_advance", ctypes.c_int, POINTER, ctypes.c_double),
            ("pump_outcome", ctypes.POINTER(_Outcome), POINTER),
            ("pump_reset", None, POINTER, COUNT),
            ("pump_idle", None, POINTER, COUNT),
            ("pump_stalls", None, ctypes.POINTER(PhasesStruct), NUMBER, COUNT, POINTER),
        ),
    )
