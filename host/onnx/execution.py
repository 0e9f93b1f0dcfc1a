"""A network run with the layers of ours on the gateware, and each of them compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto

from extremum.host.comparison import Difference, first_difference
from extremum.host.team import Team
from extremum.model import EmptyWindowWarning, Pooling, Reduction
from extremum.onnx.agreement import check_values
from extremum.onnx.layers import Layer, NotTaken, layer_of
from extremum.onnx.network import Candidate, Network, NetworkError, load
from extremum.onnx.outcome import NodeReport, Outputs
from extremum.onnx.runtime import Runtime, Value, array
from extremum.onnx.segments import cut

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from extremum.host.accelerator import Accelerator
    from extremum.host.report import Report

__all__ = ["run", "run_network"]

Watch = Callable[[str, Layer, np.ndarray], None]
"""Is told the name, the layer and the input of what was carried out."""


def run(
    model: ModelProto | bytes | str | Path,
    inputs: Mapping[str, ArrayLike] | Sequence[ArrayLike],
    *,
    accelerator: Accelerator | Team | None = None,
    strict: bool = False,
    compare: bool = True,
) -> Outputs:
    """Run a network: its poolings, argmax, argmin, max and min on the gateware, the rest not.

    Parameters
    ----------
    model
        The model, its bytes, or its file.
    inputs
        Arrays for the inputs, by their names or in their order.
    accelerator
        What carries out the layers that are taken; the golden model, if None. A
        :class:`extremum.host.team.Team` carries out those side by side that do not wait for each
        other.
    strict
        Whether a node whose operator is ours by name, and is not taken, is an error.
    compare
        Whether the outputs of each layer, and of the network, are compared with those of ONNX
        Runtime.

    Returns
    -------
    Outputs
        The network's outputs, and what became of each node. Where a layer differs from ONNX
        Runtime, the network goes on with the layer's own outputs.

    Raises
    ------
    NetworkError
        The model or an input breaks a rule, ONNX Runtime cannot run it, or `strict` forbids it.
    """
    whole = load(model)
    given = _named(whole, inputs)
    return run_network(
        load(model, {name: x.shape for name, x in given.items() if isinstance(x, np.ndarray)}),
        given,
        accelerator=accelerator,
        strict=strict,
        compare=compare,
    )


def run_network(
    network: Network,
    inputs: Mapping[str, np.ndarray],
    *,
    accelerator: Accelerator | Team | None = None,
    strict: bool = False,
    compare: bool = True,
    watch: Watch | None = None,
) -> Outputs:
    """Do as :func:`run` with a network that was loaded for the sizes of these inputs.

    Parameters
    ----------
    watch
        Called with the name, the layer and the input of each layer that was carried out.
    """
    execution = _Execution(network, accelerator, strict=strict, compare=compare, watch=watch)
    return execution.run(inputs)


def _named(
    network: Network, inputs: Mapping[str, ArrayLike] | Sequence[ArrayLike]
) -> dict[str, np.ndarray]:
    """Return the inputs by their names."""
    names = network.input_names
    if not isinstance(inputs, Mapping):
        if len(inputs) != len(names):
            raise NetworkError(f"the network has {len(names)} inputs, not {len(inputs)}")
        inputs = dict(zip(names, inputs, strict=True))
    if missing := [name for name in names if name not in inputs]:
        raise NetworkError(f"the input {missing[0]} is not given")
    if foreign := [name for name in inputs if name not in names]:
        known = ", ".join(names) or "none"
        raise NetworkError(f"the network has no input {foreign[0]}: it has {known}")
    return {name: np.asarray(x, order="C") for name, x in inputs.items()}


class _Execution:
    """One run of a network."""

    def __init__(
        self,
        network: Network,
        accelerator: Accelerator | Team | None,
        *,
        strict: bool,
        compare: bool,
        watch: Watch | None,
    ) -> None:
        self._network = network
        self._accelerator = accelerator
        self._strict, self._compare, self._watch = strict, compare, watch
        self._runtime = Runtime(network)
        self._values: dict[str, Value] = {}
        self._reports: dict[int, NodeReport] = {}
        if strict:
            for candidate in network.candidates:
                self._refuse(candidate, candidate.reason)

    def run(self, inputs: Mapping[str, np.ndarray]) -> Outputs:
        """Run it."""
        network = self._network
        self._values = {name: Value.ortvalue_from_numpy(x) for name, x in inputs.items()}
        ours = {c.index: c for c in network.candidates if c.index is not None and not c.reason}
        for segment in cut(network.graph, ours):
            if segment.outputs:
                given = {name: self._value(name) for name in segment.inputs}
                self._values |= self._runtime.run(segment.nodes, given, segment.outputs)
            self._layers([ours[index] for index in segment.layers])
        # ONNX Runtime's arrays are views of memory that ends with the run.
        outputs = {name: _kept(self._value(name)) for name in network.output_names}
        difference = self._whole_difference(inputs, outputs) if self._compare else None
        nodes = [self._report(candidate) for candidate in network.candidates]
        return Outputs(list(outputs.values()), list(outputs), nodes, difference)

    def _whole_difference(
        self, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, Any]
    ) -> Difference | None:
        """Return how the outputs differ from those of the network in ONNX Runtime alone."""
        given = {name: Value.ortvalue_from_numpy(x) for name, x in inputs.items()}
        whole = self._runtime.run_whole(given)
        arrays = {name: y for name, y in outputs.items() if isinstance(y, np.ndarray)}
        pairs = (first_difference(name, whole[name].numpy(), y) for name, y in arrays.items())
        return next((found for found in pairs if found), None)

    def _report(self, candidate: Candidate) -> NodeReport:
        if candidate.index in self._reports:
            return self._reports[candidate.index]
        return NodeReport(
            candidate.name, candidate.node.op_type, candidate.sizes, candidate.data_type,
            None, candidate.reason,
        )  # fmt: skip

    def _value(self, name: str) -> Value:
        if name not in self._values:
            self._values[name] = self._runtime.weight(name)
        return self._values[name]

    def _layers(self, candidates: Sequence[Candidate]) -> None:
        """Carry out nodes that do not wait for each other, those that are taken side by side."""
        taken = []
        for candidate in candidates:
            prepared = self._prepared(candidate)
            if isinstance(prepared, NodeReport):
                self._keep(candidate, prepared)
            else:
                taken.append((candidate, *prepared))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyWindowWarning)
            done = self._carry_out([(layer.problem, layer.lifted(x)) for _, layer, x in taken])
        for (candidate, layer, x), (result, report) in zip(taken, done, strict=True):
            if self._watch is not None:
                self._watch(candidate.name, layer, x)
            self._keep(candidate, self._finished(candidate, layer, layer.outputs(result), report))

    def _keep(self, candidate: Candidate, report: NodeReport) -> None:
        assert candidate.index is not None
        self._reports[candidate.index] = report

    def _prepared(self, candidate: Candidate) -> NodeReport | tuple[Layer, np.ndarray]:
        """Return what a node computes, and its input; its report, if ONNX Runtime computes it."""
        value = self._value(candidate.node.input[0])
        try:
            x = self._tensor(value)
            layer = layer_of(candidate.node, x.shape, x.dtype, self._axes(candidate.node))
            check_values(candidate.node.op_type, layer, x)
        except NotTaken as why:
            self._refuse(candidate, str(why))
            self._values |= self._reference(candidate)
            return NodeReport(*_told(candidate, value), None, str(why))
        return layer, x

    def _finished(
        self,
        candidate: Candidate,
        layer: Layer,
        results: Sequence[np.ndarray],
        report: Report | None,
    ) -> NodeReport:
        """Compare a layer's results with ONNX Runtime's, and keep them for those who need them."""
        told = _told(candidate, self._value(candidate.node.input[0]))
        names = _outputs(candidate.node)
        difference = None
        if self._compare:
            reference = self._reference(candidate)
            pairs = zip(names, results, strict=True)
            found = (first_difference(name, reference[name].numpy(), y) for name, y in pairs)
            difference = next((each for each in found if each), None)
        for name, result in zip(names, results, strict=True):
            self._values[name] = Value.ortvalue_from_numpy(np.asarray(result, order="C"))
        return NodeReport(*told, layer, "", report, self._compare, difference)

    def _carry_out(
        self, work: Sequence[tuple[Reduction | Pooling, np.ndarray]]
    ) -> Sequence[tuple[Any, Report | None]]:
        """Carry out operators; return the result and the report of each."""
        device = self._accelerator
        if device is None:
            return [(problem.evaluate(x), None) for problem, x in work]
        if isinstance(device, Team):
            return device.run_all(work)
        return [(device.run(problem, x), device.report) for problem, x in work]

    def _reference(self, candidate: Candidate) -> dict[str, Value]:
        """Return what ONNX Runtime gives for the node."""
        assert candidate.index is not None
        given = {name: self._value(name) for name in candidate.node.input if name}
        return self._runtime.run([candidate.index], given, _outputs(candidate.node))

    def _axes(self, node: NodeProto) -> list[int] | None:
        if len(node.input) < 2 or not node.input[1]:
            return None
        return array(self._value(node.input[1])).reshape(-1).tolist()

    def _tensor(self, value: Value) -> np.ndarray:
        try:
            return array(value)
        except TypeError as error:
            raise NotTaken(str(error)) from error

    def _refuse(self, candidate: Candidate, reason: str) -> None:
        """Refuse a node that is not taken, where that is asked for."""
        if self._strict and reason:
            raise NetworkError(f"{candidate.node.op_type} {candidate.name} is not taken: {reason}")


def _outputs(node: NodeProto) -> list[str]:
    """Return the names of the outputs that a node gives."""
    return [name for name in node.output if name]


def _told(candidate: Candidate, value: Value) -> tuple[str, str, tuple[int, ...], str]:
    """Return name and operator of a node, and the sizes and the type of its input."""
    return candidate.name, candidate.node.op_type, tuple(value.shape()), _type_name(value)


def _kept(value: Value) -> Any:
    """Return a tensor as an array of its own; what NumPy cannot hold, as it is."""
    try:
        return array(value).copy()
    except TypeError:
        return value


def _type_name(value: Value) -> str:
    """Return the element type of a tensor by its name: ``tensor(float)`` is float32."""
    try:
        return array(value).dtype.name
    except TypeError:
        return value.data_type().removeprefix("tensor(").removesuffix(")")
