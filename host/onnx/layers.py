"""From a node of an ONNX graph to an operator of ours, or to the reason why it is none.

A :class:`Layer` is a :class:`extremum.model.Pooling` or a :class:`extremum.model.Reduction` with
what the node adds: the rank that is lifted, and the axes that are dropped. Where the contract of
ONNX Runtime is another one than ours, the node is not taken: :class:`NotTaken` says why. Where
sizes or axes are only known in a run, :class:`NotKnown` says which. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import onnx.defs
from onnx import AttributeProto, NodeProto, TensorProto, helper

from extremum.model import DataType, Pooling, ReduceFunction, Reduction
from extremum.model.onnx import (
    arg_arguments,
    lifted_sizes,
    max_pool_arguments,
    reduce_axes,
)
from extremum.onnx.graphs import is_standard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extremum.onnx.quantised import Codes

__all__ = [
    "OPERATORS",
    "UNKNOWN",
    "Axes",
    "Layer",
    "NotKnown",
    "NotTaken",
    "attributes_of",
    "axes_of",
    "check_type",
    "is_candidate",
    "layer_of",
]

POOLED_RANKS = (3, 4, 5)
MOST_AXES = 8


class _Unknown(Enum):
    UNKNOWN = "unknown"


UNKNOWN: Final = _Unknown.UNKNOWN
"""Axes that are computed in a run."""

Axes = Sequence[int] | None | Literal[_Unknown.UNKNOWN]
"""What the second input of a reduction says; None if there is none."""


class NotTaken(Exception):
    """Says why a node is left to ONNX Runtime."""


class NotKnown(Exception):
    """Says what must be known of a node before it is known what it computes."""


@dataclass(frozen=True)
class Layer:
    """A node as an operator of ours.

    Parameters
    ----------
    problem
        The operator, with the sizes of the input as the operator has them.
    output_sizes
        Sizes of the node's outputs, which all have the same.
    codes
        How the elements that the operator takes stand for those of the node; None if they are the
        same.
    """

    problem: Reduction | Pooling
    output_sizes: tuple[int, ...]
    codes: Codes | None = None

    @property
    def codes_of_result(self) -> Codes | None:
        """How the elements of the first output are coded; None if they are not, or are indices."""
        gives_index = isinstance(self.problem, Reduction) and self.problem.function.gives_index
        return None if gives_index else self.codes

    def of_codes(self, codes: Codes) -> Layer:
        """Return the layer that takes the codes of its elements."""
        return replace(self, problem=replace(self.problem, data_type=codes.data_type), codes=codes)

    def lifted(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the node's input, or its codes, with the sizes that the operator has."""
        return x.reshape(self.problem.sizes)

    def outputs(self, result: Any) -> tuple[NDArray[Any], ...]:
        """Return the node's outputs, in their order, from what the operator gave."""
        listed = result if isinstance(result, tuple) else (result,)
        first, *positions = (each.reshape(self.output_sizes) for each in listed)
        if (codes := self.codes_of_result) is not None:
            first = codes.real(first)
        return (first, *positions)


def is_candidate(node: NodeProto) -> bool:
    """Tell whether the node's operator is one of ours by its name."""
    return is_standard(node) and node.op_type in OPERATORS


def layer_of(
    node: NodeProto,
    sizes: Sequence[int] | None,
    data_type: np.dtype[Any] | str | None,
    axes: Axes = None,
) -> Layer:
    """Return what the node computes on an input of these sizes and this type.

    Parameters
    ----------
    node
        A node whose operator is in `OPERATORS`, of any opset.
    sizes
        Sizes of its first input; None if they are not known.
    data_type
        Element type of its first input: a NumPy type, or the name of one that NumPy has not; None
        if it is not known.
    axes
        What its second input says, if it has one.

    Raises
    ------
    NotTaken
        The node is outside the contract, or ONNX Runtime keeps to another one there.
    NotKnown
        The type, the sizes or the axes are not known, and the node may be taken.
    """
    if data_type is None:
        raise NotKnown("its type is not known before a run")
    try:
        element = DataType.from_dtype(data_type)
    except TypeError:
        raise NotTaken(f"elements of type {data_type} are not taken") from None
    if sizes is None:
        raise NotKnown("its sizes are not known before a run")
    if 0 in sizes:
        raise NotTaken(f"the input of sizes {tuple(sizes)} has no element")
    try:
        return OPERATORS[node.op_type](node, tuple(sizes), element, attributes_of(node), axes)
    except (TypeError, ValueError) as error:
        raise NotTaken(str(error)) from error


def check_type(node: NodeProto, opset: int, element_type: int, number: int = 0) -> None:
    """Refuse elements that ONNX does not let an input of a node of ours have.

    Parameters
    ----------
    node, opset
        The node, and the version of ONNX.
    element_type
        The type, by its number in `onnx.TensorProto`.
    number
        Which input it is.

    Raises
    ------
    NotTaken
        The message names the operator and the type.
    """
    schema = onnx.defs.get_schema(node.op_type, opset)
    variable = schema.inputs[number].type_str
    types = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    name = TensorProto.DataType.Name(element_type)
    if f"tensor({name.lower()})" not in types.get(variable, [variable]):
        what = schema.inputs[number].name
        raise NotTaken(f"in opset {opset} {node.op_type} takes no {what} of type {name}")


def axes_of(found: NDArray[Any]) -> list[int]:
    """Return the axes that the second input of a node names.

    Raises
    ------
    NotTaken
        It is no vector of int64, as ONNX wants it.
    """
    if found.dtype != np.int64 or found.ndim != 1:
        told = f"{found.dtype} of {found.ndim} dimensions"
        raise NotTaken(f"axes must be a vector of int64, not {told}")
    return found.tolist()


def attributes_of(node: NodeProto) -> dict[str, Any]:
    """Return the attributes of a node by their names.

    Raises
    ------
    ValueError
        A text is no text.
    """
    return {attribute.name: _value(attribute) for attribute in node.attribute}


def _value(attribute: AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError as error:
        raise ValueError(f"{attribute.name} must be a text, not {value!r}") from error


def _max_pool(
    node: NodeProto, sizes: tuple[int, ...], data_type: DataType, given: dict[str, Any], _: object
) -> Layer:
    _check_pooled_rank(sizes)
    if 0 in given.get("kernel_shape", ()):
        raise NotTaken("kernel_shape must be at least 1 in each dimension")
    automatic = given.get("auto_pad", "NOTSET").startswith("SAME")
    if automatic:
        _check_same_padding(given)
    arguments = max_pool_arguments(sizes, **given)
    indices = len(node.output) > 1 and bool(node.output[1])
    lifted = lifted_sizes(sizes)
    problem = Pooling.of(lifted, data_type, **arguments, return_indices=indices)
    if problem.empty_windows:
        raise NotTaken("runtimes do not agree on windows that lie wholly in padding")
    return Layer(problem, _with_rank_of(problem.output_sizes, sizes))


def _check_same_padding(given: dict[str, Any]) -> None:
    window = given["kernel_shape"]
    strides = given.get("strides") or [1] * len(window)
    dilations = given.get("dilations") or [1] * len(window)
    if any(dilation != 1 for dilation in dilations):
        raise NotTaken("ONNX Runtime ignores the dilations when it pads by auto_pad SAME")
    if any(stride > size for stride, size in zip(strides, window, strict=False)):
        raise NotTaken("auto_pad SAME may be negative where a stride exceeds the window")


def _global_max_pool(
    node: NodeProto, sizes: tuple[int, ...], data_type: DataType, given: dict[str, Any], _: object
) -> Layer:
    _check_pooled_rank(sizes)
    if given:
        raise NotTaken(f"{node.op_type} has no attribute {', '.join(given)}")
    # A window as large as the plane is a reduction, and the core needs no storage for it.
    problem = Reduction.of(ReduceFunction.MAX, sizes, data_type, tuple(range(2, len(sizes))))
    return Layer(problem, problem.output_sizes)


def _arg(
    node: NodeProto, sizes: tuple[int, ...], data_type: DataType, given: dict[str, Any], _: object
) -> Layer:
    _check_rank(sizes)
    arguments = arg_arguments(**given)
    problem = Reduction.of(node.op_type.lower(), sizes, data_type, **arguments)
    return Layer(problem, _reduced(problem, given))


def _reduce(
    node: NodeProto,
    sizes: tuple[int, ...],
    data_type: DataType,
    given: dict[str, Any],
    axes: Axes,
) -> Layer:
    _check_rank(sizes)
    if unknown := set(given) - {"axes", "keepdims", "noop_with_empty_axes"}:
        raise NotTaken(f"{node.op_type} has no attribute {', '.join(sorted(unknown))}")
    if axes is UNKNOWN:
        raise NotKnown("its axes are not known before a run")
    listed = given.get("axes") if axes is None else axes
    reduced = reduce_axes(listed, noop_with_empty_axes=given.get("noop_with_empty_axes", 0))
    function = {"ReduceMax": ReduceFunction.MAX, "ReduceMin": ReduceFunction.MIN}[node.op_type]
    problem = Reduction.of(function, sizes, data_type, reduced)
    return Layer(problem, _reduced(problem, given))


OPERATORS: dict[str, Callable[..., Layer]] = {
    "MaxPool": _max_pool,
    "GlobalMaxPool": _global_max_pool,
    "ArgMax": _arg,
    "ArgMin": _arg,
    "ReduceMax": _reduce,
    "ReduceMin": _reduce,
}
"""The operators of ONNX that may become one of ours, and what makes it of their attributes."""


def _check_pooled_rank(sizes: tuple[int, ...]) -> None:
    if len(sizes) not in POOLED_RANKS:
        raise NotTaken(f"a pooled tensor has 3 to 5 dimensions, not {len(sizes)}")


def _check_rank(sizes: tuple[int, ...]) -> None:
    if not 1 <= len(sizes) <= MOST_AXES:
        raise NotTaken(f"a reduced tensor has 1 to {MOST_AXES} dimensions, not {len(sizes)}")


def _with_rank_of(output_sizes: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of a pooled tensor without the axis that `lifted_sizes` put in."""
    return (*output_sizes[:2], *output_sizes[3:]) if len(sizes) == 3 else output_sizes


def _reduced(problem: Reduction, given: dict[str, Any]) -> tuple[int, ...]:
    """Return the sizes of a result, by the attribute `keepdims`."""
    if given.get("keepdims", 1) not in (0, 1):
        raise NotTaken(f"keepdims must be 0 or 1, not {given['keepdims']}")
    kept = problem.output_sizes
    if given.get("keepdims", 1):
        return kept
    return tuple(size for axis, size in enumerate(kept) if axis not in problem.axes)
