"""Parts of a network in ONNX Runtime, on the CPU.

Tensors pass from part to part as ONNX Runtime's own values, so that types which NumPy has not stay
as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from extremum.onnx.network import Network, NetworkError

__all__ = ["Runtime", "Value"]

Value = onnxruntime.OrtValue

ERRORS_ONLY = 3
"""Level of ONNX Runtime's log: warnings about unused weights of a part help nobody."""

WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
"""Where a model that comes from memory has its external data."""


class Runtime:
    """Runs parts of a network.

    Parameters
    ----------
    network
        The network.
    threads
        Threads of ONNX Runtime; as many as it likes, if 0.
    """

    def __init__(self, network: Network, threads: int = 0) -> None:
        self._network = network
        self._options = options = onnxruntime.SessionOptions()
        options.log_severity_level = ERRORS_ONLY
        options.intra_op_num_threads = threads
        # Layouts that only some processors have would be chosen by what stands around a part.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        if network.folder is not None:
            options.add_session_config_entry(WEIGHTS_FOLDER, str(network.folder))
        self._weights = {tensor.name: tensor for tensor in network.graph.initializer}
        self._sparse = {t.values.name: t for t in network.graph.sparse_initializer}
        self._infos = {value.name: value for value in network.graph.value_info}
        self._infos |= {value.name: value for value in network.graph.input}

    def weight(self, name: str) -> Value:
        """Return an initialiser of the graph."""
        folder = "" if self._network.folder is None else str(self._network.folder)
        return Value.ortvalue_from_numpy(numpy_helper.to_array(self._weights[name], folder))

    def run(
        self, nodes: Sequence[int], given: Mapping[str, Value], wanted: Sequence[str]
    ) -> dict[str, Value]:
        """Run some nodes of the graph.

        Parameters
        ----------
        nodes
            Their places in the graph, in its order.
        given
            What they read that is neither theirs nor an initialiser.
        wanted
            Names of the results.

        Raises
        ------
        NetworkError
            ONNX Runtime cannot run them.
        """
        model = self._part(nodes, given, wanted)
        try:
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), self._options, providers=["CPUExecutionProvider"]
            )
            results = session.run_with_ort_values(list(wanted), dict(given))
        except Exception as error:  # its exceptions have no common base but this
            raise NetworkError(f"ONNX Runtime cannot run it: {_told(error)}") from error
        return dict(zip(wanted, results, strict=True))

    def run_whole(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """Run the network as a whole, without any layer of ours; return its outputs."""
        graph = self._network.graph
        return self.run(range(len(graph.node)), given, self._network.output_names)

    def _part(
        self, nodes: Sequence[int], given: Mapping[str, Value], wanted: Sequence[str]
    ) -> ModelProto:
        whole = self._network.model
        read = _names([whole.graph.node[index] for index in nodes]) | set(wanted)
        graph = helper.make_graph(
            [whole.graph.node[index] for index in nodes],
            whole.graph.name or "part",
            [self._info(name, value) for name, value in given.items()],
            [ValueInfoProto(name=name) for name in wanted],
            initializer=[t for name, t in self._weights.items() if name in read],
            sparse_initializer=[t for name, t in self._sparse.items() if name in read],
        )
        return helper.make_model(
            graph, ir_version=whole.ir_version, opset_imports=whole.opset_import
        )

    def _info(self, name: str, value: Value) -> ValueInfoProto:
        """Return the type of an input; its sizes are those of the value."""
        if not value.is_tensor():
            return self._infos[name]
        return helper.make_tensor_value_info(name, value.element_type(), value.shape())


def array(value: Value) -> np.ndarray:
    """Return a tensor's elements.

    Raises
    ------
    TypeError
        NumPy has no such type, or it is no tensor.
    """
    if not value.is_tensor():
        raise TypeError(f"it is {value.data_type()}, and no tensor")
    if value.element_type() in (TensorProto.BFLOAT16, *range(TensorProto.FLOAT8E4M3FN, 32)):
        raise TypeError(f"NumPy has no {value.data_type()}")
    return value.numpy()


def _names(nodes: Sequence[Any]) -> set[str]:
    """Return all names that nodes read, in their subgraphs too."""
    found = set[str]()
    for node in nodes:
        found |= set(node.input)
        for attribute in node.attribute:
            for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                found |= _names(graph.node) | {value.name for value in graph.output}
    return found


def _told(error: Exception) -> str:
    """Return what ONNX Runtime says, without the numbers of its status."""
    return " ".join(str(error).rsplit("] : ", 1)[-1].split())
