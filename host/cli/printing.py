"""What the command line prints: a few lines for people, or one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, RenderableType
from rich.table import Table

from extremum.host.cache import Entry
from extremum.host.cli.job_registers import registers_dict, registers_text
from extremum.host.comparison import Check, Difference, bits
from extremum.host.report import BlockReport
from extremum.model import AxisDirection, Pooling, Reduction

if TYPE_CHECKING:
    from extremum.host.plan import Plan

__all__ = [
    "RunShown",
    "cache_json",
    "difference_dict",
    "difference_text",
    "dumps",
    "plan_json",
    "print_cache",
    "print_plan",
    "print_rich",
    "run_json",
    "run_text",
]

SHOWN_ELEMENTS = 8
SHOWN_JOBS = 12
LISTED_JOBS = 10_000
"""Jobs that JSON lists: a plan may have more of them than a disk can hold."""

PLAIN_WIDTH = 160
"""Columns of a table that goes to a file or a pipe."""

LEAST_COLUMN = 5
"""Characters of a column, with its edge, below which a table is printed wider than the terminal."""


@dataclass(frozen=True)
class RunShown:
    """What a command worked on.

    Parameters
    ----------
    operator
        The operator's name on the command line.
    problem
        The operator with all its arguments.
    settings
        The arguments of the accelerator.
    """

    operator: str
    problem: Reduction | Pooling
    settings: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The problem in one line, without the arguments that have their default."""
        problem = self.problem
        parts = [f"{self.operator} of {problem.data_type.value} {problem.sizes}"]
        if isinstance(problem, Reduction):
            parts.append(f"axes {problem.axes}")
            if problem.axis_direction is AxisDirection.DECREASING:
                parts.append("decreasing")
        else:
            parts.append(f"window {problem.window}")
            for name, usual in (
                ("strides", 1), ("start_padding", 0), ("end_padding", 0), ("dilations", 1)
            ):  # fmt: skip
                values = getattr(problem, name)
                if any(value != usual for value in values):
                    parts.append(f"{name.replace('_', ' ')} {values}")
            if problem.return_indices and problem.index_layout != "tensor":
                parts.append(f"index layout {problem.index_layout}")
        if problem.nan != "propagate":
            parts.append(f"nan {problem.nan}")
        return ", ".join(parts)

    def as_dict(self, command: str) -> dict[str, Any]:
        """Return what the JSON of every command begins with."""
        backend = self.settings["backend"]
        return {
            "command": command,
            "operator": self.operator,
            "data_type": self.problem.data_type.value,
            "sizes": self.problem.sizes,
            "output_sizes": self.problem.output_sizes,
            "backend": backend,
            "lanes": None if backend == "model" else self.settings.get("lanes", 1),
        }


def run_json(
    shown: RunShown, result: Check, seconds: float, written: Sequence[str], line: str
) -> str:
    """Return the outcome of `run` as JSON. `agreement` is null if nothing was compared."""
    report, difference = result.report, result.difference
    return dumps(
        shown.as_dict("run")
        | {
            "agreement": difference is None if result.compared else None,
            "mismatch": difference_dict(difference) if difference else None,
            "reproduce": line if difference else None,
            "cycles": report.cycles,
            "predicted_cycles": report.predicted_cycles,
            "beats_in": report.beats_in,
            "beats_out": report.beats_out,
            "jobs": report.jobs,
            "utilization": report.utilization,
            "empty_windows": report.empty_windows,
            "notes": report.notes,
            "seconds": round(seconds, 3),
            "written": written,
            "bus": None if report.cycles is None else shown.settings.get("bus", "none"),
            "counters": dict(report.counters) if isinstance(report, BlockReport) else None,
        }
    )


def run_text(
    shown: RunShown, result: Check, seconds: float, written: Sequence[str], line: str
) -> str:
    """Return the outcome of `run` in a few lines."""
    report, difference, backend = result.report, result.difference, shown.settings["backend"]
    rows = [(name, _array(array)) for name, array in result.outputs.items()]
    if report.cycles is None:
        rows.append(("backend", f"{backend}: no hardware, no cycles; {seconds:.1f} s"))
    else:
        jobs = f"{report.jobs} job{'' if report.jobs == 1 else 's'}"
        bus = ", bus: axi" if isinstance(report, BlockReport) else ""
        lanes = shown.settings.get("lanes", 1)
        rows += [
            ("backend", f"{backend}, lanes: {lanes}{bus}; {seconds:.1f} s"),
            ("cycles", f"{report.cycles}, predicted {report.predicted_cycles}, in {jobs}"),
            ("beats", f"{report.beats_in} in, {report.beats_out} out"),
        ]
    if report.utilization is not None:
        rows.append(("utilization", f"{report.utilization:.1%}"))
    if report.empty_windows:
        rows.append(("empty", f"{report.empty_windows} windows lie wholly in padding"))
    rows += [("note", note) for note in report.notes]
    if not result.compared:
        rows.append(("agreement", "not checked"))
    elif difference is None:
        rows.append(("agreement", "bit for bit with the golden model"))
    else:
        rows.append(("MISMATCH", difference_text(difference)))
        rows.append(("", "a wrong result is not written; --no-check would write it"))
    rows += [("written", path) for path in written]
    lines = [shown.text, *(f"  {name:<12}{text}" for name, text in rows)]
    if difference:
        lines.append(f"reproduce: {line}")
    return "\n".join(lines)


def plan_json(
    shown: RunShown, planned: Plan, *, registers: bool = False, written: Sequence[str] = ()
) -> str:
    """Return a plan as JSON, with its first jobs, and with their registers if they are wanted."""
    return dumps(
        shown.as_dict("plan")
        | _plan_totals(planned)
        | {
            "empty_windows": planned.empty_windows,
            "notes": plan_notes(shown, planned),
            "job_count": len(planned.jobs),
            "jobs": [
                {
                    "kind": job.kind,
                    "summary": job.summary,
                    "beats_in": job.beats_in,
                    "beats_out": job.beats_out,
                    "cycles": job.cycles,
                }
                | (registers_dict(job) if registers else {})
                for job in planned.jobs[:LISTED_JOBS]
            ],
        }
        | ({"written": list(written)} if written else {})
    )


def print_plan(
    shown: RunShown, planned: Plan, *, registers: bool = False, written: Sequence[str] = ()
) -> None:
    """Print a plan: its first jobs, the sums over all jobs, and the jobs' registers if wanted."""
    # Made first, since a job that the core cannot run must not leave half an output.
    first = enumerate(planned.jobs[:SHOWN_JOBS] if registers else (), 1)
    told = [line for number, job in first for line in registers_text(number, job)]
    print_rich(shown.text, markup=False)
    table = Table(box=None, pad_edge=False)
    table.add_column("job", justify="right")
    table.add_column("kind")
    table.add_column("what")
    for column in ("beats in", "beats out", "cycles"):
        table.add_column(column, justify="right")
    for number, job in enumerate(planned.jobs[:SHOWN_JOBS], 1):
        figures = (str(job.beats_in), str(job.beats_out), str(job.cycles))
        table.add_row(str(number), job.kind, job.summary, *figures)
    more = len(planned.jobs) - SHOWN_JOBS
    listed = "" if len(planned.jobs) <= LISTED_JOBS else f" as far as job {LISTED_JOBS}"
    if more > 0:
        table.add_row("...", "", f"{more} more, which --json lists{listed}")
    totals = _plan_totals(planned)
    figures = (str(totals[name]) for name in ("beats_in", "beats_out", "cycles"))
    table.add_row("all", "", "", *figures, style="bold")
    print_rich(table)
    if totals["utilization"] is not None:
        print_rich(f"utilization: {totals['utilization']:.1%}, predicted", markup=False)
    if empty := planned.empty_windows:
        print_rich(f"empty: {empty} windows lie wholly in padding", markup=False)
    for note in plan_notes(shown, planned):
        print_rich(f"note: {note}", markup=False)
    for path in written:
        print_rich(f"written: {path}", markup=False)
    for line in told:
        print_rich(line, markup=False)
    if registers and more > 0:
        print_rich(f"{more} more, whose registers --json lists{listed}", markup=False)


def plan_notes(shown: RunShown, planned: Plan) -> list[str]:
    """Return the plan's notes, and what the prediction leaves out."""
    notes = list(planned.notes)
    if any(shown.settings.get(name) for name in ("input_stalls", "output_stalls")):
        notes.append("the prediction is for streams without stalls")
    if shown.settings.get("bus") == "axi":
        notes.append(
            "the prediction is for the bare core: the AXI block takes some clocks more for each "
            "job, and one for each register that is written"
        )
    return notes


def _plan_totals(planned: Plan) -> dict[str, Any]:
    beats = max(planned.beats_in, planned.beats_out)
    return {
        "cycles": planned.cycles,
        "beats_in": planned.beats_in,
        "beats_out": planned.beats_out,
        "utilization": beats / planned.cycles if planned.cycles else None,
    }


def cache_json(folder: str, removed: Sequence[Entry], kept: Sequence[Entry]) -> str:
    """Return the cache's entries as JSON."""
    return dumps(
        {
            "command": "cache",
            "folder": folder,
            "bytes": sum(entry.size for entry in kept),
            "entries": [asdict(entry) for entry in kept],
            "removed": [asdict(entry) for entry in removed],
        }
    )


def print_cache(folder: str, removed: Sequence[Entry], kept: Sequence[Entry]) -> None:
    """Print a table of what the cache holds, and what was removed."""
    table = Table(box=None, pad_edge=False)
    table.add_column("entry")
    table.add_column("MB", justify="right")
    for entry in kept:
        table.add_row(entry.name, f"{entry.size / 1e6:.1f}")
    table.add_row("all", f"{sum(entry.size for entry in kept) / 1e6:.1f}", style="bold")
    print_rich(folder, markup=False)
    print_rich(table)
    if removed:
        size = sum(entry.size for entry in removed) / 1e6
        print_rich(f"removed: {len(removed)} entries, {size:.1f} MB", markup=False)


def dumps(data: Mapping[str, Any]) -> str:
    """Return JSON in one line, without NaN and infinities, which not every parser takes."""
    return json.dumps(data, allow_nan=False)


def printable(text: str) -> str:
    """Return a text that a terminal takes for nothing else: control characters become escapes.

    Examples
    --------
    >>> printable("pool\\x1b[2J")
    'pool\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class _Console(Console):
    """A console that leaves it to the command line to end when nobody reads its output."""

    def on_broken_pipe(self) -> None:
        """Raise the error anew; by default, rich exits with status 1, which means a mismatch."""
        raise BrokenPipeError


def print_rich(renderable: RenderableType, *, markup: bool = True) -> None:
    """Print to stdout. Only on a terminal there are colours, and lines as wide as its window."""
    console = _Console(
        file=sys.stdout, highlight=False, emoji=False, markup=markup, soft_wrap=False
    )
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    if isinstance(renderable, Table):
        # By default, what is too wide for the window is left out.
        console.width = max(console.width, LEAST_COLUMN * len(renderable.columns))
        for column in renderable.columns:
            column.overflow = "fold"
    console.print(renderable, soft_wrap=isinstance(renderable, str))


def _array(array: np.ndarray) -> str:
    text = f"{array.dtype} {array.shape}"
    if array.size <= SHOWN_ELEMENTS:
        text += ": " + " ".join(str(element) for element in array.reshape(-1))
    return text


def _element(element: np.generic) -> str:
    """Return an element as text, and its bits where the number does not tell them."""
    text = str(element)
    # Floats of other packages than NumPy, such as bfloat16, are of the kind V.
    return f"{text} ({_hex(element)})" if element.dtype.kind in "fV" else text


def _hex(element: np.generic) -> str | None:
    """Return the bits of an element; None if it is text."""
    if element.dtype.kind == "U":
        return None
    return f"0x{int(bits(element)):0{2 * element.dtype.itemsize}x}"


def difference_text(difference: Difference) -> str:
    """Return a difference in one line."""
    return (
        f"{difference.count} of {difference.elements} {difference.output} differ; first at "
        f"{difference.coordinate}: expected {_element(difference.expected)}, "
        f"got {_element(difference.got)}"
    )


def difference_dict(difference: Difference) -> dict[str, Any]:
    """Return a difference as plain data: NaN and infinities as text, and always the bits."""

    def plain(element: np.generic) -> Any:
        if element.dtype.kind == "U":
            return str(element)
        return element.item() if np.isfinite(element.astype(np.float64)) else str(element)

    return {
        "output": difference.output,
        "coordinate": difference.coordinate,
        "expected": plain(difference.expected),
        "expected_bits": _hex(difference.expected),
        "got": plain(difference.got),
        "got_bits": _hex(difference.got),
        "differing": difference.count,
        "elements": difference.elements,
    }
