"""Whether a layout puts two elements in one place, told exactly and with bounded work."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from amounts import some
from hypothesis import given, settings
from hypothesis import strategies as st

from extremum.model import BufferTensorDesc, DataType


def repeats(sizes, strides):
    return BufferTensorDesc("int8", sizes, strides).repeats_an_element  # pyright: ignore


def repeats_by_enumeration(sizes, strides):
    """Compute the offset of every coordinate, and look for one that occurs twice."""
    places = itertools.product(*map(range, sizes))
    offsets = [sum(c * s for c, s in zip(place, strides, strict=True)) for place in places]
    return len(set(offsets)) < len(offsets)


def test_the_stride_of_a_single_element_may_be_anything():
    desc = BufferTensorDesc(DataType.INT8, (1, 3), strides=(2**70, 1))
    assert desc.view(bytes([4, 5, 6, 0])).tolist() == [[4, 5, 6]]


@pytest.mark.parametrize("wrap", [lambda array: array, memoryview], ids=["array", "memoryview"])
def test_a_buffer_holds_no_objects(wrap):
    """Their bytes are addresses, and to write there would end the interpreter."""
    desc = BufferTensorDesc(DataType.INT8, (4,))
    with pytest.raises(TypeError, match=r"^out must hold numbers, not Python objects$"):
        desc.view(wrap(np.array([None] * 4)), "out")


@settings(max_examples=some(1000))
@given(data=st.data())
def test_repeats_as_enumeration_finds_them(data):
    """Strides around the reach of the other axes, where both answers are frequent."""
    rank = data.draw(st.integers(1, 8))
    sizes = data.draw(st.lists(st.integers(1, 6 if rank < 5 else 3), min_size=rank, max_size=rank))
    reach = math.prod(sizes)
    factor = data.draw(st.sampled_from([1, 1, 2, 3, 2**40, 2**70]))
    strides = [factor * data.draw(st.integers(0, reach + 2)) for _ in sizes]
    assert repeats(sizes, strides) == repeats_by_enumeration(sizes, strides)


@pytest.mark.parametrize(
    ("sizes", "strides", "expected"),
    [
        ((65536, 2048), (1, 65535), True),
        ((65536, 2048), (1, 65536), False),
        ((65535, 65535), (65537, 65535), False),
        ((65535, 65535), (65534, 65533), True),
        # The sums of these strides exceed 64 bits.
        ((2, 3), (2**63, 2**62), True),
        ((2, 3), (2**63 - 1, 2**62), False),
        ((3, 3, 3), (2**64, 2**64 + 1, 2**64 + 2), True),
        ((2, 2, 2), (2**64, 2**64 + 1, 2**64 + 2), False),
        # Eight axes, each of which could meet any other.
        ((8,) * 8, tuple(2**62 + 16**axis for axis in range(8)), False),
        ((8,) * 8, (*(2**62 + 16**axis for axis in range(7)), 2**62 + 1), True),
    ],
)
def test_repeats_in_large_tensors_take_little_memory(sizes, strides, expected):
    tracemalloc.start()
    try:
        assert repeats(sizes, strides) == expected
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
