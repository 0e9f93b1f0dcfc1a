"""The AXI block under cocotb: the driver's transport to a simulator in a process of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from extremum.hdl.axi.streams import INDICES, VALUES
from extremum.hdl.config import CoreConfig
from extremum.hdl.verilog import TOPS
from extremum.host import tools
from extremum.host.errors import DeviceError
from extremum.host.simulation.backend import StreamClocks, StreamSettings
from extremum.host.simulation.cocotb_link import CocotbLink
from extremum.host.simulation.cocotb_simulator import compile_core

_BENCH = "extremum.host.simulation.block_server"
_OKAY = 0


class CocotbBlock(CocotbLink):
    """An AXI block that runs under cocotb, with agents of cocotbext-axi on its ports.

    It is a :class:`extremum.host.driver.transport.Transport`. The simulator's clock stands still
    but while one of the methods runs.

    Parameters
    ----------
    config
        Configuration of the core.
    name
        ``"verilator"`` or ``"icarus"``.
    waves
        VCD file to write, if any. It is complete when the simulator is closed.
    tell
        See :func:`extremum.host.simulation.cocotb_simulator.compile_core`.

    Raises
    ------
    ToolError
        A tool is missing or too old.
    SimulationError
        The simulator does not compile the block, or does not start.
    """

    def __init__(
        self,
        config: CoreConfig,
        name: str,
        waves: Path | None = None,
        *,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        tools.require("cocotbext-axi")
        build = compile_core(config, name, bus="axi", waves=waves is not None, tell=tell)
        self._asked: dict[str, deque[Callable[[np.ndarray, bool], None]]] = {
            VALUES: deque(),
            INDICES: deque(),
        }
        self._settings = StreamSettings()
        self._clocks = StreamClocks(0, None, 0, 0)
        super().__init__(name, build, TOPS["axi"], _BENCH, waves)

    def begin(self, settings: StreamSettings) -> None:
        """Set the streams, and count their clocks anew. Nothing may be under way."""
        self._settings = settings
        names = ("watchdog", "input_stalls", "output_stalls", "seed")
        self._call("begin", {name: getattr(settings, name) for name in names})

    def read(self, address: int) -> int:
        """Do as :meth:`extremum.host.driver.transport.Transport.read`."""
        word, response = self._call("read", address)
        if response != _OKAY:
            raise DeviceError(f"the block refused the read of address {address:#05x}")
        return word

    def write(self, address: int, word: int) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.write`."""
        if self._call("write", address, word) != _OKAY:
            raise DeviceError(f"the block refused the write of address {address:#05x}")

    def send(self, pieces: Iterable[np.ndarray], size: int) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.send`."""
        packet = b"".join(piece.tobytes() for piece in pieces)
        if len(packet) != size:
            raise ValueError(f"the pieces hold {len(packet)} bytes, and the size says {size}")
        self._call("send", packet)

    def receive(self, stream: str, size: int, take: Callable[[np.ndarray, bool], None]) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.receive`."""
        self._asked[stream].append(take)
        self._call("receive", stream)

    def wait(self) -> bool:
        """Do as :meth:`extremum.host.driver.transport.Transport.wait`."""
        return self._call("wait")

    def pass_clocks(self, clocks: int) -> None:
        """Let so many clocks pass."""
        self._call("pass_clocks", clocks)

    def reset(self, clocks: int = 1) -> None:
        """Do as :meth:`extremum.host.simulation.backend.BlockSimulation.reset`."""
        for asked in self._asked.values():
            asked.clear()
        self._call("reset", clocks)

    @property
    def clocks(self) -> StreamClocks:
        """How far the streams are since :meth:`begin`."""
        return self._clocks

    def _call(self, *request: Any) -> Any:
        """Have a request carried out, and hand the packets out that have come meanwhile."""
        answer, come, clocks = self._ask(request, self._watch)
        self._clocks = StreamClocks(*clocks)
        for stream, packet in come:
            self._asked[stream].popleft()(np.frombuffer(packet, np.uint8), True)
        return answer

    def _watch(self, clocks: tuple[int, int | None, int, int]) -> None:
        self._clocks = StreamClocks(*clocks)
        if self._settings.watch is not None:
            self._settings.watch(self._clocks)
