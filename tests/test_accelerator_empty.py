"""Empty windows are counted exactly, also by cores whose index is too narrow to mark them."""

import numpy as np
import pytest
from accelerators import check

from extremum.hdl.config import CoreConfig
from extremum.host.accelerator import Accelerator
from extremum.host.errors import SimulationError
from extremum.host.plan.gathered_jobs import GatheredJob
from extremum.host.plan.planner import plan
from extremum.host.plan.results import EMPTY, Results
from extremum.model import DataType, Pooling, Reduction

NARROW = {"max_window": (1, 2, 2), "max_dilation": (1, 1, 1), "max_line": 32, "max_plane": 1}


CORES = [
    (0, "none"),
    (3, "none"),
    *(pytest.param((width, "axi"), marks=pytest.mark.slow) for width in (0, 3, 9)),
]
"""Bits of the index, of which nine are enough for the largest tensor here, and the bus."""


@pytest.fixture(name="accelerator", scope="module", params=CORES, ids=str)
def accelerator_of(request):
    width, bus = request.param
    with Accelerator(("int8",), index_width=width, bus=bus, **NARROW) as accelerator:
        yield accelerator


@pytest.mark.parametrize(
    ("arguments", "empty"),
    [
        ({"window": 2}, 0),
        ({"window": 2, "start_padding": 3, "end_padding": 3}, 184),
        # These windows are too large for the core, so the host gathers them.
        ({"window": 4}, 0),
        ({"window": 4, "start_padding": 5, "end_padding": (4, 6)}, 199),
    ],
)
def test_positions_beyond_the_index_do_not_count_as_empty(accelerator, arguments, empty):
    """An index of 0 or 3 bits is all ones for some winners too, and that is no empty window."""
    x = np.random.default_rng(7).integers(-128, 128, (1, 1, 20, 20)).astype(np.int8)
    check(accelerator, "max_pooling", x, **arguments)
    assert accelerator.report.empty_windows == empty


def test_a_reduction_has_no_empty_windows(accelerator):
    for position in range(64):
        x = np.zeros(64, np.int8)
        x[position] = 1
        check(accelerator, "reduce_max", x)
        assert accelerator.report.empty_windows == 0


CONFIG = CoreConfig((DataType.INT8,), max_window=(1, 1, 1))


def test_positions_are_kept_where_the_index_can_tell_them():
    """They are kept if the index can tell the last position from the mark of an empty window."""
    for width in range(33):
        config = CoreConfig((DataType.INT8,), index_width=width)
        for last in (0, 1, 6, 7):
            kept = last < (1 << width) - 1
            for problem in (
                Pooling.of((1, 1, 1, last + 1), "int8", 1),
                Reduction.of("max", (3, last + 1), "int8", 1),
            ):
                assert (Results.blank(problem, config).positions is not None) == kept


@pytest.mark.parametrize("marked", [0, 3])
def test_a_core_that_marks_the_wrong_windows_is_found_out(marked):
    """The core's marks are compared with the count of the plan, even if only values are wanted."""
    problem = Pooling.of((1, 1, 2, 2), "int8", 1, end_padding=(0, 1))
    results = Results.blank(problem, CONFIG)
    assert results.positions is not None
    flat = results.positions.reshape(-1)
    flat[:] = 0
    flat[:2] = EMPTY
    assert results.count_empty_windows() == 2
    flat[:] = 0
    flat[:marked] = EMPTY
    message = f"^the core must mark 2 windows as empty, and marked {marked}: its results are wrong$"
    with pytest.raises(SimulationError, match=message):
        results.count_empty_windows()


def test_a_position_beyond_a_gathered_row_is_found_out():
    """A wrong position must be an error, and not the index of some other element."""
    problem = Pooling.of((1, 1, 3, 3), "int8", 2)
    (job,) = plan(problem, CONFIG).jobs
    assert isinstance(job, GatheredJob)
    positions = np.zeros((job.beats_out, 1), np.uint32)
    positions[2] = EMPTY
    with pytest.raises(SimulationError, match=r"^the core must give positions below 4, the length"):
        job.scatter(np.zeros((4, 1), np.int8), positions, Results.blank(problem, CONFIG))
