"""Bench: single-event upsets of the core. A reset makes it right again, whatever came of one."""

from __future__ import annotations

from typing import Any

import cocotb

from extremum.host.simulation.agents import CoreBench, StreamRuleError, Watchdog
from extremum.tb.back_to_back import board
from extremum.tb.faults.upsets import Cure, Effect, Upsets
from extremum.tb.scoreboard import Scoreboard, ScoreboardError

SILENCE = 600
"""Clocks without a transfer after which the core hangs."""


async def clocks_of(bench: CoreBench, jobs: Scoreboard) -> int:
    """Return how many clocks the jobs take, without a fault."""
    outcome = await bench.run(jobs.run())
    jobs.check(outcome.results, outcome.taken)
    return outcome.last


async def outcome_of(bench: CoreBench, jobs: Scoreboard) -> Effect:
    """Run jobs; return what an upset did to them."""
    run = jobs.run()
    try:
        outcome = await bench.run(type(run)(run.jobs, run.beats, run.results, SILENCE))
        jobs.check(outcome.results, outcome.taken)
        await bench.quiet(100)
    except Watchdog:
        return Effect.HANGING
    except (StreamRuleError, ScoreboardError):
        return Effect.WRONG
    return Effect.MASKED


@cocotb.test()
async def upsets(dut: Any) -> None:
    """Flip a bit in each of many runs, and run others after a reset."""
    bench = CoreBench(dut)
    await bench.start()
    disturbed, fresh = board(41, 3), board(42, 1)
    drawn = Upsets(dut, dut.clk, await clocks_of(bench, disturbed))
    for _ in range(drawn.count):
        upset = drawn.draw()
        flip = cocotb.start_soon(drawn.flip(*upset[1:]))
        effect = await outcome_of(bench, disturbed)
        await flip
        await bench.reset(clocks=1)
        is_right = await outcome_of(bench, fresh) is Effect.MASKED
        drawn.note(upset, effect, told=False, cure=Cure.RESET if is_right else Cure.NOTHING)
        if not is_right:
            await bench.reset(clocks=20)
    drawn.write(Cure.RESET)
