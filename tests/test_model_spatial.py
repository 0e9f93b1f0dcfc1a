"""One pooled dimension, against a list of the elements that each tap of each window meets."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from extremum.model import SpatialDimension


@st.composite
def dimensions(draw):
    size, start, end = (draw(st.integers(low, 9)) for low in (1, 0, 0))
    window, stride, dilation = (draw(st.integers(1, 4)) for _ in range(3))
    assume((window - 1) * dilation < size + start + end)
    return SpatialDimension(size, window, stride, dilation, start, end)


@st.composite
def parts(draw, length):
    """A slice of at least one of `length` things."""
    start = draw(st.integers(0, length - 1))
    return slice(start, draw(st.integers(start + 1, length)))


def place(dimension, window, tap):
    """The coordinate of a tap, which may lie in padding."""
    return window * dimension.stride + tap * dimension.dilation - dimension.start_padding


def elements(dimension, windows, taps, offset=0):
    """For each window, the elements that its taps meet, counted from `offset` on."""
    return [
        [
            offset + place(dimension, window, tap)
            for tap in taps
            if 0 <= place(dimension, window, tap) < dimension.size
        ]
        for window in windows
    ]


def kept(dimension, windows, taps):
    """The elements of a part: to the last tap that does not lie behind them in every window."""
    start = max(0, place(dimension, windows.start, taps[0]))
    not_behind = [tap for tap in taps if place(dimension, windows.start, tap) < dimension.size]
    last = place(dimension, windows.stop - 1, not_behind[-1])
    return range(start, max(start + 1, min(dimension.size, last + 1)))


@given(data=st.data())
def test_a_clipped_part_meets_the_same_elements(data):
    dimension = data.draw(dimensions())
    windows = data.draw(parts(dimension.outputs))
    taps = data.draw(st.one_of(st.none(), parts(dimension.window)))
    tap_range = range(*(taps or slice(0, dimension.window)).indices(dimension.window))
    expected = elements(dimension, range(windows.start, windows.stop), tap_range)
    first = place(dimension, windows.start, tap_range[0])
    last = place(dimension, windows.stop - 1, tap_range[-1])
    clipped = dimension.clipped(windows) if taps is None else dimension.clipped(windows, taps)
    if clipped is None:
        assert last < 0 or first >= dimension.size
        return
    part, where = clipped
    assert range(where.start, where.stop) == kept(dimension, windows, tap_range)
    assert (part.size, part.window) == (where.stop - where.start, len(tap_range))
    assert part.outputs == windows.stop - windows.start
    assert expected == elements(part, range(part.outputs), range(part.window), where.start)


@given(dimension=dimensions())
def test_the_windows_in_which_each_tap_meets_an_element(dimension):
    expected = []
    for tap in range(dimension.window):
        met = [
            window
            for window in range(dimension.outputs)
            if 0 <= place(dimension, window, tap) < dimension.size
        ]
        if met:
            expected.append(met)
    found = [list(range(windows.start, windows.stop)) for windows in dimension.taps()]
    assert found == expected


@given(dimension=dimensions())
def test_the_windows_that_meet_no_element(dimension):
    met = elements(dimension, range(dimension.outputs), range(dimension.window))
    empty = [window for window, found in enumerate(met) if not found]
    assert dimension.empty_windows.tolist() == empty
    assert dimension.empty.nonzero()[0].tolist() == empty


@pytest.mark.parametrize(("windows", "met"), [(slice(0, 1), None), (slice(0, 2), slice(0, 1))])
def test_a_part_of_padding_alone_is_none(windows, met):
    """The first window ends just before the first element, the second one meets it."""
    clipped = SpatialDimension(3, window=2, start_padding=2).clipped(windows)
    assert (clipped and clipped.elements) == met


def test_steps_that_lead_nowhere():
    """NumPy has no integer for such a step, which is kept as one that leads nowhere either."""
    dimension = SpatialDimension(5, 1, stride=2**70, dilation=2**70)
    assert (dimension.stride, dimension.dilation, dimension.outputs) == (2**32 - 1, 2**32 - 1, 1)
    assert dimension.empty_windows.tolist() == []
    assert SpatialDimension(2**32 - 1, 1, stride=2**32 - 1).outputs == 1
