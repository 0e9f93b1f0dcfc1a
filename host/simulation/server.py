"""Runs jobs on the core in the simulator, for a program that is another process.

:mod:`extremum.host.simulation.cocotb_simulator` starts the simulation with this as its bench, and
sends it requests over a local socket. Each request is the fields of a
:class:`extremum.host.simulation.agents.PortRun`, with the beats as one block of bytes, and the
clocks after which the run is left; or ``{"reset": clocks}``. None ends the simulation.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import cocotb

from extremum.host.simulation.agents import CoreBench, PortRun, StreamRuleError, Watchdog

ADDRESS = "EXTREMUM_ADDRESS"
"""Environment variable that names the socket to connect to."""


def connected() -> Connection:
    """Return the connection to the program that started the simulation."""
    link = socket.socket(socket.AF_UNIX)
    link.connect(os.environ[ADDRESS])
    return Connection(link.detach())


def requests(connection: Connection) -> Iterator[Any]:
    """Yield the requests of the other side until it has no more. Simulated time stands still."""
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        if request is None:
            return
        yield request


@cocotb.test()
async def serve(dut: Any) -> None:
    """Carry out the requests until the other side has no more."""
    connection = connected()
    bench = CoreBench(dut)
    await bench.start()
    for request in requests(connection):
        connection.send(await _carry_out(bench, request, connection))


async def _carry_out(bench: CoreBench, request: dict[str, Any], connection: Connection) -> Any:
    if "reset" in request:
        await bench.reset(request["reset"])
        return ("done",)
    block: bytes = request.pop("beats")
    width: int = request.pop("beat_bytes")
    beats = [
        int.from_bytes(block[start : start + width], "little")
        for start in range(0, len(block), width)
    ]
    stop_after: int | None = request.pop("stop_after")
    try:
        outcome = await bench.run(
            PortRun(beats=beats, **request),
            lambda *told: connection.send(("progress", *told)),
            stop_after,
        )
    except (StreamRuleError, Watchdog) as error:
        return ("error", str(error))
    except ValueError as error:  # from a bit that is neither 0 nor 1
        return ("error", f"an output is unknown: {bench.dut.o__payload.value} ({error})")
    size = -(-len(bench.dut.o__payload) // 8)
    results = b"".join(result.to_bytes(size, "little") for result in outcome.results)
    return ("done", results, outcome.cycles, outcome.statuses, outcome.taken)
