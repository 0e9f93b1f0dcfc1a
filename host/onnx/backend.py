"""The backend interface that ONNX defines, carried out by the golden model or the gateware.

``prepare``, ``run_model``, ``run_node`` and ``supports_device`` are those of
`onnx.backend.base.Backend`. A model is compatible if all its nodes are taken: nothing is left to
ONNX Runtime here, so that a test of ONNX that passes was passed by this project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep
from onnx.shape_inference import infer_shapes

from extremum.onnx.execution import run
from extremum.onnx.graphs import name_of
from extremum.onnx.layers import is_candidate
from extremum.onnx.loading import load
from extremum.onnx.network import NetworkError
from extremum.onnx.outcome import Outputs

__all__ = [
    "ExtremumBackend",
    "ExtremumRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]


class ExtremumRep(BackendRep):
    """A model that is ready to run.

    Parameters
    ----------
    model
        The model.
    options
        Options of :func:`extremum.onnx.run`: ``accelerator``, ``compare``.
    """

    def __init__(self, model: ModelProto, options: dict[str, Any]) -> None:
        self._model = model
        self._options = options

    def run(self, inputs: Any, **kwargs: Any) -> Outputs:
        """Run the model; the inputs are arrays in its order, or by name."""
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        options: dict[str, Any] = {"strict": True, "compare": False} | self._options | kwargs
        return run(self._model, inputs, **options)


class ExtremumBackend(Backend):
    """Models whose nodes are all taken. The device is the CPU, which simulates the gateware.

    Each method takes the options of :func:`extremum.onnx.run` beside its own; without an
    ``accelerator``, the golden model computes.
    """

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Tell whether every node of a model is taken, so far as its sizes are known."""
        try:
            network = load(model)
        except NetworkError:
            return False
        taken = [node for node in network.candidates if not node.reason]
        return cls.supports_device(device) and len(taken) == len(network.graph.node)

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> ExtremumRep:
        """Check a model and return what runs it.

        Raises
        ------
        ValueError
            There is no such device.
        NetworkError
            A node is no operator of ours, and ``strict=False`` is not given, which leaves it to
            ONNX Runtime.
        onnx.checker.ValidationError
            The model breaks a rule of ONNX.
        """
        if not cls.supports_device(device):
            raise ValueError(f"device must be CPU, not {device}")
        super().prepare(model, device, **kwargs)
        if kwargs.get("strict", True):
            for node in load(model).graph.node:
                if not is_candidate(node):
                    raise NetworkError(
                        f"{node.op_type} {name_of(node)} is not taken; with strict=False it is "
                        "left to ONNX Runtime"
                    )
        return ExtremumRep(model, kwargs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> Outputs:
        """Run one node; the inputs are arrays in its order, or by name.

        ``opset_version`` is that of its operator, the newest if not given.

        Raises
        ------
        ValueError
            There are more or fewer inputs than the node reads, or others.
        """
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        if isinstance(inputs, Mapping):
            if set(inputs) != set(names):
                told = ", ".join(map(str, inputs)) or "none"
                raise ValueError(f"{node.op_type} reads {', '.join(names)}, and given are {told}")
            inputs = [inputs[name] for name in names]
        arrays = [np.asarray(x) for x in ([inputs] if isinstance(inputs, np.ndarray) else inputs)]
        if len(names) != len(arrays):
            raise ValueError(
                f"{node.op_type} reads {len(names)} inputs, and {len(arrays)} are given"
            )
        # Sizes of the result follow from axes only where these are constants.
        given = 1 if is_candidate(node) else len(names)
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in zip(names[:given], arrays, strict=False)
        ]
        constants = [
            numpy_helper.from_array(x, name)
            for name, x in zip(names[given:], arrays[given:], strict=True)
        ]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "node", infos, results, constants)
        opsets = [helper.make_opsetid("", opset)]
        model = infer_shapes(helper.make_model(graph, opset_imports=opsets))
        return cls.prepare(model, device, **kwargs).run(arrays[:given])

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Tell whether it is the CPU."""
        return device.split(":", maxsplit=1)[0] == "CPU"


is_compatible = ExtremumBackend.is_compatible
prepare = ExtremumBackend.prepare
run_model = ExtremumBackend.run_model
run_node = ExtremumBackend.run_node
supports_device = ExtremumBackend.supports_device
