"""The clocks of jobs on the cores of `tb` are predicted exactly, and none of them is wasted."""

import math
import random

import numpy as np
import pytest
from amounts import mostly_slow

from extremum.hdl.latency import job_interval, latency, pipeline_latency
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
    """Run jobs back to back, compare every result, and return the clocks that they took."""
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
    # The simulator itself checks the mark of a job's last beat.
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
    """A job waits for the slots of the one before it, or if that is short, for its own token."""
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
        # A job's last slots may be over before its last result is given.
        assert fewest <= before <= most, [job for job, _ in batch]
        exact += all(count >= least for count in slots)
    assert exact


def test_stalls_cost_what_they_are(simulator):
    """A source that stalls in three clocks of ten costs that much time, and no more."""
    native, config = simulator
    kind = config.data_types[0]
    problem = Reduction.of("max", (4 * config.lanes, 300), kind, 1)
    (job,) = plan(problem, config).jobs
    x = tensor(random.Random(1), kind, problem.sizes)
    assert clocks(native, config, [(job, x)]) == job.beats_in + latency(config)
    stalled = clocks(native, config, [(job, x)], input_stalls=30, seed=4)
    assert stalled < 1.1 * job.beats_in / 0.7 + latency(config)
    # There are few results, so a sink that stalls in half of the clocks delays nothing.
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


def generous(core, name):
    """Return the pooling of that name, with slices for a long job, and its jobs on a core."""
    plane, arguments = GENEROUS[name]
    config = CORES[core]
    problem = Pooling.of(
        (1, 6 * config.lanes, *plane), config.data_types[0], strides=2, **arguments
    )
    return problem, plan(problem, config).jobs


def whole(core, name):
    """Return whether the core slides the windows of that pooling in a single job."""
    _, jobs = generous(core, name)
    return len(jobs) == 1 and jobs[0].kind == "sliding"


WHOLE = [(core, name) for core in CORES for name in GENEROUS if whole(core, name)]


def test_every_generous_padding_is_tried_on_some_core():
    """No case is lost because it is gathered, or cut into tiles, on every core."""
    assert {name for _, name in WHOLE} == set(GENEROUS)
    for name, (plane, _) in GENEROUS.items():
        assert ("image" if len(plane) == 2 else "volume", name) in WHOLE


@pytest.mark.parametrize(
    ("simulator", "name"),
    mostly_slow(WHOLE, [case for case in WHOLE if case[0] in ("image", "volume")]),
    indirect=["simulator"],
)
def test_generous_padding_costs_no_slots(simulator, name):
    """A job takes a clock for each element, and the latency: no slot is spent on padding."""
    native, config = simulator
    core = next(key for key in CORES if CORES[key] is config)
    problem, (job,) = generous(core, name)
    x = tensor(random.Random(2), problem.data_type, problem.sizes)
    elements = 6 * math.prod(problem.sizes[2:])
    assert job.beats_in == job.registers.slots == elements >= job_interval(config)
    assert clocks(native, config, [(job, x)]) == job.cycles <= elements + latency(config)
    # Jobs that follow each other do not lose a slot either.
    assert clocks(native, config, [(job, x)] * 3) == 2 * elements + job.cycles
