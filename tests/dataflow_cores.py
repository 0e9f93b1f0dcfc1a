"""Cores that have every register fixed, each with the operator whose only job they carry out."""

from dataclasses import replace

from extremum.hdl.axi.streams import is_programmable
from extremum.hdl.config import CoreConfig
from extremum.host.plan import dataflow_core, plan
from extremum.host.plan.dataflow import fixed_to
from extremum.model import DataType, Pooling, Reduction

PLANES = Pooling.of((1, 4, 8, 8), "int8", 2, strides=2, return_indices=True)
PADDED = Pooling.of((1, 4, 6, 7), "int8", 3, start_padding=1, end_padding=1)
TAILED = Pooling.of((1, 3, 8, 8), "int8", 2, strides=2, return_indices=True)
UNEVEN = Pooling.of((1, 4, 13, 6), "uint8", (2, 1), strides=(7, 1))
"""Four lines of each plane lie behind its last windows, and so behind the last result."""
BEYOND = Pooling.of((2, 3, 2, 5), "int8", (3, 2), strides=(3, 1), end_padding=(2, 0))
"""The last tap of every column of taps lies in padding, so it is left out."""
VOLUME = Pooling.of(
    (1, 3, 3, 5, 4), "float16", (2, 3, 2), strides=(1, 2, 1), start_padding=(0, 1, 0),
    return_indices=True, index_layout="column_major",
)  # fmt: skip
DEEP = Pooling.of((2, 2, 3, 4, 5), "int16", (1, 2, 2), strides=(2, 3, 1))
"""Only every other plane has windows, and each is a plane of its own."""
ROW = Reduction.of("argmax", (1, 30), "int8", 1)
ROWS = Reduction.of("argmax", (3, 30), "int8", 1)
MANY_ROWS = Reduction.of("argmin", (7, 6), "int8", 1)
SMALL = {"max_window": (1, 3, 3), "max_line": 16, "max_plane": 1, "coordinate_width": 6}


def fixed(config, problem):
    """Return the core that has every register fixed to what the only job of an operator needs."""
    (job,) = plan(problem, config).jobs
    made = fixed_to(job)
    assert not is_programmable(made)
    return made


FLAT = CoreConfig((DataType.INT8,), max_window=(1, 1, 1))

CORES = {
    "planes": (fixed(CoreConfig((DataType.INT8,), 2, **SMALL), PLANES), PLANES),
    "narrow positions": (
        fixed(CoreConfig((DataType.INT8,), 2, index_width=9, **SMALL), PLANES), PLANES
    ),
    "padded": (fixed(CoreConfig((DataType.INT8,), 1, index_width=0, **SMALL), PADDED), PADDED),
    "row": (
        fixed(
            CoreConfig((DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",)), ROW
        ),
        ROW,
    ),
    # Of four lanes, three have rows; one has the result of a row that is folded; and the last beat
    # of seven rows, folded or not, has results in three. The last group of planes has one.
    "rows": (fixed(replace(FLAT, lanes=4), ROWS), ROWS),
    "folded row": (fixed(replace(FLAT, lanes=4, fixed=(("fold", 1),)), ROW), ROW),
    "many rows": (fixed(replace(FLAT, lanes=4, fixed=(("fold", 0),)), MANY_ROWS), MANY_ROWS),
    "folded rows": (fixed(replace(FLAT, lanes=4, fixed=(("fold", 1),)), MANY_ROWS), MANY_ROWS),
    "uneven planes": (fixed(CoreConfig((DataType.UINT8,), 2, **SMALL), UNEVEN), UNEVEN),
    "uneven planes, small": (
        fixed(CoreConfig((DataType.UINT8,), 2, pipelining="small", **SMALL), UNEVEN), UNEVEN
    ),
    "own core of a volume": (dataflow_core(VOLUME, lanes=2, pipelining="balanced"), VOLUME),
    "own core of planes": (dataflow_core(DEEP, lanes=3), DEEP),
    "own core of rows": (dataflow_core(MANY_ROWS, lanes=4, pipelining="small"), MANY_ROWS),
    "a tap beyond": (fixed(CoreConfig((DataType.INT8,), 1, **SMALL), BEYOND), BEYOND),
    "tailed planes": (fixed(CoreConfig((DataType.INT8,), 2, **SMALL), TAILED), TAILED),
}  # fmt: skip
