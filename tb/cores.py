"""The cores that the benches run on: few, since each must be compiled, but unlike each other."""

from __future__ import annotations

from extremum.hdl.config import CoreConfig
from extremum.model import DataType

CORES = {
    # This core has every type, and so little storage that most poolings are tiled.
    "every_type": CoreConfig(
        tuple(DataType),
        lanes=3,
        max_window=(2, 3, 3),
        max_dilation=(1, 2, 2),
        max_line=16,
        max_plane=48,
        coordinate_width=6,
    ),
    # This core pools planes of bytes. Without a stage for the depth, windows that are deeper, or
    # move over the depth, must be gathered.
    "image": CoreConfig((DataType.INT8,), lanes=4, max_window=(1, 3, 4), max_line=40),
    # This core has one lane and pools every dimension, with the smallest memories and registers.
    "volume": CoreConfig(
        (DataType.FLOAT16,),
        max_window=(3, 2, 3),
        max_dilation=(2, 3, 5),
        max_line=4,
        max_plane=12,
        coordinate_width=5,
    ),
    # This core has no sliding window.
    "reduction": CoreConfig(
        (DataType.INT64, DataType.FLOAT32), lanes=2, max_window=(1, 1, 1), coordinate_width=4
    ),
}
"""The cores by name; the environment variable :data:`CORE` tells a bench on which it runs."""

CORE = "EXTREMUM_CORE"
