"""Section of ``bench/RESULTS.md`` about simulation: rates, full workloads, and the first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markdown_tables import table

RATES = {
    "native": "`native`",
    "native_fast": "`native`, fast core",
    "verilator": "`verilator` (cocotb)",
    "icarus": "`icarus` (cocotb)",
    "bare": "the compiled model of `native` in a bare loop, no beat offered",
}
"""What is measured, and how the table names it."""


def simulation_section(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the section about simulation, from what `simulation.py` measured."""
    yield "## Simulation"
    yield (
        "On a shared machine of two cores: compare the figures of one run with each other. The "
        "cores are small ones, unless a row says otherwise."
    )
    yield "### Elements per second"
    yield "Reductions of single floats."
    yield rates_table(found)
    yield "### Workloads at full size"
    right = sum(row["agreement"] for row in found["workloads"])
    yield (
        f"Sixteen lanes, backend `native`; {right} of {len(found['workloads'])} results are those "
        "of the golden model, bit for bit. Seconds. Preparing includes compiling the core where it "
        "is not kept yet."
    )
    yield table(
        ("workload", "elements", "clocks", "preparing", "simulating", "checking"),
        (
            (
                row["workload"], row["elements"], row["cycles"],
                *(f"{row[f'{part}_seconds']:.3f}" for part in ("prepare", "simulation", "check")),
            )
            for row in found["workloads"]
        ),
        1,
    )  # fmt: skip
    yield "### First use"
    yield (
        "From nothing to the default core, compiled: seconds, and those of both processors "
        "together. The last column is for a second core, when Verilator's runtime is compiled."
    )
    yield table(
        ("core", "seconds", "of processors", "of processors, second core"),
        (
            (
                f"{_lanes(row)}, {row['pipelining']}", f"{row['seconds']:.1f}",
                f"{row['processor_seconds']:.1f}", f"{row['again_processor_seconds']:.1f}",
            )
            for row in found["first_use"]
        ),
        1,
    )  # fmt: skip
    yield "### Memory"
    yield "Beyond the input, in MB; the backend `native` and the golden model."
    yield table(
        ("problem", "by", "input, MB", "output, MB", "beyond the input, MB", "seconds"),
        (
            (
                row["case"], row["on"],
                *(f"{row[part]:.1f}" for part in ("input_mb", "output_mb", "beyond_input_mb")),
                f"{row['seconds']:.2f}",
            )
            for row in found["memory"]
        ),
        2,
    )  # fmt: skip


def rates_table(found: Mapping[str, Any]) -> str:
    """Return the table of rates, in thousands of elements per second."""
    rates = [rate | {"bare": rate["bare_cycles"] * rate["lanes"]} for rate in found["rates"]]
    return table(
        ("thousands of elements per second", *(_lanes(rate) for rate in rates)),
        (
            (name, *(f"{rate[backend] / 1e3:,.0f}" for rate in rates))
            for backend, name in RATES.items()
        ),
        1,
    )


def _lanes(row: Mapping[str, Any]) -> str:
    return f"{row['lanes']} lane{'s' if row['lanes'] > 1 else ''}"
