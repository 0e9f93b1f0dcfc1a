"""A core as Verilog text."""

from __future__ import annotations

from amaranth.back import verilog

from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core

TOP = "extremum_core"
"""Name of the generated module."""


def generate(config: CoreConfig, platform: object = None) -> str:
    """Return the Verilog of a core; equal configurations give equal text.

    A platform may have memories of its own (:class:`extremum.hdl.ecp5.Ecp5`). Without a platform,
    memories are written so that synthesis tools can infer them.

    The module is named :data:`TOP`. Its ports are ``clk``, ``rst`` (synchronous, active high) and
    the members of :class:`extremum.hdl.core.Core`, joined by double underscores.
    """
    return str(verilog.convert(Core(config), name=TOP, platform=platform, emit_src=False))
