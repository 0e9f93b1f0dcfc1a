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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, ValueInfoProto

from extremum.model import DataType
from extremum.onnx.graphs import is_standard, rank_of, type_of

__all__ = ["CodedTensors", "Codes"]

OF_RUNTIME = "com.microsoft"
"""Domain of such nodes of ONNX Runtime itself, which older networks have."""

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
        The axis along which scales differ, counted from the end if it is below 0; None if there is
        one scale.
    """

    scale: NDArray[Any]
    zero_point: NDArray[Any]
    axis: int | None = None

    @property
    def data_type(self) -> DataType:
        """The type of the codes."""
        return DataType.from_dtype(self.zero_point.dtype)

    def of(self, x: NDArray[Any]) -> NDArray[Any] | None:
        """Return the codes of real numbers; None if these are not what the codes stand for."""
        if x.dtype != self.scale.dtype or not self._fits(x.shape):
            return None
        scale, zero = self._along(x.ndim)
        limits = np.iinfo(zero.dtype)
        # Infinities and NaN are nobody's codes, which the comparison finds.
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.rint(x / scale.astype(np.float64)) + zero
            codes = np.clip(near, limits.min, limits.max).astype(zero.dtype)
        bits = f"u{x.itemsize}"
        return codes if np.array_equal(self.real(codes).view(bits), x.view(bits)) else None

    def real(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers that codes stand for, as DequantizeLinear computes them."""
        scale, zero = self._along(codes.ndim)
        product = (codes.astype(np.float32) - zero.astype(np.float32)) * scale.astype(np.float32)
        return product.astype(scale.dtype)

    def suit(self, node: NodeProto, rank: int | None) -> bool:
        """Tell whether a node of ours may compare the codes of its input, which has that rank.

        What it compares with each other must have the same scale, and the scales of its result
        must lie along the same axis.
        """
        if self.axis is None:
            return True
        if rank is None or not -rank <= self.axis < rank:
            return False
        if node.op_type in ("MaxPool", "GlobalMaxPool"):
            return self.axis % rank < 2
        if node.op_type in ("ArgMax", "ArgMin"):
            return self.axis % rank != _number(node, "axis", 0) % rank
        return False

    def _fits(self, sizes: tuple[int, ...]) -> bool:
        """Tell whether a tensor has a place along the axis for each of the scales."""
        if self.axis is None:
            return True
        rank = len(sizes)
        return -rank <= self.axis < rank and sizes[self.axis] == self.scale.size

    def _along(self, rank: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return scales and zero points so that they meet a tensor of that rank along the axis."""
        if self.axis is None:
            return self.scale, self.zero_point
        sizes = [-1 if axis == self.axis % rank else 1 for axis in range(rank)]
        return self.scale.reshape(sizes), self.zero_point.reshape(sizes)


class CodedTensors:
    """Finds how tensors are coded that hold numbers which a DequantizeLinear gives.

    Parameters
    ----------
    constant
        Returns what an initialiser or a node of Constant holds, by its name.
    known
        What is known of types and sizes of tensors.
    """

    def __init__(
        self,
        constant: Callable[[str], NDArray[Any] | None],
        known: Mapping[str, ValueInfoProto],
    ) -> None:
        self._constant, self._known = constant, known
        self._found = dict[str, Codes]()
        self._real, self._rounded = set[str](), set[str]()

    def codes(self, node: NodeProto) -> Codes | None:
        """Return how the input of a node of ours is coded, if the node may compare the codes."""
        codes = self._found.get(node.input[0])
        rank = rank_of(self._known.get(node.input[0]))
        return codes if codes is not None and codes.suit(node, rank) else None

    def pass_by(self, node: NodeProto, codes: Codes | None = None) -> None:
        """Look at a node; the nodes of a graph come in its order.

        Parameters
        ----------
        codes
            How the elements are coded that the node's first result holds, if it is a node of ours
            that selects some of its input.
        """
        taken = node.input[0] if node.input else ""
        if _is("DequantizeLinear", node):
            codes = None if taken in self._rounded else self._dequantised(node)
            self._real.update(node.output[:1])
        elif _is("QuantizeLinear", node):
            # ONNX Runtime makes one pair of two such pairs behind one another, of another scale.
            if taken in self._real:
                self._rounded.update(node.output[:1])
        elif is_standard(node) and node.op_type in MOVING:
            before = self._found.get(taken)
            codes = None if before is None or before.axis is not None else before
            for names in (self._real, self._rounded):
                names.update(node.output[:1] if taken in names else ())
        if codes is not None and node.output[0]:
            self._found[node.output[0]] = codes

    def _dequantised(self, node: NodeProto) -> Codes | None:
        """Return how the result of a DequantizeLinear is coded; None if it is not in order."""
        if len(node.input) < 2:  # which is known to be wrong for ONNX's own alone
            return None
        scale = self._constant(node.input[1])
        if scale is None or scale.dtype not in REAL or scale.ndim > 1:
            return None
        if len(node.input) > 2 and node.input[2]:
            zero = self._constant(node.input[2])
        else:
            zero = np.zeros(scale.shape, type_of(self._known.get(node.input[0])) or "void")
        if zero is None or zero.dtype not in CODED or zero.shape != scale.shape:
            return None
        if _number(node, "output_dtype", 0):
            return None
        limits = np.finfo(scale.dtype)
        if not np.all((scale >= limits.smallest_normal) & (scale <= limits.max / CODES)):
            return None
        if scale.size == 1:
            return Codes(scale.reshape(()), zero.reshape(()))
        return Codes(scale, zero, _number(node, "axis", 1))


def _is(operator: str, node: NodeProto) -> bool:
    """Tell whether a node is this operator, of ONNX or of ONNX Runtime."""
    return node.op_type == operator and (is_standard(node) or node.domain == OF_RUNTIME)


def _number(node: NodeProto, name: str, default: int) -> int:
    """Return a whole number that is an attribute of a node."""
    return next((each.i for each in node.attribute if each.name == name), default)
