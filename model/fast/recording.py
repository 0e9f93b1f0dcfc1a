"""Records what is done with the arrays of one problem, and does it again with other tensors.

Of a small tensor, NumPy takes as long to make views of arrays as to compare their elements. What is
done with them follows from the sizes alone, so it is recorded once: the arrays in between, and all
views, are kept with it. Arrays that are not needed at the same time share memory, so more of it
stays in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Recording"]


LINE = 64
"""Bytes of a line of the cache."""


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
    """An array that a recording owns.

    Attributes
    ----------
    array : ndarray
    first, last : int
        Numbers of the first and of the last step that needs it.
    """

    array: np.ndarray
    first: int
    last: int


class Recording:
    """A sequence of operations on arrays, to be done again with other arrays in some places.

    A recording owns the other arrays, so no two threads may repeat it at once.

    Parameters
    ----------
    stand_ins : ndarray
        C-contiguous arrays of the shapes and types of those that each repetition has anew.

    Examples
    --------
    >>> tensor, result = np.empty(3), np.empty(2)
    >>> recording = Recording(tensor, result)
    >>> recording.add(np.add, tensor[1:], tensor[:-1], result)
    >>> recording.end()
    >>> recording.repeat(np.array([1.0, 3.0, 2.0]), result)
    >>> result
    array([4., 5.])
    """

    def __init__(self, *stand_ins: np.ndarray) -> None:
        self._stand_ins = stand_ins
        self._steps: list[_Step] = []
        self._kept: list[np.ndarray] = []

    def __len__(self) -> int:
        """Return the number of operations."""
        return len(self._steps)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it owns."""
        return sum(owned.array.nbytes for owned in self._owned())

    def add(self, operation: Callable[..., object], *operands: Any) -> None:
        """Add an operation, which is not done yet.

        Parameters
        ----------
        operation : callable
        *operands
            What it is called with. A view of a stand-in means the same view of the array for which
            it stands. Everything else is kept as it is.
        """
        step = _Step(operation, list(operands), [])
        for number, operand in enumerate(operands):
            if place := self._place(operand):
                step.operands[number] = None
                step.places.append((number, place))
        self._steps.append(step)

    def keep(self, array: np.ndarray) -> None:
        """Let an array share its memory with no other, so that what is in it is there for good."""
        self._kept.append(_whole(array))

    def end(self) -> None:
        """Forget the stand-ins: nothing more is added. Arrays share memory from now on."""
        self._stand_ins = ()
        spaces: list[list[_Array]] = []
        for owned in self._owned():
            free = [space for space in spaces if space[-1].last < owned.first]
            if free:
                max(free, key=_nbytes).append(owned)
            else:
                spaces.append([owned])
        memory = {}
        for space in spaces:
            bytes_ = _aligned(_nbytes(space))
            for owned in space:
                memory[id(owned.array)] = bytes_[: owned.array.nbytes]
        for array in self._kept:
            memory[id(array)][...] = array.reshape(-1).view(np.uint8)
        for step in self._steps:
            for number, operand in enumerate(step.operands):
                if isinstance(operand, np.ndarray):
                    whole = _whole(operand)
                    step.operands[number] = np.ndarray(
                        operand.shape,
                        operand.dtype,
                        memory[id(whole)],
                        _address(operand) - _address(whole),
                        operand.strides,
                    )

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

    def _owned(self) -> list[_Array]:
        """Return the arrays that it owns, in the order in which they are first needed."""
        found: dict[int, _Array] = {}
        for number, step in enumerate(self._steps):
            for operand in step.operands:
                if isinstance(operand, np.ndarray):
                    whole = _whole(operand)
                    first = found[id(whole)].first if id(whole) in found else number
                    found[id(whole)] = _Array(whole, first, number)
        for array in self._kept:
            found[id(array)] = _Array(array, 0, len(self))
        return [*found.values()]

    def _place(self, operand: object) -> _Place | None:
        """Return where an array lies in a stand-in, None if it is none of its views."""
        if isinstance(operand, np.ndarray):
            for number, array in enumerate(self._stand_ins):
                if np.may_share_memory(operand, array):
                    offset = _address(operand) - _address(array)
                    return _Place(number, operand.shape, operand.dtype, offset, operand.strides)
        return None


def _nbytes(space: list[_Array]) -> int:
    """Return how many bytes the largest of some arrays has."""
    return max(owned.array.nbytes for owned in space)


def _aligned(size: int) -> np.ndarray:
    """Return fresh bytes that begin where a line of the cache begins."""
    memory = np.empty(size + LINE, np.uint8)
    start = -_address(memory) % LINE
    return memory[start : start + size]


def _whole(array: np.ndarray) -> np.ndarray:
    """Return the array of which an array is a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _address(array: np.ndarray) -> int:
    """Return the address of the first element."""
    return array.__array_interface__["data"][0]
