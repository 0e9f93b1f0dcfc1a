"""Winners of rows, on both sides of every length at which the golden model changes its method."""

import numpy as np
import pytest
from amounts import some
from equal_bits import assert_equal_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import FLOATS, NAN_MODES, TYPES, memory_layouts, special_values, tensors

import extremum.model.fast.rows as rows_module
from extremum.model import argmax, argmin, as_tensor, max_pooling, reduce_max, reduce_min
from extremum.model.fast.order import bits_follow_value, comparable
from extremum.model.fast.rows import (
    LEAST_AT_PAGE,
    LEAST_BY_ROW,
    best_of_rows,
    first_winner,
    last_winner,
)

pytestmark = pytest.mark.usefixtures("both_ways")

WIDTHS = (1, 2, 15, 32, 33, 34, 48, 49, 62, 63, 64, 65, 66, 79, 80, 97, 128, 130)


def check(x):
    """Compare with NumPy's own functions; last winners are first winners of a reversed copy."""
    count, x = x.shape[1], comparable(x)
    backwards = np.ascontiguousarray(x[:, ::-1])
    assert np.array_equal(first_winner(x), x.argmax(axis=1))
    assert np.array_equal(first_winner(x, minimum=True), x.argmin(axis=1))
    assert np.array_equal(last_winner(x), count - 1 - backwards.argmax(axis=1))
    assert np.array_equal(last_winner(x, minimum=True), count - 1 - backwards.argmin(axis=1))


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(60))
@given(data=st.data())
def test_winners_of_rows(name, data):
    """Rows of some lengths are filled up, others reversed by words, with a rest or without."""
    rows = data.draw(st.sampled_from([1, 3, 63, 64, 70]))
    check(data.draw(tensors((rows, data.draw(st.sampled_from(WIDTHS))), name)))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_apart(name, width):
    """Rows with gaps between them or within them, in reverse order, and stored by columns."""
    wide = np.random.default_rng(width).integers(0, 5, (70, 2 * width + 16)).astype(name)
    for x in (wide[:, :width], wide[:, 16:], wide[::-2, :width], wide[:, ::-1][:, :width]):
        check(x)
    for x in (wide[:, 1 : 2 * width : 2], wide[::2, : 2 * width : 2], np.asfortranarray(wide)):
        check(x)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_extremes(name, width):
    """The elements that fill up a row never win, even if they tie with the row's own."""
    limits = np.finfo(name) if name in FLOATS else np.iinfo(name)
    x = np.full((140, width), limits.min, name)
    x[70:] = limits.max
    if name in FLOATS:
        x[::3] = np.copysign(np.inf, x[::3])
    check(x)


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(60))
@given(data=st.data())
def test_rows_searched_from_the_end(name, data):
    """The last winner of a long row is found block by block; here blocks have a few elements."""
    x = data.draw(tensors((data.draw(st.integers(1, 3)), data.draw(st.integers(1, 40))), name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "LONG_ROW", 1)
        patch.setattr(rows_module, "FIRST_BLOCK", data.draw(st.integers(1, 12)))
        check(x)


@pytest.mark.parametrize("count", [rows_module.LONG_ROW + more for more in (-1, 0, 1)])
@pytest.mark.parametrize("place", [0, 1, 1000, rows_module.LONG_ROW // 2 - 1, -2])
def test_long_rows(count, place):
    """One winner, a number or NaN, at any place of a row that is searched block by block."""
    for winner in (1, -1, np.nan):
        x = np.zeros((2, count), np.float32)
        x[1, place] = winner
        for function, best in ((argmax, winner != -1), (argmin, winner != 1)):
            expected = [count - 1, place % count if best else count - 1]
            found = function(x, 1, axis_direction="decreasing")
            assert found.ravel().tolist() == expected


def check_best(x):
    """Compare with NumPy's own reductions, in which NaN wins."""
    for minimum, expected in ((False, x.max(axis=1)), (True, x.min(axis=1))):
        best = best_of_rows(x, minimum=minimum)
        assert best.flags.writeable
        assert not np.may_share_memory(best, x)
        np.testing.assert_array_equal(best, expected, strict=True)
        if bits_follow_value(x):
            assert_equal_bits(best, expected)


def widths_by_row(name):
    """Return lengths of short rows, and those around the one from which rows are reduced singly."""
    least = -(-LEAST_BY_ROW // np.dtype(name).itemsize)
    return [*range(1, 10), *range(least - 2, least + 3), 2 * least + 1]


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(100))
@given(data=st.data())
def test_best_of_rows(name, data):
    width = data.draw(st.sampled_from(widths_by_row(name)))
    shape = (data.draw(st.sampled_from([1, 2, 3, 40])), width)
    x = data.draw(tensors(shape, name, nan=name != "float16" and data.draw(st.booleans())))
    check_best(as_tensor(data.draw(memory_layouts(x))))


@pytest.mark.parametrize("name", TYPES)
def test_best_of_rows_of_extremes(name):
    """Rows whose elements all have the worse sign, for which half floats are searched twice."""
    values = special_values(name, nan=False)
    for width in widths_by_row(name):
        x = np.empty((3 * len(values), width), name)
        x[:] = np.repeat(values, 3)[:, None]
        for row, place in ((0, 0), (1, width // 2), (2, -1)):
            x[row::3, place] = np.roll(values, 1)
        check_best(x)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("width", range(1, 20))
def test_one_winner_of_many_short_rows(name, width):
    """It is at each place in turn, so no part of a row is left out, or taken of the next row."""
    rows = rows_module.FEW_ROWS + 1
    limits = np.finfo(name) if name in FLOATS else np.iinfo(name)
    for place in range(width):
        x = np.full((rows, width), limits.min, name)
        x[::3, place] = limits.max
        check_best(x)


@pytest.mark.parametrize("rows", [rows_module.FEW_ROWS + more for more in (0, 1)])
@pytest.mark.parametrize("name", TYPES)
def test_few_and_many_short_rows(name, rows):
    check_best(np.random.default_rng(rows).integers(0, 9, (rows, 13)).astype(name))


@pytest.mark.parametrize("more", [-16, 0, 16, 4096, 4100])
@pytest.mark.parametrize("name", ["int8", "float16", "float32", "int64"])
def test_short_rows_on_both_sides_of_a_page(name, more):
    """Where there are many, the arrays in between begin as pages do, and do not meet."""
    count = (LEAST_AT_PAGE + more) // np.dtype(name).itemsize
    rng = np.random.default_rng(count)
    for width in (4, 7, 9, 13):
        check_best(rng.integers(0, 99, (count // width, width)).astype(name))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("others", [1, -1])
def test_one_nan_in_a_row(sign, others):
    """NaN of either sign, among numbers of either sign, wins at any place."""
    for width in widths_by_row("float32"):
        for place in {0, width // 2, width - 1}:
            x = np.full((3, width), others, np.float32)
            x[1, place] = np.copysign(np.nan, sign)
            check_best(x)


@settings(max_examples=some(200))
@given(data=st.data())
def test_first_winners_of_half_floats(data):
    """Half floats without NaN and -0, which are compared by their bits."""
    shape = (data.draw(st.sampled_from([1, 3, 64, 70])), data.draw(st.sampled_from(WIDTHS)))
    x = data.draw(tensors(shape, "float16", nan=False)) + np.float16(0)
    assert bits_follow_value(x)
    assert np.array_equal(first_winner(x), x.argmax(axis=1))
    assert np.array_equal(first_winner(x, minimum=True), x.argmin(axis=1))


@pytest.mark.parametrize("name", FLOATS)
@settings(max_examples=some(60))
@given(data=st.data())
def test_values_of_rows_are_those_at_the_positions(name, data):
    """Values are exact to the bit, whether or not positions are needed to find them."""
    shape = (data.draw(st.integers(1, 70)), data.draw(st.sampled_from(widths_by_row(name))))
    x, nan = data.draw(tensors(shape, name)), data.draw(st.sampled_from(NAN_MODES))
    for reduce, find in ((reduce_max, argmax), (reduce_min, argmin)):
        places = find(x, 1, nan=nan).astype(int)
        assert_equal_bits(reduce(x, 1, nan=nan), np.take_along_axis(x, places, 1))
    planes = x.reshape(1, len(x), 1, -1)
    values, indices = max_pooling(
        planes, planes.shape[2:], nan=nan, return_indices=True, index_layout="plane"
    )
    assert_equal_bits(values.reshape(-1, 1), reduce_max(x, 1, nan=nan))
    assert_equal_bits(max_pooling(planes, planes.shape[2:], nan=nan), values)
    assert np.array_equal(indices.reshape(-1, 1), argmax(x, 1, nan=nan))
