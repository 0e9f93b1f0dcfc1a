"""One pooled dimension: how windows lie on the elements and on the padding beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .checks import integer

__all__ = ["Run", "SpatialDimension"]


class Run(NamedTuple):
    """Windows at equal distances that meet the same number of elements.

    Attributes
    ----------
    window, windows, window_step : int
        Number of the first one, how many they are, and how far apart.
    element, element_step : int
        First element of the first window, and how far those of two windows are apart.
    taps : int
        How many elements each of them meets.
    """

    window: int
    windows: int
    window_step: int
    element: int
    element_step: int
    taps: int

    @property
    def level(self) -> int:
        """How often taps are doubled until two such groups cover them."""
        return max(0, (self.taps - 1).bit_length() - 1)

    def paired(self, other: Run) -> Run:
        """Join two runs of one window each: two windows are always at equal distances."""
        return self._replace(
            windows=2,
            window_step=other.window - self.window,
            element_step=other.element - self.element,
        )


@dataclass(frozen=True)
class SpatialDimension:
    """One pooled dimension: its size, and how windows lie on it.

    Attributes
    ----------
    size : int
        Number of elements, at least 1.
    window, stride, dilation : int
        Taps of a window, distance of windows, distance of taps; at least 1 each.
    start_padding, end_padding : int
        Absent elements before and after; they take no part.

    Raises
    ------
    TypeError, ValueError
        If one of them is no integer or too small, or the window is wider than the padded size.

    Examples
    --------
    >>> dimension = SpatialDimension(5, window=2, stride=2, dilation=3, start_padding=1)
    >>> dimension.extent, dimension.padded, dimension.outputs
    (4, 6, 2)
    """

    size: int
    window: int
    stride: int = 1
    dilation: int = 1
    start_padding: int = 0
    end_padding: int = 0

    def __post_init__(self) -> None:
        """Check every rule."""
        for name in ("size", "window", "stride", "dilation"):
            object.__setattr__(self, name, integer(name, getattr(self, name), 1))
        for name in ("start_padding", "end_padding"):
            object.__setattr__(self, name, integer(name, getattr(self, name)))
        if self.extent > self.padded:
            raise ValueError(
                f"window extent must not exceed the padded size {self.padded}, not {self.extent}"
            )

    def __hash__(self) -> int:
        """Hash once: every pooling looks its plans up by it."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        start, end = self.start_padding, self.end_padding
        return hash((self.size, self.window, self.stride, self.dilation, start, end))

    @cached_property
    def extent(self) -> int:
        """Elements from the first to the last tap of a window, both counted."""
        return 1 + (self.window - 1) * self.dilation

    @cached_property
    def padded(self) -> int:
        """Size with the padding of both ends."""
        return self.size + self.start_padding + self.end_padding

    @cached_property
    def outputs(self) -> int:
        """Number of windows."""
        return (self.padded - self.extent) // self.stride + 1

    @property
    def empty(self) -> np.ndarray:
        """Which windows meet no element: bool, one per window."""
        empty = np.zeros(self.outputs, bool)
        empty[self.empty_windows] = True
        return empty

    @cached_property
    def empty_windows(self) -> np.ndarray:
        """Numbers of the windows that meet no element."""
        whole = self._whole_windows
        border = np.r_[: whole.start, whole.stop : self.outputs]
        first, last = self._taps_inside(border * self.stride - self.start_padding)
        return border[first > last]

    def end_padding_for(self, outputs: int) -> int:
        """Give the end padding under which there are `outputs` windows.

        It is the present one if that will do, else the least; 0 if none is small enough.

        Examples
        --------
        A stride of 2 over 5 elements fits two windows of 2; a third needs one more element.

        >>> SpatialDimension(5, window=2, stride=2).end_padding_for(3)
        1
        """
        if outputs == self.outputs:
            return self.end_padding
        last = (outputs - 1) * self.stride + self.extent
        return max(0, last - self.size - self.start_padding)

    def taps(self) -> Iterator[tuple[slice, slice]]:
        """Give, tap by tap, the windows in which the tap meets an element, and those elements."""
        for tap in range(self.window):
            shift = tap * self.dilation - self.start_padding
            first = max(0, -(shift // self.stride))
            count = min(self.outputs, (self.size - 1 - shift) // self.stride + 1) - first
            if count > 0:
                start = first * self.stride + shift
                stop = start + (count - 1) * self.stride + 1
                yield slice(first, first + count), slice(start, stop, self.stride)

    @cached_property
    def runs(self) -> list[Run]:
        """All windows that meet an element: the whole ones first, the others in pairs or alone."""
        whole = self._whole_windows
        border = (*range(whole.start), *range(whole.stop, self.outputs))
        runs: list[Run] = []
        alone: dict[int, int] = {}
        for window, windows in ((whole.start, len(whole)), *((window, 1) for window in border)):
            start = window * self.stride - self.start_padding
            first, last = (int(tap) for tap in self._taps_inside(start))
            if not windows or first > last:
                continue
            run = Run(
                window, windows, 1, start + first * self.dilation, self.stride, last - first + 1
            )
            # Padding on both ends leaves as many elements to a window here as to one there.
            number = alone.pop(run.taps, None)
            if number is not None and runs[number].element < run.element:
                runs[number] = runs[number].paired(run)
            else:
                alone[run.taps] = len(runs)
                runs.append(run)
        return runs

    @cached_property
    def levels(self) -> set[int]:
        """The levels of all runs."""
        return {run.level for run in self.runs}

    def first_elements(self) -> np.ndarray:
        """Give the first element that each window meets; any number for an empty window."""
        first = np.arange(self.outputs) * self.stride - self.start_padding
        # A window that begins in the padding goes on from tap to tap until it meets an element.
        first[: self._whole_windows.start] %= self.dilation
        return first

    @property
    def _whole_windows(self) -> range:
        """Windows that do not reach into the padding."""
        low = min(self.outputs, -(-self.start_padding // self.stride))
        high = (self.size + self.start_padding - self.extent) // self.stride + 1
        return range(low, min(self.outputs, max(low, high)))

    def _taps_inside(self, start):
        """First and last tap inside the tensor, for a window that starts at `start`."""
        first = np.maximum(0, -(start // self.dilation))
        last = np.minimum(self.window - 1, (self.size - 1 - start) // self.dilation)
        return first, last
