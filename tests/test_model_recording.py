"""Recorded operations mean the same places in other arrays, and own what lies in between."""

import mmap
import tracemalloc
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from extremum.model.fast.pages import PAGE
from extremum.model.fast.recording import AtOnce, Recording

INT8, INT16, INT32 = (np.dtype(name) for name in ("int8", "int16", "int32"))


def test_views_mean_the_same_places_in_other_arrays():
    """A view has its own type, shape, offset and strides; everything else is kept as it is."""
    recording, done = Recording(), []
    first, second = recording.stand_in((3, 4), INT16), recording.stand_in((6,), np.dtype("uint8"))
    between = recording.array((2,), np.dtype("int64"))
    recording.add(np.copyto, between, first[1:, 1::2][0])
    recording.add(partial(np.copyto, casting="unsafe"), second[4:].view(np.int8), between)
    recording.add(done.append, second[1:3])
    recording.add(done.append, "as it is")
    recording.end()
    assert not done
    for start in (0, 20):
        one = np.arange(start, start + 12, dtype=np.int16).reshape(3, 4)
        two = np.full(6, 7, np.uint8)
        recording.repeat(one, two)
        assert two.tolist() == [7, 7, 7, 7, start + 5, start + 7]
        view, word = done[-2:]
        assert np.may_share_memory(view, two)
        assert view.tolist() == [7, 7]
        assert word == "as it is"


def test_arrays_of_a_repetition_are_not_kept():
    """Only whoever called it has them, so their memory is free once they are gone."""
    recording = Recording()
    stand_in = recording.stand_in((4,), np.dtype(float))
    recording.add(np.sum, recording.array((4,), np.dtype(float)))
    recording.add(np.sum, stand_in[1:])
    recording.end()
    array = np.ones(4)
    kept = weakref.ref(array)
    recording.repeat(array)
    del array
    assert kept() is None


def test_what_it_owns_is_counted_once():
    """Views of an array count as the array; stand-ins and what each repetition has do not."""
    recording = Recording()
    stand_in = recording.stand_in((1000,), np.dtype(float))
    large, small = recording.array((10, 10), INT32), recording.array((3,), INT8)
    recording.array((7,), INT8)  # which no operation needs
    assert (len(recording), recording.needed_bytes()) == (0, 0)
    recording.add(np.copyto, large[1:], stand_in[:10])
    recording.add(np.copyto, large.reshape(-1)[3:4], small[:1])
    assert (len(recording), recording.needed_bytes()) == (2, 400 + 3)


def test_the_stand_ins_are_not_kept():
    """A recording of a shape would hold a whole block and its result otherwise."""
    recording = Recording()
    stand_in = recording.stand_in((4,), np.dtype(float))
    recording.add(np.sum, stand_in[1:])
    kept = weakref.ref(stand_in)
    del stand_in
    assert kept() is not None
    recording.end()
    assert kept() is None


def test_arrays_of_several_sizes_share_the_largest():
    """The largest memory that is free is taken, and stays as large as the largest array in it."""
    recording = Recording()
    source, result = (recording.stand_in((8,), INT8) for _ in range(2))
    small, large, middle, wide = (recording.array((size,), INT8) for size in (2, 6, 4, 8))
    recording.add(np.add, source[:2], 1, small)
    recording.add(np.add, source[:6], small[:1], large)
    recording.add(np.add, large[:4], large[2:], result[:4])
    recording.add(np.add, source[:4], 1, middle)  # where the large one was
    recording.add(np.add, middle, 1, result[4:])
    recording.add(np.copyto, wide, source)  # where both were
    recording.add(np.add, wide, result, result)
    assert recording.needed_bytes() == 2 + 8
    recording.end()
    x, y = np.arange(8, dtype=np.int8), np.zeros(8, np.int8)
    recording.repeat(x, y)
    assert y.tolist() == [4, 7, 10, 13, 6, 8, 10, 12]


def test_arrays_share_memory_if_they_are_not_needed_at_the_same_time():
    """Each step reads what an earlier one wrote, and no step writes what is still needed."""
    recording = Recording()
    source, result = (recording.stand_in((8,), INT32) for _ in range(2))
    arrays = [recording.array((8,), INT32) for _ in range(5)]
    halves = recording.array((16,), INT16)
    recording.add(np.add, source, 1, arrays[0])  # array 0 is needed up to the last step but one
    recording.add(np.add, arrays[0], 1, arrays[1])
    recording.add(np.add, arrays[1], 1, arrays[2])
    recording.add(np.copyto, halves[::2], arrays[2].view(np.int16)[::2])
    recording.add(np.add, halves[::2], 1, arrays[3])
    recording.add(np.add, arrays[3], arrays[0], arrays[4])
    recording.add(np.add, arrays[4][::-1], 0, result)
    assert recording.needed_bytes() == 3 * 32  # not of 6 arrays
    recording.end()
    for start in (0, 100):
        x = np.arange(start, start + 8, dtype=np.int32)
        y = np.zeros(8, np.int32)
        recording.repeat(x, y)
        assert y.tolist() == (2 * x + 5)[::-1].tolist()


def test_what_is_written_once_is_there_for_good():
    """It shares memory with no array, also if it is read late and nothing else is needed then."""
    recording, filled = Recording(), []

    def fill(target):
        target[...] = 7
        filled.append(target)

    source, result = (recording.stand_in((4,), INT32) for _ in range(2))
    first, kept, last, unread = (recording.array((size,), INT32) for size in (4, 6, 4, 6))
    recording.add(np.add, source, 1, first)
    recording.add(np.copyto, unread[:4], source)  # whose memory the one that is kept might take
    recording.add(np.add, first, 1, kept[1:-1])
    recording.add_once(fill, kept[:1])
    recording.add_once(fill, kept[5:])
    recording.add(np.add, kept[:-2], kept[2:], last)
    recording.add(np.add, last, 0, result)
    assert (
        recording.needed_bytes() == 16 + 24 + 24
    )  # the last array shares with one of those before
    assert (len(recording), filled) == (5, [])
    recording.end()
    for _ in range(2):
        assert len(filled) == 2
        found = np.zeros(4, np.int32)
        recording.repeat(np.arange(4, dtype=np.int32), found)
        assert found.tolist() == [10, 6, 8, 11]


def test_arrays_begin_where_pages_do():
    """NumPy's vectors then cross into another line of the cache in no array but the tensor's."""
    recording, found = Recording(), []
    stand_in = recording.stand_in((4,), INT8)
    for size in (1, 5000, 100, 4097):
        array = recording.array((size,), INT8)
        recording.add(np.copyto, array, stand_in[:1])
        recording.add(found.append, array)
    recording.end()
    recording.repeat(np.zeros(4, np.int8))
    assert [array.ctypes.data % PAGE for array in found] == [0] * 4
    assert [array.size for array in found] == [1, 5000, 100, 4097]


STATM = Path("/proc/self/statm")
"""Where Linux tells how many pages of a process are in memory."""


@pytest.mark.skipif(not STATM.exists(), reason="the system does not tell")
def test_what_is_recorded_takes_no_memory_before_the_end():
    """So it can be told what a recording would own, and it is dropped without harm.

    Addresses are reserved, but no page behind them is written, and NumPy makes no array.
    """
    recording, size = Recording(), 1 << 20
    before = resident_bytes()
    tracemalloc.start()
    try:
        tensor = recording.stand_in((size,), INT32)
        for _ in range(20):
            array = recording.array((size,), INT32)
            recording.add_once(np.copyto, array, 0)
            recording.add(np.copyto, array, tensor)
        assert recording.needed_bytes() == 20 * 4 * size
        assert tracemalloc.get_traced_memory()[1] < size // 8
        reserved = resident_bytes()
        assert reserved - before < 20 * size
        written = recording.array((8 * size,), INT32)
        written.fill(1)  # an array that is written does take memory
        assert resident_bytes() - reserved > 20 * size
        recording.end()
        assert 80 * size <= tracemalloc.get_traced_memory()[0] < 81 * size
    finally:
        tracemalloc.stop()


def resident_bytes():
    """Return how many bytes of memory the process has."""
    return int(STATM.read_text().split()[1]) * mmap.PAGESIZE


@pytest.mark.parametrize("add", [AtOnce.add, AtOnce.add_once])
def test_operations_can_be_done_at_once(add):
    """Then there is nothing to repeat, and arrays are arrays from the beginning."""
    operations = AtOnce()
    array = operations.array((2, 3), INT16)
    assert (array.shape, array.dtype) == ((2, 3), INT16)
    add(operations, np.copyto, array, 5)
    add(operations, np.add, array[:1], array[1:], array[1:])
    assert array.tolist() == [[5] * 3, [10] * 3]
