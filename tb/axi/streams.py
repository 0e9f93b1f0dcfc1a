"""Bench of the AXI block: random jobs one behind the other, with stalls at all ports."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.streams import index_bytes
from extremum.host.plan.jobs import Job
from extremum.tb.axi.environment import OKAY, Environment, packets
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
    for part in range(examples(1)):
        pairs = list(jobs(random.Random(seed + part), core(), 8))
        assert await block.write(regs.CONTROL, CLEAR_COUNTERS) == OKAY
        await block.clocks(20)
        await block.carry_out(pairs)
        assert await block.field("JOBS") == len(pairs)
        assert await block.field("BEATS_IN") == sum(job.beats_in for job, _ in pairs)
        assert await block.field("BEATS_OUT") == sum(job.beats_out for job, _ in pairs)
        assert await block.field("EMPTY_WINDOWS") == sum(_empty(*pair) for pair in pairs)
        assert await block.field("ERROR", "code") == 0
        assert await block.field("IRQ_STATUS", "error") == 0


def _empty(job: Job, x: np.ndarray) -> int:
    """Return how many windows of a job have no element, as far as positions tell it."""
    packet = packets(job, x)[1].get("m_axis_index", b"")
    positions = np.frombuffer(packet, f"<u{index_bytes(core())}" if packet else np.uint8)
    return int(np.sum(positions == (1 << core().index_width) - 1)) if packet else 0


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
