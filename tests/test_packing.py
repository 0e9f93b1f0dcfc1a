"""The packing of elements into beats, and of results out of them: the places of their bits."""

import numpy as np
import pytest
from strategies import TYPES

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import EMPTY_INDEX, input_layout, output_layout
from extremum.host.simulation.packing import pack_beats, unpack_results
from extremum.model import DataType

ALL = tuple(DataType)


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("name", TYPES)
def test_beats_stand_in_the_low_bits_of_their_lanes(name, lanes):
    rng = np.random.default_rng(1)
    for config in (CoreConfig(ALL, lanes), CoreConfig((DataType.from_dtype(name),), lanes)):
        size = np.dtype(name).itemsize
        x = rng.integers(0, 256, (5, lanes * size), np.uint8).view(name)
        packed = pack_beats(x, config)
        assert packed.shape == (5, input_layout(config).size // 8)
        layout = input_layout(config)
        for beat, row in zip(packed, x, strict=True):
            lanes_of = layout.from_bits(int.from_bytes(beat.tobytes(), "little"))
            assert [lanes_of[lane] for lane in range(lanes)] == row.view(f"u{size}").tolist()


@pytest.mark.parametrize("lanes", [1, 3, 4])
@pytest.mark.parametrize("name", TYPES)
def test_results_are_read_from_where_the_core_puts_them(name, lanes):
    rng = np.random.default_rng(2)
    data_type = DataType.from_dtype(name)
    for config in (CoreConfig(ALL, lanes), CoreConfig((data_type,), lanes)):
        size = np.dtype(name).itemsize
        x = rng.integers(0, 256, (6, lanes * size), np.uint8).view(name)
        index = rng.integers(0, 2**32, (6, lanes), np.uint32)
        last = [False, True, False, False, True, True]
        layout = output_layout(config)
        width = -(-layout.size // 8)
        rows = [
            layout.const({"value": v.view(f"u{size}").tolist(), "index": i.tolist(), "last": e})
            .as_bits()
            .to_bytes(width, "little")
            for v, i, e in zip(x, index, last, strict=True)
        ]
        block = np.frombuffer(b"".join(rows), np.uint8).reshape(6, width)
        values, positions, marks = unpack_results(block, x.dtype, config)
        assert values.dtype == x.dtype
        assert values.tobytes() == x.tobytes()
        assert positions.dtype == np.uint32
        assert (positions == index).all()
        assert marks.tolist() == last


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("width", [1, 7, 8, 12, 31, 32])
def test_indices_of_any_width(width, lanes):
    """All ones, which mark an empty window, become the mark of software; one less stays."""
    config = CoreConfig((DataType.INT8,), lanes, index_width=width)
    ones = (1 << width) - 1
    rng = np.random.default_rng(width)
    indices = [[ones] * lanes, [ones - 1] * lanes]
    indices += rng.integers(0, ones, (20, lanes), np.uint64).tolist()
    layout = output_layout(config)
    size = -(-layout.size // 8)
    rows = [
        layout.const({"value": [7] * lanes, "index": row, "last": 0})
        .as_bits()
        .to_bytes(size, "little")
        for row in indices
    ]
    block = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), size)
    values, positions, marks = unpack_results(block, np.dtype(np.int8), config)
    assert positions[0].tolist() == [EMPTY_INDEX] * lanes
    assert positions[1:].tolist() == indices[1:]
    assert (values == 7).all()
    assert not marks.any()
