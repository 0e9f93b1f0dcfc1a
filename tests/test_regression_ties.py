"""The bins of ties: which elements of a row or of a window are as good as its winner."""

from __future__ import annotations

import numpy as np
import pytest
from regression_jobs import offered

from extremum.tb.coverage import Tally
from extremum.tb.regression.ties import ELEMENTS, ROWS, _rows, observe_ties


def row_bins(x, *, kind="slices", target="every_type", **arguments):
    """Return how the elements of one row tie, and of what class the winner is."""
    job, tally = offered(target, np.array([x]), **arguments).job, Tally()
    observe_ties(tally, job, np.array([x]), kind, "increasing")
    ties = {name.split(", ")[-1] for name in tally.counts if name.startswith("ties")}
    return ties, {name.split(", ")[1] for name in tally.counts if name.startswith("values")}


def nan(bits):
    return np.array([bits], np.uint32).view(np.float32)[0]


@pytest.mark.parametrize(
    ("row", "ties", "winner"),
    [
        ([1, 3, 2], {"none"}, "+other"),
        ([3, 1, 3], {"first and last"}, "+other"),
        ([3, 1, 3, 1], set(), "+other"),
        ([1, 3, 1, 3], set(), "+other"),
        ([1, 3, 3, 1], {"neighbours"}, "+other"),
        ([2, 2], {"neighbours", "first and last", "all"}, "+other"),
        ([0.0, -1, -0.0, -1], {"zeros of both signs"}, "+zero"),
        ([-0.0, -1, -0.0, -1], set(), "-zero"),
        ([np.inf, nan(0x7FC00000), 1, nan(0x7FC00001), 1], {"NaN of several payloads"},
         "+quiet NaN"),
        ([np.inf, nan(0xFFC00000), 1, nan(0xFFC00000), 1], set(), "-quiet NaN"),
    ],
)  # fmt: skip
def test_ties_of_a_row(row, ties, winner):
    assert row_bins(np.array(row, np.float32)) == (ties, {winner})


def test_winners_of_a_minimum_and_of_a_row_with_nan():
    row = np.array([5, 1, 5, 1, 5], np.float32)
    assert row_bins(row, function="argmin")[0] == set()
    assert row_bins(row)[0] == {"first and last"}
    row[2] = np.nan
    assert row_bins(row) == ({"none"}, {"+quiet NaN"})
    assert row_bins(row, nan="ignore")[0] == {"first and last"}
    assert row_bins(np.full(3, np.nan, np.float32), nan="ignore")[1] == {"+quiet NaN"}


@pytest.mark.parametrize(
    ("places", "ties"),
    [
        ((1, 3), {"within a beat"}), ((3, 4), {"between beats", "neighbours"}),
        ((1, 3, 6), {"within a beat", "between beats"}), ((1,), {"none"}),
        ((0, 11), {"between beats", "first and last"}),
    ],
)  # fmt: skip
def test_ties_of_a_fold(places, ties):
    row = np.zeros(12, np.float32)
    row[list(places)] = 1
    assert row_bins(row, kind="fold", target="floats4")[0] == ties
    assert not any("beat" in tie for tie in row_bins(row, target="floats4")[0])


def test_ties_of_windows_are_those_of_their_taps():
    """Two windows of the twelve that are looked at hold both of the greatest elements."""
    x = np.arange(27, dtype=np.uint8).reshape(1, 1, 3, 9)
    x[0, 0, 0, :2] = 200
    job, tally = offered("cubes", x, window=[2, 2], start_padding=[1, 1]).job, Tally()
    observe_ties(tally, job, x, "sliding", "increasing")
    ties = {name.split(", ")[-1]: n for name, n in tally.counts.items() if name[:4] == "ties"}
    assert ties == {"none": 10, "neighbours": 2, "first and last": 1, "all": 1}


@pytest.mark.parametrize(
    ("rows", "elements", "seen"),
    [(1, ELEMENTS, 1), (1, ELEMENTS + 1, 0), (ELEMENTS + 1, 2, ROWS), (3 * ROWS, 2, ROWS)],
)
def test_a_few_rows_are_looked_at_none_of_them_long(rows, elements, seen):
    x = np.zeros((rows, elements), np.float32)
    job = offered("every_type", x, function="max", axes=[1]).job
    found = list(_rows(job, x))
    assert seen - 1 <= len(found) <= seen
    assert all(row.shape == (elements,) for row in found)
