"""The event `idle` comes behind the last beat of all jobs, and never while one is under way."""

import random
from contextlib import closing

import numpy as np
import pytest
from amounts import mostly_slow

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.streams import INDICES, INPUT, VALUES, port_widths
from extremum.hdl.config import CoreConfig
from extremum.host.driver.words import job_words
from extremum.host.plan import plan
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.native_block import NativeBlock
from extremum.model import DataType, Pooling, Reduction
from extremum.tb.regression.faults import fault_of

START = regs.command_address(regs.START_COMMAND)
SOON = 64
"""Clocks behind the last beat in which the event must have come: those of the core, and more."""
CORES = {
    "reductions": CoreConfig((DataType.INT8,), max_window=(1, 1, 1), coordinate_width=8),
    "poolings": CoreConfig((DataType.INT8,), operators=("max-pool",), max_window=(1, 3, 3)),
    "lanes": CoreConfig((DataType.INT8,), 4, max_window=(1, 2, 2), max_line=64),
}
BUSY, CAN_START = 1, 2
DONE, ERROR = 1, 2
MOST_CLOCKS, ROUNDS = 4000, 60
FAULTS = ("early", "late", "registers", "range")


def problems(config):
    """Return some operators that the core has."""
    pools = [
        Pooling.of((1, 1, 5, 6), "int8", 2, strides=2, return_indices=True),
        Pooling.of((1, 1, 4, 7), "int8", (1, 2), end_padding=(0, 1), return_indices=True),
        # Elements behind the last window, which are taken behind the last result.
        Pooling.of((1, 1, 7, 5), "int8", 2, strides=3, return_indices=True),
        Pooling.of((1, 1, 1, 1), "int8", 1, start_padding=(0, 20), return_indices=True),
    ]
    reductions = [
        Reduction.of("argmax", shape, "int8", 1, axis_direction=direction)
        for shape in ((4, 6), (1, 1), (9, 1), (2, 40))
        for direction in ("increasing", "decreasing")
    ]
    wide = config.max_window != (1, 1, 1)
    return [*(pools if wide else ()), *(() if "argmax" not in config.operators else reductions)]


def start(block, config, jobs, rng):
    """Start a few jobs, wrong ones among them, and send all packets but the last.

    Returns
    -------
    packets : list of int
        The beats of the packets.
    events : int
        What the block must have told when it is idle.
    """
    packets, known, events = [], {}, regs.IDLE | DONE
    for _ in range(rng.randint(1, 3)):
        if packets:
            send(block, config, packets[-1])
        job = rng.choice(jobs)
        words, beats, name = job_words(job), job.beats_in, rng.choice((None, None, *FAULTS))
        fault = fault_of(name, rng.randrange(50), job) if name else None
        if fault is not None:
            words, beats = known | words | fault.words, fault.beats
            events |= ERROR
        for address, word in (*words.items(), (START, 1)):
            for _ in range(MOST_CLOCKS):
                if block.read(regs.STATUS) & CAN_START:
                    break
            block.write(address, word)
        packets.append(beats)
        known = job_words(job)
    return packets, events


def send(block, config, beats):
    """Send a packet of zeros."""
    size = beats * port_widths(config)[INPUT] // 8
    block.send([np.zeros(size, np.uint8)], size)


@pytest.mark.parametrize("pipelining", mostly_slow(["small", "fast", "balanced"], ["small"]))
@pytest.mark.parametrize("name", CORES)
def test_idle_comes_once_behind_the_last_beat(name, pipelining):
    config = CoreConfig(**vars(CORES[name]) | {"pipelining": pipelining})
    jobs = [job for problem in problems(config) for job in plan(problem, config).jobs]
    rng = random.Random(7)
    with closing(NativeBlock(config)) as block:
        for seed in range(ROUNDS):
            block.write(regs.IRQ_ENABLE, regs.IDLE)
            stalls = rng.choice((0, 0, 30, 80)), rng.choice((0, 0, 30, 90))
            block.begin(StreamSettings(input_stalls=stalls[0], output_stalls=stalls[1], seed=seed))
            for stream in (VALUES, INDICES):
                for _ in range(3):
                    block.receive(stream, 1 << 20, lambda part, last: None)
            packets, events = start(block, config, jobs, rng)
            block.write(regs.IRQ_STATUS, regs.IDLE)
            block.pass_clocks(4)
            for _ in range(rng.choice((0, 3, 60))):
                block.pass_clocks(1)
                assert not block.interrupt
            send(block, config, packets[-1])
            came, seen = None, 0
            for _ in range(MOST_CLOCKS):
                block.pass_clocks(1)
                if block.interrupt:
                    if came is None:
                        came = block.clocks.now
                        seen = block.read(regs.IRQ_STATUS)
                        block.write(regs.IRQ_STATUS, DONE | ERROR)
                    if block.clocks.now > came + SOON:
                        break
            assert came is not None
            assert block.clocks.last < came < block.clocks.last + SOON
            assert block.clocks.taken == sum(packets)
            assert not block.read(regs.STATUS) & BUSY
            assert seen == events
            assert block.read(regs.IRQ_STATUS) == regs.IDLE, "an event came behind it"
            # It lasts, and cannot be cleared meanwhile.
            block.write(regs.IRQ_STATUS, regs.IDLE)
            block.pass_clocks(4)
            assert block.interrupt
            block.reset(1)


@pytest.mark.parametrize("pipelining", mostly_slow(["small", "fast"], ["small"]))
def test_a_soft_reset_leaves_the_block_idle_when_nothing_is_offered(pipelining):
    """The beat that an output stream offers stays, and until it is taken the block is not idle."""
    config = CoreConfig(**vars(CORES["reductions"]) | {"pipelining": pipelining})
    (job,) = plan(Reduction.of("argmax", (4, 6), "int8", 1), config).jobs
    with closing(NativeBlock(config)) as block:
        block.begin(StreamSettings(output_stalls=[(400, 100), (1, 0)]))
        for stream in (VALUES, INDICES):
            block.receive(stream, 1 << 20, lambda part, last: None)
        for address, word in (*job_words(job).items(), (START, 1)):
            block.write(address, word)
        send(block, config, job.beats_in)
        block.pass_clocks(100)
        block.write(regs.CONTROL, 1)
        block.pass_clocks(10)
        block.write(regs.IRQ_STATUS, regs.IDLE | DONE | ERROR)
        block.pass_clocks(10)
        assert block.read(regs.STATUS) & BUSY
        assert block.read(regs.IRQ_STATUS) == 0
        block.pass_clocks(400)
        assert block.read(regs.IRQ_STATUS) == regs.IDLE
