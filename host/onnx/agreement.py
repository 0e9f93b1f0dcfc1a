"""Where ONNX Runtime gives other bits than the contract, depending on the values of a tensor.

The standard of ONNX leaves these cases open, and what ONNX Runtime gives depends on the order in
which its kernels compare. Seen on its CPU provider, version 1.32:

- NaN. ArgMax and ArgMin choose a NaN only if it is the first element, MaxPool keeps or loses it by
  its place in the window, and ReduceMax, ReduceMin and GlobalMaxPool skip it. Ours propagate it.
- Zeros of both signs are equal, so either may be the result. Ours is the first of them; where ONNX
  Runtime gives no positions, the sign is that of any of them.
- Of nothing but -inf, GlobalMaxPool gives the lowest finite number, and so may MaxPool if its
  positions are not asked for.
"""

from __future__ import annotations

import numpy as np

from extremum.model import Reduction
from extremum.onnx.layers import Layer, NotTaken

__all__ = ["check_values"]


def check_values(operator: str, layer: Layer, x: np.ndarray) -> None:
    """Refuse a tensor of which ONNX Runtime gives other bits than the contract.

    Parameters
    ----------
    operator
        The operator of the node, as ONNX names it.
    layer
        What it computes.
    x
        Its input.

    Raises
    ------
    NotTaken
        The layer is left to ONNX Runtime, which then decides as it does.
    """
    if x.dtype.kind != "f":
        return
    if np.isnan(x).any():
        raise NotTaken("the input has NaN, which ONNX Runtime treats by another rule")
    problem = layer.problem
    gives_positions = (
        problem.function.gives_index if isinstance(problem, Reduction) else problem.return_indices
    )
    if gives_positions:
        return
    negative = np.signbit(x[x == 0])
    if negative.any() and not negative.all():
        raise NotTaken("the input has zeros of both signs, of which ONNX Runtime takes any")
    if operator in ("MaxPool", "GlobalMaxPool") and np.isneginf(x).any():
        raise NotTaken("the input has -inf, which ONNX Runtime may pool to the lowest number")
