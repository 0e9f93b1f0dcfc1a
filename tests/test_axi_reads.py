"""Reads of registers beside writes: the channels of AXI4-Lite do not wait for each other."""

import pytest
from clocked_block import ClockedBlock, carry_out

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.block import AxiBlock
from extremum.hdl.config import CoreConfig
from extremum.model import DataType

CONFIG = CoreConfig((DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",))
WRITES = {"soft reset": 0b01, "clear of the counters": 0b10, "both": 0b11}
ENABLED = 0b101
WORDS = {
    register.address: register.reset
    for register in regs.register_map(CONFIG)
    if register.name in ("ID", "CONFIG_HASH")
} | {regs.IRQ_ENABLE: ENABLED}
PHASES = range(-3, 14)
"""By how many clocks a write comes behind a read. The read has been answered before the last."""


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_a_read_in_every_phase_of_a_reset(name, waits):
    """Constants, and what software has written, are read as ever, and each read has one answer.

    The answer is taken at once, or behind that of the write.
    """

    simulated = AxiBlock(CONFIG)

    async def bench(context):
        block = ClockedBlock(context, simulated)
        await block.reset()
        await block.write(regs.IRQ_ENABLE, ENABLED)
        block.ready = lambda channel: (
            channel != "s_axil_r" or not waits or len(block.given["s_axil_b"]) > 0
        )
        was_read = False
        for address, word in WORDS.items():
            for phase in PHASES:
                block.given.clear()
                for clock in range(PHASES[0], PHASES[-1] + 1):
                    if clock == 0:
                        block.ask(address)
                    if clock == phase:
                        was_read = bool(block.given["s_axil_r"])
                        block.tell(regs.CONTROL, WRITES[name])
                    await block.clock()
                for _ in range(20):
                    await block.clock()
                assert block.given["s_axil_r"] == [{"data": word, "resp": 0}], (address, phase)
                assert block.given["s_axil_b"] == [{"resp": 0}]
            assert was_read or waits

    carry_out(simulated, bench)
