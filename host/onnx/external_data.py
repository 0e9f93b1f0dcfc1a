"""Weights that lie in files of their own, beside the model.

ONNX's own functions refuse a file behind a symbolic link, and check a model with such weights by
its path alone. But caches of downloaded models, such as Hugging Face's, consist of links, and a
model may come through a pipe. So the files are looked at here; ONNX Runtime reads what is large.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from extremum.onnx.graphs import subgraphs

_Place = GraphProto | FunctionProto | NodeProto

__all__ = ["checkable", "files_of", "follow_links", "load_external"]


def files_of(model: ModelProto, folder: Path) -> tuple[Path, ...]:
    """Return the files in which tensors of a model lie, each once.

    Parameters
    ----------
    model
        The model.
    folder
        The folder that their names are relative to.

    Raises
    ------
    ValueError
        One is missing, or its path leaves the folder.
    """
    return tuple(dict.fromkeys(_file_of(tensor, folder) for tensor in _external(model)))


def checkable(model: ModelProto, folder: Path) -> ModelProto:
    """Return a model that ONNX's checker takes without looking for files.

    It is the model itself if no tensor lies in a file, else a copy in which these have no elements.
    Sparse tensors are read, since the checker compares their values with their indices.

    Raises
    ------
    ValueError
        As of :func:`load_external`.
    """
    if not any(_external(model)):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    for part in _sparse_parts(copy):
        load_external(part, folder)
    for tensor in _external(copy):
        _forget_file(tensor)
        tensor.ClearField("raw_data")
        tensor.dims[:] = [0]
    return copy


def follow_links(model: ModelProto, folder: Path) -> Path:
    """Let tensors name their files by the places that links lead to.

    ONNX Runtime takes no file that lies outside of the folder of which it is told.

    Returns
    -------
    Path
        The folder that the names are relative to now.

    Raises
    ------
    ValueError
        As of :func:`files_of`, or a path is not UTF-8.
    """
    places = {path: path.resolve() for path in files_of(model, folder)}
    for place in places.values():
        try:
            str(place).encode()
        except UnicodeEncodeError:
            told = f"the weights {place}: their path is not UTF-8"
            raise ValueError(f"ONNX Runtime cannot read {told}") from None
    common = Path(os.path.commonpath([place.parent for place in places.values()]))
    for tensor in _external(model):
        place = places[_file_of(tensor, folder)]
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = place.relative_to(common).as_posix()
    return common


def load_external(tensor: TensorProto, folder: Path) -> None:
    """Put the elements of a tensor that lies in a file into the tensor itself.

    Raises
    ------
    ValueError
        The file cannot be read.
    """
    if not uses_external_data(tensor):
        return
    path = _file_of(tensor, folder)
    try:
        info = ExternalDataInfo(tensor)
        offset, size = info.offset or 0, path.stat().st_size
        length = max(0, size - offset) if info.length is None else info.length
        if offset + length > size:
            raise ValueError(f"{path} ends within it")
        with path.open("rb") as file:
            file.seek(offset)
            content = file.read(length)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {tensor.name}: {error}") from error
    _forget_file(tensor)
    tensor.raw_data = content


def _forget_file(tensor: TensorProto) -> None:
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def _file_of(tensor: TensorProto, folder: Path) -> Path:
    """Return the file of a tensor that lies in one."""
    name = next((e.value for e in tensor.external_data if e.key == "location"), "")
    place = PurePosixPath(name)
    if not name or place.is_absolute() or ".." in place.parts:
        told = f"the file {name!r} of {tensor.name} is none below the folder of the model"
        raise ValueError(f"it breaks a rule of ONNX: {told}")
    path = folder / name
    try:
        is_there = path.is_file()
    except OSError:  # a name that is too long
        is_there = False
    if not is_there:
        raise ValueError(f"cannot read {tensor.name}: there is no file {path}")
    return path


def _external(model: ModelProto) -> Iterator[TensorProto]:
    """Yield the tensors of a model that lie in files."""
    for place in _places(model):
        yield from filter(uses_external_data, _dense(place))
    yield from filter(uses_external_data, _sparse_parts(model))


def _sparse_parts(model: ModelProto) -> Iterator[TensorProto]:
    """Yield the values and the indices of the sparse tensors of a model."""
    for place in _places(model):
        attributes = [s for a in _attributes(place) for s in (a.sparse_tensor, *a.sparse_tensors)]
        initializers = place.sparse_initializer if isinstance(place, GraphProto) else ()
        for tensor in (*attributes, *initializers):
            yield from (tensor.values, tensor.indices)


def _dense(place: _Place) -> Iterator[TensorProto]:
    """Yield the tensors that are weights of a graph, or attributes."""
    if isinstance(place, GraphProto):
        yield from place.initializer
    for attribute in _attributes(place):
        yield from (attribute.t, *attribute.tensors)


def _attributes(place: _Place) -> Iterable[AttributeProto]:
    """Return the attributes of a node, or those of a function that have defaults."""
    if isinstance(place, FunctionProto):
        return place.attribute_proto
    return place.attribute if isinstance(place, NodeProto) else ()


def _places(model: ModelProto) -> Iterator[_Place]:
    """Yield what holds tensors: graphs, functions, and nodes at every depth."""
    yield from _inside(model.graph)
    for function in model.functions:
        yield function
        for node in function.node:
            yield from _around(node)


def _inside(graph: GraphProto) -> Iterator[_Place]:
    yield graph
    for node in graph.node:
        yield from _around(node)


def _around(node: NodeProto) -> Iterator[_Place]:
    yield node
    for inner in subgraphs(node):
        yield from _inside(inner)
