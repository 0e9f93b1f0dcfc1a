"""Asks the C library to keep the memory of freed arrays for the next arrays.

A pooling or a reduction allocates a few arrays that it frees at its end. The C library returns such
memory to the operating system as soon as the uppermost part of the heap is free, and the next call
gets it again page by page, each cleared and mapped at its first use. That takes several times as
long as the comparisons do: a pooling of half a million bytes becomes five times as slow.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import numpy as np

__all__ = ["keep_freed_memory"]

LARGEST_BYTES = (1 << 25) - (1 << 13)
"""The largest block from which glibc learns, with room for the header of the block."""


@cache
def keep_freed_memory() -> None:
    """Let the process keep up to 64 MiB of freed memory, from now on; done once.

    glibc raises the size from which it maps memory for an array alone to that of the largest such
    array that was freed, and keeps twice as much on its heap. So freeing one large array, of which
    no page is ever used, is enough. It is what happens in any process that frees an array of 32
    MiB. The environment variables ``MALLOC_TRIM_THRESHOLD_`` and ``MALLOC_MMAP_THRESHOLD_``, where
    they are set, are obeyed instead. Other C libraries take no notice, and a process that may not
    have so much memory goes on as before.
    """
    with suppress(MemoryError):
        np.empty(LARGEST_BYTES, np.uint8)
