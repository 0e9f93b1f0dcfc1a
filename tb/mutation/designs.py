"""The designs that are mutated: small, but with every part of the gateware in use.

Widths that only make counters long are scaled down (:func:`scaled`), so that a job of a thousand
beats passes every carry of every counter. The structure stays: a counter of a fast core still has
low bits counted by gates, segments with cut carries above them, and a comparison that is late.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue] (not in the stubs)

from extremum.hdl import register_table
from extremum.hdl.config import CoreConfig
from extremum.hdl.timing import parameters
from extremum.hdl.verilog import component_of
from extremum.model import DataType

TOP = "mutated"
"""Name of the module that is mutated."""

COUNTER_BITS = 10
"""Bits of the registers that count slots, volumes, rows and groups, instead of 32."""

TIMING: dict[str, Any] = {
    "whole_count": 4, "low_count": 3, "count_segment": 4, "fixed_count_segment": 3, "full_bits": 4,
    "equality_bits": 4, "order_bits": 4, "ordinal_segment": 4, "position_segment": 4,
    "lookup_queue": 4,
}  # fmt: skip
"""The timing parameters that are made small, so that short numbers are cut as long ones are.

Small and balanced cores cut no numbers, so theirs stay."""


@dataclass(frozen=True)
class Design:
    """A design to mutate.

    Parameters
    ----------
    config
        Configuration of its core.
    bus
        ``"none"`` for the bare core, ``"axi"`` for the AXI block around it.
    block
        Name of the one block that all of the design is; empty if its cells are grouped into blocks
        by their hierarchical names.
    prefix
        What the names of these blocks begin with, if another design has the same parts.
    """

    config: CoreConfig
    bus: str = "none"
    block: str = ""
    prefix: str = ""

    @property
    def clock(self) -> str:
        """Name of the port of the clock."""
        return "aclk" if self.bus == "axi" else "clk"

    def rtlil(self) -> str:
        """Return the design as RTLIL, hierarchical, with a ``src`` for each cell."""
        return str(rtlil.convert(component_of(self.config, self.bus), name=TOP, emit_src=True))


DESIGNS = {
    # Two lanes, a fold, windows in all dimensions, taps in registers and in memory, two types.
    "windows": Design(
        CoreConfig(
            (DataType.FLOAT16, DataType.INT8),
            lanes=2,
            max_window=(2, 3, 3),
            max_dilation=(1, 1, 2),
            max_line=4,
            max_plane=8,
            coordinate_width=5,
            index_width=9,
        )
    ),
    # Four lanes that fold, and rows as long as the counters allow.
    "rows": Design(
        CoreConfig(
            (DataType.FLOAT16,), lanes=4, max_window=(1, 1, 1), coordinate_width=4, index_width=10
        )
    ),
    # The AXI block around a fast core of two lanes, with both output streams and empty windows.
    "block": Design(
        CoreConfig(
            (DataType.INT8,),
            lanes=2,
            max_window=(1, 1, 2),
            max_line=4,
            coordinate_width=4,
            index_width=10,
        ),
        "axi",
    ),
}
"""The designs by name. The bare cores of the other settings of ``pipelining`` are one block each:
their parts are those of the fast cores with fewer registers, controlled for one job at a time.
"""

DESIGNS["small.block"] = replace(
    DESIGNS["block"],
    config=replace(DESIGNS["block"].config, pipelining="small"),
    prefix="small.",
)
"""The AXI block around a small core: its commands wait for the core, and its output streams
have buffers of two beats, as those of wide fast cores do."""

DESIGNS["planes"] = Design(
    CoreConfig(
        (DataType.INT8,),
        max_window=(3, 3, 3),
        max_dilation=(1, 1, 2),
        max_line=4,
        max_plane=8,
        coordinate_width=5,
        operators=("max-pool",),
        index_width=0,
        padding=False,
        fixed=(("groups", 1),),
    ),
    prefix="planes.",
)
"""A fast core whose jobs end with their plane or volume; it has no positions."""

DESIGNS |= {
    f"{setting}.{name}": Design(
        replace(DESIGNS[name].config, pipelining=setting), block=f"{setting}.{name}"
    )
    for setting in ("small", "balanced")
    for name in ("windows", "rows")
}


@contextmanager
def scaled(design: Design) -> Iterator[None]:
    """Make a design's counters narrow and its segments short within a ``with`` block.

    The configurations of :data:`DESIGNS` must be used inside such blocks alone, since what follows
    from a configuration is kept.
    """
    plain = parameters.TimingParameters
    has_segments = design.bus == "none" and design.config.pipelining == "fast"

    def small(**chosen: Any) -> parameters.TimingParameters:
        settings: dict[str, Any] = chosen | (TIMING if has_segments else {})
        return plain(**settings)

    replaced = [
        (register_table, "POSITION_WIDTH", COUNTER_BITS),
        (parameters, "TimingParameters", small),
    ]
    with ExitStack() as stack:
        for where, name, value in replaced:
            stack.enter_context(mock.patch.object(where, name, value))
        yield
