"""Runs a batch on an AXI block, by the driver that users have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import holds_one_job, latency
from extremum.hdl.register_table import ends_with_plane
from extremum.host.driver.block import (
    START_CLOCKS,
    BlockDriver,
    Work,
    dataflow_clocks,
    unused_clocks,
)
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.cocotb_block import CocotbBlock
from extremum.host.simulation.native_block import NativeBlock
from extremum.tb.coverage import Tally
from extremum.tb.regression.case import Batch
from extremum.tb.regression.observe import observe, observe_reset
from extremum.tb.regression.on_faulty_block import run_on_faulty_block
from extremum.tb.regression.received import Received
from extremum.tb.regression.target import Target
from extremum.tb.regression.work import (
    Difference,
    Figures,
    Todo,
    begun,
    todo_of,
    watchdog,
)

TAKEN_AHEAD = 2
"""Beats that the buffer of ``s_axis`` may have taken before the core does."""


def spared_clocks(config: CoreConfig) -> int:
    """Return by how many clocks a programmable block may be faster with a job than is predicted.

    The job is the only one. For each core, the prediction takes the longest control, that of a
    volume with padding whose slots are counted ahead. In a small or balanced core a job begins
    sooner. Where a plane ends the job, it begins two clocks sooner, and up to four fewer pass
    behind a last element that is not of the last window.
    """
    if holds_one_job(config):
        return 10
    return 11 if ends_with_plane(config) else 5


def run_on_block(
    block: NativeBlock | CocotbBlock, target: Target, batch: Batch, tally: Tally
) -> Figures:
    """Run a batch on a block, compare what comes, count its bins, and return its figures.

    Raises
    ------
    Difference, DeviceError, SimulationError
        The block did something else than it must.
    """
    if batch.reset_clocks == 0 and not isinstance(block, NativeBlock):
        # Under cocotb only `aresetn` can end a batch in its middle.
        batch = replace(batch, reset_clocks=1)
    if batch.accesses or any(item.fault for item in batch.items):
        return run_on_faulty_block(block, target, batch, tally)
    todo = todo_of(target, batch)
    given = [Received(each) for each in todo]
    driver = BlockDriver(block, target.config)
    before = driver.counters()
    block.begin(
        StreamSettings(
            watchdog=watchdog(todo, batch),
            input_stalls=batch.input_stalls,
            output_stalls=batch.output_stalls,
            seed=batch.seed,
        )
    )
    work = (Work(each.job, each.x, take) for each, take in zip(todo, given, strict=True))
    beats_in = sum(each.job.beats_in for each in todo)
    if batch.reset_after is not None:
        taken = _interrupted(block, driver, work, batch)
        came, total = sum(g.beats for g in given), sum(each.job.beats_out for each in todo)
        taken, given_so_far = (taken, beats_in), (came, total)
        observe_reset(tally, target, batch, taken=taken, given=given_so_far)
        figures = Figures(jobs=begun(todo, taken[0]), clocks=block.clocks.now, beats=taken[0])
        block.begin(StreamSettings())
        return figures
    driver.run(work)
    clocks = block.clocks
    counters = driver.counters()
    counted = {name: (count - before[name]) % (1 << 32) for name, count in counters.items()}
    _check_counts(todo, given, counted)
    if not batch.has_stalls:
        _check_clocks(driver, todo, counted.get("cycles", clocks.cycles))
        tally.count("clocks", "block", "one" if len(todo) == 1 else "several")
    block.begin(StreamSettings())
    observe(tally, target, batch, list(todo), clocks=clocks.last, started=clocks.first or 0)
    return Figures(jobs=len(todo), clocks=clocks.cycles, beats=clocks.taken)


def _interrupted(
    block: NativeBlock | CocotbBlock, driver: BlockDriver, work: Iterator[Work], batch: Batch
) -> int:
    """Start all jobs, reset the block in their middle, and return how many beats it had taken."""
    assert batch.reset_after is not None
    for each in work:
        driver.start(each)
    block.pass_clocks(batch.reset_after)
    taken = block.clocks.taken
    if isinstance(block, NativeBlock) and batch.reset_clocks == 0:
        with block.resetting():
            driver.reset()
    else:
        block.reset(batch.reset_clocks)
    return taken


def _check_counts(
    todo: Sequence[Todo], given: Sequence[Received], counted: Mapping[str, int]
) -> None:
    """Check that all results have come, and that the block counted what it did."""
    jobs = [each.job for each in todo]
    expected = {
        "jobs": len(jobs),
        "beats_in": sum(job.beats_in for job in jobs),
        "beats_out": sum(job.beats_out for job in jobs),
    }
    if (came := sum(each.beats for each in given)) != expected["beats_out"]:
        raise Difference(f"{came} of {expected['beats_out']} results came")
    for name in expected.keys() & counted.keys():
        if counted[name] != expected[name]:
            raise Difference(f"the block counted {counted[name]} {name}, expected {expected[name]}")


def _check_clocks(driver: BlockDriver, todo: Sequence[Todo], cycles: int) -> None:
    """Compare the clocks without stalls with bounds that the plan gives."""
    jobs = [each.job for each in todo]
    config = jobs[0].config
    fewest = max(sum(job.beats_in for job in jobs), sum(job.beats_out for job in jobs))
    if driver.is_programmable:
        unused = sum(unused_clocks(job) for job in jobs)
        most = sum(job.cycles for job in jobs) + START_CLOCKS * len(jobs) + unused + driver.written
        alone = most - spared_clocks(config)
    else:
        late = sum(job.schedule.first_element + holds_one_job(config) for job in jobs)
        most = sum(map(dataflow_clocks, jobs)) + late
        schedule = jobs[0].schedule
        ends_with_beats = schedule.last_element > schedule.last_window + latency(config)
        alone = dataflow_clocks(jobs[0]) - (TAKEN_AHEAD if ends_with_beats else 0)
    if len(jobs) == 1:
        fewest = max(fewest, alone)
    if not fewest <= cycles <= most:
        raise Difference(
            f"{len(jobs)} jobs took {cycles} clocks without stalls, predicted are {fewest} to "
            f"{most}"
        )
