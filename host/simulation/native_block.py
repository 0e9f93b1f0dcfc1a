"""The native simulation of the AXI block: the driver's transport to a block in this process."""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from extremum.hdl.axi.streams import INDICES, INPUT, VALUES, port_widths
from extremum.hdl.config import CoreConfig
from extremum.host.errors import DeviceError
from extremum.host.pieces import checked_total
from extremum.host.simulation import native, native_library
from extremum.host.simulation.backend import (
    RESET_CLOCKS,
    StreamClocks,
    StreamSettings,
)
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

FLUSH_CLOCKS = 64
"""Clocks in which a reset takes what the block still offers."""

_ACCESS, _ANSWERS, _EVENT, _CLOCKS = range(4)
_NO_ADDRESS = (1 << 32) - 1
_SINKS = (VALUES, INDICES)


class _Settings(ctypes.Structure):
    """Settings of the streams, with the layout of ``Settings`` in ``axi_pump.cpp``."""

    _fields_ = (
        ("watchdog", ctypes.c_uint64),
        ("input_stalls", native.PhasesStruct),
        ("output_stalls", native.PhasesStruct),
        ("seed", ctypes.c_uint32),
    )


class _Filled(ctypes.Structure):
    """What has come on a stream, with the layout of ``Filled`` in ``axi_pump.cpp``."""

    _fields_ = (("bytes", ctypes.c_uint64), ("ended", ctypes.c_uint32))


class _Outcome(ctypes.Structure):
    """What has come of it so far, with the layout of ``Outcome`` in ``axi_pump.cpp``."""

    _fields_ = (
        ("clock", ctypes.c_uint64),
        ("first", ctypes.c_uint64),
        ("last", ctypes.c_uint64),
        ("taken", ctypes.c_uint64),
        ("given", ctypes.c_uint64),
        ("filled", _Filled * 2),
        ("irq", ctypes.c_uint32),
        ("word", ctypes.c_uint32),
        ("refused_read", ctypes.c_uint32),
        ("refused_write", ctypes.c_uint32),
        ("message", ctypes.c_char * MESSAGE_BYTES),
    )


_FUNCTIONS: tuple[native_library.Function, ...] = (
    ("pump_begin", None, POINTER, ctypes.POINTER(_Settings)),
    ("pump_write", None, POINTER, NUMBER, NUMBER, NUMBER),
    ("pump_rest_answers", None, POINTER, NUMBER, NUMBER),
    ("pump_read", None, POINTER, NUMBER),
    ("pump_send", None, POINTER, COUNT),
    ("pump_feed", None, POINTER, POINTER, COUNT),
    ("pump_ask", None, POINTER, ctypes.c_int, COUNT),
    ("pump_drain", None, POINTER, ctypes.c_int, POINTER, COUNT),
    ("pump_packets", POINTER, POINTER, ctypes.c_int, ctypes.POINTER(COUNT)),
    ("pump_reset", None, POINTER, COUNT),
    ("pump_stop_sending", None, POINTER),
    ("pump_stop_receiving", None, POINTER, COUNT),
    ("pump_advance", ctypes.c_int, POINTER, ctypes.c_double, ctypes.c_int, COUNT),
    ("pump_is_idle", ctypes.c_int, POINTER),
    ("pump_outcome", ctypes.POINTER(_Outcome), POINTER),
)


class NativeBlock(NativeModel):
    """An AXI block that runs in this process, compiled to machine code.

    It is a :class:`extremum.host.driver.transport.Transport`. Its clock stands still but while one
    of the methods runs; the streams move in each of these clocks, whatever the method is for.
    A write is answered a clock after it is taken, so that it may be refused in a later call.

    Parameters
    ----------
    config
        Configuration of the core.
    waves, wave_window, verilog, tell, library
        See :class:`extremum.host.simulation.native.NativeSimulator`.

    Raises
    ------
    ToolError
        A tool is missing or too old.
    SimulationError
        The block cannot be compiled, or its waveforms cannot be written.
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
        if library is None:
            library = compile_native(
                config, bus="axi", waves=waves is not None, verilog=verilog, tell=tell
            )
        super().__init__(native_library.load(library, _FUNCTIONS), waves, wave_window)
        widths = port_widths(config)
        self._beat_bytes = {name: width // 8 for name, width in widths.items()}
        self._buffers: dict[str, np.ndarray] = {}
        self.begin(StreamSettings())
        self.pass_clocks(RESET_CLOCKS)

    @property
    def _outcome(self) -> _Outcome:
        """What the pump told last. It is in memory of the pump."""
        return self._library.pump_outcome(self._pump).contents

    def begin(self, settings: StreamSettings) -> None:
        """Set the streams, and count clocks and packets anew. Nothing may be under way."""
        self._settings = settings
        rests = [native.PhasesStruct.of(r) for r in (settings.input_stalls, settings.output_stalls)]
        made = _Settings(settings.watchdog, *rests, settings.seed & 0xFFFFFFFF)
        self._library.pump_begin(self._pump, ctypes.byref(made))
        self._rests = rests  # kept, since the pump points to their phases
        self._forget_sent()
        self._asked: dict[str, deque[Callable[[np.ndarray, bool], None]]] = {}
        for number, name in enumerate(_SINKS):
            self._asked[name] = deque()
            beats = max(1, native.BUFFER_ELEMENTS // max(1, self._beat_bytes[name]))
            self._buffers[name] = np.empty(beats * max(1, self._beat_bytes[name]), np.uint8)
            self._drain(number)
        self._told = time.monotonic()

    def read(self, address: int) -> int:
        """Do as :meth:`extremum.host.driver.transport.Transport.read`."""
        self._advance(_ANSWERS)
        self._library.pump_read(self._pump, address)
        self._advance(_ACCESS)
        if self._outcome.refused_read:
            raise DeviceError(f"the block refused the read of address {address:#05x}")
        return self._outcome.word

    def write(self, address: int, word: int, strobes: int = 0b1111) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.write`, with those strobes."""
        self._library.pump_write(self._pump, address, word, strobes)
        self._advance(_ACCESS)

    def send(self, pieces: Iterable[np.ndarray], size: int) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.send`."""
        told = "the pieces of a packet hold {} bytes than its size says"
        self._sent.append(checked_total(pieces, size, lambda piece: piece.nbytes, told))
        self._library.pump_send(self._pump, size // self._beat_bytes[INPUT])

    def receive(self, stream: str, size: int, take: Callable[[np.ndarray, bool], None]) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.receive`."""
        self._asked[stream].append(take)
        self._library.pump_ask(self._pump, _SINKS.index(stream), 1)

    def wait(self) -> bool:
        """Do as :meth:`extremum.host.driver.transport.Transport.wait`."""
        self._advance(_ANSWERS)
        self._advance(_EVENT)
        self._hand_out()
        return self.interrupt and not self._library.pump_is_idle(self._pump)

    def rest_answers(self, rate: int, seed: int) -> None:
        """From now on, let answers to reads and writes wait in this percentage of the clocks."""
        self._library.pump_rest_answers(self._pump, rate, seed)

    @property
    def interrupt(self) -> bool:
        """Whether the block raised its interrupt in the last clock."""
        return bool(self._outcome.irq)

    def pass_clocks(self, clocks: int) -> None:
        """Let so many clocks pass."""
        self._advance(_CLOCKS, clocks)

    def reset(self, clocks: int = 1) -> None:
        """Do as :meth:`extremum.host.simulation.backend.BlockSimulation.reset`."""
        self._library.pump_reset(self._pump, clocks)
        self._outcome.refused_write = _NO_ADDRESS
        self._forget_sent()
        for number, name in enumerate(_SINKS):
            self._asked[name].clear()
            self._drain(number)
        self.pass_clocks(RESET_CLOCKS)

    @contextmanager
    def resetting(self) -> Iterator[None]:
        """Stop and start the streams as a DMA's channels, around a soft reset in a ``with`` block.

        Before, what is being sent is forgotten; behind it, what the block still offers is taken,
        and what was asked for is forgotten.
        """
        with suppress(DeviceError):
            self._advance(_ANSWERS)
        self._library.pump_stop_sending(self._pump)
        self._forget_sent()
        for name, asked in self._asked.items():
            self._asked[name] = deque([_ignore] * len(asked))
        yield
        self._advance(_ANSWERS)
        self._library.pump_stop_receiving(self._pump, FLUSH_CLOCKS)
        for number, name in enumerate(_SINKS):
            self._asked[name].clear()
            self._drain(number)

    @property
    def clocks(self) -> StreamClocks:
        """The clocks of the streams since :meth:`begin`."""
        outcome = self._outcome
        first = None if outcome.first == NEVER else outcome.first
        return StreamClocks(outcome.clock, first, outcome.last, outcome.taken)

    def packets(self, stream: str) -> np.ndarray:
        """Return the first and the last clock of each packet on a stream, (packets, 2), uint64.

        They are counted from :meth:`begin`.
        """
        count = COUNT()
        number = 2 if stream == INPUT else _SINKS.index(stream)
        address = self._library.pump_packets(self._pump, number, ctypes.byref(count))
        if not count.value:
            return np.zeros((0, 2), np.uint64)
        array = ctypes.cast(address, ctypes.POINTER(COUNT * (2 * count.value))).contents
        return np.array(array, np.uint64).reshape(-1, 2)

    def _advance(self, goal: int, clocks: int = 0) -> None:
        """Go on until the goal is reached; feed and drain the streams meanwhile."""
        pump, watch = self._pump, self._settings.watch
        end = self._outcome.clock + clocks
        outer = self._caller
        try:
            self._caller = this_thread()
            while True:
                left = end - self._outcome.clock if clocks else 0
                state = self._library.pump_advance(pump, native.SLICE_SECONDS, goal, left)
                if state == State.DONE:
                    break
                if state in native_library.ERRORS:
                    self._fail(state, self._outcome.message)
                if state == State.HUNGRY:
                    self._feed()
                elif state == State.FULL:
                    self._hand_out()
                if watch is not None and time.monotonic() >= self._told + native.SLICE_SECONDS:
                    watch(self.clocks)
                    self._told = time.monotonic()
        except DeviceError:  # from one who takes a packet; the simulation can go on
            raise
        except BaseException:
            self.abandon()
            raise
        finally:
            self._caller = outer
        if (address := self._outcome.refused_write) != _NO_ADDRESS:
            self._outcome.refused_write = _NO_ADDRESS
            raise DeviceError(f"the block refused the write of address {address:#05x}")

    def _forget_sent(self) -> None:
        self._sent: deque[Iterator[np.ndarray]] = deque()

    def _feed(self) -> None:
        """Hand the pump its next beats."""
        while (piece := next(self._sent[0], None)) is None:
            self._sent.popleft()
        # Kept, since the pump only points to it.
        self._fed = np.ascontiguousarray(piece).reshape(-1)
        beats = len(self._fed) // self._beat_bytes[INPUT]
        self._library.pump_feed(self._pump, self._fed.ctypes.data, beats)

    def _hand_out(self) -> None:
        """Give away what has come on the output streams."""
        for number, name in enumerate(_SINKS):
            filled = self._outcome.filled[number]
            if filled.bytes or filled.ended:
                part, ended = self._buffers[name][: filled.bytes], bool(filled.ended)
                take = self._asked[name].popleft() if ended else self._asked[name][0]
                self._drain(number)
                take(part, ended)

    def _drain(self, number: int) -> None:
        """Give a sink its buffer again."""
        buffer = self._buffers[_SINKS[number]]
        self._library.pump_drain(self._pump, number, buffer.ctypes.data, len(buffer))


def _ignore(part: np.ndarray, last: bool) -> None:
    """Take a packet that nobody wants any more."""
