"""One pooled dimension: how windows lie on the elements and on the padding beside them.

The terms and the formulas are those of DirectML's page DML_MAX_POOLING2_OPERATOR_DESC. Its formula
of the output size omits the dilation; here the window's extent includes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from extremum.model.checks import MAX_ELEMENTS, integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ClippedWindows", "SpatialDimension", "WindowSeries"]


class WindowSeries(NamedTuple):
    """Windows at equal distances, all of which meet the same number of elements.

    Attributes
    ----------
    window, windows, window_step : int
        Number of the first window, how many windows there are, and the difference of the numbers
        of two neighbours.
    element, element_step : int
        The first element that the first window meets, and the distance from there to the first
        element that its neighbour meets.
    taps : int
        How many elements each window meets.
    """

    window: int
    windows: int
    window_step: int
    element: int
    element_step: int
    taps: int

    @property
    def level(self) -> int:
        """How often one tap must be doubled until two such groups of taps cover the window."""
        return max(0, (self.taps - 1).bit_length() - 1)

    def paired(self, other: WindowSeries) -> WindowSeries:
        """Join two series of one window each: two windows are always at equal distances."""
        return self._replace(
            windows=2,
            window_step=other.window - self.window,
            element_step=other.element - self.element,
        )


@dataclass(frozen=True)
class SpatialDimension:
    """One pooled dimension: its size, and how windows lie on it.

    A window has `window` taps that lie `dilation` apart. The first window begins `start_padding`
    before the first element, every next window begins `stride` later, and the last one ends at most
    `end_padding` behind the last element. Taps outside of the elements meet nothing.

    Attributes
    ----------
    size : int
        Number of elements, at least 1.
    window, stride, dilation : int
        Number of taps, distance of windows, distance of taps; at least 1 each. A stride beyond
        2^32 - 1 is kept as that, and so is the dilation of a single tap: neither leads anywhere.
    start_padding, end_padding : int
        Number of absent elements before the first and behind the last, which take no part.

    Raises
    ------
    TypeError, ValueError
        If one of them is no integer or too small, or the window is wider than the padded size.

    Examples
    --------
    Two windows fit; the first tap of the first one lies in padding.

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
                f"window extent must not exceed the padded size {self.padded}, not {self.extent}: "
                "give more padding, or a smaller window"
            )
        # NumPy has no integers for all steps; one that is longer than any line leads nowhere.
        object.__setattr__(self, "stride", min(self.stride, MAX_ELEMENTS))
        if self.window == 1:
            object.__setattr__(self, "dilation", min(self.dilation, MAX_ELEMENTS))

    def __hash__(self) -> int:
        """Return the hash, which is computed once because every pooling looks up plans by it."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        start, end = self.start_padding, self.end_padding
        return hash((self.size, self.window, self.stride, self.dilation, start, end))

    @cached_property
    def extent(self) -> int:
        """Number of elements from the first to the last tap of a window, both included."""
        return 1 + (self.window - 1) * self.dilation

    @cached_property
    def padded(self) -> int:
        """Number of elements with the padding at both ends."""
        return self.size + self.start_padding + self.end_padding

    @cached_property
    def outputs(self) -> int:
        """Number of windows."""
        return (self.padded - self.extent) // self.stride + 1

    @property
    def empty(self) -> NDArray[np.bool_]:
        """For each window, whether it meets no element: an array of bool."""
        empty = np.zeros(self.outputs, bool)
        empty[self.empty_windows] = True
        return empty

    @cached_property
    def empty_windows(self) -> NDArray[np.int_]:
        """The numbers of the windows that meet no element, ascending."""
        whole = self._whole_windows
        border = np.r_[: whole.start, whole.stop : self.outputs]
        first, last = self.taps_inside(border * self.stride - self.start_padding)
        return border[first > last]

    @cached_property
    def met_windows(self) -> range | NDArray[np.int_]:
        """The numbers of the windows that meet an element, ascending.

        They follow each other, so a ``range`` tells them without looking at any window alone. There
        may be gaps only where the dilation is greater than the size: then a window can hold all
        elements between two of its taps, and an array lists the windows.
        """
        # The first window whose last tap is at the first element or later, and so at the other end.
        first = max(0, -((self.extent - 1 - self.start_padding) // self.stride))
        stop = min(self.outputs, (self.size - 1 + self.start_padding) // self.stride + 1)
        reach = range(first, max(first, stop))
        if self.window == 1 or self.dilation <= self.size:
            return reach
        starts = np.asarray(reach, np.int64) * self.stride - self.start_padding
        # Where a window begins in the padding, this is the first coordinate of a tap behind it.
        met = np.where(starts < 0, starts % self.dilation, starts) < self.size
        return np.asarray(reach)[met]

    def end_padding_for(self, outputs: int) -> int:
        """Return an end padding with which there are `outputs` windows.

        This is the present end padding if it gives so many windows, else the least that does. It is
        0 if even that gives more windows.

        Examples
        --------
        With a stride of 2, two windows of 2 fit on 5 elements; a third one needs one more element.

        >>> SpatialDimension(5, window=2, stride=2).end_padding_for(3)
        1
        """
        if outputs == self.outputs:
            return self.end_padding
        last = (outputs - 1) * self.stride + self.extent
        return max(0, last - self.size - self.start_padding)

    def taps(self) -> Iterator[slice]:
        """Yield, for each tap that meets an element in some window, the windows in which it does.

        Examples
        --------
        The first tap of the first window lies in padding.

        >>> list(SpatialDimension(3, window=2, start_padding=1).taps())
        [slice(1, 3, None), slice(0, 3, None)]
        """
        for tap in range(self.window):
            shift = tap * self.dilation - self.start_padding
            first = max(0, -(shift // self.stride))
            stop = min(self.outputs, (self.size - 1 - shift) // self.stride + 1)
            if first < stop:
                yield slice(first, stop)

    def clipped(self, windows: slice, taps: slice | None = None) -> ClippedWindows | None:
        """Clip some windows, or some of their taps, to the elements between their outermost taps.

        The outermost taps are those that meet an element, if there are such: taps that lie behind
        the elements in every window keep no element. What lies outside of the tensor, and what is
        not kept, becomes the padding of the part. This is how a pooling is cut into tiles, each of
        which is a pooling of its own.

        Parameters
        ----------
        windows : slice
            The windows from ``windows.start`` to before ``windows.stop``; at least one.
        taps : slice, optional
            The taps from ``taps.start`` to before ``taps.stop``, at least one; by default all.

        Returns
        -------
        ClippedWindows or None
            None if all elements from the first to the last tap are padding.

        Examples
        --------
        The first of three windows begins in the padding; the last two do not meet element 0.

        >>> dimension = SpatialDimension(4, window=2, stride=2, start_padding=1, end_padding=1)
        >>> dimension.clipped(slice(0, 1)).dimension
        SpatialDimension(size=1, window=2, stride=2, dilation=1, start_padding=1, end_padding=0)
        >>> dimension.clipped(slice(1, 3)).elements
        slice(1, 4, None)

        The second tap lies in padding, so one element of two is kept.

        >>> dilated = SpatialDimension(2, window=2, dilation=2, end_padding=1)
        >>> dilated.clipped(slice(0, 1)).elements
        slice(0, 1, None)
        """
        first, last = (0, self.window - 1) if taps is None else (taps.start, taps.stop - 1)
        low = windows.start * self.stride + first * self.dilation - self.start_padding
        high = (windows.stop - 1) * self.stride + last * self.dilation - self.start_padding + 1
        start, stop = max(0, low), min(self.size, high)
        if start >= stop:
            return None
        # The first window begins first, so a tap that lies behind the elements in it always does.
        met = min(last - first, (self.size - 1 - low) // self.dilation)
        stop = max(start + 1, min(stop, high - (last - first - met) * self.dilation))
        part = SpatialDimension(
            stop - start, last - first + 1, self.stride, self.dilation, start - low, high - stop
        )
        return ClippedWindows(part, slice(start, stop))

    @cached_property
    def window_series(self) -> list[WindowSeries]:
        """All windows that meet an element, in as few series as is simple.

        The first series holds the windows that do not reach into the padding. The others hold one
        window each, or two if a window at the start meets as many elements as one at the end.
        """
        whole = self._whole_windows
        border = (*range(whole.start), *range(whole.stop, self.outputs))
        found: list[WindowSeries] = []
        alone: dict[int, int] = {}
        for window, windows in ((whole.start, len(whole)), *((window, 1) for window in border)):
            start = window * self.stride - self.start_padding
            first, last = (int(tap) for tap in self.taps_inside(start))
            if not windows or first > last:
                continue
            element, taps = start + first * self.dilation, last - first + 1
            series = WindowSeries(window, windows, 1, element, self.stride, taps)
            number = alone.pop(taps, None)
            if number is not None and found[number].element < series.element:
                found[number] = found[number].paired(series)
            else:
                alone[taps] = len(found)
                found.append(series)
        return found

    @cached_property
    def levels(self) -> set[int]:
        """The levels of all series."""
        return {series.level for series in self.window_series}

    def first_elements(self) -> NDArray[np.int_]:
        """Return the first element that each window meets; empty windows have any number."""
        first = np.arange(self.outputs) * self.stride - self.start_padding
        # The first tap inside of a window that begins in padding is less than a dilation from 0.
        first[: self._whole_windows.start] %= self.dilation
        return first

    @property
    def _whole_windows(self) -> range:
        """The windows that do not reach into the padding."""
        low = min(self.outputs, -(-self.start_padding // self.stride))
        high = (self.size + self.start_padding - self.extent) // self.stride + 1
        return range(low, min(self.outputs, max(low, high)))

    @overload
    def taps_inside(self, start: int) -> tuple[np.int_, np.int_]: ...

    @overload
    def taps_inside(
        self, start: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]: ...

    def taps_inside(self, start: int | NDArray[np.integer[Any]]) -> tuple[Any, Any]:
        """Return the first and the last tap inside the tensor of windows that begin at `start`.

        If a window has no such tap, the first lies behind the last.
        """
        first = np.maximum(0, -(start // self.dilation))
        last = np.minimum(self.window - 1, (self.size - 1 - start) // self.dilation)
        return first, last


class ClippedWindows(NamedTuple):
    """Some windows of a dimension as a dimension of their own.

    Attributes
    ----------
    dimension : SpatialDimension
        The windows, as they lie on the elements of the part.
    elements : slice
        Where these elements lie in the whole dimension.
    """

    dimension: SpatialDimension
    elements: slice
