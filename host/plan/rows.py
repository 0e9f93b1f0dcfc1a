"""How rows of elements lie in beats: each in a lane of its own, or folded over all lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.model import DataType

PIECE_ELEMENTS = 1 << 18
"""About as many elements are put into beats at a time."""


@dataclass(frozen=True)
class Rows:
    """Rows of equal length, and how they lie in beats.

    As slices, every lane carries a row of its own, and as many rows as there are lanes make a
    group. In a fold, a beat carries consecutive elements of one row, so a single long row uses all
    lanes. What is left over in the last group, or in the last beat of each row, is filled with
    zeros, which the core ignores.

    Parameters
    ----------
    count, length
        How many rows there are, and how many elements each has.
    lanes
        Lanes of the core.
    fold
        Whether the rows are folded.
    """

    count: int
    length: int
    lanes: int
    fold: bool = False

    @classmethod
    def best(cls, count: int, length: int, config: CoreConfig) -> Rows:
        """Return rows that are reduced, in the way that takes fewer beats; of equals, as slices."""
        slices = cls(count, length, config.lanes)
        fold = cls(count, length, config.lanes, fold=True)
        folds = dict(config.fixed).get("fold", fold.beats < slices.beats)
        return fold if config.can_fold and folds else slices

    @property
    def at_once(self) -> int:
        """Rows that stream together: as many as lanes, or a single one that is folded."""
        return 1 if self.fold else self.lanes

    @property
    def groups(self) -> int:
        """Groups of rows that stream together."""
        return -(-self.count // self.at_once)

    @property
    def beats_each(self) -> int:
        """Beats of a group."""
        return -(-self.length // self.lanes) if self.fold else self.length

    @property
    def beats(self) -> int:
        """Beats of all rows."""
        return self.groups * self.beats_each

    @property
    def results(self) -> int:
        """Output beats if each row gives one result. They leave packed, whether folded or not."""
        return -(-self.count // self.lanes)

    @property
    def tail(self) -> int:
        """Lanes that carry something in the last group, or in the last beat of each folded row."""
        return ((self.length if self.fold else self.count) - 1) % self.lanes + 1

    def reduction(self, config: CoreConfig, data_type: DataType, **others: Any) -> JobRegisters:
        """Return the registers of a job that reduces every row to its winner."""
        return JobRegisters(
            data_type=config.data_type_code(data_type),
            fold=self.fold,
            slots=self.beats,
            volumes=self.beats,
            length=self.beats_each,
            groups=self.groups,
            tail=self.tail,
            **others,
        )

    def into_beats(self, rows: np.ndarray) -> np.ndarray:
        """Return the beats, (beats, lanes), of some or all rows (count, length)."""
        lanes = self.lanes
        if self.fold:
            if missing := -rows.shape[1] % lanes:
                rows = np.concatenate([rows, np.zeros((len(rows), missing), rows.dtype)], axis=1)
            return rows.reshape(-1, lanes)
        if missing := -len(rows) % lanes:
            rows = np.concatenate([rows, np.zeros((missing, rows.shape[1]), rows.dtype)])
        return rows.reshape(-1, lanes, rows.shape[1]).swapaxes(1, 2).reshape(-1, lanes)

    def pieces(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the beats piece by piece, so that few of them are in memory at a time."""
        wide = self.lanes if self.fold else 1
        groups = max(1, PIECE_ELEMENTS // (self.at_once * self.length))
        columns = max(1, PIECE_ELEMENTS // self.lanes) * wide if groups == 1 else self.length
        for first in range(0, self.count, groups * self.at_once):
            for start in range(0, self.length, columns):
                part = rows[first : first + groups * self.at_once, start : start + columns]
                yield self.into_beats(part)


def from_lanes(beats: np.ndarray, slices: int, elements: int) -> np.ndarray:
    """Return what beats with a slice in each lane carry, as an array (slices, elements)."""
    lanes = beats.shape[1]
    grouped = beats.reshape(-1, elements, lanes).swapaxes(1, 2)
    return grouped.reshape(-1, elements)[:slices]
