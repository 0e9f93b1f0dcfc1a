"""A model read and checked.

Functions that the model brings are put in the place of their calls, and sizes are inferred, from
those of given inputs where the model leaves sizes open. Weights that lie in files of their own stay
there, so that a model may be larger than two GiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import onnx
import onnx.checker
import onnx.inliner
import onnx.shape_inference
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
)

from extremum.onnx.external_data import checkable, files_of, follow_links, load_external
from extremum.onnx.graphs import (
    function_key,
    inner_nodes,
    is_standard,
    name_of,
    opset_of,
    sizes_of,
    subgraphs,
)
from extremum.onnx.layers import NotTaken, attributes_of, check_type, is_candidate
from extremum.onnx.network import Network, NetworkError
from extremum.onnx.pooled_sizes import with_sizes

__all__ = ["fits", "load", "sizes_text"]

REMARKS = ("doc_string", "producer_name", "producer_version")
"""Texts of a model that nothing depends on."""

DOMAINS_OF_RUNTIME = ("ai.onnx.", "com.microsoft")
"""What other domains begin with in which ONNX Runtime has operators."""


def load(
    model: ModelProto | bytes | str | Path, sizes: Mapping[str, Sequence[int]] | None = None
) -> Network:
    """Read a model and check it.

    Parameters
    ----------
    model
        The model, its bytes, or its file.
    sizes
        Sizes of inputs, by their names, which take the place of those that the model leaves open.
        An input that is named here is given in the run, so its default is forgotten.

    Raises
    ------
    TypeError
        It is none of the types above.
    NetworkError
        It is no model, or it breaks a rule of ONNX.
    OSError
        The file cannot be read.
    """
    read, folder = _read(model)
    if not (read.graph.node or read.graph.output) or not read.opset_import:
        raise NetworkError("it is no ONNX model: it gives nothing, or names no opset")
    for text in _unreadable(read):
        raise NetworkError(f"it breaks a rule of ONNX: the text {text!r} is not UTF-8")
    try:
        files = files_of(read, folder)
        onnx.checker.check_model(checkable(read, folder))
        if files:
            folder = follow_links(read, folder)
        if read.functions:
            read = _inlined(read)
        _check_more(read.graph)
        _open_negative_sizes(read.graph)
        _read_attributes(read.graph, folder)
        sized = frozenset(v.name for v in read.graph.input if sizes_of(v) is not None)
        _set_sizes(read, sizes or {})
        inferred = with_sizes(read)
        _check_types(inferred.model.graph, {}, opset_of(read))
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise NetworkError(f"it breaks a rule of ONNX: {_one_line(error)}") from error
    except NetworkError:
        raise
    except ValueError as error:
        raise NetworkError(_one_line(error)) from error
    sized_inputs = sized if inferred.may_be_wrong else None
    return Network(inferred.model, folder if files else None, files, sized_inputs)


def sizes_text(value: ValueInfoProto) -> str:
    """Return the sizes that an input must have as a text, open ones by their names."""
    if not value.type.tensor_type.HasField("shape"):
        return "any"
    dims = value.type.tensor_type.shape.dim
    told = [str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in dims]
    return f"({', '.join(told)}{',' if len(told) == 1 else ''})"


def _read(model: ModelProto | bytes | str | Path) -> tuple[ModelProto, Path]:
    """Return a model, and the folder that names of files are relative to."""
    try:
        if isinstance(model, ModelProto):
            read = ModelProto()
            read.CopyFrom(model)
            return read, Path()
        if isinstance(model, bytes):
            return onnx.load_model_from_string(model), Path()
        if not isinstance(model, str | Path):
            raise TypeError(f"model must be a ModelProto, bytes or a file's name, not {model!r}")
        # Without a format, the end of the file's name would choose one.
        read = onnx.load(str(model), format="protobuf", load_external_data=False)
        # A link to a model lies beside links to its weights, in caches of downloads.
        return read, Path(model).absolute().parent
    except DecodeError as error:
        raise NetworkError("it is no ONNX model") from error


def _unreadable(message: Message) -> Iterator[bytes]:
    """Yield the texts of a message that are not UTF-8, at every depth, without remarks on it."""
    for field, value in message.ListFields():
        if field.type in (FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_STRING):
            for each in (value,) if isinstance(value, str | bytes | Message) else value:
                if isinstance(each, Message):
                    yield from _unreadable(each)
                elif isinstance(each, bytes) and field.name not in REMARKS:
                    yield each


def _inlined(model: ModelProto) -> ModelProto:
    """Put functions in the place of their calls, but for those that are left to ONNX Runtime.

    It takes the operator of its own where a function has the same name, so that a function in the
    domain of the standard operators is never called.
    """
    every = {function_key(f): f for f in model.functions if not is_standard(f)}
    left = [name for name, function in every.items() if _is_left(function, model)]
    model.ClearField("functions")
    model.functions.extend(function for name, function in every.items() if name not in left)
    inlined = onnx.inliner.inline_local_functions(model)
    for name in left:  # which grows meanwhile
        nodes = ((node, *inner_nodes(node)) for node in every[name].node)
        calls = {function_key(node) for node in chain(*nodes)}
        left += [each for each in every if each in calls and each not in left]
    inlined.functions.extend(every[name] for name in left)
    return inlined


def _is_left(function: FunctionProto, model: ModelProto) -> bool:
    """Tell whether a function is left to ONNX Runtime.

    ONNX's inliner refuses one of another opset, and forgets the defaults of attributes. And where
    ONNX Runtime has an operator of the same name, it takes that.
    """
    versions = {opset.domain: opset.version for opset in model.opset_import}
    differs = any(versions.get(o.domain, o.version) != o.version for o in function.opset_import)
    is_known = function.domain.startswith(DOMAINS_OF_RUNTIME)
    return differs or is_known or bool(function.attribute_proto)


def _check_more(graph: GraphProto) -> None:
    """Refuse what ONNX forbids and its checker lets pass."""
    known = set(TensorProto.DataType.values())
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.tensor_type.elem_type not in known:
            code = value.type.tensor_type.elem_type
            told = f"{value.name} has elements of the unknown type {code}"
            raise NetworkError(f"it breaks a rule of ONNX: {told}")
    for node in graph.node:
        if is_candidate(node):
            try:
                attributes_of(node)
            except ValueError as error:
                told = f"{node.op_type} {name_of(node)}: {error}"
                raise NetworkError(f"it breaks a rule of ONNX: {told}") from error
        for inner in subgraphs(node):
            _check_more(inner)


def _check_types(graph: GraphProto, outside: Mapping[str, int], opset: int) -> None:
    """Refuse a model that declares another type than one of our operators takes, or gives.

    ``outside`` has the types of the tensors that a graph around this one has, by their names.
    """
    values = (*graph.input, *graph.value_info, *graph.output)
    types = {
        **outside,
        **{tensor.name: tensor.data_type for tensor in graph.initializer},
        **{value.name: value.type.tensor_type.elem_type for value in values},
    }
    others = {
        value.name: kind.removesuffix("_type").replace("_", " ")
        for value in values
        if (kind := value.type.WhichOneof("value")) not in (None, "tensor_type")
    }
    for node in graph.node:
        if is_candidate(node):
            _check_inputs(node, types, others, opset)
        for number, output in enumerate(node.output if is_candidate(node) else ()):
            if output in others:
                raise NetworkError(
                    f"it breaks a rule of ONNX: {node.op_type} {name_of(node)} gives {output}, a "
                    f"tensor, and not what it is declared to be ({others[output]})"
                )
            gives_index = number == 1 or node.op_type.startswith("Arg")
            given = TensorProto.INT64 if gives_index else types.get(node.input[0], 0)
            declared = types.get(output, 0)
            if given and declared and given != declared:
                name_type = TensorProto.DataType.Name
                raise NetworkError(
                    f"it breaks a rule of ONNX: {node.op_type} {name_of(node)} gives {output} "
                    f"elements of type {name_type(given)}, not {name_type(declared)}"
                )
        for inner in subgraphs(node):
            _check_types(inner, types, opset)


def _check_inputs(
    node: NodeProto, types: Mapping[str, int], others: Mapping[str, str], opset: int
) -> None:
    """Refuse a node of ours that reads what is no tensor, or has elements of a wrong type."""
    for number, name in enumerate(node.input):
        try:
            if name in others:
                raise NotTaken(f"it takes tensors, and {name} is of another kind ({others[name]})")
            if types.get(name):
                check_type(node, opset, types[name], number)
        except NotTaken as why:
            told = f"{node.op_type} {name_of(node)}: {why}"
            raise NetworkError(f"it breaks a rule of ONNX: {told}") from why


def _open_negative_sizes(graph: GraphProto) -> None:
    """Forget negative sizes: some exporters write -1 for a size that is open."""
    for value in (*graph.input, *graph.value_info, *graph.output):
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_value < 0:
                dim.ClearField("dim_value")


def _read_attributes(graph: GraphProto, folder: Path) -> None:
    """Read attributes whose tensors lie in files: ONNX Runtime reads files of weights alone."""
    for node in graph.node:
        for attribute in node.attribute:
            load_external(attribute.t, folder)
        for inner in subgraphs(node):
            _read_attributes(inner, folder)


def _set_sizes(model: ModelProto, sizes: Mapping[str, Sequence[int]]) -> None:
    """Write the sizes of inputs into a model; forget what it says of the sizes that follow."""
    names = [value.name for value in model.graph.input]
    if foreign := [name for name in sizes if name not in names]:
        raise NetworkError(f"the network has no input {foreign[0]}: it has {', '.join(names)}")
    for value in model.graph.input:
        if value.name not in sizes:
            continue
        given = sizes[value.name]
        if not value.type.HasField("tensor_type"):
            raise NetworkError(f"the input {value.name} is no tensor")
        if any(size < 0 for size in given):
            told = f"the input {value.name} must have sizes of at least 0, not {tuple(given)}"
            raise NetworkError(told)
        if not fits(value, given):
            raise NetworkError(
                f"the input {value.name} must have the sizes {sizes_text(value)}, "
                f"not {tuple(given)}"
            )
        shape = value.type.tensor_type.shape
        changed = not all(dim.HasField("dim_value") for dim in shape.dim) or not shape.dim
        shape.ClearField("dim")
        for size in given:
            shape.dim.add().dim_value = size
        if changed:
            model.graph.ClearField("value_info")
    for place in reversed(range(len(model.graph.initializer))):
        if model.graph.initializer[place].name in sizes:
            del model.graph.initializer[place]


def fits(value: ValueInfoProto, sizes: Sequence[int]) -> bool:
    """Tell whether an input may have these sizes."""
    if not value.type.tensor_type.HasField("shape"):
        return True
    dims = value.type.tensor_type.shape.dim
    return len(dims) == len(sizes) and all(
        not dim.HasField("dim_value") or dim.dim_value == size
        for dim, size in zip(dims, sizes, strict=True)
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
