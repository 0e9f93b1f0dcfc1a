"""The ways to find the windows along one dimension, and what is remembered between calls."""

import numpy as np
import pytest
from amounts import some
from equal_bits import assert_equal_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from pooling_checks import check_against_reference
from strategies import NAN_MODES, TYPES, poolings, tensors

import extremum.model.fast.maximum as maximum_module
import extremum.model.fast.values as values_module
from extremum.model import AxisDirection, Pooling, SpatialDimension, argmax, max_pooling
from extremum.model.fast import line_plan, slide_plan

pytestmark = pytest.mark.usefixtures("as_if_large")


NEVER = 1 << 40
"""A stretch that no tensor has."""


def forget_plans():
    slide_plan.kept_plans.cache_clear()
    values_module._prepared.cache_clear()


@pytest.fixture
def fresh_plans():
    forget_plans()
    yield
    forget_plans()


@pytest.mark.usefixtures("fresh_plans")
@pytest.mark.parametrize(
    ("short", "one_by_one", "by_phase"),
    [(0, 0, 0), (0, NEVER, 0), (NEVER, NEVER, 0), (NEVER, NEVER, NEVER)],
)
@settings(max_examples=some(200))
@given(data=st.data())
def test_all_ways_to_join_short_stretches(short, one_by_one, by_phase, data):
    """Comparing tap after tap, the pairs that are wanted, or all pairs, gives the same windows.

    So does comparing lines that were copied by their phase.
    """
    sizes, geometry = data.draw(poolings())
    x = data.draw(tensors(sizes, data.draw(st.sampled_from(TYPES))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_plan, "SHORT_STRETCH", short)
        patch.setattr(line_plan, "LEAST_ONE_BY_ONE", one_by_one)
        patch.setattr(line_plan, "LEAST_BY_PHASE", 0)
        patch.setattr(line_plan, "MOST_BY_PHASE", by_phase)
        patch.setattr(maximum_module, "BLOCKS_BEFORE", data.draw(st.sampled_from([0, NEVER])))
        forget_plans()
        nan = data.draw(st.sampled_from(NAN_MODES))
        check_against_reference(x, geometry, "tensor", nan, "uint32")


@pytest.mark.parametrize("name", ["float32", "int8"])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_lines_around_a_short_stretch(name, padding, stride):
    """Lines around the length that decides the method, even and odd, in both dimensions."""
    size = np.dtype(name).itemsize
    rng = np.random.default_rng(stride)
    widths = {
        steps * bound // size + more
        for steps in {1, stride}
        for bound in (line_plan.SHORT_STRETCH, line_plan.LEAST_ONE_BY_ONE, line_plan.MOST_BY_PHASE)
        for more in range(-2, 5)
    }
    for width in sorted(widths):
        for plane in ((7, width), (8, width), (width, 3)):
            x = rng.integers(-9, 9, (2, 2, *plane)).astype(name)
            arguments = {"strides": stride, "start_padding": padding, "end_padding": padding}
            values, indices = max_pooling(
                x, 3, **arguments, return_indices=True, index_layout="plane"
            )
            assert_equal_bits(max_pooling(x, 3, **arguments), values)
            padded = np.pad(x, [(0, 0)] * 2 + [(padding, padding)] * 2, constant_values=-99)
            windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
            windows = windows[:, :, ::stride, ::stride].reshape(*values.shape, 9)
            assert np.array_equal(values, windows.max(axis=-1))
            row, column = np.divmod(windows.argmax(axis=-1), 3)
            row += stride * np.arange(values.shape[2])[:, None] - padding
            column += stride * np.arange(values.shape[3]) - padding
            assert np.array_equal(indices, row * plane[1] + column)


@pytest.mark.usefixtures("fresh_plans")
@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(60))
@given(data=st.data())
def test_lines_copied_by_their_phase(name, data):
    """The stride divides the size, so all planes are one row; some taps lie in the same phase."""
    stride, dilation = data.draw(st.integers(2, 3)), data.draw(st.sampled_from([1, 1, 2, 3]))
    window = data.draw(st.integers(2, line_plan.MOST_ONE_BY_ONE))
    size = stride * data.draw(st.integers(1, 8))
    reach = (window - 1) * dilation
    start = data.draw(st.integers(0, reach))
    # Then as many windows fit as the size has strides.
    end = max(0, reach + 1 - stride - start) + data.draw(st.sampled_from([0, 0, 0, 1]))
    rows = (window, stride, start, end, dilation)
    columns = data.draw(st.sampled_from([(1, 1, 0, 0, 1), (3, 2, 1, 1, 1), (2, 1, 0, 1, 1)]))
    names = ("window", "strides", "start_padding", "end_padding", "dilations")
    geometry = dict(zip(names, zip(rows, columns, strict=True), strict=True))
    planes = data.draw(st.sampled_from([(1, 1), (1, 3), (2, 2)]))
    x = data.draw(tensors((*planes, size, data.draw(st.sampled_from([2, 3, 8]))), name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_plan, "LEAST_BY_PHASE", 0)
        forget_plans()
        nan = data.draw(st.sampled_from(NAN_MODES))
        check_against_reference(x, geometry, "tensor", nan, "uint32")


@pytest.mark.usefixtures("fresh_plans")
@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(60))
@given(data=st.data())
def test_windows_that_the_end_cuts_are_compared_with_the_others(name, data):
    """Each tap is compared for as many windows of a plane as meet it."""
    stride, dilation = data.draw(st.integers(2, 3)), data.draw(st.integers(1, 3))
    size = stride * data.draw(st.integers(1, 6))
    window = data.draw(st.integers(3, line_plan.MOST_ONE_BY_ONE))
    # Then as many windows fit as the size has strides.
    end = max(0, (window - 1) * dilation + 1 - stride)
    x = data.draw(tensors((*data.draw(st.sampled_from([(1, 1), (1, 3), (2, 2)])), size, 3), name))
    names = ("window", "strides", "start_padding", "end_padding", "dilations")
    columns = (window, 1), (stride, 1), (0, 0), (end, 0), (dilation, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_plan, "LEAST_ONE_BY_ONE", 0)
        patch.setattr(line_plan, "MOST_BY_PHASE", 0)
        patch.setattr(maximum_module, "BLOCKS_BEFORE", data.draw(st.sampled_from([0, NEVER])))
        forget_plans()
        nan = data.draw(st.sampled_from(NAN_MODES))
        check_against_reference(x, dict(zip(names, columns, strict=True)), "tensor", nan, "uint32")


def test_which_windows_are_compared_with_the_others():
    """Those that the end cuts, if they meet two taps, and loops go over single lines anyway."""

    def counts(*dimension, width=128):
        _, plan = line_plan.line_plan(SpatialDimension(*dimension), 3, width, 4)
        return [[(p.target[1].stop, p.in_a_row) for p in series.pairs] for series in plan]

    assert counts(16, 3, 2, 1, 0, 1) == [[(24, True), (7, False)]]
    assert counts(15, 5, 3, 1, 0, 2) == [[(15, True), (15, True), (4, False), (4, False)]]
    # The window is longer than the plane, and its last tap meets nothing.
    assert counts(3, 4, 3, 1, 0, 1) == [[(3, True), (3, True)]]
    apart = [[(23, True), (23, True)], [(8, False)]]
    assert counts(16, 3, 2, 1, 0, 1, width=127)[1:] == apart[1:]
    assert len(counts(16, 3, 2, 1, 1, 0)) == 2  # the start cuts a window
    assert len(counts(17, 3, 2, 1, 0, 2)) == 2  # the stride does not divide the size
    assert len(counts(16, 3, 2, 3, 0, 5)) > 1  # the last window meets one tap


def test_which_lines_are_copied_by_their_phase():
    """They are if some phase has several taps, and lines are neither short nor long."""

    def copies(width, window, stride=2, size=112):
        dimension = SpatialDimension(size, window, stride, 1, 1, max(0, window - stride - 1))
        _, (whole, *_) = line_plan.line_plan(dimension, 3, width, 4)
        return [(pairs.early[1], pairs.target[1]) for pairs in whole.before if not pairs.late]

    halves = [(slice(n, 335 + n, 2), slice(168 * n, 168 * n + 168, 1)) for n in (0, 1)]
    assert copies(112, 3) == copies(4, 3) == copies(127, 3) == copies(8, 5) == halves
    assert not any((copies(3, 3), copies(128, 3), copies(112, 2), copies(112, 3, size=113)))
    assert not copies(112, 3, 1)
    assert len(copies(112, 4, 3, size=111)) == 3
    assert not copies(112, 3, 3, size=111)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("rank", [2, 3])
@settings(max_examples=some(60))
@given(data=st.data())
def test_columns_in_step_with_their_padding(name, rank, data):
    """If the stride divides the padded lines, all of them are pooled as one row.

    Here the stride divides them, or just does not.
    """
    stride = data.draw(st.integers(1, 4))
    window = data.draw(st.integers(1, stride))
    start, end = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
    padded = stride * data.draw(st.integers(-(-(start + end + 1) // stride), 12))
    rows = data.draw(st.sampled_from([(1, 1, 0), (2, 1, 0), (2, 2, 1), (3, 1, 1)]))
    across = (data.draw(st.integers(3, 5)),) * (rank - 1)
    columns = (window, stride, start)
    names = ("window", "strides", "start_padding")
    geometry = {
        key: (*(row,) * (rank - 1), column)
        for key, row, column in zip(names, rows, columns, strict=True)
    }
    geometry["end_padding"] = (
        *(rows[2],) * (rank - 1),
        end + data.draw(st.sampled_from([0, 0, 1])),
    )
    geometry["dilations"] = (1,) * rank
    x = data.draw(tensors((2, 2, *across, padded - start - end), name))
    nan = data.draw(st.sampled_from(NAN_MODES))
    check_against_reference(x, geometry, "tensor", nan, "uint32")


def test_lines_in_step_hold_their_padding():
    """Short lines are stored with the padding of the next dimension, wide ones without."""
    rows, columns = (SpatialDimension(size, 2, 2, 1, 1, 1) for size in (4, 6))
    axes = range(-2, 0)

    def shapes(dimensions, axes):
        sizes = (3, *(d.size for d in dimensions))
        plans, shape = slide_plan.slide_plans(dimensions, sizes, 4, axes)
        return [(plan.shape, plan.inside, plan.dimension.padded) for plan in plans], shape

    assert shapes((rows, columns), axes) == (
        [((3, 3, 8), slice(1, 7), 6), ((9, 4, 1), None, 8)],
        (3, 3, 4),
    )
    assert shapes((rows, columns), axes[::-1])[0][0] == ((12, 4, 1), None, 8)
    wide = SpatialDimension(line_plan.SHORT_STRETCH // 4, 2, 2, 1, 1, 1)
    assert shapes((rows, wide), axes)[0][0] == ((3, 3, wide.size), None, 6)


@pytest.mark.usefixtures("fresh_plans")
@pytest.mark.parametrize("size", [700, 3000])
def test_a_running_maximum(size):
    """Each window meets another number of elements; the plan of very many of them is not kept."""
    x = np.random.default_rng(size).integers(-999, 999, (1, 1, 1, size)).astype(np.int16)
    values, indices = max_pooling(x, (1, size), start_padding=(0, size - 1), return_indices=True)
    expected = np.maximum.accumulate(x, axis=3)
    assert np.array_equal(values, expected)
    assert np.array_equal(
        indices, np.argmax(x[0, 0, 0] == expected[0, 0, 0, :, None], axis=1)[None, None, None]
    )
    assert (slide_plan.kept_plans.cache_info().currsize > 0) == (size < slide_plan.MOST_KEPT_SERIES)


def test_what_is_kept_between_calls_hides_no_error():
    """True and 1.0 equal 1, and yet are refused after a call with 1."""
    x = np.zeros((1, 1, 2, 2), np.int8)
    max_pooling(x, 1, strides=(1, 1))
    argmax(x, 1, index_type="int64")
    argmax(x, 1, axis_direction=AxisDirection.INCREASING)
    for wrong in (True, 1.0, (1, 1.0), (True, 1)):
        with pytest.raises(TypeError, match=r"^window must be (an integer|integers)"):
            max_pooling(x, wrong, strides=(1, 1))  # pyright: ignore[reportArgumentType, reportCallIssue]
        with pytest.raises(TypeError, match=r"^axes must be (an integer|integers)"):
            argmax(x, wrong, index_type="int64")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"^axis_direction must be increasing or decreasing"):
        argmax(x, 1, axis_direction=False)  # pyright: ignore[reportArgumentType]
    assert argmax(x, 1).dtype == np.uint32


def test_problems_are_equal_after_use():
    """What a problem derives and remembers does not count when two problems are compared."""
    used, fresh = (Pooling.of((1, 2, 5, 5), "int8", 3, start_padding=1) for _ in range(2))
    used.evaluate(np.zeros((1, 2, 5, 5), np.int8))
    assert used == fresh
    assert hash(used) == hash(fresh)
