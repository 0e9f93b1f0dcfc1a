"""What ``extremum onnx`` prints: a table of the nodes that may be ours, or one JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.table import Table

from extremum.hdl.config import CoreConfig
from extremum.host.cli.printing import (
    difference_dict,
    difference_text,
    dumps,
    print_rich,
    printable,
)
from extremum.host.plan import plan
from extremum.host.report import Report

if TYPE_CHECKING:
    from extremum.host.comparison import Difference
    from extremum.onnx import Network, NodeReport, Outputs
    from extremum.onnx.network import Candidate

__all__ = [
    "NetworkShown",
    "Row",
    "as_json",
    "page_facts",
    "planned",
    "print_table",
    "ran",
    "refuse_left",
]

ROUNDING = "uncut, ONNX Runtime rounds elsewhere, and gives other bits"
"""What is told of a difference that comes from the cuts, and from no layer."""


@dataclass(frozen=True)
class Row:
    """One node of the table.

    Parameters
    ----------
    name, operator, sizes, data_type
        The node, and its input; None where it is not known.
    where
        ``"native"``, ``"verilator"``, ``"icarus"`` or ``"model"`` for a layer of ours,
        ``"onnxruntime"`` for one that is not taken, ``"core"`` in a plan.
    reason
        Why it is not taken, or what is not known.
    jobs, beats_in, beats_out, cycles, predicted_cycles
        Figures of the layer; None without one.
    notes
        What the plan says of the layer.
    difference
        The first difference from ONNX Runtime.
    core_type
        The element type that the core takes: that of the codes of a quantised tensor, else
        `data_type`. None if the node is not taken, or that is not known.
    """

    name: str
    operator: str
    sizes: tuple[int, ...] | None
    data_type: str | None
    where: str
    reason: str = ""
    jobs: int | None = None
    beats_in: int | None = None
    beats_out: int | None = None
    cycles: int | None = None
    predicted_cycles: int | None = None
    notes: tuple[str, ...] = ()
    difference: Difference | None = None
    core_type: str | None = None

    @property
    def input_text(self) -> str:
        """The type and the sizes of the input, in words."""
        data_type = self.data_type or "?"
        if self.core_type not in (None, self.data_type):
            data_type += f" as {self.core_type}"
        return f"{data_type} {'?' if self.sizes is None else 'x'.join(map(str, self.sizes))}"

    @property
    def clocks(self) -> int | None:
        """Clocks that were counted, else those that are predicted."""
        return self.predicted_cycles if self.cycles is None else self.cycles

    @property
    def utilization(self) -> float | None:
        """``max(beats_in, beats_out) / clocks``: 1 if a beat moved in every clock."""
        if not self.clocks or self.beats_in is None or self.beats_out is None:
            return None
        return max(self.beats_in, self.beats_out) / self.clocks


@dataclass(frozen=True)
class NetworkShown:
    """All that is printed.

    Parameters
    ----------
    model
        The model's file.
    rows
        The nodes that may be ours.
    config
        The core.
    clock
        Its clock, in MHz.
    outputs
        Name, sizes and type of each output; none in a plan.
    difference
        The first difference of the network's outputs from those of ONNX Runtime alone.
    rounding
        The first difference from those of the uncut network, if it comes from rounding at the cuts.
    seconds
        Time that the run took; None for a plan.
    agreement
        Whether all bits agree; None if not everything was compared, and nothing differs.
    compared
        Whether anything was to be compared.
    files
        Files that were written.
    """

    model: str
    rows: tuple[Row, ...]
    config: CoreConfig
    clock: float
    outputs: tuple[tuple[str, tuple[int, ...] | None, str], ...] = ()
    difference: Difference | None = None
    rounding: Difference | None = None
    seconds: float | None = None
    agreement: bool | None = None
    compared: bool = True
    files: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether no difference was found."""
        return self.agreement is not False

    @property
    def taken(self) -> tuple[Row, ...]:
        """The nodes that are layers of ours."""
        return tuple(row for row in self.rows if row.jobs is not None)

    @property
    def clocks(self) -> int:
        """Clocks of all layers."""
        return sum(row.clocks or 0 for row in self.taken)


def planned(model: str, network: Network, config: CoreConfig, clock: float) -> NetworkShown:
    """Return the layers of a network with what their plans predict."""
    return NetworkShown(
        model, tuple(_planned(c, config) for c in network.candidates), config, clock
    )


def _planned(candidate: Candidate, config: CoreConfig) -> Row:
    known = (candidate.name, candidate.node.op_type, candidate.sizes, candidate.data_type)
    if candidate.reason:
        return Row(*known, "onnxruntime", candidate.reason)
    if candidate.layer is None:
        taken_as = candidate.codes and candidate.codes.data_type.value
        return Row(*known, "unknown", candidate.unknown, core_type=taken_as)
    todo = plan(candidate.layer.problem, config)
    figures = (len(todo.jobs), todo.beats_in, todo.beats_out, None, todo.cycles)
    taken_as = candidate.layer.problem.data_type.value
    return Row(*known, "core", "", *figures, todo.notes, core_type=taken_as)


def ran(shown: NetworkShown, outputs: Outputs, backend: str, seconds: float) -> NetworkShown:
    """Return what became of the nodes of a network of which so far nothing was shown."""
    arrays = zip(outputs.names, outputs, strict=True)
    return replace(
        shown,
        rows=tuple(_ran(node, backend) for node in outputs.nodes),
        outputs=tuple((name, *_outline(y)) for name, y in arrays),
        difference=outputs.difference,
        rounding=outputs.rounding,
        seconds=seconds,
        agreement=outputs.agreement,
    )


def _outline(y: Any) -> tuple[tuple[int, ...] | None, str]:
    """Return the sizes and the type of an output; None and its class, if it is no array."""
    if not isinstance(y, np.ndarray):
        return None, type(y).__name__
    return y.shape, "string" if y.dtype.kind == "O" else y.dtype.name


def _ran(node: NodeReport, backend: str) -> Row:
    known = (node.name, node.operator, node.sizes, node.data_type)
    if node.layer is None:
        return Row(*known, "onnxruntime", node.reason)
    report = node.report
    assert report is not None
    notes = (*report.notes, node.note) if node.note else report.notes
    taken_as = node.layer.problem.data_type.value
    return Row(*known, backend, "", *_figures(report), notes, node.difference, taken_as)


def _figures(report: Report) -> tuple[int, int, int, int | None, int]:
    return (
        report.jobs, report.beats_in, report.beats_out, report.cycles, report.predicted_cycles,
    )  # fmt: skip


def refuse_left(shown: NetworkShown) -> None:
    """Refuse a plan with a node that is not taken.

    Raises
    ------
    click.ClickException
        The message names the first such node.
    """
    for row in shown.rows:
        if row.reason:
            raise click.ClickException(
                f"{shown.model}: {row.operator} {row.name} is not taken: {row.reason}"
            )


def print_table(shown: NetworkShown) -> None:
    """Print the table, the totals, and what differs."""
    shown = _printable(shown)
    table = Table(box=None, pad_edge=False)
    for column in ("node", "operator", "input", "runs on"):
        table.add_column(column)
    for column in ("jobs", "beats in", "beats out", "clocks", "utilization", "ms"):
        table.add_column(column, justify="right")
    for row in shown.rows:
        where = f"{row.where}: {row.reason}" if row.reason else row.where
        table.add_row(
            row.name, row.operator, row.input_text, where,
            *_cells((row.jobs, row.beats_in, row.beats_out, row.clocks)),
            "" if row.utilization is None else f"{row.utilization:.1%}",
            "" if row.clocks is None else _milliseconds(row.clocks, shown.clock),
        )  # fmt: skip
    totals = [
        sum(getattr(row, name) for row in shown.taken) for name in ("jobs", "beats_in", "beats_out")
    ]
    table.add_row(
        "all", f"{len(shown.taken)} of {len(shown.rows)}", "", "",
        *_cells((*totals, shown.clocks)), "", _milliseconds(shown.clocks, shown.clock),
        style="bold",
    )  # fmt: skip
    print_rich(table, markup=False)
    if shown.taken:
        simulated = any(row.cycles is not None for row in shown.rows)
        told = "counted in the simulation" if simulated else "predicted"
        print_rich(f"clocks are {told}; times are at {shown.clock:g} MHz", markup=False)
    for row in shown.rows:
        for note in row.notes:
            print_rich(f"note: {row.name}: {note}", markup=False)
        if row.difference is not None:
            print_rich(f"mismatch: {row.name}: {difference_text(row.difference)}", markup=False)
    if shown.difference is not None:
        print_rich(f"mismatch: the network: {difference_text(shown.difference)}", markup=False)
    if shown.rounding is not None:
        told = difference_text(shown.rounding)
        print_rich(f"note: {ROUNDING}: {told}", markup=False)
    if shown.seconds is not None:
        print_rich(f"agreement: {_agreement(shown)}", markup=False)
    for name, sizes, data_type in shown.outputs:
        print_rich(f"output: {name}: {data_type} {'' if sizes is None else sizes}", markup=False)
    for path in shown.files:
        print_rich(f"written: {path}", markup=False)


def _agreement(shown: NetworkShown) -> str:
    """Say what the comparison with ONNX Runtime found."""
    if not shown.passed:
        return "none, see what differs"
    if shown.agreement:
        cuts = "" if shown.rounding is None else ", if it is cut at the same places"
        return f"bit for bit with ONNX Runtime, in each layer and in the outputs{cuts}"
    if not shown.compared:
        return "nothing was compared"
    return "not everything was compared; no difference"


def _printable(shown: NetworkShown) -> NetworkShown:
    """Return what is shown with the model's names as they may go to a terminal."""
    rows = (
        replace(
            row,
            name=printable(row.name), operator=printable(row.operator),
            reason=printable(row.reason), notes=tuple(map(printable, row.notes)),
        )
        for row in shown.rows
    )  # fmt: skip
    outputs = ((printable(name), *outline) for name, *outline in shown.outputs)
    return replace(shown, rows=tuple(rows), outputs=tuple(outputs))


def page_facts(shown: NetworkShown) -> dict[str, Any]:
    """Return what a page about the network tells beside its table."""
    named = [(row.name, row.difference) for row in shown.rows] + [("the network", shown.difference)]
    return {
        "model": Path(shown.model).name,
        "lanes": shown.config.lanes,
        "clocks": shown.clocks,
        "milliseconds": _milliseconds(shown.clocks, shown.clock),
        "clock": f"{shown.clock:g}",
        "megahertz": shown.clock,
        "ran": shown.seconds is not None,
        "agreement": shown.agreement,
        "rounding": "" if shown.rounding is None else difference_text(shown.rounding),
        "differences": [f"{name}: {difference_text(d)}" for name, d in named if d is not None],
    }


def as_json(shown: NetworkShown) -> str:
    """Return everything as one JSON object."""
    return dumps(
        {
            "command": "onnx",
            "model": shown.model,
            "nodes": [_row_dict(row, shown.clock) for row in shown.rows],
            "taken": len(shown.taken),
            "clocks": shown.clocks,
            "clock_mhz": shown.clock,
            "milliseconds": shown.clocks / shown.clock / 1e3,
            "core": _core_dict(shown.config),
            "outputs": [
                {"name": name, "sizes": sizes, "data_type": data_type}
                for name, sizes, data_type in shown.outputs
            ],
            "difference": shown.difference and difference_dict(shown.difference),
            "rounding": shown.rounding and difference_dict(shown.rounding),
            "agreement": shown.agreement,
            "seconds": shown.seconds,
            "files": shown.files,
        }
    )


def _row_dict(row: Row, clock: float) -> dict[str, Any]:
    difference = row.difference and difference_dict(row.difference)
    time = None if row.clocks is None else row.clocks / clock / 1e3
    plain = asdict(row) | {"difference": difference}
    return plain | {"utilization": row.utilization, "milliseconds": time}


def _core_dict(config: CoreConfig) -> dict[str, Any]:
    return asdict(config) | {"data_types": [t.value for t in config.data_types]}


def _cells(figures: Sequence[int | None]) -> list[str]:
    return ["" if figure is None else str(figure) for figure in figures]


def _milliseconds(clocks: int, clock: float) -> str:
    return f"{clocks / clock / 1e3:.3f}"
