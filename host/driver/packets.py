"""The packets of a job as bytes: how its beats are packed, and how its results are unpacked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extremum.hdl.axi.streams import (
    INDICES,
    INPUT,
    VALUES,
    index_bytes,
    port_widths,
)
from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import EMPTY_INDEX
from extremum.host.errors import DeviceError
from extremum.host.plan.jobs import Job

Take = Callable[[np.ndarray, np.ndarray], None]
"""Is called with results as they come: values and positions (uint32), each (beats, lanes)."""


def input_size(job: Job) -> int:
    """Return the bytes of a job's packet on ``s_axis``."""
    return job.beats_in * port_widths(job.config)[INPUT] // 8


def input_pieces(job: Job, x: NDArray[Any]) -> Iterator[NDArray[np.uint8]]:
    """Yield the bytes of a job's packet on ``s_axis``, uint8, in pieces of whole beats.

    Each element goes into the low bytes of its lane, the lowest byte first.
    """
    lane = f"<u{job.config.element_width // 8}"
    for beats in job.pieces(x):
        native = np.ascontiguousarray(beats, beats.dtype.newbyteorder("="))
        bits = native.view(f"u{native.dtype.itemsize}")
        yield bits.astype(lane, copy=False).view(np.uint8).reshape(-1)


def filled_beats(job: Job) -> tuple[int, int]:
    """Return how many beats of a job have a result in every lane, and the lanes of those after.

    The beats of a pooling carry a slice in each lane, so those of the last group of slices have
    results in fewer lanes. The results of a reduction leave packed, so the last beat may have.
    """
    results = job.together if job.rows.results != job.beats_out else 1
    full_groups, rest = divmod(job.rows.count, job.config.lanes)
    return full_groups * results, rest or job.config.lanes


class ResultPackets:
    """The packets of results that a job gives, which come in parts, on one stream or on two.

    Parameters
    ----------
    job
        The job.
    dtype
        Type of its values.
    take
        Is called with results as they come, in multiples of ``job.together`` beats. What the block
        does not give, and lanes without a result, are zero.
    """

    def __init__(self, job: Job, dtype: np.dtype[Any], take: Take) -> None:
        self._job, self._dtype, self._take = job, dtype, take
        config = job.config
        self._full, self._tail_lanes = filled_beats(job)
        sizes = {VALUES: config.element_width // 8, INDICES: index_bytes(config)}
        self._streams = {
            name: _Packet(name, sizes[name], self._offset(job.beats_out) * sizes[name])
            for name in self.names(config)
        }
        self._given = 0

    @staticmethod
    def names(config: CoreConfig) -> tuple[str, ...]:
        """Return the output streams of a block."""
        widths = port_widths(config)
        return tuple(name for name in (VALUES, INDICES) if widths[name])

    @property
    def is_complete(self) -> bool:
        """Whether all packets have come whole."""
        return all(stream.ended for stream in self._streams.values())

    def size(self, name: str) -> int:
        """Return the bytes of the packet on a stream."""
        return self._streams[name].size

    def add(self, name: str, part: NDArray[np.uint8], last: bool) -> None:
        """Take the next bytes of the packet on a stream; ``last`` tells that TLAST was with them.

        Raises
        ------
        DeviceError
            The packet is longer or shorter than the job's results are.
        """
        self._streams[name].add(part, last)
        job = self._job
        beats = min(self._beats(stream.come // stream.bytes) for stream in self._streams.values())
        if beats < job.beats_out:
            beats -= beats % job.together
        if beats > self._given:
            first, self._given = self._given, beats
            self._take(self._values(first, beats), self._positions(first, beats))

    def _values(self, first: int, stop: int) -> NDArray[Any]:
        if VALUES not in self._streams:
            return np.zeros((stop - first, self._job.config.lanes), self._dtype)
        wide = self._beats_of(VALUES, first, stop)
        return wide.astype(f"u{self._dtype.itemsize}", copy=False).view(self._dtype)

    def _positions(self, first: int, stop: int) -> NDArray[Any]:
        config = self._job.config
        if INDICES not in self._streams:
            return np.zeros((stop - first, config.lanes), np.uint32)
        positions = self._beats_of(INDICES, first, stop).astype(np.uint32, copy=False)
        positions[positions == (1 << config.index_width) - 1] = EMPTY_INDEX
        return positions

    def _beats_of(self, name: str, first: int, stop: int) -> NDArray[Any]:
        """Return the elements of some beats, (beats, lanes), as unsigned integers."""
        stream, lanes = self._streams[name], self._job.config.lanes
        elements = stream.pop((self._offset(stop) - self._offset(first)) * stream.bytes)
        elements = elements.view(f"<u{stream.bytes}")
        full = max(0, min(stop, self._full) - first)
        if full == stop - first:
            return elements.reshape(full, lanes)
        beats = np.zeros((stop - first, lanes), elements.dtype)
        beats[:full] = elements[: full * lanes].reshape(full, lanes)
        tail = elements[full * lanes :].reshape(-1, self._tail_lanes)
        beats[full:, : self._tail_lanes] = tail
        return beats

    def _offset(self, beat: int) -> int:
        """Return how many results the beats before this one have."""
        lanes, tail = self._job.config.lanes, self._tail_lanes
        return min(beat, self._full) * lanes + max(0, beat - self._full) * tail

    def _beats(self, elements: int) -> int:
        """Return how many whole beats so many results are."""
        lanes = self._job.config.lanes
        rest = elements - self._full * lanes
        return elements // lanes if rest < 0 else self._full + rest // self._tail_lanes


class _Packet:
    """A packet that comes in parts.

    Parameters
    ----------
    name
        Its stream.
    element
        Bytes of an element.
    size
        Bytes that the packet should have.
    """

    def __init__(self, name: str, element: int, size: int) -> None:
        self.name, self.bytes, self.size = name, element, size
        self.come = 0
        self.ended = False
        self._parts: deque[NDArray[np.uint8]] = deque()

    def add(self, part: NDArray[np.uint8], last: bool) -> None:
        """Append a part."""
        self.come += len(part)
        self.ended = last
        if self.come > self.size or last != (self.come == self.size):
            ending = "ended" if last else "goes on"
            raise DeviceError(
                f"the packet on {self.name} {ending} after {self.come} bytes: the job's results "
                f"are {self.size} bytes"
            )
        self._parts.append(part.copy())

    def pop(self, size: int) -> NDArray[np.uint8]:
        """Remove and return the oldest bytes, as an array of its own."""
        found, left = [], size
        while left:
            part = self._parts.popleft()
            if len(part) > left:
                self._parts.appendleft(part[left:])
                part = part[:left]
            found.append(part)
            left -= len(part)
        return np.concatenate(found) if len(found) != 1 else found[0].copy()
