"""From elements to the bits on the core's ports, and from the results' bits back to arrays.

What the native backend does in C++ (``streams.hpp``), in NumPy: the reference for it.
"""

from __future__ import annotations

import numpy as np

from extremum.hdl.config import POSITION_WIDTH, CoreConfig


def pack_beats(beats: np.ndarray, config: CoreConfig) -> np.ndarray:
    """Return the payloads of the input stream.

    Parameters
    ----------
    beats
        Elements, (beats, lanes).
    config
        Of the core: each element goes into the low bits of a lane.

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
        Of the values: the job's type.
    config
        Of the core.

    Returns
    -------
    values : ndarray
        (beats, lanes), of that type.
    positions : ndarray
        (beats, lanes), uint32.
    last : ndarray
        (beats,), bool: the marks of a job's last beat.
    """
    value_bytes = config.lanes * config.element_width // 8
    index_bytes = config.lanes * POSITION_WIDTH // 8
    wide = np.ascontiguousarray(results[:, :value_bytes]).view(f"<u{config.element_width // 8}")
    narrow = wide.astype(f"u{dtype.itemsize}").view(dtype)
    indices = np.ascontiguousarray(results[:, value_bytes : value_bytes + index_bytes])
    last = results[:, value_bytes + index_bytes] & 1
    return narrow, indices.view("<u4").astype(np.uint32), last.astype(bool)
