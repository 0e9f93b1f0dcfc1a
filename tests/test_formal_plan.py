"""What the proofs of poolings rest on: registers by formulas, the walk, and the definition."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace

import pytest

from extremum.hdl import CoreConfig
from extremum.hdl.job import DimensionRegisters, JobRegisters
from extremum.host.plan import plan
from extremum.model import DataType, Pooling
from extremum.tb.formal.geometry import Line, Range, pooling_registers
from extremum.tb.formal.plan.check import check
from extremum.tb.formal.plan.definition import Axis, axes_up_to, windows
from extremum.tb.formal.plan.walk import walk

CORE = CoreConfig(
    (DataType.UINT8,), max_window=(1, 3, 3), max_dilation=(1, 2, 2), operators=("max-pool",)
)
GEOMETRIES = Range(size=3, window=3, stride=2, dilation=2, padding=1).dimensions()[::5]


@pytest.mark.parametrize("height", GEOMETRIES[::3])
def test_the_formulas_of_the_proofs_are_those_of_the_host(height):
    for width in GEOMETRIES:
        pair = (height, width)
        problem = Pooling.of(
            (1, 2, height.size, width.size), "uint8", [one.window for one in pair],
            strides=[one.stride for one in pair], dilations=[one.dilation for one in pair],
            start_padding=[one.start_padding for one in pair],
            end_padding=[one.end_padding for one in pair], return_indices=True,
        )  # fmt: skip
        (job,) = plan(problem, CORE).jobs
        wanted = job.registers.values()
        found = pooling_registers(Line.of(height), Line.of(width), 2)
        assert {name: value % 2**32 for name, value in found.items()} == {
            name: wanted[name] % 2**32 for name in found
        }


def test_the_definition_is_that_of_the_specification():
    """Two windows of 2 on 3 elements with a padding of 1: the first one meets one element."""
    axis = Axis(size=3, window=2, stride=2, dilation=1, start=1, end=0)
    assert windows(2, [axis]) == [[0], [1, 2], [3], [4, 5]]
    assert windows(1, [axis, axis]) == [[0], [1, 2], [3, 6], [4, 5, 7, 8]]


def test_the_walk_tells_registers_that_do_not_agree():
    assert walk(JobRegisters(), padding=True)[2] == []
    beyond = walk(JobRegisters(slots=2), padding=True)[2]
    assert beyond == [
        "in slot 1 a tap is present that has no element", "2 groups of results are given, not 1"
    ]  # fmt: skip
    long = JobRegisters(slots=2, width=DimensionRegisters(period=2))
    assert walk(long, padding=True)[2] == ["the last slot of the job is of no use"]


def test_the_walk_gives_every_window_that_fits_on_a_core_without_padding():
    line = DimensionRegisters(window=2, stride=2, size=7, period=7, head=1, regular=3, final=3)
    job = JobRegisters(slots=7, width=line)
    results, beats, wrong = walk(job, padding=True)
    assert (len(results), beats, wrong) == (2, 7, [])
    results, beats, wrong = walk(job, padding=False)
    assert [[beat for beat, _ in result.taps] for result in results] == [[0, 1], [2, 3], [4, 5]]
    assert (beats, wrong) == (7, [])


@pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("cc")), reason="no C compiler")
@pytest.mark.parametrize("padding", [True, False])
def test_plans_are_right(padding):
    """A few; `make formal` looks at all."""
    axes = axes_up_to(2, 2, 2, 1, 1)[::7]
    core = replace(CORE, padding=padding, operators=("argmax", "max-pool"))
    checked = check(core, 2, itertools.product(axes, axes), None)
    assert (checked.cases, checked.broken) == (25, None)
    assert bool(checked.seen["windows gathered by the host"]) != padding
