"""The package as a core of FuseSoC, in its format CAPI2."""

from __future__ import annotations

from collections.abc import Iterable

from extremum.host.package.identity import LIBRARY, VENDOR, version_text
from extremum.host.package.settings import Settings
from extremum.host.package.verilog import header
from extremum.host.tools import VERILATOR_WORKAROUNDS

__all__ = ["core_file", "core_name"]


def core_name(settings: Settings) -> str:
    """Return the name by which FuseSoC finds the core: vendor, library, name, version."""
    return f"{VENDOR}:{LIBRARY}:{settings.name}:{version_text()}"


def core_file(settings: Settings, *, has_bench: bool, has_models: bool = False) -> str:
    """Return the ``.core`` file, with a target for lint, and one that runs the testbench.

    Without a testbench there is no target for simulation. Models of a part's block memories, in a
    file of their own, belong to these two targets alone.
    """
    name = settings.name
    sources = "rtl, models" if has_models else "rtl"
    filesets = [
        *_fileset("rtl", f"{name}.v", "verilogSource"),
        *_fileset("waivers", f"{name}.vlt", "vlt"),
        *(_fileset("models", f"{name}_ecp5.v", "systemVerilogSource") if has_models else ()),
        *(_fileset("bench", f"{name}_tb.v", "systemVerilogSource") if has_bench else ()),
    ]
    lines = [
        "CAPI=2:",
        header(settings, "#"),
        f"name: {core_name(settings)}",
        f"description: Argmin, argmax and max pooling, {settings.form} {settings.hash}",
        "",
        "filesets:",
        *filesets,
        "",
        "targets:",
        "  default: &default",
        '    filesets: [rtl, "tool_verilator? (waivers)"]',
        f'    toplevel: "{name}"',
        *_lint(sources),
        *(_simulation(name, sources) if has_bench else ()),
    ]
    return "\n".join(lines) + "\n"


def _fileset(name: str, file: str, kind: str) -> Iterable[str]:
    """Yield a set of one file."""
    yield f"  {name}:"
    yield f"    files: [{file}]"
    yield f"    file_type: {kind}"


def _lint(sources: str) -> Iterable[str]:
    """Yield the target that has Verilator look for faults in the sources."""
    yield "  lint:"
    yield "    <<: *default"
    yield "    description: Lint with all warnings of Verilator"
    yield f'    filesets: ["tool_verilator? (waivers)", {sources}]'
    yield "    default_tool: verilator"
    yield "    tools:"
    yield "      verilator:"
    yield "        mode: lint-only"
    yield "        verilator_options: [-Wall]"


def _simulation(name: str, sources: str) -> Iterable[str]:
    """Yield the target that runs the testbench, by Icarus or Verilator."""
    yield "  sim:"
    yield "    <<: *default"
    yield "    description: Run one job and check its results"
    yield f'    filesets: ["tool_verilator? (waivers)", bench, {sources}]'
    yield f'    toplevel: "{name}_tb"'
    yield "    default_tool: icarus"
    yield "    tools:"
    yield "      icarus:"
    yield "        iverilog_options: [-g2012]"
    yield "      verilator:"
    yield "        mode: binary"
    yield f"        verilator_options: [--timing, {', '.join(VERILATOR_WORKAROUNDS)}]"
