"""The streams of the AXI block: which it has, how wide they are, and what buffers them."""

from __future__ import annotations

from extremum.hdl.config import CoreConfig
from extremum.hdl.job_kinds import takes_by_registers
from extremum.hdl.latency import holds_one_job
from extremum.hdl.register_table import constant_registers
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


def marks_lanes(config: CoreConfig) -> bool:
    """Return whether a result beat may have lanes without a result, for TKEEP to leave out.

    The last group of a job's slices may have fewer slices than there are lanes, and the last beat
    of packed results fewer results.
    """
    constants = constant_registers(config)
    packs = config.can_fold and constants.get("fold") != 0
    return config.lanes > 1 and (packs or constants.get("tail") != config.lanes)


def has_input_buffer(config: CoreConfig) -> bool:
    """Return whether a buffer stands between ``s_axis`` and the core.

    It is left out where the core itself has registers there, and nothing looks at TLAST.
    """
    return is_programmable(config) or not takes_by_registers(config)


def has_output_buffers(config: CoreConfig) -> bool:
    """Return whether a buffer stands between the core and each output stream.

    It is left out where the core gives to one stream alone, from the registers of its queue: a
    buffer is what lets two streams be taken from apart, and what a soft reset leaves offered. A
    pipeline that stops would bring TREADY to all of its flip-flops, so it has the buffer, too.
    """
    has_one = sum(width > 0 for name, width in port_widths(config).items() if name != INPUT) == 1
    return is_programmable(config) or not has_one or holds_one_job(config)
