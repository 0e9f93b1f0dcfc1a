"""Bench of the AXI block: random jobs one behind the other, with stalls at all ports."""

from __future__ import annotations

import random
from typing import Any

import cocotb

from extremum.hdl.axi import register_map as regs
from extremum.tb.axi.environment import OKAY, Environment
from extremum.tb.bench import core, examples
from extremum.tb.sequences import jobs

RATES = (0, 50, 90)

CLEAR_COUNTERS = 0b10


@cocotb.test()
@cocotb.parametrize(source=RATES, sinks=RATES)
async def random_jobs(dut: Any, source: int, sinks: int) -> None:
    """Every packet is right and whole; the counters have counted what came and what left."""
    block = await Environment.started(dut)
    seed = 100 * source + sinks
    block.stall(source, sinks, seed)
    for part in range(examples(1) or 1):
        pairs = list(jobs(random.Random(seed + part), core(), 8))
        assert await block.write(regs.CONTROL, CLEAR_COUNTERS) == OKAY
        await block.clocks(20)
        await block.carry_out(pairs)
        assert await block.field("JOBS") == len(pairs)
        assert await block.field("BEATS_IN") == sum(job.beats_in for job, _ in pairs)
        assert await block.field("BEATS_OUT") == sum(job.beats_out for job, _ in pairs)
        assert await block.field("ERROR", "code") == 0
        assert await block.field("IRQ_STATUS", "error") == 0


@cocotb.test()
async def the_faster_stream_waits(dut: Any) -> None:
    """One output stream stalls now and then for long; the other one holds, and nothing is lost."""
    block = await Environment.started(dut)
    for number, sink in enumerate(block.sinks.values()):
        turns = random.Random(number)
        sink.set_pause_generator(
            rest for _ in iter(int, 1) for rest in [turns.random() < 0.5] * turns.randint(1, 60)
        )
    await block.carry_out(list(jobs(random.Random(77), core(), 12)))
