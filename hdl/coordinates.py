"""The coordinates of a line's slots, and which of them lie in the tensor: the others are padding.

A slot has the coordinate of the element that it takes, if there is one. The first coordinates are
negative where the first windows lie wholly in the start padding.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Mux, Value


def inside(coordinate: Value, size_less_one: Value) -> Value:
    """Return whether a coordinate is in the tensor; all others are padding, where taps are absent.

    The coordinate is signed and one bit wider than the size: a negative one, read as unsigned,
    is beyond every size. A line of slots, those in front of element 0 included, and the extent of a
    window are shorter than ``2**coordinate_width``, so a coordinate that wraps does not come back
    to the tensor.
    """
    return coordinate.as_unsigned() <= size_less_one


def least_coordinate(head: Any) -> Any:
    """Return the coordinate of a job's first slot: 0, or that of a window in the start padding."""
    return min(head, 0) if isinstance(head, int) else Mux(head < 0, head, 0)


def slots_from_zero(head: Any) -> Any:
    """Return how many slots there are from coordinate 0 to that of the first window's last tap."""
    return max(head, 0) if isinstance(head, int) else Mux(head < 0, 0, head)


def slots_before_zero(head: Any) -> Any:
    """Return how many slots of a line lie in front of coordinate 0: these hold no element."""
    return max(-head, 0) if isinstance(head, int) else Mux(head < 0, -head, 0)
