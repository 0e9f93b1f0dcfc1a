"""Verilog in which a net is assigned as a whole, and not part by part.

Icarus Verilog takes each assignment to a part of a net for a driver of its own, and resolves all of
them, bit by bit and with their strengths, whenever one changes. A net that has a part for each lane
so costs the square of the lanes: with 64 lanes a clock took most of a second, and takes a fortieth
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

SELECTED = re.compile(rf"({NAME}) ?(?:\[(\d+)(?::(\d+))?\])?")
"""A net, a bit of it or some of its bits: the name, and the highest and the lowest bit."""
CONSTANT = re.compile(r"(\d+)'[bodh][0-9a-fxz]+")

NET = re.compile(
    rf"\s*(?:input |output )?(?:wire|reg) (?:signed )?(?:\[(\d+):0\] )?({NAME})(?: = .*)?;"
)
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
    widths = {net[2]: int(net[1] or 0) + 1 for net in map(NET.fullmatch, lines) if net}
    instead: dict[int, list[str]] = {}
    for net, parts in _complete(lines, widths):
        operands = []
        for part in parts:
            # In a concatenation all else might be narrower or wider than the part, so it gets a
            # net. So does what has an attribute in the line before, for the attribute's sake.
            fits = _width(part.value, widths) == part.high - part.low + 1
            is_bare = fits and not ATTRIBUTE.fullmatch(lines[part.line - 1])
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


def _width(operand: str, widths: dict[str, int]) -> int | None:
    """Return the bits of a net, of some of its bits or of a constant; of all else, nothing."""
    if constant := CONSTANT.fullmatch(operand):
        return int(constant[1])
    if not (selected := SELECTED.fullmatch(operand)):
        return None
    name, high, low = selected.groups()
    return widths.get(name) if high is None else int(high) - int(low or high) + 1


def _complete(lines: list[str], widths: dict[str, int]) -> Iterator[tuple[str, list[_Part]]]:
    """Yield the nets whose bits are all assigned part by part; of each the parts, highest first.

    ``widths`` are the bits of every net of the module.
    """
    assigned: defaultdict[str, list[_Part]] = defaultdict(list)
    for number, line in enumerate(lines):
        if part := PART.fullmatch(line):
            high, low = int(part[2]), int(part[3] or part[2])
            assigned[part[1]].append(_Part(number, high, low, part[4]))
    for name, parts in assigned.items():
        parts.sort(key=lambda part: part.high, reverse=True)
        bits = [bit for part in parts for bit in range(part.high, part.low - 1, -1)]
        if len(parts) > 1 and bits == list(range(widths.get(name, 0) - 1, -1, -1)):
            yield name, parts
