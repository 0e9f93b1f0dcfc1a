"""The core that a network needs: types, operators, windows and lines of its own layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from extremum.hdl.config import CoreConfig
from extremum.model import DataType, Pooling, ReduceFunction, Reduction

__all__ = ["core_for"]

WIDEST_WINDOW = 16
"""Larger windows are not built: the host gathers them, and the core reduces them."""


def core_for(problems: Iterable[Reduction | Pooling], **given: Any) -> CoreConfig:
    """Return the smallest core on which these operators run without tiles.

    Parameters
    ----------
    problems
        The operators of all layers.
    given
        Parameters of the core that are decided already.

    Raises
    ------
    TypeError, ValueError
        A parameter is wrong.
    """
    every = list(problems)
    types = {problem.data_type for problem in every} or {DataType.FLOAT32}
    chosen: dict[str, Any] = {"data_types": tuple(t for t in DataType if t in types)}
    least = any(
        isinstance(p, Reduction) and p.function in (ReduceFunction.ARGMIN, ReduceFunction.MIN)
        for p in every
    )
    # The host gathers large windows for an argmax, so that every core has it.
    chosen["operators"] = (*(["argmin"] if least else []), "argmax", "max-pool")
    sliding = [p for p in every if isinstance(p, Pooling) and _slides(p)]
    for name, attribute in (("max_window", "window"), ("max_dilation", "dilations")):
        lists = [_volume(getattr(p, attribute)) for p in sliding] or [(1, 1, 1)]
        chosen[name] = tuple(max(sizes) for sizes in zip(*lists, strict=True))
    chosen["max_line"] = max((p.output_sizes[-1] for p in sliding), default=1)
    chosen["max_plane"] = max((p.output_sizes[-1] * p.output_sizes[-2] for p in sliding), default=1)
    chosen["padding"] = any(any(p.start_padding) or any(p.end_padding) for p in sliding)
    return CoreConfig(**chosen | given)


def _slides(problem: Pooling) -> bool:
    """Tell whether windows slide: those of a whole plane are reductions, the largest gathered."""
    whole = all(size == 1 for size in problem.output_sizes[2:])
    return not whole and max(problem.window) <= WIDEST_WINDOW


def _volume(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return a number for each of three dimensions; a missing depth is 1."""
    return (1,) * (3 - len(sizes)) + sizes
