"""Winners of rows, on either side of every length at which the way to find them changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import FLOATS, TYPES, tensors

import extremum.model.rows as rows_module
from extremum.model import argmax, argmin
from extremum.model.order import comparable
from extremum.model.rows import first_winner, last_winner

WIDTHS = (1, 2, 15, 32, 33, 34, 48, 49, 62, 63, 64, 65, 66, 79, 80, 97, 128, 130)


def check(x):
    """Compare with NumPy's own functions, on a copy that runs backwards for the last winners."""
    count, x = x.shape[1], comparable(x)
    backwards = np.ascontiguousarray(x[:, ::-1])
    assert np.array_equal(first_winner(x), x.argmax(axis=1))
    assert np.array_equal(first_winner(x, minimum=True), x.argmin(axis=1))
    assert np.array_equal(last_winner(x), count - 1 - backwards.argmax(axis=1))
    assert np.array_equal(last_winner(x, minimum=True), count - 1 - backwards.argmin(axis=1))


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=60)
@given(data=st.data())
def test_winners_of_rows(name, data):
    """Rows that are filled up, and rows that are reversed word by word, with a tail and without."""
    rows = data.draw(st.sampled_from([1, 3, 63, 64, 70]))
    check(data.draw(tensors((rows, data.draw(st.sampled_from(WIDTHS))), name)))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_extremes(name, width):
    """What rows are filled up with beats none of the elements, and ties with some."""
    limits = np.finfo(name) if name in FLOATS else np.iinfo(name)
    x = np.full((140, width), limits.min, name)
    x[70:] = limits.max
    if name in FLOATS:
        x[::3] = np.copysign(np.inf, x[::3])
    check(x)


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=60)
@given(data=st.data())
def test_rows_searched_from_the_end(name, data):
    x = data.draw(tensors((data.draw(st.integers(1, 3)), data.draw(st.integers(1, 40))), name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "LONG_ROW", 1)
        patch.setattr(rows_module, "BLOCK_ELEMENTS", data.draw(st.integers(1, 12)))
        check(x)


@pytest.mark.parametrize("count", [rows_module.LONG_ROW + more for more in (-1, 0, 1)])
@pytest.mark.parametrize("place", [0, 1, 1000, rows_module.LONG_ROW // 2 - 1, -2])
def test_long_rows(count, place):
    """One winner, and NaN as one, anywhere in a row of the length that is used."""
    for winner in (1, -1, np.nan):
        x = np.zeros((2, count), np.float32)
        x[1, place] = winner
        for function, best in ((argmax, winner != -1), (argmin, winner != 1)):
            expected = [count - 1, place % count if best else count - 1]
            found = function(x, 1, axis_direction="decreasing")
            assert found.ravel().tolist() == expected
