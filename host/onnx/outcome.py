"""What a run of a network gives: its outputs, and what became of each node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

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
    note
        Why its outputs could not be compared; empty otherwise.
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
    note: str = ""


class Outputs(tuple[Any, ...]):
    """The outputs of a network in its order; ``outputs["name"]`` is one of them by its name.

    Tensors are arrays; those of types that NumPy has not are of a type of ``ml_dtypes``, and text
    is of type ``object``. Sequences are lists, maps are dictionaries, and an optional value that is
    missing is None.

    Attributes
    ----------
    names : tuple of str
        Their names.
    nodes : tuple of NodeReport
        What became of each node that may be ours, in the order of the graph.
    difference : Difference or None
        The first difference from what ONNX Runtime alone gives for the network if it rounds the
        tensors at the cuts, if they were compared and there is one.
    rounding : Difference or None
        The first difference from what ONNX Runtime gives for the network without cuts, where there
        is no `difference`: it comes from the roundings at the cuts alone, and is no fault.
    compared : bool
        Whether the outputs were compared.
    """

    names: tuple[str, ...]
    nodes: tuple[NodeReport, ...]
    difference: Difference | None
    rounding: Difference | None
    compared: bool

    def __new__(
        cls,
        values: Sequence[Any],
        names: Sequence[str],
        nodes: Sequence[NodeReport],
        *,
        difference: Difference | None = None,
        rounding: Difference | None = None,
        compared: bool = False,
    ) -> Outputs:
        """Make a tuple that knows its names."""
        made = super().__new__(cls, values)
        made.names, made.nodes = tuple(names), tuple(nodes)
        made.difference, made.rounding, made.compared = difference, rounding, compared
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what a copy is made of, for `copy` and `pickle`."""
        found = {"difference": self.difference, "rounding": self.rounding}
        return (tuple(self), self.names, self.nodes), {**found, "compared": self.compared}

    def __getitem__(self, key: SupportsIndex | slice | str) -> Any:
        """Return an output by its place or by its name.

        Raises
        ------
        KeyError
            There is no output of this name.
        """
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.names:
            raise KeyError(f"no output is named {key}: there are {', '.join(self.names)}")
        return super().__getitem__(self.names.index(key))

    @property
    def differences(self) -> tuple[NodeReport, ...]:
        """The nodes whose outputs differ from those of ONNX Runtime."""
        return tuple(node for node in self.nodes if node.difference is not None)

    @property
    def agreement(self) -> bool | None:
        """Whether all bits agree; None if not everything was compared, and nothing differs."""
        if self.difference is not None or self.differences:
            return False
        layers = [node for node in self.nodes if node.layer is not None]
        return True if self.compared and all(node.compared for node in layers) else None
