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
        assert between.tolist() == [start + 5, start + 7]
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
