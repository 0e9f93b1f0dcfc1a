"""What the two benches that count the clocks of the workloads have in common: their command.

`cycles.py` counts the clocks on the bare core, `block_clocks.py` those on the streams of the AXI
block. Each record has the digest of the netlist that it was counted on.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from results_files import kept_results, write_results
from rich.console import Console
from rich.table import Table
from workloads import WORKLOADS, arrays, problem_of, tensor

from extremum.hdl.config import CoreConfig
from extremum.model import EmptyWindowWarning, Pooling, Reduction
from extremum.tb.command import refuse_unwritable
from extremum.tb.netlists import digest

__all__ = ["KEY", "ClockBench", "Run", "agrees", "main", "runs"]

LANES = (1, 4, 16)
SETTINGS = ("fast", "small")

KEY = ("workload", "lanes", "pipelining")
"""What tells a record from the others."""

kept_digest = cache(digest)
"""Several workloads run on the same core."""


@dataclass(frozen=True)
class Run:
    """A workload on a core of a number of lanes and a setting of ``pipelining``."""

    workload: dict[str, Any]
    lanes: int
    setting: str
    seed: int

    @property
    def key(self) -> tuple[str, int, str]:
        """What tells the run from the others."""
        return self.workload["name"], self.lanes, self.setting

    @property
    def name(self) -> str:
        """The run for a reader."""
        return "{}, {} lanes, {}".format(*self.key)

    @cached_property
    def problem(self) -> Reduction | Pooling:
        """The operator."""
        return problem_of(self.workload)[0]

    @cached_property
    def config(self) -> CoreConfig:
        """The core."""
        limits = problem_of(self.workload)[1]
        return CoreConfig((self.problem.data_type,), self.lanes, pipelining=self.setting, **limits)

    def tensor(self) -> np.ndarray:
        """Return the input."""
        return tensor(self.workload["type"], tuple(self.workload["sizes"]), self.seed)


@dataclass(frozen=True)
class ClockBench:
    """One of the two benches.

    Parameters
    ----------
    description
        What it does, for its help.
    results
        The file of its records.
    bus
        ``"none"`` if the clocks are those of the bare core, ``"axi"`` for the AXI block.
    measure
        Gives the record of a run, without what identifies the run and the netlist. It has the
        ``cycles`` counted, those ``predicted`` by the plan, and ``faults``, a list of what is
        wrong.
    columns
        What the table shows of a record beside the run and its faults.
    """

    description: str | None
    results: Path
    bus: str
    measure: Callable[[Run], dict[str, Any]]
    columns: tuple[str, ...]

    def record(self, run: Run) -> dict[str, Any]:
        """Return the record of a run."""
        workload, lanes, setting = run.key
        measured = {
            "workload": workload,
            "lanes": lanes,
            "pipelining": setting,
            **self.measure(run),
        }
        return measured | {"netlist": kept_digest(run.config, self.bus)}

    def by_key(self, records: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
        """Return records by what tells each from the others; the table can show them."""
        self.table(records)
        return {tuple(record[name] for name in KEY): record for record in records}

    def table(self, records: list[dict[str, Any]]) -> Table:
        """Return the records as a table."""
        table = Table(*KEY, *self.columns, "faults", box=None)
        for record in records:
            figures = (_shown(record[name]) for name in self.columns)
            run = (str(record[name]) for name in KEY)
            table.add_row(*run, *figures, ", ".join(record["faults"]))
        return table


def _shown(figure: float | None) -> str:
    if figure is None:
        return ""
    return f"{figure:.3f}" if isinstance(figure, float) else str(figure)


def agrees(problem: Reduction | Pooling, x: np.ndarray, found: Any) -> bool:
    """Return whether results are those of the golden model, bit for bit."""
    pairs = zip(arrays(found), arrays(problem.evaluate(x)), strict=True)
    return all(ours.tobytes() == golden.tobytes() for ours, golden in pairs)


def runs() -> list[Run]:
    """Return all runs, in the order of the records."""
    workloads = tomllib.loads(WORKLOADS.read_text())["workload"]
    return [
        Run(workload, lanes, setting, seed)
        for setting in SETTINGS
        for seed, workload in enumerate(workloads)
        for lanes in LANES
    ]


def main(bench: ClockBench) -> int:
    """Run what is chosen, and write the records; return the exit status."""
    listed = runs()
    names = list(dict.fromkeys(run.workload["name"] for run in listed))
    parser = argparse.ArgumentParser(description=bench.description)
    parser.add_argument("--only", nargs="+", choices=names, metavar="WORKLOAD", default=names)
    parser.add_argument("--lanes", nargs="+", type=int, choices=LANES, default=LANES)
    parser.add_argument("--pipelining", nargs="+", choices=SETTINGS, default=SETTINGS)
    arguments = parser.parse_args()
    wanted = set(product(arguments.only, arguments.lanes, arguments.pipelining))
    chosen = [run for run in listed if run.key in wanted]
    refuse_unwritable(parser, bench.results)
    found = kept_results(bench.results, bench.by_key)
    warnings.simplefilter("ignore", EmptyWindowWarning)
    failed = False
    for run in chosen:
        record = bench.record(run)
        found[run.key] = record
        failed |= bool(record["faults"])
        told = f"{run.name}: {record['cycles']} clocks"
        print(": ".join([told, *record["faults"]]), file=sys.stderr)
        write_results(bench.results, [found[run.key] for run in listed if run.key in found])
    Console(width=140).print(bench.table([found[run.key] for run in listed if run.key in found]))
    return int(failed)
