"""Finds the winners of all windows of some planes.

Values are compared directly if that is exact to the bit. Otherwise keys are compared, and each
value is fetched from the position of its winner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from extremum.model.fast.order import (
    bits_follow_value,
    comparable,
    exact_key,
    from_exact_key,
    order_key,
)
from extremum.model.fast.rows import elements_at, first_winner
from extremum.model.fast.sliding import are_planes, coordinates, slide_winners
from extremum.model.fast.tiles import PlaneTile
from extremum.model.fast.values import greatest_values

__all__ = ["window_winners"]


def window_winners(
    planes: np.ndarray,
    parts: list[PlaneTile],
    weights: Sequence[int],
    nan: str,
    with_positions: bool,
) -> tuple[np.ndarray | None, np.ndarray]:
    """Find the winner of every window of a tile.

    Parameters
    ----------
    planes : ndarray
        Some planes: (N, C, H, W) or (N, C, D, H, W).
    parts : list of PlaneTile
        The tile, as parts with some taps each; at least one.
    weights : sequence of int
        What a step along each spatial dimension adds to the row-major position in a plane.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or loses to every number.
    with_positions : bool
        Whether positions are wanted.

    Returns
    -------
    positions : ndarray or None
        Row-major positions within a plane, None if they are not wanted. Empty windows have any
        number.
    values : ndarray
        Elements that win, with their bits. Empty windows have any value.
    """
    cuts = [planes[(..., *part.elements)] for part in parts]
    if not with_positions:
        value = greatest_values(cuts, parts)
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
        key = exact_key(cut) if exact else order_key(cut, nan=nan)
        origin = sum(e.start * w for e, w in zip(part.elements, weights, strict=True))
        key, candidate = slide_winners(key, part.dimensions, weights, origin)
        if len(parts) > 1:
            for axis, dimension in enumerate(part.dimensions, 2):
                # A window that meets nothing with these taps must lose, even against the lowest
                # element.
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
    value = from_exact_key(best, planes.dtype) if exact else _fetch(planes, position)
    return position if with_positions else None, value


def _fetch(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the elements at `positions`, which count row-major in each plane of `x`."""
    plane = math.prod(x.shape[2:])
    # The positions of empty windows may be out of range; their values are overwritten later.
    inside = np.clip(positions, 0, plane - 1)
    n, c = (np.arange(size) for size in x.shape[:2])
    n, c = (axis.reshape(-1, *(1,) * rank) for axis, rank in ((n, x.ndim - 1), (c, x.ndim - 2)))
    if x.flags.c_contiguous:
        return x.reshape(-1).take((n * x.shape[1] + c) * plane + inside)
    return x[(n, c, *coordinates(inside, x.shape[2:]))]
