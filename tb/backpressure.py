"""Bench: stalls at the places where a stream goes wrong: its last beat, and a FIFO that is full."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np

from extremum.hdl.core import QUEUE_MARGIN, pipeline_latency
from extremum.hdl.results import ResultQueue
from extremum.host.plan import plan
from extremum.model import Reduction
from extremum.tb.bench import carry_out, core, started
from extremum.tb.queue import board
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
    """The sink, then the source, rests until about the clock of the last beat."""
    bench = await started(dut)
    queue = board(11, 3)
    free = await carry_out(bench, queue)
    beats = len(queue.beats)
    for off in range(-3, 4):
        end = max(free.last + off, 1)
        await carry_out(bench, queue, output_stalls=[(end, 100), (1, 0)])
        await carry_out(bench, queue, output_stalls=[(end, 0), (25, 100), (1, 0)])
        await carry_out(bench, queue, input_stalls=[(max(beats + off, 1), 0), (60, 100), (1, 0)])


@cocotb.test()
async def full_fifo_loses_nothing(dut: Any) -> None:
    """A sink that rests for long stops the source at the FIFO's depth; then the rate is back."""
    bench = await started(dut)
    room = ResultQueue(1, pipeline_latency(core()) + QUEUE_MARGIN + 1).depth
    queue = one_result_per_beat(3 * room)
    rest = 4 * room
    stopped = await bench.run(queue.run(output_stalls=[(rest, 100), (1, 0)]), stop_after=rest)
    assert not stopped.results
    assert stopped.taken == room
    await bench.reset()
    outcome = await carry_out(bench, queue, output_stalls=[(rest, 100), (1, 0)])
    # One result in every clock from the first after the stall on.
    assert np.diff(outcome.given).max() == 1
    assert outcome.given[0] == rest


@cocotb.test()
async def sink_of_half_the_rate(dut: Any) -> None:
    """A sink that takes every other clock sets the pace exactly."""
    bench = await started(dut)
    queue = one_result_per_beat(100)
    outcome = await carry_out(bench, queue, output_stalls=[(1, 100), (1, 0)] * 500)
    assert set(np.diff(outcome.given)) == {2}
