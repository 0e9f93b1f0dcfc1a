"""Runs every published workload, scaled down, through ``extremum run``, and prints a table.

Windows, types and reduced lengths stay as published where possible: a tensor is made smaller by
its batch and channels first, then by its largest size.

Usage: ``python bench/workloads.py [--lanes 1] [--most ELEMENTS]``. The exit status is the highest
of ``extremum run``: 1 for a mismatch.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from extremum.model import Pooling, Reduction
from extremum.tb.command import end

WORKLOADS = Path(__file__).with_name("workloads.toml")
DEFAULT_MAX_WINDOW = (3, 7, 7)


def problem_of(workload: dict[str, Any]) -> tuple[Reduction | Pooling, dict[str, Any]]:
    """Return a workload's operator, and limits of a core that can run it."""
    if workload["kind"] == "arg":
        problem = Reduction.of(
            workload["function"], workload["sizes"], workload["type"], workload["axes"],
            axis_direction=workload["direction"],
        )  # fmt: skip
        return problem, {"max_window": (1, 1, 1)}
    names = ("strides", "start_padding", "end_padding", "dilations")
    pooled = Pooling.of(
        workload["sizes"], workload["type"], workload["window"],
        **{name: workload[name] for name in names}, return_indices=workload["indices"],
    )  # fmt: skip
    window = (*(1,) * (3 - len(workload["window"])), *workload["window"])
    most = tuple(map(max, window, DEFAULT_MAX_WINDOW))
    return pooled, {} if most == DEFAULT_MAX_WINDOW else {"max_window": most}


def scaled(workload: dict[str, Any], most: int) -> tuple[int, ...]:
    """Return the sizes of a workload's tensor, scaled down to at most about ``most`` elements."""
    sizes = list(workload["sizes"])
    first = (0, 1) if workload["kind"] == "pool" else ()
    kept = [axis for axis in range(len(sizes)) if axis not in workload.get("axes", [])]
    for axes in (first, kept if workload["kind"] == "arg" else (), range(len(sizes))):
        while math.prod(sizes) > most:
            axis = max(axes, key=lambda axis: sizes[axis], default=None)
            if axis is None or sizes[axis] == 1:
                break
            sizes[axis] = -(-sizes[axis] // 2)
    return tuple(sizes)


def tensor(data_type: str, sizes: tuple[int, ...], seed: int) -> np.ndarray:
    """Return seeded random values with many ties."""
    random = np.random.default_rng(seed)
    return random.integers(0, 100, sizes).astype(data_type)


def arrays(result: Any) -> tuple[np.ndarray, ...]:
    """Return the results of an operator, which are one array or several, as a tuple."""
    return result if isinstance(result, tuple) else (result,)


def command(workload: dict[str, Any], source: Path, lanes: int) -> list[str]:
    """Return the command line of one workload."""

    def listed(values: list[int]) -> str:
        return ",".join(map(str, values))

    function = workload.get("function", "max-pool")
    words = ["run", function, "--input", str(source), "--lanes", str(lanes), "--json"]
    if workload["kind"] == "arg":
        words += ["--axes", listed(workload["axes"]), "--axis-direction", workload["direction"]]
    else:
        for option in ("window", "strides", "start_padding", "end_padding", "dilations"):
            words += ["--" + option.replace("_", "-"), listed(workload[option])]
        window = [1] * (3 - len(workload["window"])) + workload["window"]
        if any(taps > most for taps, most in zip(window, DEFAULT_MAX_WINDOW, strict=True)):
            words += ["--max-window", listed(window)]
        if workload["indices"]:
            words += ["--indices", str(source.with_suffix(".indices.npy"))]
    return [str(Path(sys.executable).with_name("extremum")), *words]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--most", type=int, default=1 << 17, help="elements of a workload")
    arguments = parser.parse_args()
    table = Table("workload", "sizes", "beats in", "beats out", "cycles", "utilization", "agrees")
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed, workload in enumerate(tomllib.loads(WORKLOADS.read_text())["workload"]):
            sizes = scaled(workload, arguments.most)
            source = Path(folder) / f"{workload['name']}.npy"
            np.save(source, tensor(workload["type"], sizes, seed))
            ran = subprocess.run(
                command(workload, source, arguments.lanes),
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
            if ran.returncode:
                print(f"{workload['name']}: status {ran.returncode}", file=sys.stderr)
                worst = max(worst, ran.returncode if ran.returncode > 0 else 1)
            if not ran.stdout:  # the command has said why on stderr
                return worst or 1
            report = json.loads(ran.stdout)
            table.add_row(
                workload["name"],
                " x ".join(map(str, sizes)),
                *(str(report.get(name)) for name in ("beats_in", "beats_out", "cycles")),
                f"{report.get('utilization') or 0:.3f}",
                str(report.get("agreement")),
            )
    Console(width=120).print(table)
    return worst


if __name__ == "__main__":
    end(main)
