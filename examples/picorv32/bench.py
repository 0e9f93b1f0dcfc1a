"""Runs the system until its program ends: what the processor prints, and whether all went well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, ReadOnly, RisingEdge, Timer, ValueChange

PERIOD = 10
"""Length of a clock, in nanoseconds."""

LONGEST = 3_000_000
"""Clocks after which a program that has not ended is given up."""


@cocotb.test()
async def program(dut: Any) -> None:
    """Write what the program prints to ``console.txt``; fail if it does not end well."""
    dut.resetn.value = 0
    cocotb.start_soon(Clock(dut.clk, PERIOD, "ns", impl="gpi").start())
    await ClockCycles(dut.clk, 5)
    dut.resetn.value = 1
    await ClockCycles(dut.clk, 1)
    console: list[str] = []
    cocotb.start_soon(_listen(dut, console))
    ends = [RisingEdge(signal) for signal in (dut.done, dut.trap, dut.stray)]
    await First(*ends, Timer(LONGEST * PERIOD, "ns"))
    await ReadOnly()
    text = "".join(console)
    Path("console.txt").write_text(text)
    assert not int(dut.trap.value), (
        "the processor met an instruction that it does not have, or an address that is not aligned"
    )
    assert not int(dut.stray.value), (
        "the program asked for an address that nothing has or that the block refused, wrote a part "
        "of a register, or let the DMA leave the memory"
    )
    assert int(dut.done.value), f"the program has not ended after {LONGEST} clocks"
    assert int(dut.status.value) == 0, f"the program ended with status {int(dut.status.value)}"
    assert text.endswith("PASS\n"), "the program did not say that all is right"


async def _listen(dut: Any, console: list[str]) -> None:
    """Collect the bytes that are written to the console."""
    while True:
        await ValueChange(dut.console_toggle)
        await ReadOnly()
        console.append(chr(int(dut.console.value)))
