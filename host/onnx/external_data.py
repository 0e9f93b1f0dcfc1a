"""Weights that lie in files of their own, beside the model.

ONNX's own functions refuse a file behind a symbolic link, and check a model with such weights by
its path alone. But caches of downloaded models, such as Hugging Face's, consist of links, and a
model may come through a pipe. So the files are looked at here; ONNX Runtime reads what is large.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from onnx import GraphProto, ModelProto, NodeProto, TensorProto
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from extremum.onnx.graphs import subgraphs

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
        One is missing, or its name leads out of the folder.
    """
    return tuple(dict.fromkeys(_file_of(tensor, folder) for tensor in _external(model)))


def checkable(model: ModelProto) -> ModelProto:
    """Return a model that ONNX's checker takes without looking for files.

    It is the model itself if no tensor lies in a file, else a copy in which these have no elements.
    """
    if not any(_external(model)):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    for tensor in _external(copy):
        _forget_file(tensor)
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
        with path.open("rb") as file:
            file.seek(info.offset or 0)
            content = file.read(-1 if info.length is None else info.length)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {tensor.name} in {path}: {error}") from error
    if info.length is not None and len(content) < info.length:
        raise ValueError(f"cannot read {tensor.name}: {path} ends within it")
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
    if not (folder / name).is_file():
        raise ValueError(f"cannot read {tensor.name}: there is no file {folder / name}")
    return folder / name


def _external(model: ModelProto) -> Iterator[TensorProto]:
    """Yield the tensors of a model that lie in files."""
    yield from filter(uses_external_data, _tensors(model.graph))
    for function in model.functions:
        for node in function.node:
            yield from filter(uses_external_data, _tensors_of(node))


def _tensors(graph: GraphProto) -> Iterator[TensorProto]:
    """Yield the weights of a graph, and the tensors of its nodes' attributes, at every depth."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    for node in graph.node:
        yield from _tensors_of(node)


def _tensors_of(node: NodeProto) -> Iterator[TensorProto]:
    for attribute in node.attribute:
        yield from (attribute.t, *attribute.tensors)
        for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
            yield from (sparse.values, sparse.indices)
    for inner in subgraphs(node):
        yield from _tensors(inner)
