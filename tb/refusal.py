"""Bench: jobs that the core refuses for every possible reason, and the jobs after them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.hdl.ports import JobError, job_layout
from extremum.hdl.register_table import port_bits, port_number
from extremum.hdl.registers import job_shapes
from extremum.host.plan import plan
from extremum.host.plan.jobs import Job
from extremum.model import Pooling, Reduction
from extremum.tb.backpressure import one_result_per_beat
from extremum.tb.bench import carry_out, core, started, status
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import jobs, tensor

AXIS_COUNTS = ("window", "dilation")
"""Registers that can be zero on the job port; other counts are carried as their value less one."""


def beyond(limit: int, width: int) -> list[int]:
    """Return numbers of some bits beyond a limit: the next one, the largest, and each single bit
    that exceeds it, alone and added to the limit.

    >>> beyond(4, 4)
    [5, 6, 8, 12, 15]
    """
    bits = [1 << bit for bit in range(width)]
    numbers = {limit + 1, (1 << width) - 1, *bits, *(limit | bit for bit in bits)}
    return sorted(number for number in numbers if limit < number < 1 << width)


def bad_jobs(good: JobRegisters, config: CoreConfig) -> Iterator[tuple[JobRegisters, JobError]]:
    """Yield a job with one wrong register for every possible fault, and the expected reason."""
    shapes = job_shapes(config)
    if "tail" in shapes:
        yield replace(good, tail=0), JobError.COUNT
        for tail in beyond(config.lanes, shapes["tail"].width):
            yield replace(good, tail=tail), JobError.TAIL
    for axis, name in enumerate(DIMENSIONS):
        registers = getattr(good, name)
        for count in AXIS_COUNTS:
            if f"{name}.{count}" in shapes:
                yield replace(good, **{name: replace(registers, **{count: 0})}), JobError.COUNT
        if f"{name}.window" in shapes:
            for window in beyond(config.max_window[axis], config.coordinate_width):
                too_wide = replace(registers, window=window)
                yield replace(good, **{name: too_wide}), JobError.WINDOW
        if f"{name}.spacing" in shapes:
            # It is carried as its value less one.
            for number in beyond(config.max_spacing[axis] - 1, shapes[f"{name}.spacing"].width):
                too_far = replace(registers, spacing=number + 1)
                yield replace(good, **{name: too_far}), JobError.SPACING
    if "data_type" in shapes:
        for number in beyond(len(config.data_types) - 1, shapes["data_type"].width):
            yield replace(good, data_type=number), JobError.DATA_TYPE


def bad_payloads(good: JobRegisters, config: CoreConfig) -> Iterator[tuple[int, JobError]]:
    """Yield payloads of the job port with one wrong register each, and why they are refused.

    A wrong window may seem padded to a core without padding, so
    :meth:`extremum.hdl.job.JobRegisters.to_bits` would refuse some of them.
    """
    layout = job_layout(config)
    for registers, reason in bad_jobs(good, config):
        values = registers.values_in(config)
        numbers: dict[int | str, int] = {
            name.replace(".", "_"): port_number(name, bits, values[name])
            for name, bits in port_bits(config).items()
        }
        yield layout.const(numbers).as_bits(), reason


def a_bad_job(good: JobRegisters) -> int:
    """Return the payload of a job that the core refuses."""
    return next(registers.to_bits(core()) for registers, _ in bad_jobs(good, core()))


def good_jobs(count: int) -> list[tuple[Job, np.ndarray]]:
    """Return jobs that the core takes."""
    return list(jobs(random.Random(31), core(), count))


@cocotb.test()
async def every_reason(dut: Any) -> None:
    """A refused job gives its reason, takes no beat, and the next job runs."""
    bench = await started(dut)
    config = core()
    good = good_jobs(4)
    cases = list(bad_jobs(good[0][0].registers, config))
    # A core with one type has no register for it. The register of the tail can hold a tail beyond
    # the lanes only if their number is not 2**n - 1.
    reasons = {reason for _, reason in cases}
    if config.has_windows:
        assert reasons >= {JobError.COUNT, JobError.WINDOW, JobError.SPACING}
    assert (JobError.DATA_TYPE in reasons) == (len(config.data_types) > 1)
    assert (JobError.TAIL in reasons) == (config.lanes in (2, 4))
    for number, (registers, reason) in enumerate(cases):
        board = Scoreboard(config, number)
        board.add(*good[0])
        board.refuse(registers.to_bits(config))
        board.refuse(registers.to_bits(config))
        board.add(*good[number % len(good)])
        outcome = await carry_out(bench, board, job_stalls=30, seed=number)
        first, refused, again, taken = (status(word) for word in outcome.statuses)
        for after in (first, taken):
            assert (after["refused"], after["error"]) == (0, JobError.NONE)
        for after in (refused, again):
            assert (after["refused"], after["error"]) == (1, reason), registers


@cocotb.test()
async def refused_at_first(dut: Any) -> None:
    """A core that was offered only a bad job is not busy, and takes no beat for it."""
    bench = await started(dut)
    config = core()
    good = good_jobs(1)[0]
    board = Scoreboard(config)
    registers, reason = next(bad_jobs(good[0].registers, config))
    board.refuse(registers.to_bits(config))
    outcome = await carry_out(bench, board)
    assert status(outcome.statuses[0]) == {"busy": 0, "refused": 1, "error": reason, "empty": 0}


@cocotb.test()
async def limits_are_allowed(dut: Any) -> None:
    """A job whose registers are at the limits of the core runs."""
    bench = await started(dut)
    config = core()
    kind = config.data_types[-1]
    problem = Reduction.of("argmin", (config.lanes, 5), kind, 1)
    (job,) = plan(problem, config).jobs
    board = Scoreboard(config)
    board.add(job, tensor(random.Random(1), kind, problem.sizes))
    registers = job.registers
    assert registers.data_type == len(config.data_types) - 1
    assert registers.tail == config.lanes
    if config.max_window[2] > 1:
        furthest = replace(registers.width, spacing=config.max_spacing[2])
        board.jobs[0] = replace(registers, width=furthest).to_bits(config)
    await carry_out(bench, board)


@cocotb.test()
async def empty_windows_are_told(dut: Any) -> None:
    """``status.empty`` is set by empty windows of the last job that ran, and cleared by the next.

    A core that slides no windows has no empty windows, so there it stays 0.
    """
    config = core()
    slides = config.max_window[2] > 1
    bench = await started(dut)
    sizes = (1, 1, 2, 3)
    x = np.ones(sizes, config.data_types[0].dtype)
    padded, plain = (
        plan(Pooling.of(sizes, x.dtype, (1, 2), start_padding=(0, pad)), config).jobs[0]
        for pad in (3, 0)
    )
    for order, empty in (((padded,), 1), ((padded, plain), 0), ((plain, padded), 1)):
        board = Scoreboard(config)
        for job in order:
            board.add(job, x)
        await carry_out(bench, board)
        assert status(dut.status.value)["empty"] == (empty and slides), order
    assert not status(dut.status.value)["refused"]
    # A refused job has no windows, so the status is still that of the job before it.
    board = Scoreboard(config)
    board.add(padded, x)
    board.refuse(a_bad_job(padded.registers))
    await carry_out(bench, board)
    assert status(dut.status.value)["refused"]
    assert status(dut.status.value)["empty"] == slides


@cocotb.test()
async def busy_until_the_job_is_taken(dut: Any) -> None:
    """A job is still under way in the pipeline when its only slot is over."""
    bench = await started(dut)
    assert not status(dut.status.value)["busy"]
    for clocks in (6, 9, 12):
        outcome = await bench.run(one_result_per_beat(1).run(), stop_after=clocks)
        assert not outcome.statuses
        assert status(dut.status.value)["busy"]
        await bench.reset()
