"""What ONNX Runtime alone gives for a whole network, uncut, and with the roundings of the cuts.

ONNX Runtime optimises across nodes: it fuses a product with a sum, and keeps float32 between nodes
that have no kernel for float16. A cut between two such nodes rounds the tensor there to its type.
So the network with its cuts may give other bits than the network without, although every layer
gives the right ones.

The network is therefore run once more, in one session, in which each part is a branch of a node of
If that is always taken, by a condition that is only known in the run. A branch is optimised alone,
as a part is. Any fault of a layer, or of the way in which tensors pass from part to part, shows in
a comparison with it.

The parts run once more one by one, with the layers in ONNX Runtime as well, if that session cannot
run, or if the outputs differ from it and ONNX Runtime could optimise only some of what ran. A fault
of the cut itself would not show then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from extremum.host.comparison import Difference
from extremum.onnx.differences import output_difference
from extremum.onnx.graphs import outputs_of, renamed
from extremum.onnx.network import Network, NetworkError
from extremum.onnx.runtime import NoKernel, Runtime
from extremum.onnx.segments import Segment
from extremum.onnx.values import Value, as_python, value_of

__all__ = ["Reference"]

LARGEST_CODE = TensorProto.BFLOAT16
"""The types with a larger number are narrow ones, which not all versions of If take."""

CONDITION = "extremum: the part runs"
"""Name of an input that is true, which no optimisation knows."""


class Reference:
    """What ONNX Runtime gives for a network.

    Parameters
    ----------
    network, runtime
        The network, and what runs it.
    given
        Its inputs.
    segments
        The segments that it is cut into.
    crossing
        Types, with their sizes, of the tensors that parts and layers give to others.
    """

    def __init__(
        self,
        network: Network,
        runtime: Runtime,
        given: Mapping[str, Value],
        *,
        segments: Sequence[Segment],
        crossing: Mapping[str, ValueInfoProto],
    ) -> None:
        self._network, self._runtime, self._given = network, runtime, given
        self._segments, self._crossing = segments, crossing

    def compare(
        self, outputs: Mapping[str, Any]
    ) -> tuple[Difference | None, Difference | None, bool]:
        """Compare the outputs of a run.

        Returns
        -------
        tuple
            How the outputs differ from those of the network that is rounded at its cuts, how they
            differ otherwise from those of the uncut network, and whether they could be compared:
            ONNX Runtime cannot run a network with a layer that it has no kernel for.
        """
        try:
            rounding = _difference(self.uncut(), outputs)
        except NoKernel:
            return None, None, False
        if rounding is None:
            return None, None, True
        difference = self._difference_of_parts(outputs)
        return difference, None if difference else rounding, True

    def _difference_of_parts(self, outputs: Mapping[str, Any]) -> Difference | None:
        """Compare the outputs with those of a network that is rounded at its cuts."""
        try:
            difference = _difference(self.rounded(), outputs)
        except NetworkError:  # of the branches, since every part has run
            return _difference(self.part_by_part(), outputs)
        if difference and self._runtime.unoptimised:
            return _difference(self.part_by_part(), outputs)
        return difference

    def uncut(self) -> dict[str, Any]:
        """Return the outputs of the network as it is."""
        wanted = list(dict.fromkeys(self._network.output_names))
        values = self._runtime.run(self._network.graph.node, self._given, wanted)
        return as_python(values, self._network.graph.output)

    def rounded(self) -> dict[str, Any]:
        """Return the outputs of the network in which nothing is optimised across a cut."""
        graph, nodes = self._network.graph, list[NodeProto]()
        outside = {name: f"{name}: given" for name in self._crossing}
        for part in self._parts():
            if part.outputs and self._can_branch(part):
                nodes.append(self._branch(part, outside))
            else:
                plain = part.carried_out(graph)
                nodes += [renamed(node, outside, results=True) for node in plain]
        wanted = {name: outside.get(name, name) for name in self._network.output_names}
        infos = [
            ValueInfoProto(name=outside[n], type=self._runtime.declared(i).type)
            for n, i in self._crossing.items()
            if n not in wanted
        ]
        given = dict(self._given) | {CONDITION: value_of(np.array(True))}
        values = self._runtime.run(nodes, given, list(wanted.values()), infos=infos)
        named = {name: values[made] for name, made in wanted.items()}
        return as_python(named, graph.output)

    def part_by_part(self) -> dict[str, Any]:
        """Return the outputs of a run in which ONNX Runtime carries out the layers as well.

        Each part has a session of its own, as in the run, and is optimised or not as it was there.
        """
        graph, values = self._network.graph, dict[str, Any](self._given)

        def value(name: str) -> Any:
            if name not in values:
                values[name] = self._runtime.weight(name)
            return values[name]

        for segment in self._segments:
            if segment.outputs:
                given = {name: value(name) for name in segment.inputs}
                nodes = segment.carried_out(graph)
                values |= self._runtime.run(nodes, given, segment.outputs)
            for node in (graph.node[index] for index in segment.layers):
                given = {name: value(name) for name in node.input if name}
                values |= self._runtime.run([node], given, outputs_of(node))
            for name in segment.last_read:
                values.pop(name, None)
        return as_python({name: value(name) for name in self._network.output_names}, graph.output)

    def _parts(self) -> Iterator[Segment]:
        """Give the segments, and each layer, without outputs if it need not be a branch.

        A layer that reads no other part's results is one: of weights alone it would give a
        constant, and the parts behind it are not optimised as if it did.
        """
        for segment in self._segments:
            yield segment
            for index in segment.layers:
                node = self._network.graph.node[index]
                varies = any(name in self._crossing for name in node.input)
                yield Segment((index,), (), () if varies else outputs_of(node), ())

    def _can_branch(self, segment: Segment) -> bool:
        """Tell whether a branch can give what a part gives: no maps, and no narrow types."""
        kinds = [self._crossing[name].type for name in segment.outputs if name in self._crossing]
        return len(kinds) == len(segment.outputs) and all(
            kind.HasField("sequence_type") or 0 < kind.tensor_type.elem_type <= LARGEST_CODE
            for kind in kinds
        )

    def _branch(self, segment: Segment, outside: Mapping[str, str]) -> NodeProto:
        """Return a part as a branch that is always taken."""
        inputs = {name: outside[name] for name in segment.inputs if name in outside}
        nodes = [renamed(node, inputs) for node in segment.carried_out(self._network.graph)]
        infos = [self._crossing[name] for name in segment.outputs]
        given = [self._runtime.declared(info) for info in infos]
        part = helper.make_graph(nodes, "part", [], given, self._runtime.weights_of(nodes))
        never = [ValueInfoProto(name=f"{i.name}: never", type=i.type) for i in infos]
        zeros = [_zeros(info) for info in never]
        other = helper.make_graph(zeros, "never", [], never)
        outputs = [outside[name] for name in segment.outputs]
        return helper.make_node("If", [CONDITION], outputs, then_branch=part, else_branch=other)


def _difference(expected: Mapping[str, Any], got: Mapping[str, Any]) -> Difference | None:
    found = (output_difference(name, expected[name], y) for name, y in got.items())
    return next((difference for difference in found if difference is not None), None)


def _zeros(info: ValueInfoProto) -> NodeProto:
    """Return a node that gives zeros of the type and the sizes of a tensor, or no sequence."""
    if info.type.HasField("sequence_type"):
        kind = info.type.sequence_type.elem_type.tensor_type.elem_type
        return helper.make_node("SequenceEmpty", [], [info.name], dtype=kind)
    kind = info.type.tensor_type
    sizes = [dim.dim_value for dim in kind.shape.dim]
    if kind.elem_type == TensorProto.STRING:
        zeros = np.full(sizes, "", object)
    else:
        zeros = np.zeros(sizes, helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return helper.make_node("Constant", [], [info.name], value=numpy_helper.from_array(zeros))
