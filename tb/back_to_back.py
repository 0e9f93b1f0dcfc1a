"""Bench: random jobs that follow each other without a pause, with stalls at all rates."""

from __future__ import annotations

import random
from typing import Any

import cocotb

from extremum.tb.bench import carry_out, core, examples, started
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import jobs

RATES = (0, 30, 80)
"""Stalls of the source and of the sink, in percent of the clocks."""


def board(seed: int, count: int) -> Scoreboard:
    """Return a scoreboard of random jobs."""
    config = core()
    filled = Scoreboard(config, seed)
    for job, x in jobs(random.Random(seed), config, count):
        filled.add(job, x)
    return filled


@cocotb.test()
@cocotb.parametrize(input_stalls=RATES, output_stalls=RATES)
async def random_jobs(dut: Any, input_stalls: int, output_stalls: int) -> None:
    """All results of many jobs come in order, and no output depends combinationally on an input."""
    bench = await started(dut)
    seed = 1000 * input_stalls + output_stalls
    for part in range(examples(1)):
        await carry_out(
            bench,
            board(seed + part, 14),
            input_stalls=input_stalls,
            output_stalls=output_stalls,
            job_stalls=(0, 50, 90)[(input_stalls + output_stalls) % 3],
            seed=seed + part,
        )


@cocotb.test()
async def changing_stalls(dut: Any) -> None:
    """Nothing is lost if source and sink stall and run in random turns, in the middle of jobs."""
    bench = await started(dut)
    source = random.Random(7)
    for part in range(examples(3)):

        def phases() -> list[tuple[int, int]]:
            rates = (0, 100, 0, 50, 100, 95)
            return [(source.randint(1, 40), source.choice(rates)) for _ in range(40)] + [(1, 0)]

        await carry_out(
            bench,
            board(5000 + part, 14),
            input_stalls=phases(),
            output_stalls=phases(),
            job_stalls=phases(),
            seed=part,
        )
