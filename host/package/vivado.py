"""A script that packages the block as an IP of Vivado."""

from __future__ import annotations

from extremum.host.package.identity import LIBRARY, VENDOR, ip_version
from extremum.host.package.settings import Settings
from extremum.host.package.verilog import header

__all__ = ["packaging_script"]


def packaging_script(settings: Settings) -> str:
    """Return Tcl that makes an IP in the folder ``vivado_ip``, from the Verilog alone.

    Vivado recognises the interfaces by the attributes at the ports.
    """
    name = settings.name
    lines = [
        header(settings, "#"),
        "# Packages the block as an IP: vivado -mode batch -source package_ip.tcl",
        "set here [file dirname [file normalize [info script]]]",
        "set target [file join $here vivado_ip]",
        "create_project -in_memory",
        f"read_verilog [file join $here {name}.v]",
        f"set_property top {name} [current_fileset]",
        f"ipx::package_project -root_dir $target -vendor {VENDOR} -library {LIBRARY} \\",
        "    -taxonomy /UserIP -import_files -force",
        "set ip [ipx::current_core]",
        f"set_property name {name} $ip",
        f"set_property version {ip_version()} $ip",
        f"set_property display_name {{{name}}} $ip",
        f"set_property description {{Argmin, argmax and max pooling, {settings.form} "
        f"{settings.hash}}} $ip",
        "ipx::check_integrity $ip",
        "ipx::save_core $ip",
        "close_project",
    ]
    return "\n".join(lines) + "\n"
