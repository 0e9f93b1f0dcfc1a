"""The ports of blocks that have streams alone: which buffers they have, resets, latency, stalls."""

import dataclasses
import random
from pathlib import Path

import pytest
from amaranth.hdl import ClockDomain, ClockSignal, Module
from amaranth.sim import Simulator

from extremum.hdl.axi.block import AxiBlock
from extremum.hdl.axi.latency import buffer_latency, latency
from extremum.hdl.axi.streams import (
    has_input_buffer,
    has_output_buffers,
    marks_lanes,
)
from extremum.hdl.config import CoreConfig
from extremum.host.package.configuration import parse
from extremum.model import DataType

PACKAGES = Path(__file__).parents[1] / "examples" / "packages"

ROW = 3
ROWS = CoreConfig(
    (DataType.UINT8,), max_window=(1, 1, 1), operators=("argmax",), index_width=4,
    fixed=(("length", ROW), ("slots", ROW), ("decreasing", 0)),
)  # fmt: skip
SIMPLE = [ROWS, dataclasses.replace(ROWS, pipelining="small")]


def expected(elements):
    """Return the positions of the greatest elements of all whole rows."""
    rows = [elements[at : at + ROW] for at in range(0, len(elements) - ROW + 1, ROW)]
    return [row.index(max(row)) for row in rows]


def simulate(config, bench):
    """Run a bench on a block."""
    m = Module()
    m.domains.bench = ClockDomain(reset_less=True)
    m.submodules.block = block = AxiBlock(config)
    m.d.comb += block.aclk.eq(ClockSignal("bench"))

    async def run(context):
        await bench(context, block)

    simulator = Simulator(m)
    simulator.add_clock(1e-6, domain="bench")
    simulator.add_testbench(run)
    simulator.run()


async def step(context, block, taken, given, element, offers=True, ready=True):
    """Offer an element for a clock, and note what is taken and what is given."""
    context.set(block.s_axis_tvalid, offers)
    context.set(block.s_axis_tdata, element)
    context.set(block.m_axis_index_tready, ready)
    if offers and context.get(block.s_axis_tready):
        taken.append(element)
    if ready and context.get(block.m_axis_index_tvalid):
        assert context.get(block.m_axis_index_tkeep) == 1
        given.append(context.get(block.m_axis_index_tdata))
    await context.tick("bench")


@pytest.mark.parametrize(
    ("config", "source", "sinks"),
    [
        (ROWS, False, False),
        (dataclasses.replace(ROWS, pipelining="small"), True, True),
        (dataclasses.replace(ROWS, operators=("argmax", "max-pool"),
                             fixed=(*ROWS.fixed, ("minimum", 0))), False, True),
        (dataclasses.replace(ROWS, fixed=ROWS.fixed[1:]), True, True),
        (parse((PACKAGES / "pool2x2_28x28_int8.toml").read_text()).config, True, False),
    ],
)  # fmt: skip
def test_buffers_are_where_they_are_needed(config, source, sinks):
    """Neither a lone stream from a queue needs one, nor an input whose ready is a register."""
    assert (has_input_buffer(config), has_output_buffers(config)) == (source, sinks)
    assert buffer_latency(config) == source + sinks


@pytest.mark.parametrize("config", SIMPLE)
def test_nothing_is_lost_around_a_reset(config):
    """A source that offers from the first clock on loses no element, whenever the reset comes.

    While the block is in reset it takes nothing and offers nothing; the row that was under way is
    forgotten, and what is taken afterwards is whole.
    """

    async def bench(context, block):
        rng = random.Random(1)
        for before in range(2 * latency(config, "axi")):
            context.set(block.aresetn, 0)
            for clock in range(5):
                taken, given = [], []
                await step(context, block, taken, given, rng.randrange(4))
                # The reset is known a clock after it was asked for.
                assert clock < 2 or not (taken or given)
            for clocks in (before, 120):
                context.set(block.aresetn, 1)
                taken, given = [], []
                for _ in range(clocks):
                    offers, ready = rng.random() < 0.8, rng.random() < 0.8
                    await step(context, block, taken, given, rng.randrange(4), offers, ready)
                if clocks == before:
                    context.set(block.aresetn, 0)
                    # Two clocks are enough, and in them beats may still come and go as before.
                    for _ in range(2):
                        await step(context, block, [], [], rng.randrange(4))
            for _ in range(60):
                await step(context, block, taken, given, 0, offers=False)
            assert len(taken) > 60
            assert given == expected(taken)

    simulate(config, bench)


@pytest.mark.parametrize("config", SIMPLE)
def test_latency_and_rate(config):
    """The first result comes as late as declared, and no clock is lost behind it."""
    clocks = latency(config, "axi") + 20 * ROW

    async def bench(context, block):
        context.set(block.aresetn, 0)
        for _ in range(5):
            await step(context, block, [], [], 0, offers=False)
        context.set(block.aresetn, 1)
        for _ in range(3):
            await step(context, block, [], [], 0, offers=False)
        first = None
        for clock in range(clocks):
            taken, given = [], []
            await step(context, block, taken, given, clock % 5)
            assert taken
            if given and first is None:
                first = clock
            if first is not None:
                assert bool(given) == ((clock - first) % ROW == 0)
        assert first == ROW - 1 + latency(config, "axi")

    simulate(config, bench)


@pytest.mark.parametrize(
    ("lanes", "fixed", "marked"),
    [
        (1, {}, False),
        (4, {}, True),
        (4, {"tail": 4}, True),  # a job may fold
        (4, {"tail": 4, "fold": 0}, False),
        (4, {"tail": 3, "fold": 0}, True),
        (3, {"tail": 3}, False),  # three lanes cannot fold
    ],
)
def test_lanes_are_marked_where_one_may_be_empty(lanes, fixed, marked):
    config = CoreConfig(
        (DataType.UINT8,), lanes, max_window=(1, 1, 1), fixed=tuple(fixed.items())
    )  # fmt: skip
    assert marks_lanes(config) == marked
