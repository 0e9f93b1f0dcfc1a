"""A network run with the layers of ours on the gateware, and each of them compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto

from extremum.host.accelerator import Accelerator
from extremum.host.checks import tensor_for
from extremum.host.plan import plan
from extremum.host.team import Team
from extremum.model import Pooling, Reduction
from extremum.onnx.agreement import check_values
from extremum.onnx.differences import output_difference
from extremum.onnx.graphs import outputs_of
from extremum.onnx.inputs import named_inputs
from extremum.onnx.layers import Layer, NotTaken, axes_of, check_type, layer_of
from extremum.onnx.loading import load
from extremum.onnx.network import Candidate, Network, NetworkError
from extremum.onnx.outcome import NodeReport, Outputs
from extremum.onnx.reference import Reference
from extremum.onnx.runtime import NoKernel, Runtime
from extremum.onnx.segments import cut
from extremum.onnx.values import Value, array, as_python, is_tensor, type_name, value_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from extremum.host.report import Report

__all__ = ["run", "run_network"]

WatchLayer = Callable[[str, Layer, np.ndarray], None]
"""Is told the name of what was carried out, the layer, and what its operator took."""


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
    TypeError
        The model or the accelerator is something else than said above.
    NetworkError
        The model or an input breaks a rule, ONNX Runtime cannot run it, or `strict` forbids it.
    """
    given = named_inputs(load(model), inputs)
    return run_network(
        load(model, {name: x.shape for name, x in given.items()}),
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
    watch: WatchLayer | None = None,
) -> Outputs:
    """Do as :func:`run` with a network that was loaded for the sizes of these inputs.

    Parameters
    ----------
    watch
        Called for each layer that was carried out.
    """
    execution = _Execution(network, accelerator, strict=strict, compare=compare, watch=watch)
    return execution.run(inputs)


class _Execution:
    """One run of a network."""

    def __init__(
        self,
        network: Network,
        accelerator: Accelerator | Team | None,
        *,
        strict: bool,
        compare: bool,
        watch: WatchLayer | None,
    ) -> None:
        self._network = network
        if accelerator is not None and not isinstance(accelerator, Accelerator | Team):
            raise TypeError(f"accelerator must be an Accelerator or a Team, not {accelerator!r}")
        self._accelerator = accelerator
        self._strict, self._compare, self._watch = strict, compare, watch
        self._runtime = Runtime(network)
        self._values: dict[str, Any] = {}
        self._crossing: dict[str, ValueInfoProto] = {}
        self._reports: dict[int, NodeReport] = {}
        if strict:
            for candidate in network.candidates:
                self._refuse(candidate, candidate.reason)

    def run(self, inputs: Mapping[str, np.ndarray]) -> Outputs:
        """Run it."""
        network, names = self._network, self._network.output_names
        given = {name: _given(name, x) for name, x in inputs.items()}
        self._values = dict(given)
        segments = cut(network.graph, network.ours)
        for segment in segments:
            if segment.outputs:
                taken = {name: self._value(name) for name in segment.inputs}
                nodes = segment.carried_out(network.graph)
                self._store(self._runtime.run(nodes, taken, segment.outputs))
            self._layers([network.ours[index] for index in segment.layers])
            for name in segment.last_read:
                self._values.pop(name, None)
        # ONNX Runtime's arrays are views of memory that ends with the run.
        kinds = network.graph.output
        outputs = as_python({name: self._value(name) for name in names}, kinds)
        difference, rounding, compared = None, None, False
        if self._compare:
            reference = Reference(
                network, self._runtime, given, segments=segments, crossing=self._crossing
            )
            difference, rounding, compared = reference.compare(outputs)
        nodes = [self._report(candidate) for candidate in network.candidates]
        return Outputs(
            [outputs[name] for name in names], names, nodes,
            difference=difference, rounding=rounding, compared=compared,
        )  # fmt: skip

    def _store(self, values: Mapping[str, Any]) -> None:
        """Keep values for the parts that need them, and their types."""
        self._values |= values
        if self._compare:
            for name, value in values.items():
                if isinstance(value, Value):
                    self._crossing[name] = self._runtime.info(name, value)

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
        done = self._carry_out([(layer.problem, x) for _, layer, x in taken])
        for (candidate, layer, x), (result, report) in zip(taken, done, strict=True):
            if self._watch is not None:
                self._watch(candidate.name, layer, x)
            self._keep(candidate, self._finished(candidate, layer, layer.outputs(result), report))

    def _keep(self, candidate: Candidate, report: NodeReport) -> None:
        assert candidate.index is not None
        self._reports[candidate.index] = report

    def _prepared(self, candidate: Candidate) -> NodeReport | tuple[Layer, np.ndarray]:
        """Return a layer and what its operator takes; a report, if ONNX Runtime computes it."""
        value = self._value(candidate.node.input[0])
        try:
            x = self._tensor(value)
            check_type(candidate.node, self._network.opset, value.element_type())
            layer = layer_of(candidate.node, x.shape, x.dtype, self._axes(candidate.node))
            check_values(candidate.node.op_type, layer, x)
            layer, x = self._taken(candidate, layer, x)
        except NotTaken as why:
            self._refuse(candidate, str(why))
            self._store(self._reference(candidate))
            return NodeReport(*_told(candidate, value), None, str(why))
        return layer, layer.lifted(x)

    def _taken(self, candidate: Candidate, layer: Layer, x: np.ndarray) -> tuple[Layer, np.ndarray]:
        """Return a layer, and what the core takes of its input: the codes, or the elements.

        Raises
        ------
        NotTaken
            The core was not built for the layer.
        """
        codes, told = candidate.codes, ""
        if codes is not None and codes.suit(candidate.node, x.ndim):
            coded, whole = layer.of_codes(codes), codes.of(x)
            if whole is not None and self._refusal(coded) is None:
                return coded, whole
            told = "" if whole is not None else "its elements are not those of their codes, and "
        if (why := self._refusal(layer)) is not None:
            raise NotTaken(f"{told}{why}")
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
        given = dict(zip(outputs_of(candidate.node), results, strict=True))
        compared, difference, note = self._compare, None, ""
        if self._compare:
            try:
                reference = self._reference(candidate)
            except NoKernel:
                compared, note = False, "not compared: ONNX Runtime has no such kernel"
            else:
                pairs = (output_difference(n, array(reference[n]), y) for n, y in given.items())
                difference = next((found for found in pairs if found is not None), None)
        self._store({name: value_of(result) for name, result in given.items()})
        return NodeReport(*told, layer, "", report, compared, difference, note)

    def _refusal(self, layer: Layer) -> str | None:
        """Return why the core was not built for a layer; None if it was."""
        if self._accelerator is not None:
            try:
                plan(layer.problem, self._accelerator.config).check_fixed()
            except ValueError as error:
                return str(error)
        return None

    def _carry_out(
        self, work: Sequence[tuple[Reduction | Pooling, np.ndarray]]
    ) -> Sequence[tuple[Any, Report | None]]:
        """Carry out operators; return the result and the report of each."""
        device = self._accelerator
        if device is None:
            return [(problem.compute(tensor_for(problem, x)), None) for problem, x in work]
        if isinstance(device, Team):
            return device.run_all(work, warns=False)
        return [device.run_reported(problem, x, warns=False) for problem, x in work]

    def _reference(self, candidate: Candidate) -> dict[str, Value]:
        """Return what ONNX Runtime gives for the node."""
        given = {name: self._value(name) for name in candidate.node.input if name}
        return self._runtime.run([candidate.node], given, outputs_of(candidate.node))

    def _axes(self, node: NodeProto) -> list[int] | None:
        if len(node.input) < 2 or not node.input[1]:
            return None
        return axes_of(self._tensor(self._value(node.input[1])))

    def _tensor(self, value: Value) -> np.ndarray:
        try:
            return array(value)
        except TypeError as error:
            raise NotTaken(str(error)) from error

    def _refuse(self, candidate: Candidate, reason: str) -> None:
        """Refuse a node that is not taken, where that is asked for."""
        if self._strict and reason:
            raise NetworkError(f"{candidate.node.op_type} {candidate.name} is not taken: {reason}")


def _told(candidate: Candidate, value: Value) -> tuple[str, str, tuple[int, ...] | None, str]:
    """Return name and operator of a node, and the sizes and the type of its input."""
    sizes = tuple(value.shape()) if is_tensor(value) else None
    return candidate.name, candidate.node.op_type, sizes, type_name(value)


def _given(name: str, x: np.ndarray) -> Value:
    """Return an input as a value of ONNX Runtime."""
    try:
        return value_of(x)
    except RuntimeError as error:
        raise NetworkError(f"the input {name} has the type {x.dtype}: {error}") from error
