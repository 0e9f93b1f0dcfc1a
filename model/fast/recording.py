"""Records what is done with the arrays of one problem, and does it again with other tensors.

Of a small tensor, NumPy takes as long to make views of arrays as to compare their elements. What is
done with them follows from the sizes alone, so it is recorded once: the arrays in between, and all
views, are kept with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Recording"]


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

    def __len__(self) -> int:
        """Return the number of operations."""
        return len(self._steps)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it owns."""
        owned: dict[int, int] = {}
        for step in self._steps:
            for operand in step.operands:
                if isinstance(operand, np.ndarray):
                    whole = _whole(operand)
                    owned[id(whole)] = whole.nbytes
        return sum(owned.values())

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

    def end(self) -> None:
        """Forget the stand-ins: nothing more is added."""
        self._stand_ins = ()

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

    def _place(self, operand: object) -> _Place | None:
        """Return where an array lies in a stand-in, None if it is none of its views."""
        if isinstance(operand, np.ndarray):
            for number, array in enumerate(self._stand_ins):
                if np.may_share_memory(operand, array):
                    offset = _address(operand) - _address(array)
                    return _Place(number, operand.shape, operand.dtype, offset, operand.strides)
        return None


def _whole(array: np.ndarray) -> np.ndarray:
    """Return the array of which an array is a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _address(array: np.ndarray) -> int:
    """Return the address of the first element."""
    return array.__array_interface__["data"][0]
