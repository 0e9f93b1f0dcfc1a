"""What Verilator counted, as points at lines of the Amaranth source.

Points of several modules, lanes and configurations that come of the same source line and mean the
same there are one point.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from extremum.tb.code_coverage.build import CORE
from extremum.tb.code_coverage.sources import ALWAYS_ON, Design, Line

KINDS = ("line", "branch", "expression", "toggle")

PORTS = {"extremum_core": "hdl/core.py", "extremum_axi": "hdl/axi/block.py"}
"""Files that the ports of a top module are in."""

UNARY = re.compile(r"= (\S+) \(\*")
TERM = re.compile(r"(\S.*?)==([01])(?: && |\) => )")


class Point(NamedTuple):
    """Something that a test may execute.

    ``source`` is a file and a line, for a toggle the file alone. ``detail`` tells the points of one
    kind and line apart: an outcome of a branch, the operands of an expression, an edge of a bit.
    """

    kind: str
    source: str
    detail: str

    @property
    def file(self) -> str:
        """The file of the source."""
        return self.source.partition(":")[0]


@dataclass(frozen=True)
class Record:
    """One counter of Verilator.

    Parameters
    ----------
    fields
        Its description: ``l`` is the line, ``n`` the column, ``t`` the kind, ``page`` the module,
        ``o`` the comment, ``S`` the lines of the block, for example ``"12-14,17"``.
    count
        The counter.
    """

    fields: Mapping[str, str]
    count: int

    @property
    def line(self) -> int:
        """Number of the line in the Verilog, from 0."""
        return int(self.fields["l"]) - 1

    @property
    def block(self) -> list[int]:
        """Numbers of all lines of the block, from 0."""
        spans = [span.split("-") for span in self.fields.get("S", "").split(",") if span]
        return [n - 1 for span in spans for n in range(int(span[0]), int(span[-1]) + 1)]


def records(data: str) -> Iterator[Record]:
    """Yield the counters of the Verilog of the core, from what Verilator writes."""
    for line in data.splitlines():
        if not line.startswith("C '"):
            continue
        described, _, count = line[3:].rpartition("' ")
        fields = dict(pair.split("\2", 1) for pair in described.split("\1") if pair)
        if fields["f"].endswith(CORE):
            yield Record(fields, int(count))


def points(
    design: Design, data: str, bits: Mapping[str, Sequence[str]]
) -> tuple[Counter[Point], Counter[tuple[str, bool]]]:
    """Return how often each point was executed.

    Parameters
    ----------
    design
        The design that was simulated.
    data
        What Verilator wrote.
    bits
        Names of the bits of a port, for the ports whose bits have names.

    Returns
    -------
    Counter[Point]
        The count of each point; those that were never executed are there with 0.
    Counter[tuple[str, bool]]
        Verilator's own points, by kind and by whether they were executed, none put together.
    """
    text = design.verilog.splitlines()
    found: Counter[Point] = Counter()
    raw: Counter[tuple[str, bool]] = Counter()
    terms: dict[tuple[int, str], list[str]] = {}
    every = list(records(data))
    for record in every:
        if record.fields["t"] == "expr":
            where = (record.line, record.fields["n"])
            names = [name for name, _ in _terms(record.fields["o"])]
            terms[where] = max(terms.get(where, []), names, key=len)
    for record in every:
        kind, line = record.fields["t"], design.lines[record.line]
        if ALWAYS_ON in text[record.line]:
            continue
        made: list[Point] = []
        if kind == "toggle":
            made = _toggles(design, record, bits)
        elif kind == "expr" and line.source:
            names = terms[record.line, record.fields["n"]]
            unary = UNARY.search(text[record.line]) is not None
            detail = _expression(record.fields["o"], names, unary)
            made = [Point("expression", line.source, f"{line.operator} {detail}")]
        elif kind in ("line", "branch"):
            made = [*_branch(design.lines, record)]
            sources = {design.lines[n].source for n in record.block if _is_statement(design, n)}
            made += [Point("line", source, "") for source in sources]
        for point in made:
            found[point] += record.count
            raw[point.kind, record.count > 0] += 1
    return found, raw


def _is_statement(design: Design, number: int) -> bool:
    return design.lines[number].operator == "=" and bool(design.lines[number].source)


def _branch(lines: Sequence[Line], record: Record) -> Iterator[Point]:
    """Yield the point of a branch. A branch with a body is where its first statement is."""
    comment = record.fields["o"]
    if comment.startswith("cond_"):
        if lines[record.line].source:
            yield Point("branch", lines[record.line].source, f"? {comment.removeprefix('cond_')}")
    elif comment != "block":
        inside = [lines[n].source for n in record.block if lines[n].operator == "="]
        source = next(filter(None, inside), lines[record.line].source)
        if source:
            yield Point("branch", source, "taken" if record.block else "not taken")


def _terms(comment: str) -> list[tuple[str, str]]:
    """Return the operands of an expression and their values: ``(a==1 && b==0) => 0``."""
    return TERM.findall(comment.removeprefix("("))


def _expression(comment: str, names: Sequence[str], unary: bool) -> str:
    """Return an expression's point without the names of Verilog, which differ between cores."""
    terms = _terms(comment)
    result = comment.rpartition("=> ")[2]
    if not unary:
        sides = ("left", "right") if len(names) == 2 else [f"operand {n}" for n in range(99)]
        values = ", ".join(f"{sides[names.index(name)]} {value}" for name, value in terms)
    elif len(terms) == len(names):
        values = "all " + "".join(sorted({value for _, value in terms}))
    else:
        values = "one " + terms[0][1]
    return f"{values} gives {result}"


def _toggles(design: Design, record: Record, bits: Mapping[str, Sequence[str]]) -> list[Point]:
    """Return the edge of a bit of a port of the top module; nothing for other signals."""
    if record.fields["page"] != f"v_toggle/{design.top}":
        return []
    signal, _, edge = record.fields["o"].replace("___05F", "__").partition(":")
    name, _, index = signal.rstrip("]").partition("[")
    if name not in design.ports:
        return []
    bit = bits[name][int(index or 0)] if name in bits else f"{name}.{index or 0}"
    return [Point("toggle", PORTS.get(design.top, design.top), f"{bit} {edge}")]
