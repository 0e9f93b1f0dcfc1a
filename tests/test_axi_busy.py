"""Whoever reads `STATUS.busy` behind START, or clears `idle`, is told of the job, however soon."""

from typing import Any

import pytest
from amaranth.sim import Simulator

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.block import AxiBlock
from extremum.hdl.axi.counters import VISIT_CLOCKS
from extremum.hdl.config import CoreConfig
from extremum.host.fpga.presets import PRESETS
from extremum.model import DataType

CONFIGS = {
    "queue of 16": PRESETS["pool2x2-int8"],
    "queue of 64": CoreConfig((DataType.INT8,), max_window=(1, 2, 2), pipelining="small"),
}


START = regs.command_address(regs.START_COMMAND)


async def begin(context, block, rests):
    """Reset the block; return what lets a clock pass with some levels at its ports."""

    async def clock(**ports):
        for name, level in ports.items():
            context.set(getattr(block, name), level)
        for level in (1, 0):
            context.set(block.aclk, level)
            await context.delay(1e-9)

    await clock(aresetn=0)
    await clock(aresetn=0)
    for _ in range(4 + rests):
        await clock(aresetn=1, s_axil_bready=1)
    return clock


async def read_behind_start(context, block, rests):
    """Start a job that gets no beats, and read the status; return it."""
    clock = await begin(context, block, rests)
    context.set(block.s_axil_wstrb, 0b1111)
    await clock(s_axil_awaddr=START, s_axil_awvalid=1, s_axil_wdata=1, s_axil_wvalid=1)
    context.set(block.s_axil_awvalid, 0)
    context.set(block.s_axil_wvalid, 0)
    while not context.get(block.s_axil_bvalid):
        await clock()
    # The answer is taken, and in the next clock the read is asked for.
    await clock(s_axil_araddr=regs.STATUS, s_axil_rready=1)
    await clock(s_axil_arvalid=1)
    context.set(block.s_axil_arvalid, 0)
    while not context.get(block.s_axil_rvalid):
        await clock()
    return context.get(block.s_axil_rdata)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_started_job_is_seen_by_the_soonest_read(name):
    assert (regs.command_queue_depth(CONFIGS[name]) == 16) == (name == "queue of 16")
    block = AxiBlock(CONFIGS[name])
    seen = []

    async def bench(context):
        # The time at which a read takes its bytes depends on which counter is being visited.
        for rests in range(VISIT_CLOCKS):
            seen.append(await read_behind_start(context, block, rests))

    simulator = Simulator(block)
    simulator.add_testbench(bench)
    simulator.run()
    assert all(status & 1 for status in seen)
    assert len(seen) == VISIT_CLOCKS


@pytest.mark.parametrize("name", CONFIGS)
def test_the_soonest_clear_behind_a_start_is_not_undone(name):
    """The address and the data of the clear wait at their ports while START is carried out."""
    block: Any = AxiBlock(CONFIGS[name])

    async def write(context, clock, address, word):
        context.set(block.s_axil_awaddr, address)
        context.set(block.s_axil_wdata, word)
        taken = set()
        while taken != {"aw", "w"}:
            for channel in {"aw", "w"} - taken:
                context.set(getattr(block, f"s_axil_{channel}valid"), 1)
            ready = {channel for channel in {"aw", "w"} - taken
                     if context.get(getattr(block, f"s_axil_{channel}ready"))}  # fmt: skip
            await clock()
            for channel in ready:
                context.set(getattr(block, f"s_axil_{channel}valid"), 0)
            taken |= ready

    async def bench(context):
        clock = await begin(context, block, 0)
        context.set(block.s_axil_wstrb, 0b1111)
        await write(context, clock, regs.IRQ_ENABLE, regs.IDLE)
        for _ in range(4):
            await clock()
        assert context.get(block.irq)
        await write(context, clock, START, 1)
        await write(context, clock, regs.IRQ_STATUS, regs.IDLE)
        for _ in range(4):
            await clock()
        for _ in range(60):
            assert not context.get(block.irq)
            await clock()

    simulator = Simulator(block)
    simulator.add_testbench(bench)
    simulator.run()
