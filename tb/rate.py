"""Bench: how many clocks jobs take, one by one and back to back, without stalls."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np

from extremum.hdl.latency import job_interval, latency, pipeline_latency
from extremum.host.plan import plan
from extremum.model import Pooling, Reduction
from extremum.tb.backpressure import one_result_per_beat
from extremum.tb.bench import carry_out, core, started
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import jobs, tensor


@cocotb.test()
async def every_job_takes_what_is_predicted(dut: Any) -> None:
    """The plan predicts the clocks of every job exactly, whatever its kind."""
    bench = await started(dut)
    config = core()
    folded = 0
    for job, x in jobs(random.Random(41), config, 60):
        board = Scoreboard(config)
        board.add(job, x)
        outcome = await carry_out(bench, board)
        assert outcome.cycles == job.cycles, job
        folded += job.registers.fold
    assert bool(folded) == config.can_fold


@cocotb.test()
async def latency_of_a_beat(dut: Any) -> None:
    """A beat that comes while the core waits for it leaves after the core's latency."""
    bench = await started(dut)
    outcome = await carry_out(bench, one_result_per_beat(1), input_stalls=[(100, 100), (1, 0)])
    assert outcome.first == 100
    assert outcome.given == [100 + latency(core())]


@cocotb.test()
async def jobs_back_to_back(dut: Any) -> None:
    """A job as long as the job interval is followed by the next without a gap."""
    bench = await started(dut)
    least = job_interval(core())
    for beats in (1, least - 1, least, least + 1, 3 * least):
        for count in (1, 2, 7):
            outcome = await carry_out(bench, one_result_per_beat(beats, count))
            apart = (outcome.cycles - beats - latency(core())) / max(count - 1, 1)
            if count == 1:
                assert apart == 0
            elif beats >= least:
                assert apart == beats, (beats, count)
                assert set(np.diff(outcome.given)) == {1}
            else:
                assert pipeline_latency(core()) + 3 <= apart <= least, (beats, count)


@cocotb.test()
async def rows_back_to_back(dut: Any) -> None:
    """A row takes as many clocks as it has beats, also in a fold, and also from job to job.

    In a core that cannot fold, each row has a lane of its own instead.
    """
    config = core()
    bench = await started(dut)
    least = job_interval(config)
    kind = config.data_types[-1]
    few = max(1, config.lanes - 1)
    for length, count in ((1, 3 * least), (config.lanes * least - 1, 1), (2 * least + 3, few)):
        board = Scoreboard(config)
        problem = Reduction.of("argmin", (count, length), kind, 1)
        (job,) = plan(problem, config).jobs
        x = tensor(random.Random(length), kind, problem.sizes)
        for _ in range(3):
            board.add(job, x)
        outcome = await carry_out(bench, board)
        assert job.registers.fold == (length > 1 and config.can_fold)
        apart = (outcome.cycles - job.cycles) / 2
        assert apart == job.beats_in >= least or job.beats_in < apart <= least


@cocotb.test()
async def generous_padding_costs_no_slots(dut: Any) -> None:
    """Windows whose last taps lie in the end padding are given early, so no clock is lost.

    A core that cannot slide windows gets their elements as rows, without padding.
    """
    config = core()
    bench = await started(dut)
    kind = config.data_types[-1]
    shapes: list[tuple[tuple[int, ...], dict[str, Any]]] = []
    padded = {"strides": 2, "start_padding": 1, "end_padding": 1}
    for size in (28, 4, 3):
        # This is a pooling as in PyTorch with kernel 2, stride 2 and padding 1.
        shapes.append(((1, config.lanes, size, size), {"window": 2, **padded}))
    if config.max_window[1] >= 3:
        shapes.append(((1, 2 * config.lanes, 14, 14), {"window": 3, **padded}))
        shapes.append(((1, config.lanes, 8, 8), {"window": 3, "strides": 2, "end_padding": 1}))
    if config.max_window[0] > 1:
        taps = tuple(min(3, most) for most in config.max_window)
        deep = {"strides": 2, "end_padding": tuple(most - 2 for most in taps)}
        shapes.append(((1, 2 * config.lanes, 4, 6, 6), {"window": taps, **deep}))
    for sizes, arguments in shapes:
        problem = Pooling.of(sizes, kind, **arguments)
        todo = plan(problem, config).jobs
        assert {job.kind for job in todo} == {"sliding" if config.max_window[1] > 1 else "gathered"}
        for job in todo:
            assert job.schedule.slots == job.beats_in, (sizes, arguments)
        board = Scoreboard(config)
        board.add(todo[0], tensor(random.Random(1), kind, sizes))
        clocks = (await carry_out(bench, board)).cycles
        assert clocks == todo[0].cycles, (sizes, arguments)
        assert clocks <= todo[0].beats_in + latency(config), (sizes, arguments)


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
    least = job_interval(config)
    before = last = 0
    for problem in problems * 2:
        for job in plan(problem, config).jobs:
            board.add(job, tensor(source, kind, problem.sizes))
            assert job.schedule.slots >= least
            before, last = before + job.schedule.slots, job.cycles - job.schedule.slots
    outcome = await carry_out(bench, board)
    assert outcome.cycles == before + last
