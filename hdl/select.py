"""One of several values, chosen by an index that is a signal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Mux, Value, ValueLike


def select(index: Value, values: Sequence[ValueLike]) -> Value:
    """Return ``values[index]``, by a tree of multiplexers; the index must be within the values."""
    level: list[Any] = [Value.cast(value) for value in values]
    for bit in index:
        if len(level) == 1:
            break
        if len(level) % 2:
            level.append(level[-1])
        level = [Mux(bit, odd, even) for even, odd in zip(level[::2], level[1::2], strict=True)]
    return level[0]
