"""Rows in beats: each in a lane of its own, or folded, whichever takes fewer beats."""

import itertools

import numpy as np
import pytest

from extremum.hdl.config import CoreConfig
from extremum.host.plan.rows import Rows, from_lanes
from extremum.model import DataType


@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_rows_fold_where_that_takes_fewer_beats(lanes):
    config = CoreConfig((DataType.INT8,), lanes=lanes)
    for count, length in itertools.product((1, 2, lanes - 1, lanes, lanes + 1, 50), range(1, 40)):
        as_slices, folded = (Rows(count, length, lanes, fold) for fold in (False, True))
        assert as_slices.beats == -(-count // lanes) * length
        assert folded.beats == count * -(-length // lanes)
        assert as_slices.results == folded.results == -(-count // lanes)
        best = Rows.best(count, length, config)
        assert best.beats == min(as_slices.beats, folded.beats)
        # If both take equally many beats, rows are not folded.
        assert best.fold == (folded.beats < as_slices.beats)
        registers = best.reduction(config, DataType.INT8)
        registers.to_bits(config)
        assert registers.length * registers.groups == registers.slots == best.beats
        rows = np.arange(1, count * length + 1).reshape(count, length) % 127
        beats = best.into_beats(rows.astype(np.int8))
        assert beats.shape == (best.beats, lanes)
        if best.fold:
            assert (beats.reshape(count, -1)[:, :length] == rows).all()
            last = beats.reshape(count, -1, lanes)[:, -1]
            assert (last[:, registers.tail :] == 0).all()
            assert 1 <= registers.tail <= lanes


def test_a_core_that_cannot_fold_gets_rows_as_slices():
    for config in (CoreConfig(lanes=3), CoreConfig(lanes=4, operators=("max-pool",)), CoreConfig()):
        assert not Rows.best(1, 100, config).fold


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("most", [1, 5, 24, 1000])
def test_pieces_are_all_beats_in_their_order(monkeypatch, fold, most):
    """Many rows of few elements, and few of many, in pieces of any size."""
    monkeypatch.setattr("extremum.host.plan.rows.PIECE_ELEMENTS", most)
    for count, length in ((1, 1), (1, 40), (3, 7), (4, 8), (30, 1), (9, 5), (2, 17)):
        rows = Rows(count, length, 4, fold)
        elements = np.arange(1, count * length + 1, dtype=np.int32).reshape(count, length)
        pieces = list(rows.pieces(elements))
        assert (np.concatenate(pieces) == rows.into_beats(elements)).all()
        assert sum(map(len, pieces)) == rows.beats
        # A piece has as many elements as it may, or a single beat; folded rows are filled up.
        assert all(piece.size <= 4 * max(most, 1) for piece in pieces)
        assert len(pieces) == 1 or most < rows.lanes * rows.beats


@pytest.mark.parametrize(("count", "elements"), [(4, 1), (7, 3), (8, 5), (1, 2)])
def test_lanes_are_taken_apart_as_they_were_put_together(count, elements):
    rows = np.arange(count * elements).reshape(count, elements)
    beats = Rows(count, elements, 4).into_beats(rows)
    assert (from_lanes(beats, count, elements) == rows).all()
