"""A layer from memory to memory: cocotbext-axi is the DMA and the memory, and drives the block."""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import with_timeout
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiBus, AxiMaster, AxiRam, AxiStreamFrame

from extremum.hdl.axi.register_map import COUNTERS
from extremum.host.plan import plan
from extremum.model import Pooling, max_pooling
from extremum.tb.axi.environment import PERIOD, Environment
from extremum.tb.bench import core

WORKLOADS = Path(__file__).parents[2] / "bench" / "workloads.toml"

LAYER = "k2s2p1"
"""Its 64 channels take 16 jobs of four, which differ in nothing but where their tensors lie."""

INPUT, VALUES, POSITIONS = 0x00000, 0x20000, 0x40000
"""Where the tensors lie in memory."""

LONGEST = 100_000
"""Clocks after which the layer is given up."""


def in_groups(x: np.ndarray, lanes: int) -> np.ndarray:
    """Return a tensor (1, C, H, W) as (C / lanes, H, W, lanes), so that beats are contiguous."""
    _, channels, height, width = x.shape
    grouped = x.reshape(channels // lanes, lanes, height, width)
    return np.ascontiguousarray(np.moveaxis(grouped, 1, -1))


@cocotb.test()
async def layer(dut: Any) -> None:
    """Every byte that reaches the memory is that of the golden model."""
    block = await Environment.started(dut)
    master, ram = _memory(dut)
    workloads = tomllib.loads(WORKLOADS.read_text())["workload"]
    found = next(each for each in workloads if each["name"] == LAYER)
    names = ("window", "strides", "start_padding", "end_padding", "dilations")
    how = {name: tuple(found[name]) for name in names}
    options: dict[str, Any] = how | {"return_indices": True, "index_layout": "plane"}
    lanes = core().lanes
    x = np.random.default_rng(5).integers(-128, 127, found["sizes"], np.int8, endpoint=True)
    data = in_groups(x, lanes)
    values, positions = (in_groups(y, lanes) for y in max_pooling(x, **options))
    problem = Pooling.of((1, lanes, *x.shape[2:]), "int8", **options)
    (job,) = plan(problem, core()).jobs
    ram.write(INPUT, data.tobytes())

    async def send() -> None:
        block.source.queue_occupancy_limit_frames = 1
        for group in range(len(data)):
            read: Any = await master.read(INPUT + group * data[0].nbytes, data[0].nbytes)
            await block.source.send(AxiStreamFrame(read.data))

    async def receive(sink: Any, base: int) -> None:
        for _ in range(len(data)):
            frame = await sink.recv()
            await master.write(base, bytes(frame.tdata))
            base += len(frame.tdata)

    async def start() -> None:
        for _ in range(len(data)):
            await block.start(job)

    begun = get_sim_time("ns")
    parts = [
        cocotb.start_soon(part)
        for part in (
            send(),
            receive(block.sinks["m_axis_value"], VALUES),
            receive(block.sinks["m_axis_index"], POSITIONS),
            start(),
        )
    ]
    for part in parts:
        await with_timeout(part, LONGEST * PERIOD, "ns")
    clocks = round((get_sim_time("ns") - begun) / PERIOD)
    assert not await block.field("IRQ_STATUS", "error"), "a job failed"
    assert ram.read(VALUES, values.nbytes) == values.tobytes(), "values differ"
    assert ram.read(POSITIONS, positions.nbytes) == positions.tobytes(), "positions differ"
    counted = {name: await block.field(name) for name, _ in COUNTERS}
    assert counted["JOBS"] == len(data)
    assert counted["BEATS_IN"] == len(data) * job.beats_in
    assert counted["BEATS_OUT"] == len(data) * job.beats_out
    lines = [f"{LAYER}: {found['note']}", f"memory to memory {clocks:>8} clocks"]
    lines += [f"{name.lower().replace('_', ' '):16} {counted[name]:8}" for name, _ in COUNTERS]
    Path("report.txt").write_text("\n".join([*lines, "all bytes are those of the golden model\n"]))


def _memory(dut: Any) -> tuple[AxiMaster, AxiRam]:
    """Return both ends of the bus to the memory; they say nothing of what they transfer."""
    logging.disable(logging.INFO)
    bus, reset = AxiBus.from_prefix(dut, "axi"), {"reset_active_level": False}
    return (
        AxiMaster(bus, dut.aclk, dut.aresetn, **reset),
        AxiRam(bus, dut.aclk, dut.aresetn, size=1 << 20, **reset),
    )
