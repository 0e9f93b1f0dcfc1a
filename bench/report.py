"""Writes ``bench/RESULTS.md`` and its plots from what the other scripts measured.

Usage: ``python bench/report.py``. It measures nothing itself.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import plots
from cycles_sections import (
    block_clocks_headline,
    block_clocks_section,
    cycles_headline,
    cycles_section,
)
from fpga_sections import (
    block_section,
    cores_headline,
    cores_section,
    figures,
    growth_section,
    peers_section,
    settings_section,
    small_section,
    with_target,
)
from markdown_tables import table
from model_sections import model_section
from simulation_sections import simulation_section

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
REPORT = FOLDER / "RESULTS.md"
README = FOLDER.parent / "README.md"
SUMMARY = '<!-- FPGA summary: from bench/RESULTS.md, "Cores on the ECP5-85F" -->'
SUMMARY_END = "<!-- end of the FPGA summary -->"
FABRIC_NOTE = f"\\* Fabric alone: the part's clock network may end near {plots.CLOCK_TREE} MHz."
Records = list[dict[str, Any]]


def load(name: str) -> Any:
    """Return what a file of results has: a list of records, or several of them by name.

    The list is empty if nothing was measured.
    """
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else []


def readme_summary(records: Records, targets: Records) -> str:
    """Return the table of cores for the README, between its two markers."""
    columns = (
        "core", "COMB", "FF", "block RAM", "latency", "MHz", "million elements per second"
    )  # fmt: skip
    rows = []
    for record in with_target(records, targets):
        name, comb, ff, block_ram, latency, fmax, _, rate = figures(record)
        rows.append((f"`{name}`", comb, ff, block_ram, latency, fmax, rate))
    return "\n\n".join([SUMMARY, table(columns, rows, 1), FABRIC_NOTE, SUMMARY_END])


def with_summary(readme: str, summary: str) -> str:
    """Return a README in which the table of cores is replaced."""
    before, _, rest = readme.partition(SUMMARY)
    _, _, after = rest.partition(SUMMARY_END)
    return before + summary + after


def main() -> int:
    targets = tomllib.loads((FOLDER / "targets.toml").read_text())
    blocks, peers = targets["block"], targets["peer"]
    cycles, fpga, block_clocks = load("cycles"), load("fpga"), load("block_clocks")
    headlines: list[str] = []
    parts: list[str] = []
    if cycles:
        headlines.append(cycles_headline(cycles))
        parts += cycles_section(cycles)
        plots.cycles(cycles, RESULTS / "cycles.svg")
    if block_clocks:
        headlines.append(block_clocks_headline(block_clocks))
        parts += block_clocks_section(block_clocks)
    if fpga:
        headlines.append(cores_headline(fpga, blocks))
        parts += cores_section(fpga, blocks)
        parts += small_section(fpga)
        parts += settings_section(fpga)
        parts += block_section(fpga)
        parts += growth_section(fpga)
        parts += peers_section(peers)
        plots.fmax(fpga, blocks, RESULTS / "fmax.svg")
        plots.front(fpga, peers, RESULTS / "front.svg")
        plots.growth(fpga, RESULTS / "growth.svg")
        plots.rates(fpga, peers, RESULTS / "rates.svg")
        if README.exists():
            README.write_text(with_summary(README.read_text(), readme_summary(fpga, blocks)))
    if simulation := load("simulation"):
        parts += simulation_section(simulation)
    if model := load("model"):
        parts += model_section(model)
    source = (
        "Written by `make bench-report` from the files in `bench/results/`: `cycles.json` and "
        "`block_clocks.json` are those of `make bench-cycles`, `fpga.json` of `make bench-fpga`, "
        "`simulation.json` of `make bench-simulation`, and `model.json` of `make bench-model`."
    )
    REPORT.write_text("\n\n".join(["# Results", source, *headlines, *parts]) + "\n")
    print("\n".join(headlines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
