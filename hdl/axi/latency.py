"""The latency of a core behind its ports: bare, or within the AXI block."""

from __future__ import annotations

from extremum.hdl import latency as core
from extremum.hdl.axi.streams import has_input_buffer, has_output_buffers
from extremum.hdl.config import CoreConfig


def buffer_latency(config: CoreConfig) -> int:
    """Return the clocks that the buffers of the AXI block add: one at each port that needs one."""
    return has_input_buffer(config) + has_output_buffers(config)


def latency(config: CoreConfig, bus: str = "none") -> int:
    """Return the clocks from taking a beat to offering a result that it completes.

    Parameters
    ----------
    config
        Configuration of the core.
    bus
        ``"none"`` for the bare core, ``"axi"`` for the AXI block around it.
    """
    return core.latency(config) + (buffer_latency(config) if bus == "axi" else 0)
