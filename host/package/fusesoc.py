"""The package as a core of FuseSoC, in its format CAPI2."""

from __future__ import annotations

from extremum.host.package.registers import LIBRARY, VENDOR
from extremum.host.package.settings import Settings, version_text
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
    lines = [
        "CAPI=2:",
        header(settings, "#"),
        f"name: {core_name(settings)}",
        f"description: Argmin, argmax and max pooling, {settings.form} {settings.hash}",
        "",
        "filesets:",
        "  rtl:",
        f"    files: [{name}.v]",
        "    file_type: verilogSource",
        "  waivers:",
        f"    files: [{name}.vlt]",
        "    file_type: vlt",
    ]
    if has_models:
        lines += [
            "  models:",
            f"    files: [{name}_ecp5.v]",
            "    file_type: verilogSource",
        ]
    sources = "rtl, models" if has_models else "rtl"
    if has_bench:
        lines += [
            "  bench:",
            f"    files: [{name}_tb.v]",
            "    file_type: systemVerilogSource",
        ]
    lines += [
        "",
        "targets:",
        "  default: &default",
        '    filesets: [rtl, "tool_verilator? (waivers)"]',
        f'    toplevel: "{name}"',
        "  lint:",
        "    <<: *default",
        "    description: Lint with all warnings of Verilator",
        f'    filesets: ["tool_verilator? (waivers)", {sources}]',
        "    default_tool: verilator",
        "    tools:",
        "      verilator:",
        "        mode: lint-only",
        "        verilator_options: [-Wall]",
    ]
    if has_bench:
        lines += [
            "  sim:",
            "    <<: *default",
            "    description: Run one job and check its results",
            # The time scale in the testbench is to hold for the files behind it, too.
            f'    filesets: ["tool_verilator? (waivers)", bench, {sources}]',
            f'    toplevel: "{name}_tb"',
            "    default_tool: icarus",
            "    tools:",
            "      icarus:",
            "        iverilog_options: [-g2012]",
            "      verilator:",
            "        mode: binary",
            f"        verilator_options: [--timing, {', '.join(VERILATOR_WORKAROUNDS)}]",
        ]
    return "\n".join(lines) + "\n"
