"""Counts the clocks of every workload at full size on the streams of the AXI block.

The clocks of an operator are counted as they are on the bare core: from the first beat taken to the
last beat that moved. So the first packet comes when its job waits for it, and not while registers
are still being written; :class:`Punctual` sees to that. All later packets are offered at once. Each
result is checked bit for bit; the clocks are compared with the bound, as in `cycles.py`, and with
those that the plan predicts for the core.

Usage: ``python bench/block_clocks.py [--only WORKLOAD ...] [--lanes N ...] [--pipelining SETTING
...]``. Writes ``bench/results/block_clocks.json``; what is left out keeps its last results. The
exit status is 1 if a result is wrong or the clocks are too many.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bound import bound
from clock_counts import ClockBench, Run, agrees, main

from extremum.hdl.axi.streams import INPUT
from extremum.hdl.config import CoreConfig
from extremum.host.driver.block import BlockDriver
from extremum.host.plan import plan
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.native_block import NativeBlock
from extremum.model import Pooling, Reduction
from extremum.tb.command import end

RESULTS = Path(__file__).parent / "results" / "block_clocks.json"

BLOCK_CLOCKS = 8
"""Clocks that an operator may take on the block more than on the core."""

STARTING_CLOCKS = 50
"""Clocks after which a job that was started waits for its packet."""


class Punctual:
    """A transport of a simulated block whose first packets come when their jobs are at the core.

    Parameters
    ----------
    block
        The simulation.
    held
        How many packets are held back; they are offered together when the last of them is sent.
    """

    def __init__(self, block: NativeBlock, held: int = 1) -> None:
        self._block = block
        self._left = held
        self._packets: list[tuple[Iterable[np.ndarray], int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._block, name)

    def send(self, pieces: Iterable[np.ndarray], size: int) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.send`, or hold the packet back."""
        self._packets.append((pieces, size))
        self._left -= 1
        if self._left == 0:
            self._block.pass_clocks(STARTING_CLOCKS)
        if self._left <= 0:
            for packet in self._packets:
                self._block.send(*packet)
            self._packets.clear()


def punctual_driver(block: NativeBlock, config: CoreConfig, held: int = 1) -> BlockDriver:
    """Return the driver of a block whose first packets come when their jobs are at the core."""
    transport: Any = Punctual(block, held)
    return BlockDriver(transport, config)


class StreamRun(NamedTuple):
    """What an operator took on the streams of a block.

    Parameters
    ----------
    result
        What the operator gives.
    clocks
        Clocks from the first beat taken to the last beat that moved.
    predicted
        Clocks that the plan predicts for the core, jobs one after another.
    beats_in, beats_out, jobs
        As in a report.
    idle
        Clocks without a beat on ``s_axis``, from the first packet's first to the last one's last.
    """

    result: Any
    clocks: int
    predicted: int
    beats_in: int
    beats_out: int
    jobs: int
    idle: int


def stream_run(block: NativeBlock, problem: Reduction | Pooling, x: np.ndarray,
               config: CoreConfig) -> StreamRun:  # fmt: skip
    """Run an operator on a block that is quiet."""
    planned = plan(problem, config)
    driver = punctual_driver(block, config)
    slots = max((job.registers.slots for job, _ in planned.jobs.kinds()), default=0)
    block.begin(StreamSettings(watchdog=slots + 10_000))
    result = driver.compute(problem, x)
    given = block.clocks
    packets = block.packets(INPUT)
    taken = int(packets[-1, 1] - packets[0, 0]) + 1 if len(packets) else 0
    return StreamRun(
        result, given.cycles, planned.cycles, planned.beats_in, planned.beats_out,
        len(planned.jobs), taken - planned.beats_in,
    )  # fmt: skip


def measure(run: Run) -> dict[str, Any]:
    """Run a workload on the block, and compare its clocks with the bound."""
    x, least = run.tensor(), bound(run.problem, run.lanes)
    block = NativeBlock(run.config)
    try:
        ran = stream_run(block, run.problem, x, run.config)
    finally:
        block.close()
    agreement = agrees(run.problem, x, ran.result)
    allowed = least.allowed + BLOCK_CLOCKS
    faults = [] if agreement else ["a wrong result"]
    if ran.clocks > allowed:
        faults.append(f"{ran.clocks - allowed} clocks too many")
    if ran.clocks > ran.predicted + BLOCK_CLOCKS:
        faults.append(f"{ran.clocks - ran.predicted} clocks more than the core")
    return {
        "beats_in": ran.beats_in,
        "beats_out": ran.beats_out,
        "jobs": ran.jobs,
        "bound": least.clocks,
        "predicted": ran.predicted,
        "cycles": ran.clocks,
        "idle": ran.idle,
        "allowed": allowed,
        "agreement": agreement,
        "faults": faults,
    }


COLUMNS = ("beats_in", "beats_out", "jobs", "bound", "predicted", "cycles", "idle", "allowed")

if __name__ == "__main__":
    end(partial(main, ClockBench(__doc__, RESULTS, "axi", measure, COLUMNS)))
