"""Bench: single-event upsets of the AXI block. A soft reset makes it right, or else ``aresetn``."""

from __future__ import annotations

import random
from collections.abc import Coroutine
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import SimTimeoutError, with_timeout
from cocotb.utils import get_sim_time

from extremum.hdl.axi import register_map as regs
from extremum.host.plan.jobs import Job
from extremum.tb.axi.environment import OKAY, PERIOD, Environment, packets
from extremum.tb.axi.resets import SOFT_RESET, forget
from extremum.tb.bench import core
from extremum.tb.faults.upsets import Cure, Effect, Upsets
from extremum.tb.sequences import jobs

SILENCE = 3_000
"""Clocks after which jobs that take a few hundred hang."""

RESTS = 25
"""Percent of the clocks in which the source and the sinks rest while a bit is flipped.

An offer that waits is one that an upset may take back.
"""

SEQUENCES = 16
"""Random sequences of such rests, which the upsets take in turn."""

Pairs = list[tuple[Job, np.ndarray]]


async def give_results(block: Environment, pairs: Pairs) -> None:
    """Run jobs until the last result has come, and compare their packets."""
    for job, x in pairs:
        await block.send(packets(job, x)[0])
        await block.start(job)
    for job, x in pairs:
        await block.expect(packets(job, x)[1], job)


async def carry_out(block: Environment, pairs: Pairs) -> None:
    """Run jobs to their end. In one task, so that it may be given up at any time."""
    await give_results(block, pairs)
    await block.until("STATUS", "busy", 0)
    await block.clocks(20)
    assert all(sink.empty() for sink in block.sinks.values()), "a packet too many came"
    assert block.source.empty(), "a packet was not taken"


async def effect_of(block: Environment, work: Coroutine[Any, Any, None]) -> Effect:
    """Wait for some work; return whether it was right, wrong, or did not end."""
    block.complaints = []
    task = cocotb.start_soon(work)
    try:
        await with_timeout(task, SILENCE * PERIOD, "ns")
    except SimTimeoutError:
        task.cancel()
        return Effect.HANGING
    except AssertionError:
        return Effect.WRONG
    return Effect.WRONG if block.complaints else Effect.MASKED


async def soft_reset(block: Environment) -> None:
    """Reset as a driver does: stop the channels, reset, take what is still offered."""
    forget(block.source)
    assert await block.write(regs.CONTROL, SOFT_RESET) == OKAY
    block.forget()
    await block.clocks(40)
    forget(*block.sinks.values())
    assert await block.write(regs.IRQ_STATUS, 0b11) == OKAY


async def afresh(block: Environment, pairs: Pairs) -> None:
    """Reset by a register, and run jobs."""
    await soft_reset(block)
    await carry_out(block, pairs)
    assert not await block.field("IRQ_STATUS", "error")


async def reset(block: Environment) -> None:
    """Reset by ``aresetn``, the masters included."""
    forget(block.source, *block.sinks.values())
    await block.reset(4)
    forget(block.source, *block.sinks.values())
    await block.clocks(20)


async def is_told(block: Environment, told: list[bool]) -> None:
    """Note whether the block reports an error."""
    told.append(bool(await block.field("IRQ_STATUS", "error")))


async def clocks_of(
    block: Environment, disturbed: Pairs, fresh: Pairs, sequences: int
) -> list[int]:
    """Return the clocks to the last result, without a fault, for each sequence of rests."""
    clocks = []
    for seed in range(sequences):
        block.forget()
        block.stall(RESTS, RESTS, seed)
        start = get_sim_time("ns")
        await give_results(block, disturbed)
        clocks.append(int(get_sim_time("ns") - start) // PERIOD)
        await carry_out(block, fresh)
        block.stall()
        await afresh(block, fresh)
    return clocks


@cocotb.test()
async def upsets(dut: Any) -> None:
    """Flip a bit in each of many runs; run other jobs if that went well, and after a reset.

    It is the mildest reset that helps.
    """
    block = await Environment.started(dut)
    pairs = [pair for pair in jobs(random.Random(51), core(), 60) if 8 <= pair[0].beats_in <= 40]
    disturbed, fresh = pairs[:2], pairs[2:3]
    drawn = Upsets(dut, dut.aclk)
    clocks = await clocks_of(block, disturbed, fresh, min(SEQUENCES, drawn.count))
    for number in range(drawn.count):
        seed = number % SEQUENCES
        block.forget()
        block.stall(RESTS, RESTS, seed)
        upset = drawn.draw(clocks[seed])
        flip = cocotb.start_soon(drawn.flip(*upset[1:]))
        effect = await effect_of(block, carry_out(block, disturbed))
        await flip
        # The driver writes those registers alone that change from the jobs before.
        if effect is Effect.MASKED:
            next_effect = await effect_of(block, carry_out(block, fresh))
            effect = Effect.MASKED if next_effect is Effect.MASKED else Effect.LATENT
        block.stall()
        told: list[bool] = []
        await effect_of(block, is_told(block, told))
        cure = Cure.SOFT_RESET
        if await effect_of(block, afresh(block, fresh)) is not Effect.MASKED:
            cure = Cure.RESET
            await reset(block)
            if await effect_of(block, carry_out(block, fresh)) is not Effect.MASKED:
                cure = Cure.NOTHING
        drawn.note(upset, effect, told=any(told), cure=cure)
    drawn.write(Cure.SOFT_RESET)
