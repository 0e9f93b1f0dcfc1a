"""Draws `docs/job.svg`: the waveform of one job on the AXI block, as a simulation shows it.

Run it as `make waveform`. The block is the 2x2 max pooling of int8; its job is a plane of 2x6.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import wavedrom
from amaranth.sim import Simulator

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.block import AxiBlock
from extremum.host.driver.words import job_words
from extremum.host.fpga.presets import PRESETS
from extremum.host.plan import plan
from extremum.model import Pooling

FIGURE = Path(__file__).with_name("job.svg")

PLANE = np.array([[[[3, 7, 1, 1, -4, -9], [7, 2, 0, 5, -2, -8]]]], np.int8)

SHOWN = (
    ("s_axil", ("awaddr", "wdata", "wvalid", "bvalid")),
    ("s_axis", ("tdata", "tvalid", "tready", "tlast")),
    ("m_axis_value", ("tdata", "tvalid", "tready", "tlast")),
)
"""The signals of the figure, in groups. Data are shown while their stream is valid."""

DATA = {"awaddr": "wvalid", "wdata": "wvalid", "tdata": "tvalid"}
"""For each signal that is data, the one that tells when it is valid."""

LONGEST = 200
"""Clocks after which a job that has not ended is an error."""


def simulate(pipelining: str = "fast") -> list[dict[str, int]]:
    """Run the job; return the ports in every clock, from the one before START to the interrupt."""
    config = replace(PRESETS["pool2x2-int8"], pipelining=pipelining)
    problem = Pooling.of(PLANE.shape, PLANE.dtype, 2, strides=2)
    (job,) = plan(problem, config).jobs
    block = AxiBlock(config)
    ports: dict[str, Any] = {name: getattr(block, name) for name in block.signature.members}
    start = regs.command_address(regs.START_COMMAND)
    writes = [(regs.IRQ_ENABLE, 1), *job_words(job).items(), (start, 1)]
    beats = [int(element) & 0xFF for element in PLANE.flat]
    seen: list[dict[str, int]] = []

    async def bench(context: Any) -> None:
        nonlocal seen

        async def clock() -> dict[str, int]:
            """Let a clock pass; return the ports as they stood at its rising edge."""
            before = {name: context.get(port) for name, port in ports.items()}
            for level in (1, 0):
                context.set(block.aclk, level)
                await context.delay(1e-9)
            return before

        for _ in range(4):
            await clock()
        for name in ("aresetn", "s_axil_bready", "m_axis_value_tready"):
            context.set(ports[name], 1)
        for _ in range(40):
            await clock()
        for address, word in writes:
            context.set(block.s_axil_awaddr, address)
            context.set(block.s_axil_wdata, word)
            context.set(block.s_axil_wstrb, 0b1111)
            context.set(block.s_axil_awvalid, 1)
            context.set(block.s_axil_wvalid, 1)
            now = await clock()
            assert now["s_axil_awready"]
            assert now["s_axil_wready"]
            context.set(block.s_axil_awvalid, 0)
            context.set(block.s_axil_wvalid, 0)
            following = [await clock() for _ in range(4 if address != start else 1)]
            seen = [following[-1]] if address != start else [*seen, now, *following]
        sent = 0
        while not seen[-1]["irq"]:
            context.set(block.s_axis_tvalid, int(sent < len(beats)))
            context.set(block.s_axis_tdata, beats[min(sent, len(beats) - 1)])
            context.set(block.s_axis_tlast, int(sent == len(beats) - 1))
            now = await clock()
            sent += now["s_axis_tvalid"] & now["s_axis_tready"]
            seen.append(now)
            if len(seen) > LONGEST:
                raise RuntimeError("the job does not end")

    simulator = Simulator(block)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def lane(name: str, clocks: list[dict[str, int]]) -> dict[str, Any]:
    """Return a signal's line of the figure, in the form of WaveDrom."""
    stream, _, short = name.rpartition("_")
    wave, words, last = "", [], None
    for now in clocks:
        is_data = short in DATA
        value: Any = now[name]
        if is_data:
            value = value if now[f"{stream}_{DATA[short]}"] else None
        taken = is_data and value is not None and now.get(f"{stream}_tready", 1)
        repeats = value == last and wave and not taken
        wave += "." if repeats else "x" if value is None else "=" if is_data else str(value)
        if is_data and value is not None and not repeats:
            words.append(f"{value:x}" if stream == "s_axil" else str(np.int8(np.uint8(value))))
        last = value
    line: dict[str, Any] = {"name": name, "wave": wave}
    return line | ({"data": words} if words else {})


def groups(clocks: list[dict[str, int]]) -> Iterator[Any]:
    """Yield the lines of the figure."""
    yield {"name": "aclk", "wave": "p" + "." * (len(clocks) - 1)}
    for stream, names in SHOWN:
        yield {}
        for name in names:
            yield lane(f"{stream}_{name}", clocks)
    yield {}
    yield lane("irq", clocks)


def figure() -> str:
    """Return the figure as SVG."""
    clocks = simulate()
    source = {"signal": list(groups(clocks)), "config": {"hscale": 1, "skin": "narrow"}}
    return str(wavedrom.render(json.dumps(source)).tostring()) + "\n"


if __name__ == "__main__":
    FIGURE.write_text(figure())
