"""Bench: how many clocks jobs take, one by one and back to back, without stalls."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np

from extremum.hdl.core import latency, pipeline_latency
from extremum.host.jobs import START_CLOCKS
from extremum.host.plan import plan
from extremum.model import Pooling, Reduction
from extremum.tb.backpressure import one_result_per_beat
from extremum.tb.bench import carry_out, core, started
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import jobs, tensor

HANDOVER = 2
"""Clocks beyond the pipeline's length that a job must last to be followed at once."""


@cocotb.test()
async def every_job_takes_what_is_predicted(dut: Any) -> None:
    """The plan's prediction is exact."""
    bench = await started(dut)
    config = core()
    for job, x in jobs(random.Random(41), config, 60):
        board = Scoreboard(config)
        board.add(job, x)
        outcome = await carry_out(bench, board)
        assert outcome.cycles == job.cycles, job


@cocotb.test()
async def latency_of_a_beat(dut: Any) -> None:
    """A beat that comes while the core waits for it leaves after the core's latency."""
    bench = await started(dut)
    outcome = await carry_out(bench, one_result_per_beat(1), input_stalls=[(100, 100), (1, 0)])
    assert outcome.first == 100
    assert outcome.given == [100 + latency(core())]


@cocotb.test()
async def jobs_back_to_back(dut: Any) -> None:
    """A job that lasts as long as the pipeline is followed by the next without a bubble."""
    bench = await started(dut)
    least = pipeline_latency(core()) + HANDOVER
    for beats in (1, least - 1, least, least + 1, 3 * least):
        for count in (1, 2, 7):
            outcome = await carry_out(bench, one_result_per_beat(beats, count))
            alone = START_CLOCKS + beats - 1 + latency(core()) - 1
            assert outcome.cycles == alone + (count - 1) * max(beats, least), (beats, count)
            if beats >= least:
                assert set(np.diff(outcome.given)) == {1}


@cocotb.test()
async def long_jobs_use_every_clock(dut: Any) -> None:
    """Reductions and windows that take a beat per slot keep the input busy to the end."""
    bench = await started(dut)
    config = core()
    source = random.Random(43)
    board = Scoreboard(config)
    kind = config.data_types[-1]
    problems: list[Reduction | Pooling] = [Reduction.of("argmin", (config.lanes, 90), kind, 1)]
    if config.max_window[2] > 1:
        sizes = (2, config.lanes, 9, 7)
        problems.append(Pooling.of(sizes, kind, (1, 2)))
        problems.append(Pooling.of(sizes, kind, 1))
    if config.max_window[1] > 1:
        problems.append(Pooling.of((2, config.lanes, 20, 3), kind, (2, 2)))
    beats = 0
    last = None
    for problem in problems * 2:
        for job in plan(problem, config).jobs:
            board.add(job, tensor(source, kind, problem.sizes))
            beats += job.beats_in
            # What the last windows owe once the elements are over.
            last = job.registers.slots - job.beats_in
            beats += last
    outcome = await carry_out(bench, board)
    assert outcome.cycles <= beats + START_CLOCKS + latency(config) - 1
