"""Helpers of every bench: the core's configuration, the number of examples, start and run."""

from __future__ import annotations

import os
from typing import Any

from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import pipeline_latency
from extremum.hdl.ports import status_layout
from extremum.host.simulation.agents import CoreBench, Outcome
from extremum.tb.cores import CORE, CORES
from extremum.tb.scoreboard import Scoreboard

EXAMPLES = "EXTREMUM_EXAMPLES"
"""Environment variable that sets the length of the random sequences; 40 is the usual length."""


def core() -> CoreConfig:
    """Return the configuration of the core that the simulation runs."""
    return CORES[os.environ[CORE]]


def examples(usual: int) -> int:
    """Return how many random examples to run: ``usual``, scaled by the environment variable.

    Raises
    ------
    ValueError
        The variable does not hold a number above 0.
    """
    if (wanted := int(os.environ.get(EXAMPLES, "40"))) < 1:
        raise ValueError(f"{EXAMPLES} must be at least 1, not {wanted}")
    return max(1, usual * wanted // 40)


async def started(dut: Any) -> CoreBench:
    """Return a bench whose core has been reset."""
    bench = CoreBench(dut, strict=True)
    await bench.start()
    return bench


async def carry_out(bench: CoreBench, board: Scoreboard, **options: Any) -> Outcome:
    """Run the jobs of a scoreboard, compare the results, and check that no others come."""
    outcome = await bench.run(board.run(**options))
    board.check(outcome.results, outcome.taken)
    await bench.quiet(pipeline_latency(board.config) + 20)
    assert not status(bench.dut.status.value)["busy"]
    return outcome


def status(word: Any) -> dict[str, int]:
    """Return the fields of the core's status."""
    fields = status_layout().from_bits(int(word))
    return {str(name): int(fields[name]) for name, _ in status_layout()}
