"""Compares cores of many configurations, in Amaranth's simulator, with the golden model."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amounts import mostly_slow, some
from gateware import stream

from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core
from extremum.hdl.latency import job_interval, latency
from extremum.hdl.ports import JobError, status_layout
from extremum.hdl.registers import is_endless, job_shapes
from extremum.host.plan import plan
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.host.simulation.agents import PortRun
from extremum.model import DataType, Pooling, Reduction
from extremum.tb.refusal import bad_jobs
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import tensor

NO_WINDOW: dict[str, Any] = {"max_window": (1, 1, 1), "max_dilation": (1, 1, 1)}
NO_DILATION: dict[str, Any] = {"max_dilation": (1, 1, 1), "max_line": 16, "max_plane": 1}
REFUSED = 1 << status_layout()["refused"].offset
INT8, FLOAT16 = (DataType.INT8,), (DataType.FLOAT16,)


def window(taps, stride, padding):
    """Return the fixed registers of a square window, as a small block has them."""
    registers = {"window": taps, "stride": stride, "dilation": 1, "head": taps - 1 - padding}
    both = [
        (f"{axis}.{name}", value)
        for axis in ("height", "width")
        for name, value in registers.items()
    ]
    return (*both, ("width.spacing", 1))


def pool(taps, stride, padding=0, indices=0, groups=(), **others):
    """Return a core for a single max pooling of planes up to 16 wide."""
    return CoreConfig(
        INT8, max_window=(1, taps, taps), **NO_DILATION, coordinate_width=6,
        operators=("max-pool",), index_width=indices, padding=padding > 0,
        fixed=(*window(taps, stride, padding), *groups), **others,
    )  # fmt: skip


REDUCTIONS = {
    "argmax": CoreConfig(INT8, **NO_WINDOW, operators=("argmax",)),
    "argmin": CoreConfig(FLOAT16, **NO_WINDOW, operators=("argmin",), index_width=8),
    "both": CoreConfig(FLOAT16, 2, **NO_WINDOW, operators=("argmin", "argmax"), index_width=20),
    "values alone": CoreConfig(FLOAT16, 4, **NO_WINDOW, index_width=0),
    "types": CoreConfig(
        (DataType.UINT16, DataType.FLOAT32, DataType.INT8), 8, **NO_WINDOW, index_width=20
    ),
    "first of equals": CoreConfig(
        FLOAT16, **NO_WINDOW, operators=("argmax",), fixed=(("decreasing", 0), ("ignore_nan", 0))
    ),
    "last of equals": CoreConfig(
        FLOAT16, 4, **NO_WINDOW, operators=("argmax",), index_width=8,
        fixed=(("decreasing", 1), ("ignore_nan", 1)),
    ),
    "always folds": CoreConfig(INT8, 4, **NO_WINDOW, fixed=(("fold", 1),)),
    # This core gives so few results that its queue holds only two.
    "folds of 200": CoreConfig(INT8, 4, **NO_WINDOW, fixed=(("fold", 1), ("length", 50))),
    "rows of 7": CoreConfig(INT8, **NO_WINDOW, operators=("argmax",), fixed=(("length", 7),)),
}  # fmt: skip


def reductions(config, rng, count):
    """Yield random reductions that the core was built for."""
    fixed = dict(config.fixed)
    functions = [op for op in config.operators if op.startswith("arg") and config.index_width]
    if config.has_values:
        functions += ["min", "max"]
    while count:
        function = rng.choice(functions)
        length = fixed.get("length", rng.choice((1, 2, 3, 5, 8, 13, 40)))
        if "fold" in fixed and "length" in fixed:
            length = length * config.lanes - rng.randrange(config.lanes)
        sizes = (rng.choice((1, 2, 3, 7, 9)), length)
        direction = "decreasing" if fixed.get("decreasing", rng.getrandbits(1)) else "increasing"
        ignore = fixed.get("ignore_nan", rng.getrandbits(1))
        data_type = rng.choice(config.data_types)
        problem = Reduction.of(
            function, sizes, data_type, 1, nan="ignore" if ignore else "propagate",
            axis_direction=direction if function.startswith("arg") else "increasing",
        )  # fmt: skip
        for job in plan(problem, config).jobs:
            # A core that always folds cannot run jobs that are planned as slices.
            if "fold" not in fixed or job.registers.fold:
                yield job, tensor(rng, data_type, sizes)
                count -= 1


def boards(config, jobs, rng, parts):
    """Yield scoreboards of a few jobs each, and runs of them with stalls on all sides."""
    for part in range(parts):
        board = Scoreboard(config, part)
        for job, x in jobs[part::parts]:
            board.add(job, x)
        stalls = {
            f"{side}_stalls": 0 if part == 0 else rng.choice((0, 30, 80, [(400, 100), (1, 0)]))
            for side in ("input", "output", "job")
        }
        yield board, board.run(seed=rng.getrandbits(31), **stalls)


def check(config, jobs, rng, parts=None):
    """Run jobs, and compare all results, and the status after the last job of each run.

    There are four runs, or so few that two jobs follow each other in each.
    """
    parts = parts or max(1, min(4, len(jobs) // 2))
    filled = list(boards(config, jobs, rng, parts))
    outcomes = stream(Core(config), [todo for _, todo in filled], quiet=latency(config) + 20)
    for (board, _), outcome in zip(filled, outcomes, strict=True):
        board.check(outcome.results, len(outcome.taken))
        assert len(outcome.statuses) == len(board.jobs)
        assert not any(word & REFUSED for word in outcome.statuses)
    for part, outcome in enumerate(outcomes):
        last = jobs[part::parts][-1][0]
        tiles = last.tiles if isinstance(last, SlidingJob) else ()
        assert outcome.empty == any(tile.dimension.empty.any() for tile in tiles)
    return outcomes


@pytest.mark.parametrize("name", mostly_slow(REDUCTIONS, {*REDUCTIONS} - {"folds of 200"}))
def test_reductions(name):
    config, rng = REDUCTIONS[name], random.Random(name)
    jobs = list(reductions(config, rng, 24))
    assert any(job.registers.fold for job, _ in jobs) == config.can_fold
    check(config, jobs, rng)


POOLINGS = {
    "2x2 s2": (pool(2, 2), 2, 2, 0),
    "2x2 s2 indices": (pool(2, 2, indices=8), 2, 2, 0),
    "2x2 s2 one group": (pool(2, 2, groups=(("groups", 1),)), 2, 2, 0),
    "3x3 s1 p1": (pool(3, 1, 1, 20), 3, 1, 1),
    "3x3 s1": (pool(3, 1), 3, 1, 0),
    "3x3 s2": (pool(3, 2, indices=32), 3, 2, 0),
    "3x3 s2 p1": (pool(3, 2, 1), 3, 2, 1),
    "2x2 s2 p1": (pool(2, 2, 1, 6, lanes=3), 2, 2, 1),
    "2x2 s1 lanes": (pool(2, 1, lanes=4), 2, 1, 0),
}
POOLINGS |= {
    f"{name}, floats": (replace(config, data_types=FLOAT16), *rest)
    for name, (config, *rest) in POOLINGS.items()
    if name in {"2x2 s2", "2x2 s2 one group", "3x3 s1 p1"}
}


@pytest.mark.parametrize(
    "name",
    mostly_slow(POOLINGS, ["2x2 s2", "2x2 s2 one group", "3x3 s1 p1, floats", "2x2 s2 p1"]),
)
def test_fixed_windows(name):
    """Small blocks pool planes of all sizes, even and odd, square and not."""
    config, taps, stride, padding = POOLINGS[name]
    rng, (kind,) = random.Random(name), config.data_types
    jobs = []
    one = "groups" in dict(config.fixed)
    while len(jobs) < some(24):
        planes = config.lanes if one else rng.randint(1, 3 * config.lanes)
        sizes = (1, planes, rng.randint(taps, 9), rng.randint(taps, 12))
        problem = Pooling.of(
            sizes, kind, taps, strides=stride, start_padding=padding, end_padding=padding
        )
        (job,) = plan(problem, config).jobs
        jobs.append((job, tensor(rng, kind, sizes)))
    check(config, jobs, rng)


def test_planes_follow_each_other_at_once():
    """If jobs end with their plane, the next job's first beat is taken in the very next clock."""
    config, rng = POOLINGS["2x2 s2 one group"][0], random.Random(1)
    board, beats = Scoreboard(config), 0
    for sizes in ((1, 1, 4, 6), (1, 1, 6, 4), (1, 1, 2, 12), (1, 1, 12, 2), (1, 1, 9, 9)):
        (job,) = plan(Pooling.of(sizes, DataType.INT8, 2, strides=2), config).jobs
        assert job.schedule.slots >= job_interval(config)
        board.add(job, tensor(rng, DataType.INT8, sizes))
        beats += job.beats_in
    (outcome,) = stream(Core(config), [board.run()])
    board.check(outcome.results, len(outcome.taken))
    assert np.array_equal(np.diff(outcome.taken), np.ones(beats - 1))


@pytest.mark.parametrize("lanes", [1, 3, 64])
@pytest.mark.parametrize("types", [*((kind,) for kind in DataType), tuple(DataType)])
def test_no_result_is_later_than_64_clocks(types, lanes):
    """The latency of the largest programmable cores, with windows to 3x7x7, is within 64 clocks."""
    assert latency(CoreConfig(types, lanes)) <= 64
    assert latency(CoreConfig(types, lanes, max_dilation=(1, 2, 5))) <= 66


WINDOWS = {
    "floats": CoreConfig(
        FLOAT16, 1, (2, 2, 3), (1, 1, 2), 8, 24, 5, operators=("max-pool",), index_width=20
    ),
    "no padding": CoreConfig(
        FLOAT16, 2, (1, 3, 3), (1, 2, 2), 8, 1, 5, padding=False, index_width=8
    ),
    "depth alone": CoreConfig(INT8, 2, (2, 1, 1), (2, 1, 1), 1, 30, 5, operators=("max-pool",)),
    "one stride": CoreConfig(
        INT8, 4, (1, 2, 3), (1, 1, 1), 8, 1, 5, fixed=(("width.stride", 2), ("height.stride", 2))
    ),
}


@pytest.mark.parametrize("name", mostly_slow(WINDOWS, {*WINDOWS} - {"depth alone"}))
def test_windows(name):
    """Cores pool with windows of any size, and run reductions between them if they have any."""
    config, rng = WINDOWS[name], random.Random(name)
    fixed = dict(config.fixed)
    jobs = []
    while len(jobs) < some(48):
        kind = rng.choice(config.data_types)
        if config.has_reduction and rng.random() < 0.3 and not fixed:
            problem: Any = Reduction.of("argmin", (rng.randint(1, 9), rng.randint(1, 9)), kind, 1)
        else:
            taps = [rng.randint(1, most) for most in config.max_window]
            dilations = [rng.randint(1, most) for most in config.max_dilation]
            extents = [1 + (t - 1) * d for t, d in zip(taps, dilations, strict=True)]
            sizes = (1, rng.randint(1, 5), *(rng.randint(e + 1, e + 4) for e in extents))
            most = 2 if config.padding else 0
            pads = [[rng.choice((0, rng.randint(0, most))) for _ in "dhw"] for _ in "se"]
            if config.max_window[0] == 1:
                sizes, pads = (*sizes[:2], 1, *sizes[3:]), [[0, *pad[1:]] for pad in pads]
            strides = [
                1 if size == 1 else fixed.get("width.stride", rng.randint(1, 3))
                for size in sizes[2:]
            ]
            problem = Pooling.of(
                sizes,
                kind,
                taps,
                strides=strides,
                dilations=dilations,
                start_padding=pads[0],
                end_padding=pads[1],
                nan=rng.choice(("propagate", "ignore")),
            )
        todo = plan(problem, config).jobs
        jobs += [(job, tensor(rng, kind, problem.sizes)) for job in todo if job.kind != "gathered"]
    check(config, jobs, rng)


@pytest.mark.parametrize("axis", range(3), ids=("depth", "height", "width"))
def test_positions_in_early_last_windows(axis):
    """The last window along a dimension leaves out taps behind the last element that it meets.

    Its winner is counted from the tap that comes last, and not from the window's own last tap.
    """
    config = CoreConfig(INT8, 1, (3, 3, 3), (1, 1, 1), 8, 24, 5)
    # The places of the elements, of the taps, and so on, belong to the axis and the two others.
    turned = lambda *values: tuple(np.roll(values, axis).tolist())  # noqa: E731
    problem = Pooling.of(
        (1, 2, *turned(4, 2, 3)), DataType.INT8, turned(3, 2, 1), strides=turned(3, 1, 1),
        start_padding=turned(1, 0, 1), end_padding=turned(3, 2, 3),
    )  # fmt: skip
    (job,) = plan(problem, config).jobs
    name = ("depth", "height", "width")[axis]
    assert getattr(job.registers, name).shift > 0
    rng = random.Random(name)
    check(config, [(job, tensor(rng, DataType.INT8, problem.sizes)) for _ in range(4)], rng)


@pytest.mark.parametrize("name", mostly_slow(["argmax", "folds of 200"], ["argmax"]))
def test_busy_until_the_last_result_has_left(name):
    """The core is busy in each clock from the first beat on, also in a job of a single beat."""
    config, rng = REDUCTIONS[name], random.Random(name)
    todo = list(reductions(config, rng, 6))
    if "length" not in dict(config.fixed):
        problem = Reduction.of(config.operators[0], (1, 1), config.data_types[0], 1)
        (job,) = plan(problem, config).jobs
        todo.append((job, tensor(rng, config.data_types[0], (1, 1))))
    check(config, todo, rng, parts=len(todo))


REFUSING = {
    "windows": CoreConfig(
        (DataType.INT8, DataType.UINT8), 2, (2, 2, 3), (1, 2, 2), 4, 12, 5, operators=("max-pool",)
    ),
    "rows": CoreConfig((DataType.INT8, DataType.UINT8), 5, **NO_WINDOW),
}


@pytest.mark.parametrize("name", REFUSING)
def test_bad_jobs_are_refused(name):
    """Each bad job is refused with its reason, and the good jobs between them run as usual."""
    config, rng = REFUSING[name], random.Random(name)
    layout = status_layout()
    sizes = (1, 3, 4, 5)
    if config.has_windows:
        problem: Any = Pooling.of(sizes, DataType.INT8, 2, strides=2)
    else:
        problem = Reduction.of("argmax", sizes, DataType.INT8, 3)
    (job,) = plan(problem, config).jobs
    board, reasons = Scoreboard(config), []
    for registers, reason in bad_jobs(job.registers, config):
        board.add(job, tensor(rng, DataType.INT8, sizes))
        board.refuse(registers.to_bits(config))
        board.refuse(registers.to_bits(config))
        reasons += [JobError.NONE, reason, reason]
    board.add(job, tensor(rng, DataType.INT8, sizes))
    assert len(set(reasons)) == (6 if config.has_windows else 4)
    for stalls in ({}, {"job_stalls": 50, "input_stalls": 30}):
        (outcome,) = stream(Core(config), [board.run(**stalls)])
        board.check(outcome.results, len(outcome.taken))
        told = [layout.from_bits(word) for word in outcome.statuses]
        assert [status.error for status in told] == [*reasons, JobError.NONE]
        assert [status.refused for status in told] == [*(r != JobError.NONE for r in reasons), 0]


def endless(length, data_type=DataType.INT8, **others):
    """Return a core for argmax of rows of one length, which has no job port."""
    fixed = {"length": length, "slots": length, "decreasing": 0}
    if data_type.format.is_float:
        fixed["ignore_nan"] = 0
    return CoreConfig(
        (data_type,), **NO_WINDOW, operators=("argmax",), fixed=tuple(fixed.items()), **others
    )


def rows_of(config, x):
    """Return a scoreboard of the argmax of each row, as jobs that the core is not told of."""
    board = Scoreboard(config)
    problem = Reduction.of("argmax", x.shape, DataType.from_dtype(x.dtype), 1)
    for row in range(len(x)):
        board.add(ReductionJob(problem, config, row, row + 1), x)
    return board


@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.FLOAT32])
@pytest.mark.parametrize("length", mostly_slow([1, 2, 3, 5, 300, 1000], [1, 3, 300]))
def test_without_jobs(length, data_type):
    """A core without a job port gives each row's argmax, and unstalled takes a beat per clock."""
    config = endless(length, data_type)
    assert is_endless(config)
    assert not job_shapes(config)
    rng = random.Random(length)
    rows = max(3, 60 // length)
    runs, boards_ = [], []
    changing = [(80, 95), (9, 0)]
    for stalls in ({}, {"input_stalls": 30, "output_stalls": 60}, {"output_stalls": changing}):
        board = rows_of(config, tensor(rng, data_type, (rows, length)))
        boards_.append(board)
        runs.append(replace(board.run(seed=length, **stalls), jobs=[]))
    outcomes = stream(Core(config), runs)
    for board, outcome in zip(boards_, outcomes, strict=True):
        board.check(outcome.results, len(outcome.taken))
    first = outcomes[0]
    assert first.cycles == rows * length - 1 + latency(config) + 1
    assert np.array_equal(np.diff(first.taken), np.ones(rows * length - 1))
    assert [out - length * n for n, out in enumerate(first.given)] == [
        first.taken[0] + length - 1 + latency(config)
    ] * rows


@pytest.mark.parametrize("length", [1, 2, 5, 40])
def test_a_queue_as_short_as_results_are_rare(length):
    """If the sink rests for long, nothing is lost, and the source waits no sooner than it must."""
    config = endless(length)
    rows = 400 // length + 10
    board = rows_of(config, tensor(random.Random(5), DataType.INT8, (rows, length)))
    rest = 12 * length + 200
    todo = PortRun([], board.beats, rows, 3000, output_stalls=[(rest, 100), (1, 0)])
    (outcome,) = stream(Core(config), [todo])
    board.check(outcome.results, len(outcome.taken))
    waited = sum(clock < rest for clock in outcome.taken)
    assert waited < len(board.beats) or length == 40
    # Once the sink goes on, the source goes on too, at a beat per clock.
    later = [clock for clock in outcome.taken if clock > rest + 2 * latency(config) + 2 * length]
    assert set(np.diff(later)) <= {1}
