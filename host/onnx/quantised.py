"""Tensors of a quantised network that hold real numbers, and of which whole ones are known.

A DequantizeLinear makes ``(code - zero_point) * scale`` of codes of 8 bits. If the scale is
positive, this keeps their order, and different codes become different numbers unless these overflow
or vanish. So the largest code stands for the largest number, and at the same place: a pooling or an
argmax behind a DequantizeLinear may as well compare the codes, and the core then takes 8 bits
instead of 32. In a run, the codes are computed from the numbers, and only count if all these
numbers come back from them, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from onnx import GraphProto, NodeProto, ValueInfoProto

from extremum.model import DataType
from extremum.onnx.graphs import is_standard, rank_of, type_of
from extremum.onnx.layers import is_candidate

__all__ = ["Codes", "codes_of_tensors"]

OF_RUNTIME = "com.microsoft"
"""Domain of the DequantizeLinear of ONNX Runtime itself, which older networks have."""

REAL = (np.float32, np.float16)
"""Types of scales. What they make of a code has the same type."""

CODED = (np.int8, np.uint8)
"""Types of codes. Two codes of more bits might become the same number of type float16."""

CODES = 256
"""How many codes there are; no difference of two is as large."""

MOVING = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose")
"""Operators that move elements, and compute nothing."""


@dataclass(frozen=True, eq=False)
class Codes:
    """How the whole numbers of a tensor stand for the real ones.

    Parameters
    ----------
    scale, zero_point
        Of each code ``(code - zero_point) * scale`` is the number. They have no dimension, or one:
        a number for each place along `axis`. `zero_point` has the type of the codes.
    axis
        The axis along which scales differ, from 0; None if there is one scale.
    """

    scale: np.ndarray
    zero_point: np.ndarray
    axis: int | None = None

    @property
    def data_type(self) -> DataType:
        """The type of the codes."""
        return DataType.from_dtype(self.zero_point.dtype)

    def of(self, x: np.ndarray) -> np.ndarray | None:
        """Return the codes of real numbers; None if these are not what the codes stand for."""
        if x.dtype != self.scale.dtype or (self.axis is not None and self.axis >= x.ndim):
            return None
        scale, zero = (self._along(each, x.ndim).astype(np.float64) for each in self._numbers)
        limits = np.iinfo(self.zero_point.dtype)
        # Infinities and NaN are nobody's codes, which the comparison finds.
        with np.errstate(invalid="ignore", over="ignore"):
            found = np.clip(np.rint(x / scale) + zero, limits.min, limits.max)
            codes = found.astype(self.zero_point.dtype)
        bits = f"u{x.itemsize}"
        return codes if np.array_equal(self.real(codes).view(bits), x.view(bits)) else None

    def real(self, codes: np.ndarray) -> np.ndarray:
        """Return the numbers that codes stand for, as DequantizeLinear computes them."""
        scale, zero = (self._along(each, codes.ndim) for each in self._numbers)
        product = (codes.astype(np.float32) - zero.astype(np.float32)) * scale.astype(np.float32)
        return product.astype(self.scale.dtype)

    @property
    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        return self.scale, self.zero_point

    def _along(self, each: np.ndarray, rank: int) -> np.ndarray:
        """Return scales or zero points so that they meet a tensor of that rank along the axis."""
        if self.axis is None:
            return each
        return each.reshape([-1 if axis == self.axis else 1 for axis in range(rank)])

    def suit(self, node: NodeProto, rank: int | None) -> bool:
        """Tell whether a node of ours may compare the codes of its input, which has that rank.

        What it compares with each other must have the same scale, and the scales of its result
        must lie along the same axis.
        """
        if self.axis is None:
            return True
        if node.op_type in ("MaxPool", "GlobalMaxPool"):
            return self.axis < 2
        if node.op_type in ("ArgMax", "ArgMin") and rank:
            return self.axis != _number(node, "axis", 0) % rank
        return False


def codes_of_tensors(
    graph: GraphProto,
    constant: Callable[[str], np.ndarray | None],
    known: Mapping[str, ValueInfoProto],
) -> dict[str, Codes]:
    """Return how those tensors are coded that hold numbers which a DequantizeLinear gives.

    Parameters
    ----------
    graph
        The graph of a network.
    constant
        Returns what an initialiser or a node of Constant holds, by its name.
    known
        What is known of types and sizes of tensors.

    Returns
    -------
    dict
        By the names of the tensors. Results of poolings, of maxima and minima, and of nodes that
        only move elements are among them.
    """
    found = dict[str, Codes]()
    for node in graph.node:
        codes = _dequantised(node, constant, known)
        if codes is None and node.input and (before := found.get(node.input[0])) is not None:
            codes = before if _passes(node, before) else None
        if codes is not None and node.output[0]:
            found[node.output[0]] = codes
    return found


def _dequantised(
    node: NodeProto,
    constant: Callable[[str], np.ndarray | None],
    known: Mapping[str, ValueInfoProto],
) -> Codes | None:
    """Return how a node's result is coded; None unless a DequantizeLinear gives it in order."""
    of_runtime = node.domain == OF_RUNTIME
    if node.op_type != "DequantizeLinear" or not (of_runtime or is_standard(node)):
        return None
    if len(node.input) < 2:  # which is known to be wrong for ONNX's own alone
        return None
    scale = constant(node.input[1])
    if scale is None or scale.dtype not in REAL or scale.ndim > (0 if of_runtime else 1):
        return None
    if len(node.input) > 2 and node.input[2]:
        zero = constant(node.input[2])
    else:
        zero = np.zeros(scale.shape, type_of(known.get(node.input[0])) or "void")
    if zero is None or zero.dtype not in CODED or zero.shape != scale.shape:
        return None
    if _number(node, "block_size", 0) or _number(node, "output_dtype", 0):
        return None
    limits = np.finfo(scale.dtype)
    if not np.all((scale >= limits.smallest_normal) & (scale <= limits.max / CODES)):
        return None
    if not scale.ndim:
        return Codes(scale, zero)
    axis, rank = _number(node, "axis", 1), rank_of(known.get(node.output[0]))
    return None if rank is None else Codes(scale, zero, axis % rank)


def _number(node: NodeProto, name: str, default: int) -> int:
    """Return a whole number that is an attribute of a node."""
    return next((each.i for each in node.attribute if each.name == name), default)


def _passes(node: NodeProto, codes: Codes) -> bool:
    """Tell whether a node's first result holds nothing but elements of its input."""
    if is_standard(node) and node.op_type in MOVING:
        return codes.axis is None
    return is_candidate(node) and not node.op_type.startswith("Arg") and codes.suit(node, None)
