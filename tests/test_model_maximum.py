"""The values of all windows: signs of zeros, blocks, and what is recorded and done again."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from amounts import some
from equal_bits import assert_equal_bits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pooling_checks import check_against_reference
from sliding_maximum import slide_maximum
from strategies import NAN_MODES, TYPES, poolings, tensors

import extremum.model.fast.maximum as maximum_module
import extremum.model.fast.values as values_module
from extremum.model import Pooling, SpatialDimension, max_pooling, reference
from extremum.model.fast.maximum import SlidingMaximum
from extremum.model.fast.tiles import PlaneTile
from extremum.model.fast.values import greatest_values

pytestmark = pytest.mark.usefixtures("as_if_large")


@pytest.mark.parametrize("name", ["float32", "float16"])
@pytest.mark.parametrize("stride", [1, 2, 9])
def test_zeros_of_both_signs_win_by_their_place(stride, name):
    """With long strides the results are looked at for zeros, with short ones the tensor is."""
    rng = np.random.default_rng(stride)
    for values in ([-1, 0.0, -0.0], [-0.0, -2], [0.0, -0.0], [-0.0, 0.0, 1]):
        x = rng.choice(np.array(values, name), (2, 3, 13, 14))
        geometry = {"window": (3, 4), "strides": (stride, stride), "dilations": (1, 1)}
        geometry |= {"start_padding": (1, 0), "end_padding": (0, 1)}
        check_against_reference(x, geometry, "tensor", "propagate", "uint32")


@pytest.fixture
def recorded_at_once(monkeypatch):
    """Record at the first block of a shape."""
    monkeypatch.setattr(maximum_module, "BLOCKS_BEFORE", 0)
    values_module._window_values.cache_clear()


def in_other_memory(x):
    """Yield the tensor once more: read-only, off its alignment, with gaps, backwards."""
    fixed = x.copy()
    fixed.flags.writeable = False
    yield fixed
    shifted = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    shifted[...] = x
    yield shifted
    gaps = np.empty((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)[..., ::2]
    gaps[...] = x
    yield gaps
    yield np.ascontiguousarray(x[..., ::-1])[..., ::-1]


@pytest.mark.usefixtures("recorded_at_once")
@pytest.mark.filterwarnings("ignore::extremum.model.EmptyWindowWarning")
@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_is_recorded_serves_every_tensor(name, data):
    """The arrays in between hold what they held before, of another tensor of the same sizes."""
    sizes, geometry = data.draw(poolings())
    nan = data.draw(st.sampled_from(NAN_MODES))
    pool = partial(max_pooling, **geometry, nan=nan)
    first, second = data.draw(tensors(sizes, name)), data.draw(tensors(sizes, name))
    expected = [reference.pooling(x, **geometry, nan=nan)[0] for x in (first, second)]
    for x, best in ((first, 0), (second, 1), *((same, 0) for same in in_other_memory(first))):
        assert_equal_bits(pool(x), expected[best])


@pytest.mark.filterwarnings("ignore::extremum.model.EmptyWindowWarning")
@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(40))
@given(data=st.data())
def test_blocks_do_not_show(name, data):
    """A block may be one plane, or several; the last one may share planes with the one before.

    One of the elements is replaced by NaN or -0, so that only some blocks need positions.
    """
    sizes, geometry = data.draw(poolings())
    x = data.draw(tensors(sizes, name))
    if x.dtype.kind == "f" and data.draw(st.booleans()):
        x = np.abs(np.nan_to_num(x))
        odd = data.draw(st.sampled_from([np.nan, -np.nan, -0.0]))
        x.reshape(-1)[data.draw(st.integers(0, x.size - 1))] = odd
    nan = data.draw(st.sampled_from(NAN_MODES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values_module, "BLOCK_BYTES", data.draw(st.integers(1, x.nbytes + 1)))
        patch.setattr(maximum_module, "BLOCKS_BEFORE", data.draw(st.integers(0, 2)))
        values_module._window_values.cache_clear()
        expected = reference.pooling(x, **geometry, nan=nan)[0]
        assert_equal_bits(max_pooling(x, **geometry, nan=nan), expected)
    values_module._window_values.cache_clear()


@pytest.mark.parametrize(
    ("name", "planes", "dimensions", "step"),
    [
        # Five planes of 2500 bytes, each with 3 times 625 bytes for its values, take 21875 bytes.
        ("int8", 5, [SpatialDimension(50, 2, 2)] * 2, [(21875, 5), (21874, 3), (4374, 1), (1, 1)]),
        ("int32", 5, [SpatialDimension(50, 2, 2)] * 2, [(87500, 5), (87499, 3), (4374, 1)]),
        # Blocks are about equally large.
        ("int8", 9, [SpatialDimension(50, 2, 2)] * 2, [(8 * 4375, 5), (4 * 4375, 3)]),
        # Whole planes are rows, which are taken one by one anyway.
        ("int8", 5, [SpatialDimension(50, 50)] * 2, [(1, 5)]),
        # What has very many steps is not recorded, so few blocks are better.
        ("int8", 5, [SpatialDimension(256, 128, 1, 1, 127)] * 2, [(1, 5)]),
    ],
)
def test_how_many_planes_are_a_block(monkeypatch, name, planes, dimensions, step):
    """As many as fit the bound together with their values, but at least one."""
    for most, expected in step:
        monkeypatch.setattr(values_module, "BLOCK_BYTES", most)
        found = values_module._WindowValues(tuple(dimensions), (1, planes), np.dtype(name))
        assert found._step == expected


@pytest.mark.parametrize("planes", [1, 2, 3, 5, 7])
def test_every_block_is_written_once_more_at_most(monkeypatch, planes):
    """Each plane is in a block; only the last block shares planes with another."""
    written = []

    class Maximum(SlidingMaximum):
        def write(self, x, out):
            written.append(x.size // 64)
            super().write(x, out)

    monkeypatch.setattr(values_module, "SlidingMaximum", Maximum)
    monkeypatch.setattr(values_module, "BLOCK_BYTES", 3 * 64)
    monkeypatch.setattr(values_module, "ARRAYS_OF_VALUES", 0)
    x = np.arange(planes * 64, dtype=np.int8).reshape(1, planes, 8, 8)
    dimensions = (SpatialDimension(8, 2, 2),) * 2
    found = values_module._WindowValues(dimensions, (1, planes), x.dtype).of(x)
    assert found is not None
    assert_equal_bits(found, x[:, :, 1::2, 1::2])
    assert written == {1: [1], 2: [2], 3: [3], 5: [3, 3], 7: [3, 3, 3]}[planes]


@pytest.mark.usefixtures("recorded_at_once")
def test_threads_use_no_recording_together():
    """Many threads pool tensors of the same sizes, and change what they got."""
    pool = partial(max_pooling, window=2, strides=2, start_padding=1, end_padding=1)
    sizes = 1, 8, 28, 28
    tensors = np.random.default_rng(0).integers(-99, 99, (8, *sizes)).astype(np.float32)
    expected = [pool(x) for x in tensors]

    def pool_often(number):
        equal = []
        for _ in range(200):
            values = pool(tensors[number])
            equal.append(np.array_equal(values, expected[number]))
            values[...] = np.inf
        return all(equal)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(pool_often, range(8)))


@pytest.mark.usefixtures("recorded_at_once")
@pytest.mark.parametrize(
    ("size", "window", "padding", "is_recorded"),
    [
        (1 << 12, 3, 2, True),
        # An array for each of 12 doublings, of which two are needed at a time.
        (1 << 14, 1 << 13, 0, True),
        (1 << 17, 1 << 13, 0, True),
        # Two arrays of more than half a mebibyte.
        ((1 << 17) + 1, 1 << 13, 0, False),
        # Every window at the border meets another number of elements.
        (256, 128, 127, False),
        # A block that is larger than all arrays in between may be.
        (1 << 18, 1, 1, True),
        ((1 << 18) + 1, 1, 1, False),
        # Nothing is done but a copy.
        (9, 1, 0, False),
    ],
)
def test_a_recording_is_bounded(size, window, padding, is_recorded):
    """What owns much memory, or has very many steps, is not recorded."""
    dimension = SpatialDimension(size, window, end_padding=padding)
    x = np.random.default_rng(0).permutation(size).astype(np.float32)
    padded = np.append(x, np.full(padding, -np.inf, np.float32))
    expected = np.lib.stride_tricks.sliding_window_view(padded, window).max(axis=1)
    maximum = SlidingMaximum((dimension,), x.shape, x.dtype)
    for _ in range(2):
        assert_equal_bits(slide_maximum(x, [dimension], maximum), expected)
    assert maximum.is_recorded == is_recorded
    assert len(maximum._unused) == is_recorded


@pytest.mark.usefixtures("recorded_at_once")
def test_padding_and_empty_windows_are_written_to_every_result():
    """What no tap meets has the lowest key, whatever the memory of the result held before."""
    rows, columns = SpatialDimension(4, window=2, stride=2), SpatialDimension(3, 1, 1, 1, 1, 2)
    padded = SpatialDimension(4, 2, 2, 1, 2, 3)
    for least in (0, 7, 9):
        x = np.arange(least, least + 24, dtype=np.int8).reshape(2, 4, 3)
        best = np.full((2, 2, 6), -128, np.int8)
        best[..., 1:4] = x[:, 1::2]
        for dimensions, expected in (
            ([rows, columns], best),
            ([padded, SpatialDimension(3, 1)], np.pad(x[:, 1::2], [(0, 0), (1, 1), (0, 0)],
                                                      constant_values=-128)),
        ):  # fmt: skip
            maximum = SlidingMaximum(tuple(dimensions), x.shape, x.dtype)
            for _ in range(2):
                found = slide_maximum(x, dimensions, maximum)
                assert_equal_bits(found, expected)
                found[...] = 99
                del found


@pytest.mark.parametrize("shapes", [values_module.MOST_PREPARED, values_module.MOST_PREPARED + 1])
def test_more_shapes_in_turn_than_are_kept_are_not_recorded(shapes):
    """None of them comes again before it has been forgotten."""
    values_module._window_values.cache_clear()
    problems = [Pooling.of((1, 1, 1, size), "int8", (1, 2)) for size in range(3, 3 + shapes)]
    recorded = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SlidingMaximum, "_record", lambda _: recorded.append(1))
        for _ in range(maximum_module.BLOCKS_BEFORE):
            for problem in problems:
                problem.evaluate(np.zeros(problem.sizes, np.int8))
        assert not recorded
        with suppress(AttributeError):  # of what was not recorded
            problems[0].evaluate(np.zeros(problems[0].sizes, np.int8))
    assert bool(recorded) == (shapes == values_module.MOST_PREPARED)


def test_values_have_the_very_type_of_the_tensor():
    """Two types of C may be equal, and what is kept for one of them serves the other."""
    part = PlaneTile((SpatialDimension(8, window=2),), (slice(8),))
    for kind in (np.longlong, np.int64, np.longlong, np.int64, np.longlong):
        found = greatest_values([np.arange(8, dtype=kind).reshape(1, 1, 8)], [part])
        assert found is not None
        assert found.dtype.char == np.dtype(kind).char
