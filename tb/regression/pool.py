"""The cores that the regression runs: a bounded number, so that each is compiled once and shared.

They are unlike each other in everything that is chosen when a core is generated. A seed's last
digits, to the base :data:`CORES_MOST`, tell its core, so a new core goes to the end of the list.
A negative seed is a case on a core drawn at random (:mod:`extremum.tb.regression.random_cores`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from extremum.hdl.config import CoreConfig
from extremum.model import DataType
from extremum.tb.cores import CORES
from extremum.tb.regression import random_cores
from extremum.tb.regression.random_cores import RANDOM, random_target
from extremum.tb.regression.target import Target

CORES_MOST = 128
"""Seeds of one core are so many apart."""

_T = DataType
_ROWS: dict[str, Any] = {"max_window": (1, 1, 1), "coordinate_width": 4}
_SMALL: dict[str, Any] = {"max_line": 24, "max_plane": 96, "coordinate_width": 7}


def _square(taps: int, stride: int, padding: int) -> tuple[tuple[str, int], ...]:
    """Return the fixed registers of a square window."""
    fixed = {"window": taps, "stride": stride, "dilation": 1, "head": taps - 1 - padding}
    pairs = [(f"{axis}.{name}", n) for axis in ("height", "width") for name, n in fixed.items()]
    return (*pairs, ("width.spacing", 1))


def _pool(taps: int, stride: int, padding: int, **others: Any) -> CoreConfig:
    """Return a core for one max pooling of bytes."""
    return CoreConfig(
        (_T.INT8,),
        max_window=(1, taps, taps),
        max_dilation=(1, 1, 1),
        max_line=32,
        max_plane=1,
        coordinate_width=7,
        operators=("max-pool",),
        padding=padding > 0,
        fixed=_square(taps, stride, padding),
        **others,
    )


def _endless(data_type: DataType, length: int) -> CoreConfig:
    """Return a core without a job port: the argmax of rows of one length."""
    fixed = {"length": length, "slots": length, "decreasing": 0}
    if data_type.format.is_float:
        fixed["ignore_nan"] = 0
    return CoreConfig((data_type,), **_ROWS, operators=("argmax",), fixed=tuple(fixed.items()))


_CONFIGS = {
    **CORES,
    "bytes16": CoreConfig((_T.INT8, _T.UINT8), 16, **_ROWS),
    "bytes64": CoreConfig((_T.UINT8,), 64, **_ROWS),
    "positions": CoreConfig((_T.FLOAT16,), 8, **_ROWS, operators=("argmin", "argmax")),
    "argmin64": CoreConfig((_T.INT64,), **_ROWS, operators=("argmin",)),
    "last16": CoreConfig(
        (_T.UINT16,), 4, **_ROWS, operators=("argmax",), index_width=14, fixed=(("decreasing", 1),)
    ),
    "values": CoreConfig((_T.FLOAT32,), 2, **_ROWS, index_width=0),
    "folds": CoreConfig((_T.INT16, _T.FLOAT16), 4, **_ROWS, fixed=(("fold", 1),)),
    "lanes5": CoreConfig((_T.UINT32, _T.INT32), 5, **_ROWS),
    "pooling": CoreConfig(
        (_T.INT16, _T.UINT16), 2, (1, 3, 3), (1, 1, 2), operators=("max-pool",), **_SMALL
    ),
    "unpadded": CoreConfig((_T.FLOAT32,), 1, (1, 2, 3), (1, 2, 1), padding=False, **_SMALL),
    "deep": CoreConfig((_T.INT32, _T.UINT32), 1, (5, 2, 2), (3, 1, 1), **_SMALL),
    "wide": CoreConfig((_T.INT8,), 2, (1, 1, 7), (1, 1, 6), max_line=1, max_plane=1),
    "tall": CoreConfig((_T.UINT8,), 1, (1, 6, 1), (1, 3, 1), max_line=40, max_plane=1),
    "cubes": CoreConfig((_T.FLOAT16, _T.UINT8), 4, (3, 3, 3), (2, 2, 2), **_SMALL),
    "narrow": CoreConfig((_T.INT8,), 4, (1, 2, 2), index_width=9, **_SMALL),
    "floats4": CoreConfig((_T.FLOAT32,), 4, (1, 3, 3), (1, 3, 3), **_SMALL),
    "words2": CoreConfig((_T.INT64, _T.UINT64), 2, (1, 2, 2), (1, 1, 1), **_SMALL),
    "least": CoreConfig(
        (_T.FLOAT16, _T.INT32), 2, (1, 3, 2), (1, 1, 1), operators=("argmin", "max-pool"), **_SMALL
    ),
    "pool2": _pool(2, 2, 0, lanes=2),
    "pool3": _pool(3, 1, 1, index_width=16),
    "pool3s2": _pool(3, 2, 1, index_width=0, lanes=4),
    "endless": _endless(_T.FLOAT32, 37),
    "endless1": _endless(_T.INT8, 1),
}

_BLOCKS = (
    "every_type",
    "image",
    "volume",
    "reduction",
    "bytes16",
    "lanes5",
    "narrow",
    "pool3",
    "endless",
)

_SMALL_CORES = (
    "every_type", "volume", "reduction", "values", "folds", "lanes5", "pooling", "unpadded",
    "cubes", "words2", "least", "pool2", "pool3", "pool3s2", "endless", "endless1",
)  # fmt: skip
_SMALL_BLOCKS = ("every_type", "lanes5", "pool2", "pool3", "endless")
_BALANCED_CORES = ("every_type", "volume", "folds", "unpadded", "endless")
_BALANCED_BLOCKS = ("image",)


def _with(pipelining: str, names: Sequence[str], bus: str = "none") -> Iterator[Target]:
    """Yield cores of the pool with another setting of their pipelining."""
    prefix = "axi-" if bus == "axi" else ""
    for name in names:
        config = replace(_CONFIGS[name], pipelining=pipelining)
        yield Target(f"{prefix}{pipelining}-{name}", config, bus)


def _with_long_windows() -> Iterator[Target]:
    """Yield cores whose windows have more than 64 taps.

    In a fast core the number of such a tap has three digits.
    """
    chosen: dict[str, Any] = {"max_dilation": (1, 1, 1), "max_line": 3, "max_plane": 1}
    chosen["coordinate_width"] = 9
    yield Target("row130", CoreConfig((_T.INT8,), 1, (1, 1, 130), **chosen))
    column = CoreConfig((_T.UINT8,), 1, (1, 130, 1), **chosen, pipelining="balanced")
    yield Target("balanced-column130", column)


def _with_planes() -> Iterator[Target]:
    """Yield cores whose jobs are one plane, or one volume, without padding, and end with it."""
    squares = _pool(2, 2, 0)
    squares = replace(squares, fixed=(*squares.fixed, ("groups", 1)))
    volumes = CoreConfig(
        (_T.UINT8, _T.INT8), 2, (2, 2, 3), (1, 2, 1), operators=("max-pool",), padding=False,
        fixed=(("groups", 1),), **_SMALL,
    )  # fmt: skip
    yield Target("planes", squares)
    yield Target("volumes", volumes)
    yield Target("small-volumes", replace(volumes, pipelining="small"))
    yield Target("axi-planes", squares, "axi")


TARGETS: tuple[Target, ...] = (
    *(Target(name, config) for name, config in _CONFIGS.items()),
    *(Target(f"axi-{name}", _CONFIGS[name], "axi") for name in _BLOCKS),
    *_with("small", _SMALL_CORES),
    *_with("small", _SMALL_BLOCKS, "axi"),
    *_with("balanced", _BALANCED_CORES),
    *_with("balanced", _BALANCED_BLOCKS, "axi"),
    Target("pooling16", CoreConfig((_T.INT8,), 16, (1, 3, 3), (1, 2, 1), **_SMALL)),
    *_with_long_windows(),
    *_with_planes(),
)
"""All that the regression runs."""


def target_of(seed: int) -> Target:
    """Return what a case runs on.

    Raises
    ------
    ValueError
        No core has this number.
    """
    if seed < 0:
        return random_target(random_cores.number_of(seed))
    number = seed % CORES_MOST
    if number >= len(TARGETS):
        raise ValueError(
            f"seed modulo {CORES_MOST} must be below {len(TARGETS)}, the number of cores, "
            f"not {number}"
        )
    return TARGETS[number]


def target_named(name: str) -> Target:
    """Return what a name stands for.

    Raises
    ------
    ValueError
        There is no such name.
    """
    for target in TARGETS:
        if target.name == name:
            return target
    if (number := random_cores.number_named(name)) is not None:
        return random_target(number)
    known = ", ".join([*(target.name for target in TARGETS), f"{RANDOM}-NUMBER"])
    raise ValueError(f"core must be one of {known}, not {name!r}")


def is_random(target: Target) -> bool:
    """Return whether a core was drawn at random, and is not of the pool."""
    return random_cores.number_named(target.name) is not None
