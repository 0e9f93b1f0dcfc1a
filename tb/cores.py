"""The cores that the benches run on: few, since each has to be compiled, and unlike each other."""

from __future__ import annotations

from extremum.hdl.config import CoreConfig
from extremum.model import DataType

CORES = {
    # Every type in one core, storage and counters so small that most poolings are tiled.
    "every_type": CoreConfig(
        tuple(DataType),
        lanes=3,
        max_window=(2, 3, 3),
        max_dilation=(1, 2, 2),
        max_line=16,
        max_plane=48,
        coordinate_width=6,
    ),
    # Planes of bytes: no stage for the depth, so its stride and padding must be gathered.
    "image": CoreConfig((DataType.INT8,), lanes=4, max_window=(1, 3, 4), max_line=40),
    # One lane, every dimension pooled, block memories and registers at their smallest.
    "volume": CoreConfig(
        (DataType.FLOAT16,),
        max_window=(3, 2, 3),
        max_dilation=(2, 3, 5),
        max_line=4,
        max_plane=12,
        coordinate_width=5,
    ),
    # No sliding window at all.
    "reduction": CoreConfig(
        (DataType.INT64, DataType.FLOAT32), lanes=2, max_window=(1, 1, 1), coordinate_width=4
    ),
}
"""By name: the environment variable :data:`CORE` tells a bench in which one it runs."""

CORE = "EXTREMUM_CORE"
