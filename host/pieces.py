"""Checks that arrays which come piece by piece have the total size that was announced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

__all__ = ["checked_total"]


def checked_total(
    pieces: Iterable[np.ndarray], size: int, size_of: Callable[[np.ndarray], int], message: str
) -> Iterator[np.ndarray]:
    """Yield the pieces, and refuse them if their sizes do not add up to what was announced.

    Parameters
    ----------
    pieces
        Arrays.
    size
        The size that was announced for all of them together.
    size_of
        Returns the size of a piece, in the same unit.
    message
        The message of the error, with ``{}`` for the word ``more`` or ``fewer``.

    Raises
    ------
    ValueError
        The total is larger or smaller. A piece that makes it larger is not yielded.
    """
    left = size
    for piece in pieces:
        left -= size_of(piece)
        if left < 0:
            raise ValueError(message.format("more"))
        yield piece
    if left:
        raise ValueError(message.format("fewer"))
