"""The table of latencies in docs/architecture.md, written out once more and compared with the core.

Each function here is a row of the table, for fast cores, in its words. A row that no longer holds
fails, and has to be written anew in both places.
"""

from __future__ import annotations

import random
from dataclasses import replace
from math import ceil, log2

import pytest

from extremum.hdl import fold, reduction, sliding_window
from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import result_latency
from extremum.model import DataType

INTEGERS = (DataType.INT8, DataType.UINT16, DataType.INT32, DataType.UINT64)
FLOATS = (DataType.FLOAT16, DataType.FLOAT32)
OPERATORS = (
    ("argmax",), ("argmin",), ("max-pool",), ("argmin", "argmax"), ("argmax", "max-pool"),
    ("argmin", "argmax", "max-pool"),
)  # fmt: skip


def levels(count):
    """Return the levels of a tree of so many leaves."""
    return ceil(log2(count))


def window(config, taps, spacing):
    clocks = 1 + (1 if config.lanes >= 32 else 2) * levels(taps)
    if spacing > 4:
        return clocks + 2
    return clocks + (config.lanes >= 32)


def folding(config):
    return (1 if config.lanes >= 32 else 2) * levels(config.lanes) + 1


def digit(config):
    width = 0 if config.element_width <= 16 else 1 if config.element_width == 32 else 2
    if config.has_windows:
        found = (2, 4, 8)[width]
    elif config.lanes == 1 and not config.has_values:
        found = (1, 1, 2)[width]
    else:
        found = 4
    return max(found, 8 if config.lanes >= 32 else 4 if config.lanes >= 16 else 1)


def reducing(config):
    segment = 32 if config.lanes >= 16 else 16 if config.has_windows else 8
    further = max(ceil(config.index_width / segment) - 1, 0)
    restores = config.has_floats and config.has_values
    digits = ceil(config.element_width / digit(config))
    return 1 + digits + 2 * further + restores + (config.lanes >= 16)


def result(config):
    value = int(config.has_values)
    position = 0
    if config.has_windows and config.index_width:
        terms = 1 + sum(
            ceil((config.max_window[axis] - 1).bit_length() / 3)
            for axis in config.axes
            if config.max_window[axis] > 1
        )
        position = 1 + levels(terms) - (config.lanes >= 32)
    flags = 0
    if config.lanes > 1:
        alone = not (config.has_reduction or config.has_windows or config.has_floats)
        flags = (2 if config.lanes >= 16 else 1) + alone
    return max(value, position, flags)


def drawn(source):
    """Return a fast core, of any lanes, types, operators and windows."""
    windows = source.choice(((1, 1, 1), (1, 2, 2), (1, 3, 3), (1, 1, 5), (2, 3, 3), (3, 7, 7)))
    return CoreConfig(
        tuple(source.sample(INTEGERS + FLOATS, source.randint(1, 3))),
        source.choice((1, 2, 3, 4, 8, 16, 32, 64)),
        max_window=windows,
        max_dilation=(1, source.choice((1, 2)), source.choice((1, 2, 5))),
        max_line=source.choice((3, 64)),
        max_plane=16,
        operators=source.choice(OPERATORS),
        index_width=source.choice((8, 9, 16, 20, 32)),
        padding=source.random() < 0.5,
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_rows_of_the_table(seed):
    source = random.Random(seed)
    for _ in range(50):
        config = drawn(source)
        assert result_latency(config) == result(config), config
        for axis in config.axes:
            taps, spacing = config.max_window[axis], config.max_spacing[axis]
            expected = window(config, taps, spacing) if taps > 1 else 0
            assert sliding_window.latency(config, axis) == expected, (axis, config)
        if config.can_fold:
            assert fold.latency(config) == folding(config), config
        if config.has_reduction:
            assert reduction.latency(config) == reducing(config), config


def test_a_core_without_positions_has_no_sum():
    config = replace(drawn(random.Random(1)), operators=("max-pool",), index_width=0, lanes=1)
    assert result_latency(config) == result(config) == 1
