"""Lets NumPy combine arrays with gaps in buffers so small that they stay in the fastest cache.

Where rows of an operand do not follow each other in memory, NumPy (from 2.3 on) copies many rows
into a buffer and combines them there in one go, 8192 elements at a time. With single floats, three
such buffers fill more than the first cache of most processors, and buffers of a quarter of that
take a tenth to a third off such a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["LEAST_TO_BUFFER", "buffers_in_cache"]

BUFFERED_ELEMENTS = 1 << 11
"""Number of elements in a buffer. Measured for 1, 2, 4 and 8 bytes: half of it serves wide elements
better and others worse."""
LEAST_TO_BUFFER = 1 << 16
"""Least number of elements of a tensor for which changing the size, which takes some microseconds,
is worth it."""


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
