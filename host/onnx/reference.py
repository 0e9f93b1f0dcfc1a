"""What ONNX Runtime alone gives for a whole network, uncut, and with the roundings of the cuts.

ONNX Runtime optimises across nodes: it fuses a product with a sum, and keeps float32 between nodes
that have no kernel for float16. A cut between two such nodes rounds the tensor there to its type.
So the network with its cuts may give other bits than the network without, although every layer
gives the right ones.

The network is therefore run once more, in one session, in which the tensors that cross a cut pass
through a loop of one turn that no optimisation looks into. Any fault of a layer, or of the way in
which tensors pass from part to part, shows in a comparison with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from extremum.host.comparison import Difference
from extremum.onnx.differences import output_difference
from extremum.onnx.network import Network
from extremum.onnx.runtime import NoKernel, Runtime
from extremum.onnx.segments import Segment
from extremum.onnx.values import Value, as_python

__all__ = ["Reference"]

LARGEST_CODE = TensorProto.BFLOAT16
"""The types with a larger number are narrow ones that no kernel computes with."""

LOOP_NAMES = ("turn", "go", "go on", "taken", "result")
"""Names within a loop; behind that of its tensor they are no others of the network."""


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
        self._part_of = {index: at for at, part in enumerate(segments) for index in part.nodes}
        self._stopped = {name: info for name, info in crossing.items() if _can_stop(info)}

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
            if rounding is None:
                return None, None, True
            difference = _difference(self.rounded(), outputs)
        except NoKernel:
            return None, None, False
        return difference, None if difference else rounding, True

    def uncut(self) -> dict[str, Any]:
        """Return the outputs of the network as it is."""
        return self._run(self._network.graph.node)

    def rounded(self) -> dict[str, Any]:
        """Return the outputs of the network in which nothing is optimised across a cut."""
        graph = self._network.graph
        makers = {name: index for index, node in enumerate(graph.node) for name in node.output}
        one = f"{graph.name}: one turn"
        nodes = [NodeProto(op_type="Constant", output=[one])]
        turns = numpy_helper.from_array(np.array(1, np.int64))
        nodes[0].attribute.append(helper.make_attribute("value", turns))
        for index, node in enumerate(graph.node):
            copy = NodeProto()
            copy.CopyFrom(node)
            for place, name in enumerate(node.input):
                if name in self._stopped and self._in_one_part(makers[name], index):
                    copy.input[place] = _before(name)
            stopped = [name for name in node.output if name in self._stopped]
            for place, name in enumerate(node.output):
                if name in stopped:
                    copy.output[place] = _before(name)
            nodes += [copy, *(_loop(name, self._stopped[name], one) for name in stopped)]
        outputs = self._network.output_names
        infos = [info for name, info in self._stopped.items() if name not in outputs]
        # They are outputs of a part, and so they are here: no node that gives them is left out.
        exposed = [_before(name) for name in self._stopped]
        return self._run(nodes, infos=infos, exposed=exposed)

    def _in_one_part(self, maker: int, reader: int) -> bool:
        """Tell whether a tensor passes from node to node within a part, where it is not stopped."""
        return reader in self._part_of and self._part_of.get(maker) == self._part_of[reader]

    def _run(self, nodes: Sequence[NodeProto], **options: Any) -> dict[str, Any]:
        wanted = list(dict.fromkeys(self._network.output_names))
        values = self._runtime.run_nodes(nodes, self._given, wanted, **options)
        return as_python(values, self._network.graph.output)


def _difference(expected: Mapping[str, Any], got: Mapping[str, Any]) -> Difference | None:
    found = (output_difference(name, expected[name], y) for name, y in got.items())
    return next((difference for difference in found if difference is not None), None)


def _can_stop(info: ValueInfoProto) -> bool:
    """Tell whether a loop can carry a value, which need not be done for narrow types."""
    kind = info.type.tensor_type.elem_type
    return info.type.HasField("tensor_type") and 0 < kind <= LARGEST_CODE


def _before(name: str) -> str:
    """Return the name that a tensor has before the loop that it passes."""
    return f"{name}: before the cut"


def _loop(name: str, info: ValueInfoProto, one: str) -> NodeProto:
    """Return a loop that gives a tensor as it is, after one turn."""
    turn, go, go_on, taken, result = (f"{name}: {word}" for word in LOOP_NAMES)
    body = helper.make_graph(
        [
            NodeProto(op_type="Identity", input=[go], output=[go_on]),
            NodeProto(op_type="Identity", input=[taken], output=[result]),
        ],
        "once",
        [
            helper.make_tensor_value_info(turn, TensorProto.INT64, []),
            helper.make_tensor_value_info(go, TensorProto.BOOL, []),
            ValueInfoProto(name=taken, type=info.type),
        ],
        [
            helper.make_tensor_value_info(go_on, TensorProto.BOOL, []),
            ValueInfoProto(name=result, type=info.type),
        ],
    )
    return helper.make_node("Loop", [one, "", _before(name)], [name], body=body)
