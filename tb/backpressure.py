"""Bench: stalls where streams tend to fail: at the last beat of a row, and at a full queue."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np

from extremum.hdl.latency import queue_depth
from extremum.host.plan import plan
from extremum.model import Reduction
from extremum.tb.back_to_back import board
from extremum.tb.bench import carry_out, core, started
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import tensor


def one_result_per_beat(beats: int, jobs: int = 1) -> Scoreboard:
    """Return a scoreboard of reductions over a single element."""
    config = core()
    filled = Scoreboard(config)
    source = random.Random(beats)
    for _ in range(jobs):
        problem = Reduction.of("max", (beats * config.lanes, 1), config.data_types[0], 1)
        (job,) = plan(problem, config).jobs
        filled.add(job, tensor(source, config.data_types[0], problem.sizes))
    return filled


@cocotb.test()
async def stall_ends_at_the_last_beat(dut: Any) -> None:
    """Stalls of the sink, or of the source, begin or end in every clock around the last beat."""
    bench = await started(dut)
    queue = board(11, 3)
    free = await carry_out(bench, queue)
    beats = len(queue.beats)
    for off in range(-3, 4):
        end = max(free.last + off, 1)
        await carry_out(bench, queue, output_stalls=[(end, 100), (1, 0)])
        await carry_out(bench, queue, output_stalls=[(end, 0), (25, 100), (1, 0)])
        await carry_out(bench, queue, input_stalls=[(max(beats + off, 1), 0), (60, 100), (1, 0)])


def rows(length: int, count: int) -> Scoreboard:
    """Return a scoreboard of rows, each reduced in a lane of its own, or folded if faster."""
    config = core()
    filled = Scoreboard(config, length)
    source = random.Random(length)
    problem = Reduction.of("argmax", (count, length), config.data_types[-1], 1)
    for job in plan(problem, config).jobs:
        filled.add(job, tensor(source, config.data_types[-1], problem.sizes))
    return filled


@cocotb.test()
async def stalls_change_in_mid_row_and_at_its_end(dut: Any) -> None:
    """Stalls lose nothing if rates change within rows, and stalls end near the end of a row."""
    bench = await started(dut)
    config = core()
    length = 9
    for count in (4 * config.lanes, 4 * config.lanes - 1, 3):
        queue = rows(length, count)
        beats = len(queue.beats)
        per_row = beats // -(-count // config.lanes) if beats % length == 0 else -(-length // 4)
        for off in (-1, 0, 1):
            # The source runs at full rate to mid-row, then at half rate to the end, then rests.
            turn = [(per_row // 2, 0), (max(1, 2 * (per_row - per_row // 2) + off), 50), (7, 100)]
            await carry_out(bench, queue, input_stalls=turn * beats + [(1, 0)], seed=off + 2)
            # Source and sink also rest up to about the clock of a row's last beat.
            ends = [(max(1, per_row - 1 + off), 100), (1, 0)] * beats + [(1, 0)]
            await carry_out(bench, queue, output_stalls=ends, seed=off + 2)
            await carry_out(bench, queue, input_stalls=ends, output_stalls=turn * beats + [(1, 0)])


@cocotb.test()
async def full_queue_loses_nothing(dut: Any) -> None:
    """A long stall of the sink stops the source at the queue's depth; then full rate returns."""
    bench = await started(dut)
    depth = queue_depth(core())
    queue = one_result_per_beat(3 * depth)
    rest = 4 * depth
    stopped = await bench.run(queue.run(output_stalls=[(rest, 100), (1, 0)]), stop_after=rest)
    assert not stopped.results
    assert stopped.taken == depth
    await bench.reset()
    outcome = await carry_out(bench, queue, output_stalls=[(rest, 100), (1, 0)])
    # From the first result after the stall on, one leaves in every clock.
    assert np.diff(outcome.given).max() == 1
    assert outcome.given[0] == rest


@cocotb.test()
async def sink_of_half_the_rate(dut: Any) -> None:
    """A sink that takes a result every other clock sets the pace exactly."""
    bench = await started(dut)
    queue = one_result_per_beat(100)
    outcome = await carry_out(bench, queue, output_stalls=[(1, 100), (1, 0)] * 500)
    assert set(np.diff(outcome.given)) == {2}
