"""Bench: single-event upsets of the core. A reset makes it right again, whatever came of one."""

from __future__ import annotations

from typing import Any

import cocotb

from extremum.host.simulation.agents import CoreBench, StreamRuleError, Watchdog
from extremum.tb.back_to_back import board
from extremum.tb.bench import status
from extremum.tb.faults.upsets import Cure, Effect, Upsets
from extremum.tb.scoreboard import Scoreboard, ScoreboardError

SILENCE = 600
"""Clocks without a transfer after which the core hangs."""

QUIET = 100
"""Clocks behind the last result in which no other may come, and the core becomes idle."""


async def clocks_of(bench: CoreBench, jobs: Scoreboard) -> int:
    """Return how many clocks the jobs take to their last result, without a fault."""
    outcome = await bench.run(jobs.run())
    jobs.check(outcome.results, outcome.taken)
    await bench.quiet(QUIET)
    return outcome.given[-1] + 1


async def outcome_of(bench: CoreBench, jobs: Scoreboard) -> Effect:
    """Run jobs; return what an upset did to them."""
    run = jobs.run()
    try:
        outcome = await bench.run(type(run)(run.jobs, run.beats, run.results, SILENCE))
        jobs.check(outcome.results, outcome.taken)
        await bench.quiet(QUIET)
    except Watchdog:
        return Effect.HANGING
    except (StreamRuleError, ScoreboardError):
        return Effect.WRONG
    return Effect.MASKED


async def goes_on(bench: CoreBench, jobs: Scoreboard) -> bool:
    """Return whether the core is idle, carries out jobs without a reset, and is idle again."""
    if status(bench.dut.status.value)["busy"]:
        return False
    is_right = await outcome_of(bench, jobs) is Effect.MASKED
    return is_right and not status(bench.dut.status.value)["busy"]


@cocotb.test()
async def upsets(dut: Any) -> None:
    """Flip a bit in each of many runs; run other jobs if that went well, and after a reset."""
    bench = CoreBench(dut)
    await bench.start()
    disturbed, fresh = board(41, 3), board(42, 1)
    drawn = Upsets(dut, dut.clk)
    clocks = await clocks_of(bench, disturbed)
    assert await goes_on(bench, fresh)
    for _ in range(drawn.count):
        upset = drawn.draw(clocks)
        flip = cocotb.start_soon(drawn.flip(*upset[1:]))
        effect = await outcome_of(bench, disturbed)
        await flip
        if effect is Effect.MASKED and not await goes_on(bench, fresh):
            effect = Effect.LATENT
        await bench.reset(clocks=1)
        is_right = await outcome_of(bench, fresh) is Effect.MASKED
        drawn.note(upset, effect, told=False, cure=Cure.RESET if is_right else Cure.NOTHING)
        if not is_right:
            await bench.reset(clocks=20)
    drawn.write(Cure.RESET)
