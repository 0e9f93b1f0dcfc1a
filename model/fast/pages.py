"""Memory that begins where a page does, for arrays in between.

NumPy takes up to half as long again for a step where its vectors cross from one line of the cache
into the next, or where it writes a little ahead, modulo a page, of what it reads. Where all arrays
begin as pages do, both are rare.
"""

from __future__ import annotations

import numpy as np

__all__ = ["PAGE", "address", "bytes_at_page"]

PAGE = 1 << 12
"""Bytes of a page."""


def bytes_at_page(size: int) -> np.ndarray:
    """Return so many fresh bytes, of any value, that begin where a page begins."""
    memory = np.empty(size + PAGE, np.uint8)
    start = -address(memory) % PAGE
    return memory[start : start + size]


def address(array: np.ndarray) -> int:
    """Return the address of the first element."""
    return array.__array_interface__["data"][0]
