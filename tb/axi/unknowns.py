"""Bench of the AXI block for simulators with four states: X beside a valid reaches no output."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

from extremum.hdl.axi import register_map as regs
from extremum.tb.axi.environment import Environment
from extremum.tb.bench import core, examples
from extremum.tb.sequences import jobs
from extremum.tb.unknowns import unknown

INPUTS = {
    "s_axis_tvalid": ("s_axis_tdata", "s_axis_tkeep", "s_axis_tlast"),
    "s_axil_awvalid": ("s_axil_awaddr", "s_axil_awprot"),
    "s_axil_wvalid": ("s_axil_wdata", "s_axil_wstrb"),
    "s_axil_arvalid": ("s_axil_araddr", "s_axil_arprot"),
}
"""Payloads that mean nothing unless a valid is set."""

CONTROLS = (
    "s_axis_tready", "s_axil_awready", "s_axil_wready", "s_axil_bvalid", "s_axil_arready",
    "s_axil_rvalid", "irq",
)  # fmt: skip


class Watch:
    """Puts X on idle payloads in every clock, and looks at all outputs.

    Parameters
    ----------
    block
        The block with its agents.
    """

    def __init__(self, block: Environment) -> None:
        self._dut = block.dut
        self._controls = [*CONTROLS, *(f"{name}_tvalid" for name in block.sinks)]
        self._payloads = {"s_axil_rvalid": ["s_axil_rdata", "s_axil_rresp"]} | {
            f"{name}_tvalid": [f"{name}_{part}" for part in ("tdata", "tkeep", "tlast")]
            for name in block.sinks
        }
        self.clocks = 0

    async def go_on(self) -> None:
        """Do so until cancelled."""
        dut = self._dut
        while True:
            await FallingEdge(dut.aclk)
            for valid, payloads in INPUTS.items():
                if not int(getattr(dut, valid).value):
                    for name in payloads:
                        signal = getattr(dut, name)
                        signal.value = unknown(len(signal))
            await ReadOnly()
            for name in self._controls:
                assert getattr(dut, name).value.is_resolvable, f"{name} is unknown"
            for valid, payloads in self._payloads.items():
                if int(getattr(dut, valid).value):
                    for name in payloads:
                        assert getattr(dut, name).value.is_resolvable, f"{name} is unknown"
            self.clocks += 1


@cocotb.test()
@cocotb.parametrize(stall=[0, 60])
async def unknown_payloads(dut: Any, stall: int) -> None:
    """Packets and registers are right, and no output that means something is ever unknown."""
    block = await Environment.started(dut)
    watch = Watch(block)
    task = cocotb.start_soon(watch.go_on())
    block.stall(stall, stall, 7)
    for seed in range(examples(2)):
        await block.carry_out(list(jobs(random.Random(seed), core(), 6)))
        for register in regs.register_map(core()):
            if register.is_readable:
                await block.read(register.address)
    assert watch.clocks > 100
    task.cancel()
