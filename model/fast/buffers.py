"""Lets NumPy combine arrays with gaps in buffers so small that they stay in the fastest cache.

Where rows of an operand do not follow each other in memory, NumPy copies many rows into a buffer
and combines them there in one go, 8192 elements at a time. With single floats, three such buffers
fill more than the first cache of most processors, and buffers of a quarter of that take a tenth to
a third off such a step. Of narrow elements they fill it in no case.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["LEAST_VALUES", "LEAST_WITH_INDICES", "buffers_in_cache", "is_worth_it"]

BUFFERED_ELEMENTS = 1 << 11
"""Number of elements in a buffer. Measured for 1, 2, 4 and 8 bytes: half of it serves wide elements
better and others worse."""
WIDE = 4
"""Least bytes of an element of which values alone are found faster. Indices come with positions,
which are wide in any case."""
LEAST_VALUES, LEAST_WITH_INDICES = 1 << 18, 1 << 17
"""Least number of elements of a tensor, without indices and with them, for which changing the size,
which takes some microseconds, is worth it."""


def is_worth_it(elements: int, itemsize: int, return_indices: bool) -> bool:
    """Tell whether to pool so many elements of so many bytes within `buffers_in_cache`."""
    if return_indices:
        return elements >= LEAST_WITH_INDICES
    return itemsize >= WIDE and elements >= LEAST_VALUES


@contextmanager
def buffers_in_cache() -> Iterator[None]:
    """Within this context NumPy uses small buffers; afterwards those that it had before.

    The size belongs to the thread, or in NumPy 2 to the context of the task: no other one notices.
    """
    before = np.setbufsize(BUFFERED_ELEMENTS)
    try:
        yield
    finally:
        np.setbufsize(before)
