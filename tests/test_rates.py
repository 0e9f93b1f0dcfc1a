"""Clocks of jobs on the cores of `tb`: predicted to the clock, and an element in each of them."""

import math
import random

import numpy as np
import pytest

from extremum.hdl.core import job_interval, latency, pipeline_latency
from extremum.hdl.ports import output_layout
from extremum.host.plan import plan
from extremum.host.simulation.backend import JobRun
from extremum.host.simulation.native import NativeSimulator
from extremum.model import Pooling, Reduction
from extremum.tb.cores import CORES
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import jobs, tensor

JOBS = 150


def clocks(simulator, config, batch, **stalls):
    """Run jobs back to back, compare every result, and return how long it took."""
    board, given = Scoreboard(config), []
    layout = output_layout(config)
    for job, x in batch:
        board.add(job, x)

    def take(values, positions):
        for value, index in zip(values.tolist(), positions.tolist(), strict=True):
            fields = {"value": value, "index": index, "last": 0}
            given.append(layout.const({str(name): fields[str(name)] for name, _ in layout}))

    todo = JobRun(
        board.jobs,
        (job.gather(x) for job, x in batch),
        sum(job.beats_in for job, _ in batch),
        [job.beats_out for job, _ in batch],
        np.dtype(f"u{config.element_width // 8}"),
        watchdog=20_000,
        **stalls,
    )
    ran = simulator.run(todo, take)
    # The simulator sees to the mark of a job's last beat.
    mark = 1 << layout["last"].offset
    assert [word.as_bits() for word in given] == [word & ~mark for word in board.expected]
    return ran.cycles


@pytest.fixture(name="simulator", params=CORES)
def simulator_of(request):
    simulator = NativeSimulator(CORES[request.param])
    yield simulator, CORES[request.param]
    simulator.close()


def test_a_job_alone_takes_what_is_predicted(simulator):
    native, config = simulator
    kinds = set()
    for job, x in jobs(random.Random(3), config, JOBS):
        assert clocks(native, config, [(job, x)]) == job.cycles, job
        kinds.add((job.kind, bool(job.registers.fold)))
    assert ("reduction", False) in kinds
    assert (("sliding", False) in kinds) == config.has_windows
    assert any(fold for _, fold in kinds) == config.can_fold


def test_jobs_that_last_as_long_as_the_pipeline_follow_at_once(simulator):
    """Jobs of random kinds back to back: each waits for the slots, or the token, of the former."""
    native, config = simulator
    least = job_interval(config)
    source, exact = random.Random(5), 0
    for _ in range(60):
        batch = list(jobs(source, config, source.randint(2, 5)))
        first, last = batch[0][0].schedule, batch[-1][0]
        slots = [job.schedule.slots for job, _ in batch[:-1]]
        most = sum(max(count, least) for count in slots)
        fewest = sum(max(count, pipeline_latency(config) + 2) for count in slots)
        end = max(last.schedule.last_window + latency(config), last.schedule.last_element)
        before = clocks(native, config, batch) - (end - first.first_element + 1)
        # A job that ends in padding may give its last results behind those that follow it.
        assert fewest <= before <= most, [job for job, _ in batch]
        exact += all(count >= least for count in slots)
    assert exact


def test_stalls_cost_what_they_are(simulator):
    """A source that rests in three clocks of ten costs no more than that; so does a sink."""
    native, config = simulator
    kind = config.data_types[0]
    problem = Reduction.of("max", (4 * config.lanes, 300), kind, 1)
    (job,) = plan(problem, config).jobs
    x = tensor(random.Random(1), kind, problem.sizes)
    assert clocks(native, config, [(job, x)]) == job.beats_in + latency(config)
    rested = clocks(native, config, [(job, x)], input_stalls=30, seed=4)
    assert rested < 1.1 * job.beats_in / 0.7 + latency(config)
    # Results are few: a sink that rests for half of the time holds up nothing.
    assert clocks(native, config, [(job, x)], output_stalls=50, seed=4) < job.cycles + 20


BOTH = {"start_padding": 1, "end_padding": 1}
GENEROUS = {
    "k2 s2 p1": ((28, 28), {"window": 2, **BOTH}),
    "k2 s2 p1, small": ((4, 4), {"window": 2, **BOTH}),
    "k3 s2 p1": ((28, 28), {"window": 3, **BOTH}),
    "k3 s2, end": ((14, 14), {"window": 3, "end_padding": 1}),
    "k3 s2, end, volume": ((4, 6, 6), {"window": (2, 2, 3), "end_padding": (0, 0, 1)}),
    "k2 s2 p1, volume": ((4, 4, 4), {"window": 2, **BOTH}),
}


@pytest.mark.parametrize("name", GENEROUS)
def test_generous_padding_costs_no_slots(simulator, name):
    """As many clocks as elements, and the latency: no slot is spent on padding."""
    native, config = simulator
    plane, arguments = GENEROUS[name]
    kind = config.data_types[0]
    sizes = (1, 3 * config.lanes, *plane)
    problem = Pooling.of(sizes, kind, strides=2, **arguments)
    job, *others = plan(problem, config).jobs
    if others or job.kind != "sliding":
        # Not all of them fit all cores whole, but each does some.
        assert config is not CORES["image" if len(plane) == 2 else "volume"]
        return
    x = tensor(random.Random(2), kind, sizes)
    elements = 3 * math.prod(plane)
    assert job.beats_in == job.registers.slots == elements
    assert clocks(native, config, [(job, x)]) <= elements + latency(config)
    # One after the other too.
    again = clocks(native, config, [(job, x)] * 3)
    least = max(elements, job_interval(config))
    assert again <= 2 * least + elements + latency(config)
