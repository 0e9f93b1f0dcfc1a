"""The streams of the AXI block in plain numbers: which it has, and how wide they are."""

from __future__ import annotations

from extremum.hdl.config import CoreConfig
from extremum.hdl.registers import job_shapes

INPUT = "s_axis"
VALUES = "m_axis_value"
INDICES = "m_axis_index"


def is_programmable(config: CoreConfig) -> bool:
    """Return whether the block has an AXI4-Lite port: whether a job has registers to write."""
    return bool(job_shapes(config))


def index_bytes(config: CoreConfig) -> int:
    """Return the bytes of a position on ``m_axis_index``: 1, 2 or 4, or 0 if there are none."""
    if not config.index_width:
        return 0
    needed = -(-config.index_width // 8)
    return 4 if needed == 3 else needed


def port_widths(config: CoreConfig) -> dict[str, int]:
    """Return the bits of TDATA of each stream of the block, by name; 0 where there is none."""
    lanes = config.lanes
    return {
        INPUT: lanes * config.element_width,
        VALUES: lanes * config.element_width if config.has_values else 0,
        INDICES: lanes * 8 * index_bytes(config),
    }
