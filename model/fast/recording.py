"""Records what is done with the arrays of one problem, and does it again with other tensors.

Of a small tensor, NumPy takes as long to make views of arrays as to compare their elements. What is
done with them follows from the sizes alone, so it is recorded once: the arrays in between, and all
views, are kept with it. Arrays that are not needed at the same time share memory, so more of it
stays in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from mmap import mmap
from typing import Any, NamedTuple, Protocol

import numpy as np

from extremum.model.fast.pages import address, bytes_at_page

__all__ = ["AtOnce", "Operations", "Recording"]


class _Place(NamedTuple):
    """Where a view lies in one of the arrays that each repetition has anew.

    Attributes
    ----------
    array : int
        Number of the array.
    shape, dtype, offset, strides
        As the parameters of `numpy.ndarray`.
    """

    array: int
    shape: tuple[int, ...]
    dtype: np.dtype
    offset: int
    strides: tuple[int, ...]


class _Step(NamedTuple):
    """An operation on arrays.

    Attributes
    ----------
    operation : callable
    operands : list
        What it is called with; any object where there is a place.
    places : list of (int, _Place)
        The operands that are views of new arrays, by their number.
    """

    operation: Callable[..., object]
    operands: list[Any]
    places: list[tuple[int, _Place]]


class _Array(NamedTuple):
    """An array that a recording will own.

    Attributes
    ----------
    array : ndarray
    first, last : int
        Numbers of the first and of the last step that needs it.
    """

    array: np.ndarray
    first: int
    last: int


class Operations(Protocol):
    """What takes operations on arrays: `AtOnce` does them, a `Recording` keeps them."""

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an array for what lies in between, C-contiguous, with any elements."""
        ...

    def add(self, operation: Callable[..., object], *operands: Any) -> None:
        """Add an operation, and what it is called with."""
        ...

    def add_once(self, operation: Callable[..., object], *operands: Any) -> None:
        """Add an operation whose results no other one overwrites, so that once is enough."""
        ...


class AtOnce:
    """Does operations as they are added."""

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Do what `Operations.array` does."""
        return np.empty(shape, dtype)

    def add(self, operation: Callable[..., object], *operands: Any) -> None:
        """Do an operation."""
        operation(*operands)

    add_once = add


class Recording:
    """A sequence of operations on arrays, to be done again with other arrays in some places.

    A recording owns the other arrays, so no two threads may repeat it at once. While it is made,
    arrays take no memory: nothing is read or written before `end`.

    Examples
    --------
    >>> recording = Recording()
    >>> tensor, result = (recording.stand_in((size,), np.dtype(int)) for size in (3, 2))
    >>> recording.add(np.add, tensor[1:], tensor[:-1], result)
    >>> recording.end()
    >>> found = np.empty(2, int)
    >>> recording.repeat(np.array([1, 3, 2]), found)
    >>> found
    array([4, 5])
    """

    def __init__(self) -> None:
        self._stand_ins: list[np.ndarray] = []
        self._once: list[_Step] = []
        self._steps: list[_Step] = []

    def __len__(self) -> int:
        """Return the number of operations of a repetition."""
        return len(self._steps)

    def needed_bytes(self) -> int:
        """Find the bytes of the arrays that it will own, before its end.

        What is left free for them to begin where pages do is not counted.
        """
        return sum(_nbytes(space) for space in self._spaces())

    def stand_in(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an array that stands for one which each repetition has anew."""
        self._stand_ins.append(_reserved(shape, dtype))
        return self._stand_ins[-1]

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an array that the recording will own."""
        return _reserved(shape, dtype)

    def add(self, operation: Callable[..., object], *operands: Any) -> None:
        """Add an operation, which is not done yet.

        Parameters
        ----------
        operation : callable
        *operands
            What it is called with. A view of a stand-in means the same view of the array for which
            it stands, and a view of another array that of what the recording will own instead.
            Everything else is kept as it is.
        """
        step = _Step(operation, list(operands), [])
        for number, operand in enumerate(operands):
            if place := self._place(operand):
                step.operands[number] = None
                step.places.append((number, place))
        self._steps.append(step)

    def add_once(self, operation: Callable[..., object], *operands: Any) -> None:
        """Add an operation that is done at the end of the recording, not by a repetition.

        The arrays that it writes, none of them a stand-in, share their memory with no other.
        """
        self._once.append(_Step(operation, list(operands), []))

    def end(self) -> None:
        """Make the arrays, and forget the stand-ins: nothing more is added."""
        self._stand_ins = []
        memory = {}
        for space in self._spaces():
            shared = bytes_at_page(_nbytes(space))
            memory |= {id(owned.array): shared for owned in space}
        for step in (*self._once, *self._steps):
            for number, operand in enumerate(step.operands):
                if isinstance(operand, np.ndarray):
                    whole = _whole(operand)
                    step.operands[number] = np.ndarray(
                        operand.shape,
                        operand.dtype,
                        memory[id(whole)],
                        address(operand) - address(whole),
                        operand.strides,
                    )
        for operation, operands, _ in self._once:
            operation(*operands)

    def repeat(self, *arrays: np.ndarray) -> None:
        """Do all operations in their order.

        Parameters
        ----------
        *arrays : ndarray
            C-contiguous, one for each stand-in.
        """
        for operation, operands, places in self._steps:
            actual = operands.copy() if places else operands
            for number, (array, shape, dtype, offset, strides) in places:
                actual[number] = np.ndarray(shape, dtype, arrays[array], offset, strides)
            operation(*actual)

    def _spaces(self) -> list[list[_Array]]:
        """Return the arrays that it will own, in groups of those that share memory."""
        spaces: list[list[_Array]] = []
        for owned in self._owned():
            free = [space for space in spaces if space[-1].last < owned.first]
            if free:
                max(free, key=_nbytes).append(owned)
            else:
                spaces.append([owned])
        return spaces

    def _owned(self) -> list[_Array]:
        """Return the arrays that it will own, in the order in which they are first needed."""
        found: dict[int, _Array] = {}
        for number, step in enumerate(self._steps):
            for operand in step.operands:
                if isinstance(operand, np.ndarray):
                    whole = _whole(operand)
                    first = found[id(whole)].first if id(whole) in found else number
                    found[id(whole)] = _Array(whole, first, number)
        for step in self._once:
            for operand in step.operands:
                if isinstance(operand, np.ndarray):
                    whole = _whole(operand)
                    found[id(whole)] = _Array(whole, 0, len(self))
        return [*found.values()]

    def _place(self, operand: object) -> _Place | None:
        """Return where an array lies in a stand-in, None if it is none of its views."""
        if isinstance(operand, np.ndarray):
            for number, array in enumerate(self._stand_ins):
                if _whole(operand) is array:
                    offset = address(operand) - address(array)
                    return _Place(number, operand.shape, operand.dtype, offset, operand.strides)
        return None


def _reserved(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array with addresses of its own, whose pages take no memory unless written."""
    return np.ndarray(shape, dtype, mmap(-1, math.prod(shape) * dtype.itemsize))


def _nbytes(space: list[_Array]) -> int:
    """Return how many bytes the largest of some arrays has."""
    return max(owned.array.nbytes for owned in space)


def _whole(array: np.ndarray) -> np.ndarray:
    """Return the array of which an array is a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
