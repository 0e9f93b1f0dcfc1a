"""All files of a package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from extremum.host.package.configuration import toml_text
from extremum.host.package.description import describe
from extremum.host.package.ecp5_models import models
from extremum.host.package.example import example_job
from extremum.host.package.fusesoc import core_file
from extremum.host.package.ipxact import STANDARDS, component
from extremum.host.package.ports import ports_of
from extremum.host.package.readme import readme
from extremum.host.package.registers import PEAKRDL, register_files
from extremum.host.package.settings import Settings
from extremum.host.package.template import template
from extremum.host.package.testbench import testbench
from extremum.host.package.verilog import block_verilog
from extremum.host.package.vivado import packaging_script
from extremum.host.package.waivers import waivers
from extremum.host.tools import require

__all__ = ["package_files"]

COMPONENTS = {"2009": "component.xml", "2014": "component_2014.xml"}
"""Names of the IP-XACT files, by the edition of the standard. Vivado looks for the first."""


def package_files(settings: Settings, cost: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    """Return the files of a package by their names; equal settings give equal bytes.

    Parameters
    ----------
    settings
        What the package is written for.
    cost
        A measurement for the README, as ``extremum fpga --json`` prints it.

    Raises
    ------
    ToolError
        A tool that makes register files is missing.
    """
    if settings.has_registers:
        require(*PEAKRDL)
    name = settings.name
    verilog = block_verilog(settings)
    ports = ports_of(verilog, name)
    example = example_job(settings.config)
    primitives = models(settings, verilog)
    has = {"has_models": primitives is not None}
    texts = {
        f"{name}.v": verilog,
        f"{name}.vlt": waivers(settings, **has),
        f"{name}_template.v": template(settings, ports),
        f"{name}.core": core_file(settings, has_bench=example is not None, **has),
        f"{name}.toml": toml_text(settings),
        f"{name}.json": json.dumps(describe(settings, ports), indent=1) + "\n",
    }
    if example is not None:
        texts[f"{name}_tb.v"] = testbench(settings, ports, example)
    if primitives is not None:
        texts[f"{name}_ecp5.v"] = primitives
    if settings.bus == "axi":
        texts["package_ip.tcl"] = packaging_script(settings)
    files = {path: text.encode() for path, text in texts.items()}
    for edition in STANDARDS:
        files[COMPONENTS[edition]] = component(settings, ports, edition)
    if settings.has_registers:
        made = register_files(settings)
        files |= {f"registers/{path}": content for path, content in made.items()}
    files["README.md"] = readme(settings, ports, example, files, cost).encode()
    return files
