"""The declared latency of whole cores, to the clock; `tb/rate.py` measures that a core keeps it."""

import pytest

from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import latency
from extremum.host.fpga.presets import PRESETS
from extremum.model import DataType

PRESET_LATENCIES = {
    "argmax-float32": 46,
    "argmax-int8": 21,
    "argmax-int64": 45,
    "pool2x2-int8": 16,
    "pool3x3-int8-indices": 26,
    "programmable-int8x4": 38,
    "programmable-float32": 50,
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name):
    """A latency that changes must do so on purpose, since documents and users rely on it."""
    assert latency(PRESETS[name]) == PRESET_LATENCIES[name]


@pytest.mark.parametrize(
    ("data_type", "lanes", "every_operator", "argmax", "narrow", "values"),
    [
        # The columns: every operator, and argmax alone, with positions of 32 bits; argmax alone
        # with positions of 8 bits; every operator without positions.
        ("int8", 1, 18, 23, 17, 12),
        ("int8", 3, 18, 18, 12, 12),
        ("int8", 16, 23, 23, 23, 23),
        ("float16", 1, 22, 32, 26, 16),
        ("float16", 4, 27, 26, 20, 21),
        ("int32", 3, 24, 24, 18, 18),
        ("float32", 1, 26, 48, 42, 20),
        ("float32", 4, 31, 30, 24, 25),
        ("float32", 16, 31, 30, 30, 31),
        ("int64", 1, 32, 47, 41, 26),
        ("int64", 16, 37, 37, 37, 37),
    ],
)
def test_cores_without_windows(data_type, lanes, every_operator, argmax, narrow, values):
    def of(**others):
        types = (DataType.from_dtype(data_type),)
        return latency(CoreConfig(types, lanes, max_window=(1, 1, 1), **others))

    assert of() == every_operator
    assert of(operators=("argmax",)) == argmax
    assert of(operators=("argmax",), index_width=8) == narrow
    assert of(index_width=0) == values


@pytest.mark.parametrize(
    ("types", "longest", "most_lanes"),
    [((DataType.FLOAT32,), 58, 44), ((DataType.INT64,), 57, 47), (tuple(DataType), 58, 48)],
)
def test_the_longest(types, longest, most_lanes):
    """From 32 lanes on there are fewer registers, so a core of 16 has the longest pipeline."""
    found = [latency(CoreConfig(types, lanes)) for lanes in range(1, 65)]
    assert max(found) == found[15] == longest
    assert found[63] == most_lanes
