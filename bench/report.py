"""Writes ``bench/RESULTS.md`` and its plots from what the other scripts measured.

Usage: ``python bench/report.py``. It measures nothing itself.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator
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
from results_files import read_results
from simulation_sections import simulation_section

from extremum.host.replaced_files import write_together

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
REPORT = FOLDER / "RESULTS.md"
README = FOLDER.parent / "README.md"
SUMMARY = '<!-- FPGA summary: from bench/RESULTS.md, "Cores on the ECP5-85F" -->'
SUMMARY_END = "<!-- end of the FPGA summary -->"
FABRIC_NOTE = f"\\* Fabric alone: the part's clock network may end near {plots.CLOCK_TREE} MHz."
Records = list[dict[str, Any]]


def load(name: str) -> Any:
    """Return what a file of results has; see :func:`results_files.read_results`."""
    return read_results(RESULTS / f"{name}.json")


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
    """Return a README in which the table of cores is replaced.

    Raises
    ------
    ValueError
        It does not have both marks of the table, once and in order.
    """
    places = [readme.find(SUMMARY), readme.find(SUMMARY_END)]
    if -1 in places or places != sorted(places) or readme.count(SUMMARY) != 1:
        raise ValueError(f"the README must have {SUMMARY} once, and {SUMMARY_END} behind it")
    before, _, rest = readme.partition(SUMMARY)
    _, _, after = rest.partition(SUMMARY_END)
    return before + summary + after


def wrong(*results: Records) -> Iterator[str]:
    """Yield a line for each run in results that is not what it should be."""
    for record in (each for records in results for each in records):
        faults = record.get("faults", [] if record.get("agreement", True) else ["a wrong result"])
        if faults:
            yield f"{record['workload']}: {', '.join(faults)}"


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    try:
        return write()
    except (OSError, ValueError) as error:  # a file that is missing, damaged or not writable
        print(f"report: {error}", file=sys.stderr)
        return 2


def write() -> int:
    """Write the report, its plots and the README; return 1 if a result is wrong."""
    targets = tomllib.loads((FOLDER / "targets.toml").read_text())
    blocks, peers = targets["block"], targets["peer"]
    cycles, fpga, block_clocks = load("cycles"), load("fpga"), load("block_clocks")
    documents: list[tuple[Path, bytes]] = []
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
            readme = with_summary(README.read_text(), readme_summary(fpga, blocks))
            documents.append((README, readme.encode()))
    if simulation := load("simulation"):
        parts += simulation_section(simulation)
    if model := load("model"):
        parts += model_section(model)
    source = (
        "Written by `make bench-report` from the files in `bench/results/`: `cycles.json` and "
        "`block_clocks.json` are those of `make bench-cycles`, `fpga.json` of `make bench-fpga`, "
        "`simulation.json` of `make bench-simulation`, and `model.json` of `make bench-model`."
    )
    report = "\n\n".join(["# Results", source, *headlines, *parts]) + "\n"
    write_together([(REPORT, report.encode()), *documents])
    print("\n".join(headlines))
    found = list(wrong(cycles, block_clocks, simulation["workloads"] if simulation else []))
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
