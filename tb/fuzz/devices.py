"""What a driver reads from a device, and what a device is written: any words at all."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.streams import INPUT, port_widths
from extremum.host.driver.block import BlockDriver, Work
from extremum.host.errors import DeviceError
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.native_block import NativeBlock
from extremum.tb.cores import CORES
from extremum.tb.fuzz.target import Target, require
from extremum.tb.scoreboard import expected_beats
from extremum.tb.sequences import jobs

CONFIG = CORES["reduction"]
WORDS = st.one_of(st.sampled_from([0, 1, 2, 3, 0xFFFFFFFF, 1 << 31]), st.integers(0, (1 << 32) - 1))
SILENCE = 40
"""Calls of ``wait`` after which the fuzzed transport gives up, as a real one does."""


class FuzzedTransport:
    """A transport whose registers and packets hold what was drawn.

    Parameters
    ----------
    words
        What is read, by address, beside what the registers hold after a reset.
    packets
        What comes of the packets that are asked for: bytes, and whether they are a packet's last;
        None for a packet of the right length. Behind them come right packets.
    """

    def __init__(self, words: dict[int, int], packets: list[tuple[bytes, bool] | None]) -> None:
        registers = {register.name: register for register in regs.register_map(CONFIG)}
        self._words = {register.address: register.reset for register in registers.values()}
        self._words[regs.STATUS] = 1 << registers["STATUS"].field("queue_free").lowest
        self._words |= words
        self._packets = iter(packets)
        self._takers: list[Any] = []
        self._waits = 0

    def read(self, address: int) -> int:
        """Return what was drawn for an address."""
        return self._words.get(address, 0)

    def write(self, address: int, word: int) -> None:
        """Take a word."""

    def send(self, pieces: Iterable[np.ndarray], size: int) -> None:
        """Take a packet, which must be as long as is said."""
        sent = sum(len(piece) for piece in pieces)
        require(sent == size, f"{sent} bytes were sent, and {size} were announced")

    def receive(self, stream: str, size: int, take: Any) -> None:
        """Note who takes the next packet."""
        self._takers.append((take, size))

    def wait(self) -> bool:
        """Hand out what comes next; give up after a while."""
        self._waits += 1
        if self._waits > SILENCE:
            raise DeviceError("nothing has come for too long")
        if not self._takers:
            return False
        take, size = self._takers[0]
        part, last = next(self._packets, None) or (bytes(size), True)
        if last:
            self._takers.pop(0)
        take(np.frombuffer(part, np.uint8), last)
        return True


def dumps() -> st.SearchStrategy[Any]:
    """Return contents of registers, packets of results, and the seed of the jobs."""
    addresses = st.sampled_from([register.address for register in regs.register_map(CONFIG)])
    part = st.tuples(st.binary(max_size=40), st.booleans())
    packets = st.lists(st.one_of(st.none(), st.none(), part), max_size=6)
    words = st.dictionaries(addresses, WORDS, max_size=5)
    failed = st.builds(
        lambda words, code, register: (
            words | {regs.IRQ_STATUS: 0b11, regs.ERROR: register << 8 | code}
        ),
        words, st.integers(0, 15), st.integers(0, 255),
    )  # fmt: skip
    return st.tuples(st.one_of(words, failed), packets, st.integers(0, 20))


def drive(drawn: tuple[dict[int, int], list[tuple[bytes, bool] | None], int]) -> str:
    """Let the driver use a device that gives any words: DeviceError, or results."""
    words, packets, seed = drawn
    driver = BlockDriver(FuzzedTransport(words, packets), CONFIG)
    driver.counters()
    driver.run(Work(job, x, lambda *_: None) for job, x in jobs(Random(seed), CONFIG, 2))
    driver.check()
    driver.reset()
    return "carried out"


def accesses() -> st.SearchStrategy[Any]:
    """Return accesses of the block in any order: words written, read, packets sent."""
    address = st.one_of(
        st.sampled_from([register.address for register in regs.register_map(CONFIG)]),
        st.integers(0, (1 << regs.ADDRESS_BITS) - 1),
        st.just(regs.command_address(regs.START_COMMAND)),
    )
    each = st.one_of(
        st.tuples(st.just("write"), address, WORDS),
        st.tuples(st.just("read"), address, st.just(0)),
        st.tuples(st.just("send"), st.integers(1, 40), WORDS),
        st.tuples(st.just("clocks"), st.integers(1, 60), st.just(0)),
    )
    return st.lists(each, max_size=40)


@cache
def _block() -> NativeBlock:
    return NativeBlock(CONFIG)


def disturb(drawn: list[tuple[str, int, int]]) -> str:
    """Write any words to a simulated block; after a soft reset it carries out a job."""
    block, refused = _block(), 0
    block.begin(StreamSettings(watchdog=5_000))
    beat = port_widths(CONFIG)[INPUT] // 8
    for what, where, word in drawn:
        try:
            if what == "write":
                block.write(where, word)
            elif what == "read":
                block.read(where)
            elif what == "send":
                block.send([np.full(where * beat, word & 0xFF, np.uint8)], where * beat)
            else:
                block.pass_clocks(where)
        except DeviceError:
            refused += 1
    with block.resetting():
        block.write(regs.CONTROL, 1)
    (job, x), given = next(iter(jobs(Random(len(drawn)), CONFIG, 1))), []
    BlockDriver(block, CONFIG).run([Work(job, x, lambda *pair: given.append(pair))])
    for number, (what, expected) in enumerate(
        zip(("values", "positions"), expected_beats(job, x), strict=True)
    ):
        came = b"".join(pair[number].tobytes() for pair in given)
        require(came == expected.tobytes(), f"the {what} are not right")
    return "some refused" if refused else "all taken"


TARGETS = (
    Target(
        "register dumps",
        "a driver whose device gives any words and packets: DeviceError, or results",
        dumps,
        drive,
        (DeviceError,),
    ),
    Target(
        "register writes",
        "any words written to the simulated AXI block: it answers each access, and is right after "
        "a soft reset",
        accesses,
        disturb,
        prepare=_block,
    ),
)
