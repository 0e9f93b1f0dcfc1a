"""The winners of all windows of some planes: by values alone where that will do, else by keys."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .order import bits_follow_value, comparable, from_key, has_minus_zero, has_nan, order_key
from .rows import elements_at, first_winner
from .sliding import are_planes, slide_maximum, slide_winners
from .tiles import Tile

__all__ = ["window_winners"]


def window_winners(
    planes: np.ndarray,
    parts: list[Tile],
    weights: Sequence[int],
    nan: str,
    with_positions: bool,
) -> tuple[np.ndarray | None, np.ndarray]:
    """Find the winner of every window of a tile.

    Parameters
    ----------
    planes : ndarray
        (N, C, ...), with one or more channels of each.
    parts : list of Tile
        What the windows meet of a plane, taps by taps; at least one.
    weights : sequence of int
        What a step along each spatial dimension adds to a position within a plane.
    nan : {"propagate", "ignore"}
        Whether a NaN beats every number or loses to every one.
    with_positions : bool
        Whether anybody asks for the positions.

    Returns
    -------
    positions : ndarray or None
        Within a plane; those of empty windows mean nothing.
    values : ndarray
    """
    cuts = [planes[(..., *part.elements)] for part in parts]
    if not with_positions:
        value = _greatest(cuts, parts)
        if value is not None:
            return None, value
    elif cuts[0].shape == planes.shape and are_planes(parts[0].dimensions):
        rows = cuts[0].reshape(math.prod(planes.shape[:2]), -1)
        by_bits = rows.dtype == np.float16 and bits_follow_value(rows)
        position = first_winner(rows if by_bits else comparable(rows, nan=nan))
        shape = (*planes.shape[:2], *(1,) * (planes.ndim - 2))
        return position.reshape(shape), elements_at(rows, position).reshape(shape)
    exact = with_positions and all(bits_follow_value(cut) for cut in cuts)
    best = position = None
    for cut, part in zip(cuts, parts, strict=True):
        key = comparable(cut) if exact else order_key(cut, nan=nan)
        origin = sum(e.start * w for e, w in zip(part.elements, weights, strict=True))
        key, candidate = slide_winners(key, part.dimensions, weights, origin)
        if len(parts) > 1:
            for axis, dimension in enumerate(part.dimensions, 2):
                # Here an empty window must lose, also against the lowest of all elements.
                candidate[(slice(None),) * axis + (dimension.empty_windows,)] = np.iinfo(
                    np.int64
                ).max
        if best is None or position is None:
            best, position = key, candidate
        else:
            wins = (key > best) | ((key == best) & (candidate < position))
            best = np.where(wins, key, best)
            position = np.where(wins, candidate, position)
    if best is None or position is None:
        raise ValueError("parts must not be empty")
    value = from_key(best, planes.dtype) if exact else _fetch(planes, position)
    return position if with_positions else None, value


def _greatest(cuts: list[np.ndarray], parts: list[Tile]) -> np.ndarray | None:
    """Give the values of the winners, if they can be told without positions."""
    halves = cuts[0].dtype == np.float16
    for cut in cuts:
        if has_minus_zero(cut) or (halves and has_nan(cut)):
            return None
    best = None
    for cut, part in zip(cuts, parts, strict=True):
        found = slide_maximum(cut, part.dimensions)
        best = found if best is None else np.maximum(best, found)
    # Any NaN that a window meets is there, but not always with the bits of the first.
    return None if best is None or has_nan(best) else best


def _fetch(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Fetch from each plane of `x` the elements at `positions`."""
    plane = math.prod(x.shape[2:])
    # The positions of empty windows may be out of range; their values are marked later.
    inside = np.clip(positions, 0, plane - 1)
    n, c = (np.arange(size) for size in x.shape[:2])
    n, c = (axis.reshape(-1, *(1,) * rank) for axis, rank in ((n, x.ndim - 1), (c, x.ndim - 2)))
    if x.flags.c_contiguous:
        return x.reshape(-1).take((n * x.shape[1] + c) * plane + inside)
    return x[(n, c, *np.unravel_index(inside, x.shape[2:]))]
