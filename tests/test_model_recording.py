"""Recorded operations mean the same places in other arrays, and own what lies in between."""

import weakref
from functools import partial

import numpy as np

from extremum.model.fast.recording import Recording


def test_views_mean_the_same_places_in_other_arrays():
    """A view has its own type, shape, offset and strides; everything else is kept as it is."""
    first, second = np.zeros((3, 4), np.int16), np.zeros(6, np.uint8)
    between, done = np.zeros(2, np.int64), []
    recording = Recording(first, second)
    recording.add(np.copyto, between, first[1:, 1::2][0])
    recording.add(partial(np.copyto, casting="unsafe"), second[4:].view(np.int8), between)
    recording.add(done.append, second[1:3])
    recording.add(done.append, "as it is")
    assert not between.any()
    assert not second.any()
    recording.end()
    for start in (0, 20):
        one = np.arange(start, start + 12, dtype=np.int16).reshape(3, 4)
        two = np.full(6, 7, np.uint8)
        recording.repeat(one, two)
        assert two.tolist() == [7, 7, 7, 7, start + 5, start + 7]
        view, word = done[-2:]
        assert np.may_share_memory(view, two)
        assert view.tolist() == [7, 7]
        assert word == "as it is"
    assert not first.any()
    assert not second.any()


def test_arrays_of_a_repetition_are_not_kept():
    """Only whoever called it has them, so their memory is free once they are gone."""
    stand_in = np.zeros(4)
    recording = Recording(stand_in)
    recording.add(np.sum, np.zeros(4))
    recording.add(np.sum, stand_in[1:])
    recording.end()
    array = np.ones(4)
    kept = weakref.ref(array)
    recording.repeat(array)
    del array
    assert kept() is None


def test_what_it_owns_is_counted_once():
    """Views of an array count as the array; stand-ins and what each repetition has do not."""
    stand_in, large, small = np.zeros(1000), np.zeros((10, 10), np.int32), np.zeros(3, np.int8)
    recording = Recording(stand_in)
    assert (len(recording), recording.nbytes) == (0, 0)
    recording.add(np.copyto, large[1:], stand_in[:10])
    recording.add(np.copyto, large.reshape(-1)[3:4], small[:1])
    assert (len(recording), recording.nbytes) == (2, 400 + 3)


def test_the_stand_ins_are_not_kept():
    """A recording of a shape would hold a whole block and its result otherwise."""
    stand_in = np.zeros(4)
    recording = Recording(stand_in)
    recording.add(np.sum, stand_in[1:])
    kept = weakref.ref(stand_in)
    del stand_in
    assert kept() is not None
    recording.end()
    assert kept() is None


def test_arrays_of_several_sizes_share_the_largest():
    """The largest memory that is free is taken, and stays as large as the largest array in it."""
    source, result = np.zeros(8, np.int8), np.zeros(8, np.int8)
    small, large, middle, wide = (np.zeros(size, np.int8) for size in (2, 6, 4, 8))
    recording = Recording(source, result)
    recording.add(np.add, source[:2], 1, small)
    recording.add(np.add, source[:6], small[:1], large)
    recording.add(np.add, large[:4], large[2:], result[:4])
    recording.add(np.add, source[:4], 1, middle)  # where the large one was
    recording.add(np.add, middle, 1, result[4:])
    recording.add(np.copyto, wide, source)  # where both were
    recording.add(np.add, wide, result, result)
    recording.end()
    assert recording.nbytes == 2 + 8
    x, y = np.arange(8, dtype=np.int8), np.zeros(8, np.int8)
    recording.repeat(x, y)
    assert y.tolist() == [4, 7, 10, 13, 6, 8, 10, 12]


def test_arrays_share_memory_if_they_are_not_needed_at_the_same_time():
    """Each step reads what an earlier one wrote, and no step writes what is still needed."""
    source, result = np.zeros(8, np.int32), np.zeros(8, np.int32)
    arrays = [np.zeros(8, np.int32) for _ in range(5)]
    halves = np.zeros(16, np.int16)
    recording = Recording(source, result)
    recording.add(np.add, source, 1, arrays[0])  # array 0 is needed up to the last step but one
    recording.add(np.add, arrays[0], 1, arrays[1])
    recording.add(np.add, arrays[1], 1, arrays[2])
    recording.add(np.copyto, halves[::2], arrays[2].view(np.int16)[::2])
    recording.add(np.add, halves[::2], 1, arrays[3])
    recording.add(np.add, arrays[3], arrays[0], arrays[4])
    recording.add(np.add, arrays[4][::-1], 0, result)
    recording.end()
    assert recording.nbytes == 3 * 32  # not of 6 arrays
    for start in (0, 100):
        x = np.arange(start, start + 8, dtype=np.int32)
        y = np.zeros(8, np.int32)
        recording.repeat(x, y)
        assert y.tolist() == (2 * x + 5)[::-1].tolist()


def test_what_is_kept_is_there_for_good():
    """It shares memory with no array, also if it is read late and nothing else is needed then."""
    source, result = np.zeros(4, np.int32), np.zeros(4, np.int32)
    first, kept, last = np.zeros(4, np.int32), np.full(6, 7, np.int32), np.zeros(4, np.int32)
    unread = np.zeros(6, np.int32)
    recording = Recording(source, result)
    recording.add(np.add, source, 1, first)
    recording.add(np.copyto, unread[:4], source)  # whose memory the kept one might take
    recording.add(np.add, first, 1, kept[1:-1])
    recording.keep(kept[2:])  # a view keeps the array
    recording.add(np.add, kept[:-2], kept[2:], last)
    recording.add(np.add, last, 0, result)
    recording.end()
    assert recording.nbytes == 16 + 24 + 24  # the last array shares with one of those before
    for _ in range(2):
        found = np.zeros(4, np.int32)
        recording.repeat(np.arange(4, dtype=np.int32), found)
        assert found.tolist() == [10, 6, 8, 11]
