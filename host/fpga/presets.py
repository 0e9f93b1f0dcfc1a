"""The presets: cores with a name, which are small fixed blocks and programmable cores."""

from __future__ import annotations

from extremum.hdl.config import CoreConfig
from extremum.model import DataType

__all__ = ["MEASURED_MHZ", "PRESETS"]

Fixed = tuple[tuple[str, int], ...]

NO_DILATION = (1, 1, 1)
LONGEST_ROW = 2**32 - 1
LINE = 2048
LINE_BITS = 12
"""Coordinate bits of planes up to 2048 wide and high."""


def _argmax(data_type: DataType) -> CoreConfig:
    """Return a core for argmax alone, where the first of equal elements wins and NaN beats all.

    Every register is fixed, so the core has no job port. A row is as long as an index can tell. For
    shorter rows, fix ``length`` and ``slots`` to another value.
    """
    return CoreConfig(
        (data_type,),
        max_window=(1, 1, 1),
        max_dilation=NO_DILATION,
        max_line=1,
        max_plane=1,
        operators=("argmax",),
        fixed=(
            ("decreasing", 0),
            ("ignore_nan", 0),
            ("length", LONGEST_ROW),
            ("slots", LONGEST_ROW),
        ),
    )


def _window(taps: int, stride: int, padding: int) -> Fixed:
    """Return the fixed registers of a square window; the job gives the sizes of the planes."""
    registers = {
        "window": taps,
        "stride": stride,
        "dilation": 1,
        "head": taps - 1 - padding,
        "shift": 0,
    }
    return tuple(
        (f"{axis}.{name}", value)
        for axis in ("height", "width")
        for name, value in registers.items()
    )


def _pooling(taps: int, stride: int, padding: int, line: int, *, indices: bool) -> CoreConfig:
    """Return a core for int8 poolings of planes up to 2048 wide, whose lines hold ``line`` windows.

    Without padding, a job is one plane.
    """
    return CoreConfig(
        (DataType.INT8,),
        max_window=(1, taps, taps),
        max_dilation=NO_DILATION,
        max_line=line,
        max_plane=1,
        coordinate_width=LINE_BITS,
        operators=("max-pool",),
        index_width=32 if indices else 0,
        padding=padding > 0,
        fixed=(
            *_window(taps, stride, padding),
            ("width.spacing", 1),
            *((("groups", 1),) if padding == 0 else ()),
        ),
    )


PRESETS = {
    "argmax-float32": _argmax(DataType.FLOAT32),
    "argmax-int8": _argmax(DataType.INT8),
    "argmax-int64": _argmax(DataType.INT64),
    "pool2x2-int8": _pooling(2, 2, 0, LINE // 2, indices=False),
    "pool3x3-int8-indices": _pooling(3, 1, 1, LINE, indices=True),
    "programmable-int8x4": CoreConfig(
        (DataType.INT8,), lanes=4, max_window=(1, 3, 3), max_dilation=NO_DILATION, max_line=256,
        max_plane=1, coordinate_width=10,
    ),
    "programmable-float32": CoreConfig(
        (DataType.FLOAT32,), max_window=(3, 7, 7), max_dilation=NO_DILATION, max_line=256,
        max_plane=3136, coordinate_width=10,
    ),
}  # fmt: skip
"""The configuration of each preset, by name."""

MEASURED_MHZ = {
    "argmax-float32": 333,
    "argmax-int8": 324,
    "argmax-int64": 312,
    "pool2x2-int8": 239,
    "pool3x3-int8-indices": 231,
    "programmable-int8x4": 221,
    "programmable-float32": 212,
}
"""MHz that ``make bench-fpga`` has measured of a preset on the ECP5-85F, rounded down."""
