"""Carries out what the driver of an AXI block asks of its transport, for another process.

:mod:`extremum.host.simulation.cocotb_block` starts the simulation with this as its bench. A request
is the name of a method and its arguments; None ends the simulation. Time stands still between two
requests. An answer is what the method returned, the packets that have come, and the clocks.
"""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, First

from extremum.host.simulation.block_agents import BlockAgents
from extremum.host.simulation.server import connected, requests


@cocotb.test()
async def serve(dut: Any) -> None:
    """Carry out the requests until the other side has no more."""
    connection = connected()
    agents = BlockAgents(dut, lambda seen: connection.send(("progress", seen.clocks)))
    await agents.start()
    for request in requests(connection):
        answer = await _carry_out(agents, *request)
        seen = agents.seen
        if seen.failure:
            connection.send(("error", seen.failure))
        else:
            come, seen.come = seen.come, []
            connection.send(("done", answer, come, seen.clocks))


async def _carry_out(agents: BlockAgents, name: str, *arguments: Any) -> Any:
    """Carry out one request, unless the simulation is given up meanwhile."""
    if name == "begin":
        return agents.begin(**arguments[0])
    if name in ("send", "receive"):
        return getattr(agents, name)(*arguments)
    if name == "pass_clocks":
        agents.waits = False
        await ClockCycles(agents.dut.aclk, *arguments)
        agents.waits = True
        return None
    if name == "reset":
        return await agents.reset(*arguments)
    task = cocotb.start_soon(getattr(agents, name)(*arguments))
    while not task.done() and not agents.seen.failure:
        agents.news.clear()
        await First(task, agents.news.wait())
    return task.result() if task.done() else None
