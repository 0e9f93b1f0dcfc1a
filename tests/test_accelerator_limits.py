"""Operators that exceed a core, and operators that have nothing to stream."""

import numpy as np
import pytest
from accelerators import check
from amounts import mostly_slow
from simulation import NATIVE_FIRST, chosen

from extremum.hdl.config import PIPELINING, CoreConfig
from extremum.host.accelerator import Accelerator
from extremum.host.plan import plan
from extremum.host.plan.dataflow import fixed_to
from extremum.model import DataType, Reduction
from extremum.tb.cores import CORES
from extremum.tb.regression.pool import target_named

pytestmark = pytest.mark.parametrize("simulator", NATIVE_FIRST)


@pytest.mark.parametrize(
    ("core", "shape", "arguments", "note"),
    [
        ("every_type", (1, 2, 30, 40), {"window": 3}, "tiles"),
        ("every_type", (1, 1, 1, 200), {"window": (1, 3), "strides": (1, 2)}, "coordinate_width"),
        ("every_type", (1, 1, 5, 9, 9), {"window": 2, "strides": (2, 1, 1)}, "max_plane"),
        (
            "every_type",
            (1, 1, 4, 4),
            {"window": 1, "start_padding": 70, "end_padding": 70, "strides": 3},
            "1 tile:",
        ),
        ("every_type", (2, 2, 9, 9), {"window": (4, 2), "start_padding": (2, 0)}, "max_window"),
        ("every_type", (1, 2, 9, 12), {"window": 2, "dilations": (1, 5)}, "max_dilation"),
        ("every_type", (1, 1, 30, 4), {"window": 2, "dilations": (20, 1)}, "lines of at most 1"),
        ("every_type", (1, 1, 70, 2), {"window": (1, 1), "strides": (65, 1)}, "coordinate_width"),
        ("image", (2, 3, 4, 5, 6), {"window": (1, 2, 2), "strides": (2, 1, 1)}, "depth"),
        ("image", (1, 2, 9, 90), {"window": (2, 4), "start_padding": (1, 2)}, "max_line"),
        ("volume", (1, 2, 5, 6, 7), {"window": (3, 2, 3), "dilations": (2, 3, 1)}, "tiles"),
        ("reduction", (1, 1, 6, 6), {"window": 2}, "gathered"),
        ("reduction", (1, 1, 6, 6), {"window": 1}, "gathered"),
    ],
    ids=str,
)
def test_beyond_the_core(hardware, simulator, core, shape, arguments, note):
    """Such an operator gives the right result too, and a note tells what was done, and why."""
    accelerator = hardware(core, simulator)
    config = CORES[core]
    rng = np.random.default_rng(4)
    x = rng.integers(0, 4, shape).astype(config.data_types[0].dtype)
    check(accelerator, "max_pooling", x, **arguments, return_indices=True)
    notes = accelerator.report.notes
    assert note in notes[0] if note else not notes


@pytest.mark.parametrize("pipelining", mostly_slow(PIPELINING, ["small"]))
@pytest.mark.parametrize("window", [15, 16, 40])
def test_a_window_wider_than_coordinates_count(simulator, pipelining, window):
    """The widest that can slide has 15 taps: with its line it must stay below 16."""
    if simulator != "native" and window != 16:
        pytest.skip("one window is enough there")
    rng = np.random.default_rng(8)
    with Accelerator(
        "int8", max_window=(1, 16 if window == 16 else 1, window), max_dilation=(1, 1, 1),
        max_line=8, coordinate_width=4, pipelining=pipelining, backend=simulator,
    ) as accelerator:  # fmt: skip
        for size, taps, padding in ((8, 2, 0), (1, 15, 7), (1, 15, 14), (5, 9, 3), (9, 16, 5)):
            x = rng.integers(-2, 2, (1, 2, 2, size)).astype(np.int8)
            check(
                accelerator, "max_pooling", x, (1, taps), start_padding=(0, padding),
                end_padding=(0, taps - 1), return_indices=True,
            )  # fmt: skip
            assert accelerator.report is not None
            assert (not accelerator.report.notes) == (taps < 16)


@pytest.mark.parametrize("core", ["row130", "balanced-column130"])
def test_windows_of_more_than_64_taps(simulator, core):
    """In a fast core the number of a tap has three digits; the first of many equals wins."""
    config = target_named(core).config
    rng = np.random.default_rng(9)
    is_row = config.max_window[2] > 1
    with Accelerator(config, **chosen(simulator)) as accelerator:
        for taps, stride, padding in ((64, 1, 0), (65, 2, 30), (100, 3, 99), (130, 64, 129)):
            turned = [(1, taps), (1, stride), (0, padding)]
            window, strides, start = turned if is_row else [pair[::-1] for pair in turned]
            sizes = (1, 2, 2, 150) if is_row else (1, 2, 150, 2)
            x = rng.integers(0, 3, sizes).astype(config.data_types[0].dtype)
            check(
                accelerator, "max_pooling", x, window, strides=strides, start_padding=start,
                return_indices=True,
            )  # fmt: skip
            assert accelerator.report is not None
            assert not accelerator.report.notes


def test_jobs_beyond_the_slot_counter(hardware, simulator, monkeypatch):
    """Filling a counter of 32 bits would take too long, so the plan is given a smaller limit."""
    monkeypatch.setattr("extremum.host.plan.planner.MAX_SLOTS", 100)
    accelerator = hardware("every_type", simulator)
    rng = np.random.default_rng(5)
    x = rng.integers(0, 5, (20, 31)).astype(np.uint16)
    check(accelerator, "argmin", x, 1)
    assert accelerator.report.jobs == 3
    x = rng.integers(0, 5, (9, 3, 5, 6)).astype(np.uint16)
    check(accelerator, "max_pooling", x, 2, start_padding=1, return_indices=True)
    assert accelerator.report.jobs > 2


def test_gathered_in_several_jobs(hardware, simulator, monkeypatch):
    monkeypatch.setattr("extremum.host.plan.planner.GATHERED_ELEMENTS", 200)
    accelerator = hardware("image", simulator)
    x = np.random.default_rng(6).integers(0, 5, (2, 3, 9, 9)).astype(np.int8)
    check(accelerator, "max_pooling", x, 5, start_padding=2, end_padding=9, return_indices=True)
    assert accelerator.report.jobs > 3


@pytest.mark.parametrize("pipelining", mostly_slow(PIPELINING, ["small"]))
def test_a_reduction_where_a_pooling_would_end_with_its_plane(simulator, pipelining):
    """It has more slots than the plane of one element that a reduction is."""
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 2, 2), max_line=8, operators=("argmax", "max-pool"),
        padding=False, fixed=(("groups", 1),), pipelining=pipelining,
    )  # fmt: skip
    x = np.random.default_rng(7).integers(0, 4, (1, 12)).astype(np.int8)
    plane = np.random.default_rng(8).integers(0, 4, (1, 1, 6, 8)).astype(np.int8)
    with Accelerator(config, **chosen(simulator)) as accelerator:
        for _ in range(2):
            check(accelerator, "argmax", x, 1)
            check(accelerator, "max_pooling", plane, 2, return_indices=True)
    if simulator in ("verilator", "icarus"):
        return  # their benches of a bare core need a job port
    (job,) = plan(Reduction.of("argmax", (1, 12), "int8"), config).jobs
    with Accelerator(fixed_to(job), **chosen(simulator)) as accelerator:
        check(accelerator, "argmax", x, 1)


def test_windows_of_padding_alone(hardware, simulator):
    """The values, the indices and the warning are right, also if a job has nothing to do."""
    for core in ("every_type", "image", "volume", "reduction"):
        accelerator = hardware(core, simulator)
        dtype = CORES[core].data_types[0].dtype
        x = np.ones((1, 2, 2, 2), dtype)
        for options in (
            {"window": 2, "start_padding": 3},
            {"window": 1, "start_padding": 9, "end_padding": 8, "strides": 2},
            {"window": 2, "dilations": 3, "start_padding": 1, "end_padding": 1},
        ):
            check(accelerator, "max_pooling", x, **options, return_indices=True)
            check(accelerator, "max_pooling", x, **options)
    # No window meets an element, so nothing is gathered, and there is no job.
    x = np.ones((1, 1, 1, 1), np.int64)
    accelerator = hardware("reduction", simulator)
    check(accelerator, "max_pooling", x, 2, strides=2, dilations=2, start_padding=1, end_padding=1)
    assert accelerator.report.jobs == 0
    assert accelerator.report.cycles == 0
    assert accelerator.report.utilization is None
