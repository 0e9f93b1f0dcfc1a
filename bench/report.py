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
import readme_parts
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
    growth_section,
    peers_section,
    settings_section,
    small_section,
)
from model_sections import model_section
from results_files import read_results
from simulation_sections import simulation_section

from extremum.host.replaced_files import write_together

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
REPORT = FOLDER / "RESULTS.md"
README = FOLDER.parent / "README.md"
Records = list[dict[str, Any]]


def load(name: str) -> Any:
    """Return what a file of results has; see :func:`results_files.read_results`."""
    return read_results(RESULTS / f"{name}.json")


def with_figures(readme: str, fpga: Records, blocks: Records, simulation: Any) -> str:
    """Return a README whose parts about FPGAs and simulation tell what was measured."""
    if fpga:
        readme = readme_parts.FPGA.replaced(readme, readme_parts.fpga_part(fpga, blocks))
    if simulation:
        text = readme_parts.simulation_part(simulation)
        readme = readme_parts.SIMULATION.replaced(readme, text)
    return readme


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
    documents = [(REPORT, report.encode())]
    if README.exists():
        readme = with_figures(README.read_text(), fpga, blocks, simulation)
        documents.append((README, readme.encode()))
    write_together(documents)
    print("\n".join(headlines))
    found = list(wrong(cycles, block_clocks, simulation["workloads"] if simulation else []))
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
