"""What a package is called in a catalogue: its vendor, library, version and licence."""

from __future__ import annotations

from importlib.metadata import version

__all__ = ["LIBRARY", "LICENCE", "VENDOR", "ip_version", "version_text"]

VENDOR, LIBRARY = "extremum", "ip"
"""Vendor and library of the package, as FuseSoC, IP-XACT and Vivado name them."""
LICENCE = "Apache-2.0"
"""The licence of what is written, which is that of the project."""


def version_text() -> str:
    """Return the version of this package."""
    return version("extremum")


def ip_version() -> str:
    """Return the first two numbers of that version: Vivado knows no others of an IP."""
    return ".".join(version_text().split(".")[:2])
