"""Parts of a network in ONNX Runtime, on the CPU."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as KernelMissing

from extremum.onnx.graphs import reads
from extremum.onnx.network import Network, NetworkError
from extremum.onnx.values import Value, is_tensor, session, silent_options

__all__ = ["NoKernel", "Runtime"]

WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
"""Where a model that comes from memory has its external data."""

CONSTANTS = 4
"""The version of the format from which on an initialiser need not be an input, and is constant."""


class NoKernel(NetworkError):
    """ONNX Runtime carries out no operator of this kind on elements of this type."""


class Runtime:
    """Runs parts of a network.

    Parameters
    ----------
    network
        The network.

    Attributes
    ----------
    unoptimised : bool
        Whether nodes ran that ONNX Runtime could not optimise. They may round otherwise than in a
        session in which it can.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self.unoptimised = False
        levels = onnxruntime.GraphOptimizationLevel
        # Layouts that only some processors have would be chosen by what stands around a part.
        self._optimising = _options(network, levels.ORT_ENABLE_EXTENDED)
        self._plain = _options(network, levels.ORT_DISABLE_ALL)
        graph = network.graph
        self._weights = {tensor.name: tensor for tensor in graph.initializer}
        self._sparse = {t.values.name: t for t in graph.sparse_initializer}
        self._infos = {v.name: v for v in (*graph.value_info, *graph.output, *graph.input)}

    def info(self, name: str, value: Value) -> ValueInfoProto:
        """Return the type of a value that the graph names so, with the sizes that it has."""
        known = self._infos.get(name)
        optional = known is not None and known.type.HasField("optional_type")
        if optional or not is_tensor(value):
            if known is None:
                raise NetworkError(f"the type of {name} cannot be inferred")
            return known
        return helper.make_tensor_value_info(name, value.element_type(), value.shape())

    def weight(self, name: str) -> Value:
        """Return an initialiser of the graph.

        Raises
        ------
        NetworkError
            It lies in a file that cannot be read.
        """
        copy = f"{name}_copy"
        while copy in self._weights or copy in self._sparse:
            copy += "_"
        node = NodeProto(op_type="Identity", input=[name], output=[copy])
        return self.run([node], {}, [copy])[copy]

    def weights_of(self, nodes: Sequence[NodeProto]) -> list[TensorProto]:
        """Return the initialisers that some nodes read."""
        read = {name for node in nodes for name in reads(node)}
        return [tensor for name, tensor in self._weights.items() if name in read]

    def run(
        self,
        nodes: Sequence[NodeProto],
        given: Mapping[str, Value],
        wanted: Sequence[str],
        infos: Sequence[ValueInfoProto] = (),
    ) -> dict[str, Any]:
        """Run nodes that read each other, the initialisers of the graph, and what is given.

        Parameters
        ----------
        nodes
            The nodes, in an order in which they can run.
        given
            What they read that is neither theirs nor an initialiser.
        wanted
            Names of the results.
        infos
            Types of tensors between the nodes, where they are known.

        Returns
        -------
        dict
            The results as :class:`extremum.onnx.values.Value`, and maps, which only leave a
            network, as lists and dictionaries.

        Raises
        ------
        NoKernel
            ONNX Runtime has not implemented one of them for its type.
        NetworkError
            ONNX Runtime cannot run them.
        """
        # An optional that holds nothing is made anew, since a session that is given one crashes.
        absent = [name for name, value in given.items() if not value.has_value()]
        held = {name: value for name, value in given.items() if name not in absent}
        model = self._part([*map(self._absent, absent), *nodes], held, wanted, infos)
        try:
            made = self._session(model)
            listed = made.run_with_ort_values(list(wanted), held)
            results: dict[str, Any] = dict(zip(wanted, listed, strict=True))
            maps = [name for name in wanted if self._holds_maps(name)]
            if maps:  # which no session takes from another, so they leave this one as Python's own
                results |= zip(maps, made.run(maps, held), strict=True)
            return results
        except KernelMissing as error:
            raise NoKernel(f"ONNX Runtime cannot run it: {_told(error)}") from error
        except Exception as error:  # its exceptions have no common base but this
            raise NetworkError(f"ONNX Runtime cannot run it: {_told(error)}") from error

    def declared(self, info: ValueInfoProto) -> ValueInfoProto:
        """Return a type as ONNX Runtime is told it: its sizes may stay open.

        From sizes that it is told ONNX Runtime infers others, which may be wrong behind a pooling
        (:mod:`extremum.onnx.pooled_sizes`), and takes them for what a node of Shape gives.
        """
        sized = self._network.sized
        if sized is None or info.name in sized or not info.type.HasField("tensor_type"):
            return info
        kind = info.type.tensor_type
        rank = len(kind.shape.dim)
        return helper.make_tensor_value_info(info.name, kind.elem_type, [None] * rank)

    def _session(self, model: ModelProto) -> onnxruntime.InferenceSession:
        """Return what runs a part. Some valid ones fail in ONNX Runtime's optimisation alone."""
        try:
            return session(model, self._optimising)
        except Exception:
            made = session(model, self._plain)
            self.unoptimised = True
            return made

    def _absent(self, name: str) -> NodeProto:
        """Return a node that gives an optional of the type that a value has, and holds nothing."""
        if name not in self._infos:
            raise NetworkError(f"the type of {name} cannot be inferred")
        kind = self._infos[name].type.optional_type.elem_type
        return helper.make_node("Optional", [], [name], type=kind)

    def _holds_maps(self, name: str) -> bool:
        """Tell whether an output of the network is a map, or a sequence of maps."""
        if name not in self._network.output_names:
            return False
        kind = self._infos[name].type
        return kind.HasField("map_type") or kind.sequence_type.elem_type.HasField("map_type")

    def _part(
        self,
        nodes: Sequence[NodeProto],
        given: Mapping[str, Value],
        wanted: Sequence[str],
        infos: Sequence[ValueInfoProto],
    ) -> ModelProto:
        whole = self._network.model
        read = {name for node in nodes for name in reads(node)} | set(wanted)
        read -= set(given)
        graph = helper.make_graph(
            nodes,
            whole.graph.name or "part",
            [self.declared(self.info(name, value)) for name, value in given.items()],
            [ValueInfoProto(name=name) for name in wanted],
            initializer=[t for name, t in self._weights.items() if name in read],
            value_info=infos,
            sparse_initializer=[t for name, t in self._sparse.items() if name in read],
        )
        return helper.make_model(
            graph,
            ir_version=max(whole.ir_version, CONSTANTS),
            opset_imports=whole.opset_import,
            functions=whole.functions,
        )


def _options(network: Network, level: Any) -> onnxruntime.SessionOptions:
    options = silent_options()
    options.graph_optimization_level = level
    if network.folder is not None:
        options.add_session_config_entry(WEIGHTS_FOLDER, str(network.folder))
    return options


def _told(error: Exception) -> str:
    """Return what ONNX Runtime says, without the numbers of its status and places in its source."""
    text = re.sub(r"^\d+ : [A-Z_]+ : ", "", str(error).rsplit("] : ", 1)[-1])
    # A check that failed is told by its file, its function and its condition, and then in words;
    # some other failures by the name of a file, without its folder, and of a function.
    text = re.sub(r"\S+:\d+ .* was false\. (?=\S)", "", " ".join(text.split()))
    return re.sub(r"(?<![\w/])\w+\.(?:cc|h):\d+ (?:\w+::)*\w+(?= )", "", text).strip()
