"""The register map as SystemRDL 2.0, from which the PeakRDL tools make all other forms of it."""

from __future__ import annotations

from collections.abc import Iterator

from extremum.hdl.axi.register_map import (
    ADDRESS_BITS,
    WORD_BITS,
    Access,
    Field,
    Register,
    register_map,
)
from extremum.hdl.config import CoreConfig

__all__ = ["system_rdl"]

ACCESS = {
    Access.CONSTANT: "sw = r; hw = na;",
    Access.READ: "sw = r; hw = w;",
    Access.WRITE: "sw = w; hw = r;",
    Access.PULSE: "sw = w; hw = r; singlepulse;",
    Access.STROBE: "sw = w; hw = r; swmod;",
    Access.READ_WRITE: "sw = rw; hw = r;",
    Access.CLEAR: "sw = rw; onwrite = woclr; hw = r; hwset; precedence = hw;",
}
"""The properties of a field, by what software may do with it.

An event that comes in the clock in which its flag is cleared is kept: what sets it goes first.
What a soft reset does to the others stands in its text alone.
"""


def system_rdl(config: CoreConfig, name: str, title: str) -> str:
    """Return the SystemRDL description of a block's registers.

    Parameters
    ----------
    config
        Configuration of the core in the block.
    name
        Name of the address map.
    title
        What the block is, in a few words.
    """
    registers = sorted(register_map(config), key=lambda register: register.address)
    lines = [
        f"addrmap {name} {{",
        f"    name = {_quoted(title)};",
        f'    desc = "Byte addresses of {ADDRESS_BITS} bits. An address without a register '
        'answers SLVERR.";',
        f"    default regwidth = {WORD_BITS};",
        f"    default accesswidth = {WORD_BITS};",
        *(line for register in registers for line in _register(register)),
        "};",
    ]
    return "\n".join(lines) + "\n"


def _register(register: Register) -> Iterator[str]:
    yield ""
    yield "    reg {"
    yield f"        desc = {_quoted(register.text)};"
    for field in register.fields:
        yield from _field(field)
    yield f"    }} {register.name} @ 0x{register.address:03X};"


def _field(field: Field) -> Iterator[str]:
    yield "        field {"
    yield f"            desc = {_quoted(field.text)};"
    yield f"            {ACCESS[field.access]}"
    highest = field.lowest + field.width - 1
    place = f"{field.name}[{highest}:{field.lowest}]"
    yield f"        }} {place} = {field.width}'h{field.reset:x};"


def _quoted(text: str) -> str:
    """Return a string literal of SystemRDL."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
