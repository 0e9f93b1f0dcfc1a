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

import argparse
import sys
import tomllib
import warnings
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bound import bound
from cycles import LANES, SETTINGS
from results_files import kept_results, write_results
from rich.console import Console
from rich.table import Table
from workloads import WORKLOADS, arrays, problem_of, tensor

from extremum.hdl.axi.streams import INPUT
from extremum.hdl.config import CoreConfig
from extremum.host.driver.block import BlockDriver
from extremum.host.plan import plan
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.native_block import NativeBlock
from extremum.model import EmptyWindowWarning, Pooling, Reduction

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


def measure(workload: dict[str, Any], lanes: int, setting: str, seed: int) -> dict[str, Any]:
    """Run a workload on the block, and compare its clocks with the bound."""
    problem, limits = problem_of(workload)
    config = CoreConfig((problem.data_type,), lanes, pipelining=setting, **limits)
    x, least = tensor(workload["type"], tuple(workload["sizes"]), seed), bound(problem, lanes)
    block = NativeBlock(config)
    try:
        ran = stream_run(block, problem, x, config)
    finally:
        block.close()
    agreement = all(
        ours.tobytes() == golden.tobytes()
        for ours, golden in zip(arrays(ran.result), arrays(problem.evaluate(x)), strict=True)
    )
    allowed = least.allowed + BLOCK_CLOCKS
    faults = [] if agreement else ["a wrong result"]
    if ran.clocks > allowed:
        faults.append(f"{ran.clocks - allowed} clocks too many")
    if ran.clocks > ran.predicted + BLOCK_CLOCKS:
        faults.append(f"{ran.clocks - ran.predicted} clocks more than the core")
    return {
        "workload": workload["name"],
        "lanes": lanes,
        "pipelining": setting,
        "beats_in": ran.beats_in,
        "beats_out": ran.beats_out,
        "jobs": ran.jobs,
        "bound": least.clocks,
        "core": ran.predicted,
        "block": ran.clocks,
        "idle": ran.idle,
        "allowed": allowed,
        "agreement": agreement,
        "faults": faults,
    }


def show(records: list[dict[str, Any]]) -> Table:
    """Return the records as a table."""
    columns = ("beats_in", "beats_out", "jobs", "bound", "core", "block", "idle", "allowed")
    table = Table("workload", "lanes", "pipelining", *columns, "faults", box=None)
    for record in records:
        figures = (str(record[name]) for name in ("lanes", "pipelining", *columns))
        table.add_row(record["workload"], *figures, ", ".join(record["faults"]))
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    workloads = tomllib.loads(WORKLOADS.read_text())["workload"]
    names = [workload["name"] for workload in workloads]
    parser.add_argument("--only", nargs="+", choices=names, metavar="WORKLOAD")
    parser.add_argument("--lanes", nargs="+", type=int, choices=LANES, default=LANES)
    parser.add_argument("--pipelining", nargs="+", choices=SETTINGS, default=SETTINGS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", EmptyWindowWarning)
    order = [
        (workload["name"], lanes, setting)
        for setting in SETTINGS
        for workload in workloads
        for lanes in sorted(LANES)
    ]
    found = {
        (record["workload"], record["lanes"], record["pipelining"]): record
        for record in kept_results(parser, RESULTS)
    }
    failed = False
    for seed, workload in enumerate(workloads):
        if arguments.only is not None and workload["name"] not in arguments.only:
            continue
        for lanes, setting in product(arguments.lanes, arguments.pipelining):
            record = measure(workload, lanes, setting, seed)
            found[workload["name"], lanes, setting] = record
            failed |= bool(record["faults"])
            told = f"{record['block']}, core {record['core']} {record['faults'] or ''}"
            print(f"{workload['name']}, {lanes} lanes, {setting}: {told}", file=sys.stderr)
            write_results(RESULTS, [found[key] for key in order if key in found])
    Console(width=140).print(show([found[key] for key in order if key in found]))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
