"""`STATUS.busy` is set for whoever reads it behind the answer to START, however soon."""

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


async def read_behind_start(context, block, rests):
    """Start a job that gets no beats, and read the status; return it."""

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
    start = regs.command_address(regs.START_COMMAND)
    context.set(block.s_axil_wstrb, 0b1111)
    await clock(s_axil_awaddr=start, s_axil_awvalid=1, s_axil_wdata=1, s_axil_wvalid=1)
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
