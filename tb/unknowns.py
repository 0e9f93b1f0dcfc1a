"""Bench for simulators with four states: X on idle payloads reaches no output.

The core's memories begin with X as well, if their Verilog has no initial values.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.types import LogicArray, Range

from extremum.host.simulation import agents
from extremum.tb.bench import carry_out, core, examples, started
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import jobs


class UnknownSource(agents._Source):
    """A source that shows X while it rests."""

    def rest(self) -> None:
        """Offer nothing."""
        self._valid.value = 0
        self._payload.value = unknown(self._width)


def unknown(width: int) -> LogicArray:
    """Return so many bits that are X."""
    return LogicArray("X" * width, Range(width - 1, 0))


@cocotb.test()
@cocotb.parametrize(input_stalls=[0, 60], output_stalls=[0, 60])
async def unknown_payloads(dut: Any, input_stalls: int, output_stalls: int) -> None:
    """All results are right, and no output that controls something is ever unknown."""
    agents._Source = UnknownSource
    bench = await started(dut)
    for seed in range(examples(2)):
        board = Scoreboard(core())
        for job, x in jobs(random.Random(seed), core(), 12):
            board.add(job, x)
        await carry_out(bench, board, input_stalls=input_stalls, output_stalls=output_stalls)
