"""`max_pooling` and `Pooling`, against the reference and on cases that are computed by hand."""

import math

import numpy as np
import pytest
from amounts import some
from equal_bits import assert_equal_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from pooling_checks import check_against_reference, pool
from strategies import (
    FLOATS,
    LAYOUTS,
    NAN_MODES,
    TYPES,
    memory_layouts,
    poolings,
    special_values,
    tensors,
)

import extremum.model.fast.pooling as pooling_module
from extremum.model import EmptyWindowWarning, Pooling, SpatialDimension, max_pooling, reference
from extremum.model.fast.gather import window_elements

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(120))
@given(data=st.data())
def test_equals_the_reference(name, data):
    sizes, geometry = data.draw(poolings())
    check_against_reference(
        data.draw(memory_layouts(data.draw(tensors(sizes, name)))),
        geometry,
        data.draw(st.sampled_from(LAYOUTS)),
        data.draw(st.sampled_from(NAN_MODES)),
        data.draw(st.sampled_from(["uint32", "uint64", "int64"])),
    )


@settings(max_examples=some(120))
@given(data=st.data())
def test_blocks_do_not_show(data):
    """The result does not depend on the size of the blocks that are computed at a time."""
    sizes, geometry = data.draw(poolings(max_size=5))
    x = data.draw(tensors(sizes, data.draw(st.sampled_from(TYPES))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling_module, "CHUNK_ELEMENTS", data.draw(st.integers(1, 60)))
        check_against_reference(x, geometry, "column_major", "ignore", "uint32")


@pytest.mark.parametrize("window", [(2, 1), (1, 10)])
@pytest.mark.parametrize("special", [-0.0, np.nan])
@pytest.mark.parametrize("name", FLOATS)
def test_many_narrow_results_of_a_tensor_with_gaps(name, special, window):
    """Values that are fetched by their positions, more of them than NumPy looks up at once."""
    sizes = (1, 1, 9000, window[1])
    x = (np.arange(math.prod(sizes)) % 1999).astype(name).reshape(sizes)
    x[0, 0, 0, 0] = special
    gaps = np.repeat(x, 2, axis=2)[:, :, ::2]
    assert not gaps.flags.c_contiguous
    values, indices = max_pooling(gaps, window, return_indices=True)
    assert_equal_bits(values, x.reshape(-1)[indices])
    assert_equal_bits(max_pooling(gaps, window), values)
    assert_equal_bits(max_pooling(x, window), values)


@pytest.mark.parametrize("name", TYPES)
def test_large_planes(name):
    """Positions have more than 16 bits, elements are extreme, and windows have many taps."""
    limits = np.finfo(name) if name in FLOATS else np.iinfo(name)
    x = np.full((1, 2, 300, 301), limits.min, name)
    x[0, 0, 299, 300] = x[0, 1, 0, 0] = x[0, 1, 7, 8] = limits.max
    values, indices = max_pooling(x, (300, 301), return_indices=True)
    assert (values == limits.max).all()
    assert indices.reshape(-1).tolist() == [300 * 301 - 1, 300 * 301]
    _, indices = max_pooling(x, (150, 43), strides=(150, 43), return_indices=True)
    assert indices[0, 0, 1, 6] == 300 * 301 - 1
    assert indices[0, 1, 0, 0] == 300 * 301
    assert indices[0, 1, 0, 1] == 300 * 301 + 43


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("nan", NAN_MODES)
def test_every_pair_of_special_values(name, nan):
    special = special_values(name)
    n = len(special)
    x = np.stack([np.repeat(special, n), np.tile(special, n)], axis=1).reshape(n, n, 2, 1)
    geometry = {"window": (2, 1), "strides": (1, 1), "dilations": (1, 1)}
    geometry |= {"start_padding": (0, 0), "end_padding": (0, 0)}
    check_against_reference(x, geometry, "tensor", nan, "uint32")
    check_against_reference(
        x.reshape(n, n, 1, 2), geometry | {"window": (1, 2)}, "tensor", nan, "uint32"
    )


@pytest.mark.parametrize("name", FLOATS)
def test_a_real_minus_infinity_beats_padding(name):
    """Padding is absent, and not an element of the lowest value, with which -inf would tie."""
    x = np.full((1, 1, 2, 2), -np.inf, name)
    values, indices = max_pooling(x, 2, start_padding=1, end_padding=1, return_indices=True)
    assert (values == -np.inf).all()
    assert indices.tolist() == [[[[0, 0, 1], [0, 0, 1], [2, 2, 3]]]]


@pytest.mark.parametrize("name", TYPES)
def test_the_lowest_value_beats_padding(name):
    lowest = -np.inf if name in FLOATS else np.iinfo(name).min
    x = np.full((1, 1, 1, 3), lowest, name)
    values, indices = max_pooling(x, (1, 2), start_padding=(0, 1), return_indices=True)
    assert (values == lowest).all()
    assert indices.tolist() == [[[[0, 0, 1]]]]


@pytest.mark.parametrize("name", TYPES)
def test_empty_windows(name):
    """Taps 0 and 2 of a dilated window lie in the padding on both sides of the only element."""
    lowest = -np.inf if name in FLOATS else np.iinfo(name).min
    x = np.full((1, 2, 1, 1), 5, name)
    geometry = {"window": (1, 2), "dilations": (1, 2), "start_padding": (0, 1)}
    for index_type, ones in (("uint32", 2**32 - 1), ("uint64", 2**64 - 1), ("int64", -1)):
        values, indices = pool(
            x, 2, **geometry, end_padding=(0, 1), return_indices=True, index_type=index_type
        )
        assert values.reshape(-1).tolist() == [lowest, lowest]
        assert indices.reshape(-1).tolist() == [ones, ones]
    assert pool(x, 2, **geometry, end_padding=(0, 2)).reshape(-1).tolist() == [lowest, 5] * 2


def test_the_warning_says_how_many():
    with pytest.warns(EmptyWindowWarning, match="^12 pooling windows lie wholly in padding$"):
        max_pooling(np.ones((1, 1, 2, 2), np.int8), 2, start_padding=3)
    problem = Pooling.of((1, 1, 2, 2), "int8", 2, start_padding=3)
    with pytest.warns(EmptyWindowWarning) as caught:
        problem.evaluate(np.ones((1, 1, 2, 2), np.int8))
    assert caught[0].filename == __file__
    assert problem.empty_windows == 12
    with pytest.warns(EmptyWindowWarning) as caught:
        max_pooling(np.ones((1, 1, 2, 2), np.int8), 2, start_padding=3)
    assert caught[0].filename == __file__


def test_layouts():
    """One winner, at n = 1, c = 2 and (d, h, w) = (1, 2, 3), in every index layout."""
    x = np.zeros((2, 3, 2, 3, 4), np.uint16)
    x[1, 2, 1, 2, 3] = 1
    plane = 2 * 3 * 4
    expected = {
        "tensor": (1 * 3 + 2) * plane + (1 * 3 + 2) * 4 + 3,
        "plane": (1 * 3 + 2) * 4 + 3,
        "column_major": (1 * 3 + 2) * plane + 1 + 2 * 2 + 3 * 2 * 3,
    }
    for layout, index in expected.items():
        _, indices = max_pooling(x, (2, 3, 4), return_indices=True, index_layout=layout)
        assert indices[1, 2].item() == index


@pytest.mark.parametrize("step", [2**32 - 1, 2**32, 2**63, 10**20])
@pytest.mark.parametrize("sizes", [(1, 1, 3, 4), (1, 300, 3, 4)])
def test_steps_that_lead_nowhere_may_be_of_any_length(step, sizes):
    """The stride of a single window, and the dilation of a single tap; many planes slide."""
    x = np.random.default_rng(step % 1000).integers(-9, 9, sizes).astype(np.int8)
    window, strides, dilations = (3, 1), (step, 2), (1, step)
    problem = Pooling.of(sizes, "int8", window, strides=strides, dilations=dilations)
    assert (problem.strides, problem.dilations) == (strides, dilations)
    assert_equal_bits(
        max_pooling(x, window, strides=strides, dilations=dilations),
        max_pooling(x, window, strides=(1, 2)),
    )


def test_a_scalar_stands_for_every_dimension():
    x = np.arange(2 * 5 * 6 * 7, dtype=np.int16).reshape(1, 2, 5, 6, 7)
    spread = Pooling.of(
        x.shape, "int16", 2, strides=np.int64(2), start_padding=1, end_padding=1, dilations=2
    )
    listed = Pooling.of(
        x.shape,
        np.int16,
        [2, 2, 2],
        strides=np.array([2, 2, 2]),
        start_padding=(1,) * 3,
        end_padding=(1,) * 3,
        dilations=(2,) * 3,
    )
    assert spread == listed
    assert hash(spread) == hash(listed)


@settings(max_examples=some(200))
@given(data=st.data())
def test_a_dimension_counts_its_windows(data):
    size, start, end = (data.draw(st.integers(low, 12)) for low in (1, 0, 0))
    stride, dilation, window = (data.draw(st.integers(1, 5)) for _ in range(3))
    if 1 + (window - 1) * dilation > size + start + end:
        window = 1
    dimension = SpatialDimension(size, window, stride, dilation, start, end)
    extent = 1 + (window - 1) * dilation
    outputs = reference.count_windows(start + size + end, extent, stride)
    assert dimension.outputs == outputs
    assert dimension.padded == size + start + end
    assert dimension.extent == extent
    assert dimension.end_padding_for(outputs) == end
    wanted = data.draw(st.integers(1, 20))
    other = SpatialDimension(
        size, window, stride, dilation, start, dimension.end_padding_for(outputs + wanted)
    )
    assert other.outputs == outputs + wanted


def test_the_end_padding_for_as_many_windows_stays():
    """It may be more than these windows need, and they may be many."""
    dimension = SpatialDimension(1000, window=2, stride=2, end_padding=1)
    assert dimension.end_padding_for(500) == 1


def test_the_end_padding_for_fewer_windows_is_none():
    assert SpatialDimension(5, window=2, end_padding=3).end_padding_for(4) == 0
    assert SpatialDimension(5, window=2).end_padding_for(2) == 0


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("window", [1, 2, (5, 6)])
@pytest.mark.parametrize("nan", NAN_MODES)
@pytest.mark.parametrize("by_position", [False, True])
def test_results_are_fresh(name, window, nan, by_position):
    """A result shares no memory with the input, even if every window is one element.

    A -0 among elements that are all zero is found by its position.
    """
    x = np.arange(60).astype(name).reshape(1, 2, 5, 6) * (1 - by_position)
    x = (-x if by_position else x).astype(name)
    for y in (x, x.transpose(1, 0, 2, 3), np.asfortranarray(x)):
        for indices in (False, True):
            result = max_pooling(y, window, nan=nan, return_indices=indices)
            for part in result if isinstance(result, tuple) else (result,):
                assert part.flags.c_contiguous
                assert part.flags.writeable
                assert not np.may_share_memory(part, x)


def test_the_elements_of_windows_are_gathered_once():
    """One row for each window, one column for each tap."""
    found = window_elements([SpatialDimension(3, window=2, start_padding=1)] * 2)
    ones = np.array([[0, 0], [0, 1], [1, 2]])
    both = 3 * ones[:, None, :, None] + ones[None, :, None, :]
    assert_equal_bits(found, both.reshape(9, 4))
