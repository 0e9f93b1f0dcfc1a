"""Arrays that come piece by piece, and hold together what was said before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

__all__ = ["exactly"]


def exactly(
    pieces: Iterable[np.ndarray], size: int, measure: Callable[[np.ndarray], int], told: str
) -> Iterator[np.ndarray]:
    """Yield pieces of something; they must hold as much together as was said before.

    Parameters
    ----------
    pieces
        Arrays.
    size
        What they hold together.
    measure
        Returns what a piece holds.
    told
        The message of the error, with ``{}`` for the word ``more`` or ``fewer``.

    Raises
    ------
    ValueError
        They hold more or fewer. A piece with which they hold more is not given.
    """
    left = size
    for piece in pieces:
        left -= measure(piece)
        if left < 0:
            raise ValueError(told.format("more"))
        yield piece
    if left:
        raise ValueError(told.format("fewer"))
