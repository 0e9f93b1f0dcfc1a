"""The Verilog of a core or a block, and of each of its lines the line of Amaranth it comes from.

Amaranth writes a source beside each operator and register. It does not write one beside the
assignments within ``always @*``, whose branches matter most, so these are recorded while it writes
them: a process assigns its signal in the order of the statements that it was made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any
from unittest.mock import patch

from amaranth.back import rtlil, verilog  # pyright: ignore[reportAttributeAccessIssue]
from amaranth.hdl import Elaboratable

from extremum.hdl.config import CoreConfig
from extremum.hdl.verilog import MEMORY, TOPS, VerilogMemories, component_of

Process = tuple[str, str]
"""Module and signal that a process of RTLIL assigns to."""

MODULE = re.compile(r"module \\?([^ (]+)")
OPERATOR = re.compile(r'(\S+) \(\* src = "([^"]*)" \*\)')
ATTRIBUTE = re.compile(r'\(\* src = "([^"]*)" \*\)$')
ASSIGNED = re.compile(r"(?:\\(\S+) |(\w+))(?: ?\[[^]]*\])? <?= ")
BRANCH = re.compile(r"\s*(end else |else )?(if|casez?) ?\(|\s*end else\b|\s*(default|\d+'\w+):")
ALWAYS_ON = "dump_module"
"""Part of the name of a variable of Yosys, by which it makes simulators run every process once."""

TEXT = re.MULTILINE | re.DOTALL
DECLARED = re.compile(r"\s*(?:wire|reg|input|output)\b[^=;]*?(\S+?) *(?:=.*)?;$")


@dataclass(frozen=True)
class Line:
    """Where a line of Verilog comes from.

    Parameters
    ----------
    source
        File and line, for example ``"hdl/core.py:111"``; empty if it has none.
    operator
        The operator of a continuous assignment, ``"="`` for a statement, else empty.
    """

    source: str = ""
    operator: str = ""


@dataclass(frozen=True)
class Design:
    """Verilog with its sources.

    Parameters
    ----------
    verilog
        The text.
    lines
        Of each line, counted from 0, where it comes from.
    top
        Name of the top module.
    """

    verilog: str
    lines: Sequence[Line]
    top: str

    @cached_property
    def ports(self) -> set[str]:
        """Names of the ports of the top module."""
        header = re.search(rf"^module \\?{re.escape(self.top)} ?\((.*?)\);", self.verilog, TEXT)
        return set(re.findall(r"\w+", header[1])) if header else set()


def toggles_of_ports(design: Design) -> str:
    """Return the Verilog with pragmas: of all signals, only the top's ports count toggles."""
    ports: set[str] = set()
    made = []
    for line in design.verilog.splitlines():
        if found := MODULE.match(line):
            ports = design.ports if found[1] == design.top else set()
        if (declared := DECLARED.match(line)) and declared[1] not in ports:
            line = f"/*verilator coverage_off*/ {line} /*verilator coverage_on*/"  # noqa: PLW2901
        made.append(line)
    return "\n".join(made) + "\n"


def design_of(config: CoreConfig, bus: str) -> Design:
    """Return a core (bus ``"none"``) or the AXI block around it (``"axi"``)."""
    return annotated(component_of(config, bus), TOPS[bus])


def annotated(elaboratable: Elaboratable, top: str, **ports: Any) -> Design:
    """Return a design with its sources; ``ports`` are those of :func:`verilog.convert`."""
    memories = VerilogMemories()
    with _recorded() as statements:
        text = str(
            verilog.convert(elaboratable, name=top, platform=memories, emit_src=True, **ports)
        )
    lines = _lines(text.splitlines(), statements)
    if memories.used:
        memory = (files("extremum.hdl") / "memory.v").read_text()
        lines += [
            Line(f"hdl/{MEMORY.removeprefix('extremum_')}.v:{number}", "=" if "=" in line else "")
            for number, line in enumerate(memory.splitlines(), 1)
        ]
        text += memory
    return Design(text, lines, top)


@contextmanager
def _recorded() -> Iterator[dict[Process, list[str]]]:
    """Record the sources of each process's assignments in a ``with`` block, in their order."""
    found: dict[Process, list[str]] = {}
    emitter = rtlil.ModuleEmitter
    plain = emitter.emit_assignment_list

    def emit(self: Any, cell_idx: int, cell: Any) -> None:
        plain(self, cell_idx, cell)
        module = ".".join(self.module.name)
        wire = self.cell_wires[cell_idx].name.removeprefix("\\")
        found[module, wire] = [_place(*each.src_loc) for each in cell.assignments]

    with patch.object(emitter, "emit_assignment_list", emit):
        yield found


def _place(path: str, line: int | str) -> str:
    """Return a source as it is told: relative to the repository, or to Amaranth."""
    for package in ("hdl", "model"):
        root = str(files(f"extremum.{package}"))
        if path.startswith(root):
            return f"{package}{path[len(root) :]}:{line}"
    name = "/amaranth/" if "/amaranth/" in path else "/"
    return f"{name.strip('/')}/{path.rpartition(name)[2]}:{line}".lstrip("/")


def _told(attribute: str) -> str:
    path, _, line = attribute.rpartition(":")
    return _place(path, line)


def _lines(text: Sequence[str], statements: Mapping[Process, Sequence[str]]) -> list[Line]:
    """Return where each line comes from."""
    lines = [Line()] * len(text)
    module, before = "", ""
    process: list[int] = []  # the lines of the assignments in an `always @*`
    inside = False
    for number, line in enumerate(text):
        if found := MODULE.match(line):
            module = found[1]
        elif line == "  always @* begin":
            process, inside = [], True
        elif inside and line == "  end":
            _resolve(process, text, lines, module, statements)
            inside = False
        elif inside:
            if ASSIGNED.match(line.strip()):
                process.append(number)
        elif found := ATTRIBUTE.search(line):
            before = found[1]
            continue
        elif found := OPERATOR.search(line):
            lines[number] = Line(_told(found[2]), found[1])
        elif before and line.startswith(("  always", "    if ")):  # `always @(posedge clk)`
            continue
        elif before and line.startswith("      "):  # a statement under a condition
            lines[number] = Line(_told(before), "=")
        before = ""
    # A branch is where the first statement below it is.
    for number in range(len(text) - 1, 0, -1):
        if BRANCH.match(text[number]) and ALWAYS_ON not in text[number]:
            lines[number] = Line(lines[number + 1].source, "if")
    return lines


def _resolve(
    process: Sequence[int],
    text: Sequence[str],
    lines: list[Line],
    module: str,
    statements: Mapping[Process, Sequence[str]],
) -> None:
    """Set the sources of a process's assignments. The first is the default, not a statement."""
    if not process:
        return
    found = ASSIGNED.match(text[process[0]].strip())
    assert found is not None
    known = statements.get((module, found[1] or found[2]), [])
    # Yosys leaves out assignments that an unconditional one behind them replaces.
    for number, source in zip(reversed(process), reversed(known), strict=False):
        lines[number] = Line(source, "=")
