"""The data of a package's example: what a block may overlook shows in the results."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extremum.hdl.config import CoreConfig
from extremum.host.fpga.presets import PRESETS
from extremum.host.package.configuration import parse
from extremum.host.package.example import Example, example_job
from extremum.host.package.example_data import example_tensor
from extremum.host.plan.expected import winners
from extremum.model import DataType, Pooling, Reduction

EXAMPLES = Path(__file__).parents[1] / "examples/packages"
CONFIGS = {path.stem: parse(path.read_text()).config for path in EXAMPLES.glob("*.toml")} | {
    name: config for name, config in PRESETS.items() if config.has_windows
}


def worst(data_type, *, minimum=False):
    """Return the number of a type that loses to all others."""
    if data_type.is_float:
        return np.inf if minimum else -np.inf
    limits = np.iinfo(data_type.dtype)
    return limits.max if minimum else limits.min


@pytest.mark.parametrize("name", CONFIGS)
def test_every_tap_of_a_window_matters(name):
    """Computed by the golden model from tensors with a slice for each tap, one tap left out."""
    example = example_job(CONFIGS[name])
    assert example is not None
    problem = example.problem
    if isinstance(problem, Reduction):
        pytest.skip("a reduction has no windows")
    x = example_tensor(problem)
    pads = [(0, 0), (0, 0), *zip(problem.start_padding, problem.end_padding, strict=True)]
    padded = np.pad(x, pads, constant_values=worst(problem.data_type))
    outputs = problem.output_sizes
    taps = list(itertools.product(*map(range, problem.window)))
    found = []
    for tap in taps:
        starts = [at * step for at, step in zip(tap, problem.dilations, strict=True)]
        found.append(padded[(
            ..., *(slice(start, start + (count - 1) * stride + 1, stride) for start, count, stride
                   in zip(starts, outputs[2:], problem.strides, strict=True))
        )])  # fmt: skip
    every = np.stack(found)
    for left_out in range(len(taps)):
        rest = np.delete(every, left_out, axis=0)
        differs = (rest.max(axis=0) != every.max(axis=0)).any()
        if problem.return_indices:
            where = np.delete(np.arange(len(taps)), left_out)[rest.argmax(axis=0)]
            differs |= (where != every.argmax(axis=0)).any()
        assert differs, taps[left_out]


@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
@pytest.mark.parametrize("function", ["argmin", "argmax"])
@pytest.mark.parametrize("data_type", DataType, ids=lambda kind: kind.value)
@pytest.mark.parametrize("sizes", [(1, 1000), (8, 40), (3, 7), (2, 1)])
def test_a_row_is_looked_at_as_a_whole(sizes, data_type, function, direction):
    """Its best element is there twice, so another rule for ties shows; in a single row neither is
    near an end.
    """
    problem = Reduction.of(function, sizes, data_type, 1, axis_direction=direction)
    x = example_tensor(problem)
    assert x.dtype == data_type.dtype
    best = x.min(axis=1) if function == "argmin" else x.max(axis=1)
    assert ((x == best[:, None]).sum(axis=1) == min(2, sizes[1])).all()
    _, where = winners(problem, x)
    if sizes[0] == 1:
        quarter = sizes[1] // 4
        assert (np.flatnonzero(x[0] == best[0]) // quarter).tolist() in ([1, 1], [1, 2], [2, 2])
    if sizes[0] == 8:
        assert len(np.unique(where)) > 4
        assert len(np.unique(best)) > 2


@pytest.mark.parametrize("data_type", DataType, ids=lambda kind: kind.value)
def test_numbers_use_the_lowest_and_the_highest_bits(data_type):
    problem = Pooling.of((1, 1, 20, 20), data_type, 2, strides=2)
    x = example_tensor(problem)
    values, _ = winners(problem, x)
    bits = values.view(f"u{values.dtype.itemsize}").reshape(-1)
    width = 8 * values.dtype.itemsize
    told = [bool(bits.any() & (bits >> bit & 1).any() & (~bits >> bit & 1).any())
            for bit in (0, width - 2, width - 1)]  # fmt: skip
    assert all(told)


@pytest.mark.parametrize("width", [32, 12, 5])
def test_the_positions_of_an_example_have_the_bits_of_the_core(width):
    """They are those of the golden model, in lane 0 first; the last beat has fewer."""
    config = CoreConfig((DataType.INT8,), 4, operators=("argmax",), index_width=width,
                        max_window=(1, 1, 1), fixed=(("fold", 0), ("length", 30)))  # fmt: skip
    example = example_job(config)
    assert example is not None
    assert example.ahead == 0
    values, where = winners(example.problem, example_tensor(example.problem))
    assert example.positions[example.valid].tolist() == [
        position % (1 << width) for position in where.reshape(-1).tolist()
    ]
    assert example.values[example.valid].view(np.int8).tolist() == values.reshape(-1).tolist()
    assert example.valid.tolist() == [[True] * 4, [True, True, True, False]]


@pytest.mark.parametrize(
    ("window", "start_padding", "ahead"),
    [((2, 1), (2, 0), 3), ((2, 1), (1, 0), 0), ((1, 2), (0, 3), 2), ((2, 2), (3, 2), 9)],
)
def test_results_ahead_are_those_of_padding_alone(window, start_padding, ahead):
    """Lines of windows above the plane, and windows in front of its first one."""
    problem = Pooling.of((1, 1, 4, 3), "int8", window, start_padding=start_padding)
    nothing: Any = None
    assert Example(problem, *[nothing] * 5).ahead == ahead
