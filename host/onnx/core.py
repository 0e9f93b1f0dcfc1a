"""The core that a network needs: types, operators, windows and lines of its own layers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from extremum.hdl.config import MAX_DILATION, MAX_LINE, MAX_PLANE, CoreConfig
from extremum.model import DataType, Pooling, Reduction
from extremum.onnx.layers import attributes_of
from extremum.onnx.network import Candidate

__all__ = ["core_for"]

WIDEST_WINDOW = 16
"""Larger windows are not built: the host gathers them, and the core reduces them."""


@dataclass(frozen=True)
class _Needs:
    """What one layer needs of a core; `window` is None unless windows slide."""

    data_type: DataType | None
    minimum: bool
    window: tuple[int, ...] | None = None
    dilations: tuple[int, ...] = ()
    line: int = 1
    plane: int = 1
    padding: bool = False


def core_for(layers: Iterable[Candidate | Reduction | Pooling], **given: Any) -> CoreConfig:
    """Return a core on which these layers run without tiles: it has what they need, and no more.

    Of a layer whose elements have codes, the type of the codes counts.

    Parameters
    ----------
    layers
        The candidates of a network, or operators. Of a candidate that is not known before a run,
        the type, the operator, the window and its dilations count, so far as the model tells them;
        lines and planes are then as long as a core's are if nothing is said.
    given
        Parameters of the core that are decided already.

    Raises
    ------
    TypeError, ValueError
        A parameter is wrong.
    """
    every = [needs for needs in map(_needs, layers) if needs is not None]
    types = {needs.data_type for needs in every} - {None} or {DataType.FLOAT32}
    chosen: dict[str, Any] = {"data_types": tuple(t for t in DataType if t in types)}
    # The host gathers large windows for an argmax, so that every core has it.
    least = any(needs.minimum for needs in every)
    chosen["operators"] = (*(["argmin"] if least else []), "argmax", "max-pool")
    sliding = [(needs, needs.window) for needs in every if needs.window is not None]
    windows = [_volume(window) for _, window in sliding] or [(1, 1, 1)]
    dilations = [_volume(needs.dilations) for needs, _ in sliding] or [(1, 1, 1)]
    chosen["max_window"] = tuple(map(max, zip(*windows, strict=True)))
    # What exceeds the largest core is cut into tiles, or gathered by the host.
    chosen["max_dilation"] = tuple(
        min(max(each), MAX_DILATION) for each in zip(*dilations, strict=True)
    )
    line = max((needs.line for needs, _ in sliding), default=1)
    plane = max((needs.plane for needs, _ in sliding), default=1)
    chosen |= {"max_line": min(line, MAX_LINE), "max_plane": min(plane, MAX_PLANE)}
    chosen["padding"] = any(needs.padding for needs, _ in sliding)
    return CoreConfig(**chosen | given)


def _needs(layer: Candidate | Reduction | Pooling) -> _Needs | None:
    """Return what a layer needs; None if it is not taken."""
    if isinstance(layer, Candidate):
        if layer.layer is None:
            return None if layer.reason else _needs_of_node(layer)
        layer = layer.layer.problem
    if isinstance(layer, Reduction):
        return _Needs(layer.data_type, layer.function.is_minimum)
    # Windows of a whole plane are reductions, and the largest are gathered.
    whole = all(size == 1 for size in layer.output_sizes[2:])
    if whole or max(layer.window) > WIDEST_WINDOW:
        return _Needs(layer.data_type, minimum=False)
    width, height = layer.output_sizes[-1], layer.output_sizes[-2]
    padding = any(layer.start_padding) or any(layer.end_padding)
    return _Needs(
        layer.data_type, False, layer.window, layer.dilations, width, width * height, padding
    )


def _needs_of_node(candidate: Candidate) -> _Needs:
    """Return what a node needs of which sizes, axes or type are not known before a run."""
    if candidate.codes is not None:
        data_type = candidate.codes.data_type
    else:
        named = candidate.data_type
        data_type = None if named is None else DataType.from_dtype(named)
    minimum = candidate.node.op_type in ("ArgMin", "ReduceMin")
    given = attributes_of(candidate.node)
    window = tuple(given.get("kernel_shape", ()))
    dilations = tuple(given.get("dilations") or (1,) * len(window))
    if not 1 <= len(window) <= 3 or len(dilations) != len(window):
        return _Needs(data_type, minimum)
    if min(*window, *dilations) < 1 or max(*window, *dilations) > WIDEST_WINDOW:
        return _Needs(data_type, minimum)
    default = CoreConfig()
    automatic = given.get("auto_pad", "NOTSET").startswith("SAME") or given.get("ceil_mode", 0)
    return _Needs(
        data_type, minimum, window, dilations, default.max_line, default.max_plane,
        bool(automatic) or any(given.get("pads", ())),
    )  # fmt: skip


def _volume(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return a number for each of three dimensions; a missing depth is 1."""
    return (1,) * (3 - len(sizes)) + sizes
