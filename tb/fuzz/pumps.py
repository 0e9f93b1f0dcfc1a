"""The native pump under the address and undefined-behaviour sanitizers, with guarded buffers."""

from __future__ import annotations

import ctypes
import itertools
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from amaranth.hdl import Shape
from hypothesis import strategies as st

from extremum.hdl.ports import job_layout
from extremum.host.simulation import native, native_library
from extremum.host.simulation.native_build import compile_native
from extremum.tb.cores import CORES
from extremum.tb.fuzz.sanitizers import SANITIZERS
from extremum.tb.fuzz.target import Target, require
from extremum.tb.sequences import jobs

CONFIG = CORES["reduction"]
GUARD, MARK = 128, 0xC3
"""Bytes on either side of a buffer, and what they hold."""

MOST_CALLS = 100_000


class Guarded:
    """A buffer with bytes on either side that must not change.

    Parameters
    ----------
    size
        Bytes of the buffer.
    content
        What it holds at first.
    """

    def __init__(self, size: int, content: bytes = b"") -> None:
        self._whole = np.full(size + 2 * GUARD, MARK, np.uint8)
        self.bytes = self._whole[GUARD : GUARD + size]
        self.bytes[: len(content)] = np.frombuffer(content, np.uint8)

    @property
    def address(self) -> int:
        """Where the buffer begins."""
        return self._whole.ctypes.data + GUARD

    def check(self, name: str) -> None:
        """Raise FaultError if a byte beside the buffer has changed."""
        for side in (self._whole[:GUARD], self._whole[-GUARD:]):
            require(bool((side == MARK).all()), f"bytes beside {name} were written")


def build() -> Path:
    """Compile the core with the sanitizers, unless that has been done; return the library."""
    return compile_native(CONFIG, flags=SANITIZERS)


@cache
def _library() -> ctypes.CDLL:
    return native.load(build())


def runs() -> st.SearchStrategy[Any]:
    """Return jobs by their seed, and what is wrong with the run: payloads, counts, buffers."""
    return st.fixed_dictionaries(
        {
            "seed": st.integers(0, 10_000),
            "jobs": st.integers(0, 4),
            "flipped": st.lists(st.integers(0, 400), max_size=3),
            "beats": st.sampled_from([0, 0, 0, 1, 3, -1]),
            "results": st.sampled_from([0, 0, 0, 1, 2, -1]),
            "room": st.integers(1, 9),
            "piece": st.integers(1, 9),
            "bytes": st.sampled_from([1, 2, 4, 8]),
            "stalls": st.tuples(*[st.integers(0, 99)] * 3),
            "stop_after": st.sampled_from([native.NEVER, native.NEVER, 0, 1, 30]),
            "watchdog": st.sampled_from([1, 50, 400]),
        }
    )


def pump(drawn: dict[str, Any]) -> str:
    """Run jobs through the pump, some of them damaged; nothing beside the buffers is written."""
    library, source = _library(), Random(drawn["seed"])
    width = Shape.cast(job_layout(CONFIG)).width
    pairs = list(jobs(source, CONFIG, drawn["jobs"])) if drawn["jobs"] else []
    words = [job.registers.to_bits(CONFIG) for job, _ in pairs]
    for number, bit in enumerate(drawn["flipped"]):
        if words:
            words[number % len(words)] ^= 1 << bit % width
    size = -(-width // 8)
    counts = [max(0, job.beats_out + drawn["results"]) for job, _ in pairs]
    ends = np.array(list(itertools.accumulate(counts)), np.uint64)
    beats = max(0, sum(job.beats_in for job, _ in pairs) + drawn["beats"])
    named = {
        "the jobs": Guarded(size * len(words), b"".join(w.to_bytes(size, "little") for w in words)),
        "the ends": Guarded(ends.nbytes, ends.tobytes()),
        "the statuses": Guarded(8 * len(words)),
        "the values": Guarded(drawn["room"] * CONFIG.lanes * drawn["bytes"]),
        "the positions": Guarded(drawn["room"] * CONFIG.lanes * 4),
        "the beats": Guarded(drawn["piece"] * CONFIG.lanes * drawn["bytes"]),
    }
    at = {name: buffer.address for name, buffer in named.items()}
    stalls = [native.PhasesStruct.of(rate) for rate in drawn["stalls"]]
    request = native._Request(
        at["the jobs"], at["the ends"], len(words), beats, at["the statuses"],
        drawn["watchdog"], drawn["stop_after"], *stalls, drawn["seed"],
    )  # fmt: skip
    opened = native_library.open_pump(library)
    try:
        library.pump_begin(opened, ctypes.byref(request))
        ended = _carry_out(library, opened, named, drawn)
        library.pump_idle(opened, 3)
    finally:
        library.pump_close(opened)
    for name, buffer in named.items():
        buffer.check(name)
    return ended


def _carry_out(
    library: ctypes.CDLL, opened: int, named: dict[str, Guarded], drawn: dict[str, Any]
) -> str:
    for _ in range(MOST_CALLS):
        state = library.pump_advance(opened, 0.1)
        if state == native_library.State.DONE:
            return "done"
        if state in native_library.ERRORS:
            message = library.pump_outcome(opened).contents.message
            require(b"clock" in message, f"the message is {message!r}")
            return "failed"
        if state == native_library.State.HUNGRY:
            address = named["the beats"].address
            library.pump_feed(opened, address, drawn["piece"], drawn["bytes"])
        elif state == native_library.State.FULL:
            buffers = (named[name].address for name in ("the values", "the positions"))
            library.pump_drain(opened, *buffers, drawn["room"], drawn["bytes"])
    require(False, "the pump does not end")
    return ""


TARGETS = (
    Target(
        "native pump",
        "random and damaged jobs through the pump, built with ASan and UBSan: no byte beside a "
        "buffer is read or written",
        runs,
        pump,
        prepare=build,
        sanitized=True,
    ),
)
