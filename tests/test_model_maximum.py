"""The values of all windows: signs of zeros, blocks, and what is recorded and done again."""

from concurrent.futures import ThreadPoolExecutor
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
from extremum.model.fast.recording import Recording
from extremum.model.fast.tiles import PlaneTile
from extremum.model.fast.values import greatest_values

pytestmark = pytest.mark.usefixtures("as_if_large")


@pytest.mark.parametrize("name", ["float32", "float16"])
@pytest.mark.parametrize("stride", [1, 2, 9])
def test_zeros_of_both_signs_win_by_their_place(stride, name):
    """With long strides the results are looked at for zeros, with short ones the tensor is."""
    rng = np.random.default_rng(stride)
    for values in ([-1, 0.0, -0.0], [-0.0, -2], [0.0, -0.0], [-0.0, 0.0, 1], [-0.0] * 9 + [1]):
        x = rng.choice(np.array(values, name), (2, 3, 13, 14))
        geometry = {"window": (3, 4), "strides": (stride, stride), "dilations": (1, 1)}
        geometry |= {"start_padding": (1, 0), "end_padding": (0, 1)}
        check_against_reference(x, geometry, "tensor", "propagate", "uint32")


@pytest.fixture
def recorded_at_once(monkeypatch):
    """Record at the first block of a shape."""
    monkeypatch.setattr(maximum_module, "BLOCKS_BEFORE", 0)
    values_module._prepared.cache_clear()


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
        patch.setattr(values_module, "BLOCK_BYTES", data.draw(st.integers(1, 4 * x.nbytes)))
        patch.setattr(maximum_module, "BLOCKS_BEFORE", data.draw(st.integers(0, 2)))
        values_module._prepared.cache_clear()
        expected = reference.pooling(x, **geometry, nan=nan)[0]
        assert_equal_bits(max_pooling(x, **geometry, nan=nan), expected)
    values_module._prepared.cache_clear()


def prepared(planes, dimensions, name="int8"):
    """Return what finds the values of so many planes."""
    return values_module._WindowValues(tuple(dimensions), (1, planes), np.dtype(name))


@pytest.mark.parametrize("name", ["int8", "int32", "float16"])
@pytest.mark.parametrize(
    "dimensions",
    [
        [SpatialDimension(50, 2, 2)] * 2,
        [SpatialDimension(50, 3, 2, 1, 1, 1)] * 2,
        [SpatialDimension(20, 5, 1, 1, 2, 2)] * 2,
        [SpatialDimension(24, 16)] * 2,
        [SpatialDimension(9, 3, 2, 1, 1, 1)] * 3,
    ],
)
def test_a_block_has_as_many_planes_as_fit_with_all_that_is_needed(monkeypatch, dimensions, name):
    """Blocks are about equally large; what one plane needs is what each plane of a block needs."""
    sizes = [dimension.size for dimension in dimensions]
    one = SlidingMaximum(tuple(dimensions), (1, *sizes), np.dtype(name))
    each = one.needed_bytes()
    assert each is not None
    least = np.dtype(name).itemsize * sum(
        np.prod([getattr(dimension, what) for dimension in dimensions])
        for what in ("size", "outputs")
    )
    assert each == least + one._record().needed_bytes() < 8 * least
    several = SlidingMaximum(tuple(dimensions), (2, 3, *sizes), np.dtype(name))
    assert several.needed_bytes() == 6 * each
    steps = [(9 * each, 9), (9 * each - 1, 5), (4 * each, 3), (2 * each - 1, 1), (each, 1)]
    for most, step in [*steps, (each - 1, 9)]:
        monkeypatch.setattr(values_module, "BLOCK_BYTES", most)
        assert prepared(9, dimensions, name)._step == step, most
        assert prepared(9, dimensions, name)._maximum._is_recorded == (most >= each)


@pytest.mark.parametrize(
    "dimensions",
    [
        # Whole planes are rows, which are taken one by one anyway.
        [SpatialDimension(50, 50)] * 2,
        # Nothing is done but a copy.
        [SpatialDimension(50, 1)] * 2,
        # Every window at the border meets another number of elements.
        [SpatialDimension(256, 128, 1, 1, 127)] * 2,
        # Windows have few sizes, but many doublings, copies and comparisons.
        [SpatialDimension(200, 64, 1, 1, 20, 11)] * 3,
    ],
)
def test_what_has_no_steps_or_many_is_not_cut_into_blocks(monkeypatch, dimensions):
    sizes = [dimension.size for dimension in dimensions]
    assert SlidingMaximum(tuple(dimensions), (1, *sizes), np.dtype("int8")).needed_bytes() is None
    monkeypatch.setattr(values_module, "BLOCK_BYTES", np.prod(sizes) + 1)
    assert prepared(5, dimensions)._step == 5
    assert not prepared(5, dimensions)._maximum._is_recorded


def test_a_plane_that_is_larger_than_a_block_is_not_recorded(monkeypatch):
    """Else the arrays of a recording would be made only to be dropped."""
    monkeypatch.setattr(SlidingMaximum, "_record", lambda _: 1 / 0)
    monkeypatch.setattr(values_module, "BLOCK_BYTES", 100)
    assert prepared(5, [SpatialDimension(10, 2)] * 2)._step == 5
    with pytest.raises(ZeroDivisionError):
        prepared(5, [SpatialDimension(9, 2), SpatialDimension(11, 2)])


@pytest.mark.parametrize("planes", [1, 2, 3, 4, 5, 7])
def test_only_the_last_block_shares_planes_with_another(monkeypatch, planes):
    written = []

    write = SlidingMaximum.write

    def count(self, x, out):
        written.append(x.size // 64)
        write(self, x, out)

    monkeypatch.setattr(SlidingMaximum, "write", count)
    monkeypatch.setattr(SlidingMaximum, "needed_bytes", lambda _: 100)
    monkeypatch.setattr(values_module, "BLOCK_BYTES", 300)
    x = np.arange(planes * 64, dtype=np.uint16).reshape(1, planes, 8, 8)
    found = prepared(planes, [SpatialDimension(8, 2, 2)] * 2, "uint16").find(x)
    assert found is not None
    assert_equal_bits(found, x[:, :, 1::2, 1::2])
    blocks = {1: [1], 2: [2], 3: [3], 4: [2, 2], 5: [3, 3], 7: [3, 3, 3]}
    assert written == blocks[planes]


def test_one_recording_is_kept_even_if_two_are_needed():
    """A thread that finds none makes its own, and drops it if another one has come back before."""
    maximum = SlidingMaximum((SpatialDimension(9, 2),), (9,), np.dtype(int), is_recorded=True)
    x, out = np.arange(9), np.empty(8, int)
    repeat, depth = Recording.repeat, []

    def repeat_within(self, *arrays):
        depth.append(self)
        if len(depth) == 1:
            maximum.write(x, np.empty(8, int))
        repeat(self, *arrays)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maximum_module, "BLOCKS_BEFORE", 0)
        patch.setattr(Recording, "repeat", repeat_within)
        maximum.write(x, out)
    assert depth[0] is not depth[1]
    assert len(maximum._unused) == 1
    assert out.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


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
            maximum = SlidingMaximum(tuple(dimensions), x.shape, x.dtype, is_recorded=True)
            for _ in range(2):
                found = slide_maximum(x, dimensions, maximum)
                assert_equal_bits(found, expected)
                found[...] = 99
                del found


def test_padding_of_arrays_in_between_is_written_once():
    """What is repeated are three copies and two comparisons, of rows and then of columns."""
    dimensions = (SpatialDimension(28, 2, 2, 1, 1, 1),) * 2
    recording = SlidingMaximum(dimensions, (64, 28, 28), np.dtype("float32"))._record()
    assert len(recording) == 5
    assert len(recording._once) == 2


@pytest.mark.parametrize("shapes", [values_module.MOST_PREPARED, values_module.MOST_PREPARED + 1])
def test_more_shapes_in_turn_than_are_kept_are_not_recorded(shapes):
    """None of them comes again before it has been forgotten."""
    values_module._prepared.cache_clear()
    problems = [Pooling.of((1, 1, 1, size), "int8", (1, 2)) for size in range(3, 3 + shapes)]
    repeated = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recording, "repeat", lambda *_: repeated.append(1))
        for _ in range(maximum_module.BLOCKS_BEFORE):
            for problem in problems:
                problem.evaluate(np.zeros(problem.sizes, np.int8))
        assert not repeated
        problems[0].evaluate(np.zeros(problems[0].sizes, np.int8))
    values_module._prepared.cache_clear()
    assert bool(repeated) == (shapes == values_module.MOST_PREPARED)


def test_values_have_the_very_type_of_the_tensor():
    """Two types of C may be equal, and what is kept for one of them serves the other."""
    part = PlaneTile((SpatialDimension(8, window=2),), (slice(8),))
    for kind in (np.longlong, np.int64, np.longlong, np.int64, np.longlong):
        found = greatest_values([np.arange(8, dtype=kind).reshape(1, 1, 8)], [part])
        assert found is not None
        assert found.dtype.char == np.dtype(kind).char
