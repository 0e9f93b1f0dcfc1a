"""Verilog in which a net is assigned as a whole, and not part by part.

Icarus Verilog takes each assignment to a part of a net for a driver of its own, and resolves all of
them, bit by bit and with their strengths, whenever one changes. A net that has a part for each lane
so costs the square of the lanes: with 64 lanes a clock took most of a second, and takes a fiftieth
of that without such nets. To other tools both forms are alike.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["with_whole_nets"]

NAME = r"\\\S+ |[A-Za-z_][\w$]*"
"""An identifier; an escaped one ends with a space that belongs to it."""

SELECTED = rf"(?:{NAME}) ?(?:\[\d+(?::\d+)?\])?"
CONSTANT = r"\d+'[bodh][0-9a-fxz]+"
OPERAND = re.compile(rf"(?:{SELECTED}|{CONSTANT})")
"""What has a width of its own, so that it may stand in a concatenation as it is."""

NET = re.compile(rf"\s*(?:output )?wire (?:signed )?\[(\d+):0\] ({NAME});")
PART = re.compile(rf"\s*assign ({NAME}) ?\[(\d+)(?::(\d+))?\] = (.*);")
ATTRIBUTE = re.compile(r"\s*\(\*.*\*\)")


@dataclass(frozen=True)
class _Part:
    """An assignment to some bits of a net: in which line, to which bits, and of what."""

    line: int
    high: int
    low: int
    value: str


def with_whole_nets(verilog: str) -> str:
    """Return Verilog that says the same, with one assignment to each net.

    Only a net all of whose bits are assigned in statements of one line is changed.

    Parameters
    ----------
    verilog
        Modules as Yosys writes them: a statement begins a line, and all nets of a module are
        declared before they are assigned.
    """
    modules = re.split(r"(?m)^(?=module )", verilog)
    return "".join("\n".join(_rewritten(module.split("\n"))) for module in modules)


def _rewritten(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a module, in which parts of nets are joined."""
    names = set(re.findall(NAME, "\n".join(lines)))
    instead: dict[int, list[str]] = {}
    for net, parts in _complete(lines):
        operands = []
        for part in parts:
            # In a concatenation an expression might be narrower than the part, so it gets a net.
            # So does what has an attribute in the line before, for the attribute's sake.
            is_bare = OPERAND.fullmatch(part.value) and not ATTRIBUTE.fullmatch(
                lines[part.line - 1]
            )
            own = part.value if is_bare else _new_name(f"{net}_bit{part.low}", names)
            bits = f"[{part.high - part.low}:0] " if part.high > part.low else ""
            instead[part.line] = [] if is_bare else [f"  wire {bits}{own} = {part.value};"]
            operands.append(own)
        last = max(part.line for part in parts)
        instead[last].append(f"  assign {net} = {{ {', '.join(operands)} }};")
    for number, line in enumerate(lines):
        yield from instead.get(number, [line])


def _new_name(wanted: str, taken: set[str]) -> str:
    """Return a name that no net of the module has, and note that it is taken."""
    # The space that ends an escaped name goes to the end.
    wanted = wanted.replace(" ", "") + " " * wanted.startswith("\\")
    while wanted in taken:
        wanted = wanted.rstrip() + "_" + " " * wanted.startswith("\\")
    taken.add(wanted)
    return wanted


def _complete(lines: list[str]) -> Iterator[tuple[str, list[_Part]]]:
    """Yield the nets whose bits are all assigned part by part; of each the parts, highest first."""
    widths: dict[str, int] = {}
    assigned: defaultdict[str, list[_Part]] = defaultdict(list)
    for number, line in enumerate(lines):
        if net := NET.fullmatch(line):
            widths[net[2]] = int(net[1]) + 1
        elif part := PART.fullmatch(line):
            high, low = int(part[2]), int(part[3] or part[2])
            assigned[part[1]].append(_Part(number, high, low, part[4]))
    for name, parts in assigned.items():
        parts.sort(key=lambda part: part.high, reverse=True)
        bits = [bit for part in parts for bit in range(part.high, part.low - 1, -1)]
        if len(parts) > 1 and bits == list(range(widths.get(name, 0) - 1, -1, -1)):
            yield name, parts
