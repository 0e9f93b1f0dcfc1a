"""Packs elements into the bits on the core's ports, and unpacks the bits of its results.

The backends under cocotb use it. The native backend does the same in C++ (``streams.hpp``), and a
test compares the two.
"""

from __future__ import annotations

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import EMPTY_INDEX, output_layout


def pack_beats(beats: np.ndarray, config: CoreConfig) -> np.ndarray:
    """Return the payloads of the input stream.

    Parameters
    ----------
    beats
        Elements, (beats, lanes).
    config
        Configuration of the core. Each element goes into the low bits of a lane.

    Returns
    -------
    ndarray
        (beats, bytes of a beat), uint8, little-endian.
    """
    bits = np.ascontiguousarray(beats).view(f"u{beats.dtype.itemsize}")
    wide = bits.astype(f"<u{config.element_width // 8}")
    return wide.view(np.uint8).reshape(len(beats), -1)


def unpack_results(
    results: np.ndarray, dtype: np.dtype, config: CoreConfig
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what the payloads of the output stream carry.

    Parameters
    ----------
    results
        (beats, bytes of a beat), uint8, little-endian.
    dtype
        Type of the values, which is that of the job.
    config
        Configuration of the core.

    Returns
    -------
    values : ndarray
        (beats, lanes), of that type.
    positions : ndarray
        (beats, lanes), uint32.
    last : ndarray
        (beats,), bool: the marks of a job's last beat.
    """
    layout, lanes, width = output_layout(config), config.lanes, config.element_width // 8
    values = np.zeros((len(results), lanes), dtype)
    positions = np.zeros((len(results), lanes), np.uint32)
    if config.has_values:
        wide = np.ascontiguousarray(results[:, : lanes * width]).view(f"<u{width}")
        values = wide.astype(f"u{dtype.itemsize}").view(dtype)
    if config.index_width:
        for lane in range(lanes):
            first = layout["index"].offset + lane * config.index_width
            positions[:, lane] = _bits(results, first, config.index_width)
        positions[positions == (1 << config.index_width) - 1] = EMPTY_INDEX
    return values, positions, _bits(results, layout["last"].offset, 1).astype(bool)


def _bits(words: np.ndarray, first: int, width: int) -> np.ndarray:
    """Return bits of little-endian words (count, bytes), as numbers of up to 32 bits."""
    number = np.zeros(len(words), np.uint64)
    for byte in reversed(range(first // 8, -(-(first + width) // 8))):
        number = number << np.uint64(8) | words[:, byte].astype(np.uint64)
    return number >> np.uint64(first % 8) & np.uint64((1 << width) - 1)
