"""What a run of a network gives: its outputs, and what became of each node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from extremum.host.comparison import Difference
    from extremum.host.report import Report
    from extremum.onnx.layers import Layer

__all__ = ["NodeReport", "Outputs"]


@dataclass(frozen=True)
class NodeReport:
    """What became of a node whose operator is one of ours by name.

    Parameters
    ----------
    name, operator
        The node's name, or that of its first output, and its operator.
    sizes, data_type
        Those of its input; None where it was not reached.
    layer
        What it computes; None if ONNX Runtime has computed it.
    reason
        Why ONNX Runtime has computed it; empty otherwise.
    report
        What the accelerator says; None without one.
    compared
        Whether its outputs were compared with those of ONNX Runtime for the same input.
    difference
        The first difference, if there is one.
    """

    name: str
    operator: str
    sizes: tuple[int, ...] | None
    data_type: str | None
    layer: Layer | None
    reason: str = ""
    report: Report | None = None
    compared: bool = False
    difference: Difference | None = None


class Outputs(tuple[Any, ...]):
    """The outputs of a network in its order; ``outputs["name"]`` is one of them by its name.

    Attributes
    ----------
    names : tuple of str
        Their names.
    nodes : tuple of NodeReport
        What became of each node that may be ours, in the order of the graph.
    difference : Difference or None
        The first difference from what ONNX Runtime alone gives for the network, if they were
        compared and there is one.
    """

    names: tuple[str, ...]
    nodes: tuple[NodeReport, ...]
    difference: Difference | None

    def __new__(
        cls,
        values: Sequence[Any],
        names: Sequence[str],
        nodes: Sequence[NodeReport],
        difference: Difference | None = None,
    ) -> Outputs:
        """Make a tuple that knows its names."""
        made = super().__new__(cls, values)
        made.names, made.nodes, made.difference = tuple(names), tuple(nodes), difference
        return made

    def __getitem__(self, key: Any) -> Any:
        """Return an output by its place or by its name."""
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)

    @property
    def differences(self) -> tuple[NodeReport, ...]:
        """The nodes whose outputs differ from those of ONNX Runtime."""
        return tuple(node for node in self.nodes if node.difference is not None)
