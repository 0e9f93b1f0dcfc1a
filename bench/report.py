"""Writes ``bench/RESULTS.md`` and its plots from what the other scripts measured.

Usage: ``python bench/report.py``. It measures nothing itself. The sections of a file of results
that does not exist are left out. If a file is damaged or incomplete, a line names it, nothing is
written, and the exit status is 2. The status is 1 if a result is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import plots
import readme_parts
from completeness import form_of, require_complete
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
from results_files import Records, read_results
from simulation_sections import simulation_section

from extremum.host.replaced_files import write_together
from extremum.tb.command import end

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
TARGETS = FOLDER / "targets.toml"
REPORT = FOLDER / "RESULTS.md"
README = FOLDER.parent / "README.md"


class Told(NamedTuple):
    """What the report says of a file of results: its sections, and sentences in front of all."""

    headlines: list[str]
    sections: list[str]


def load(name: str) -> Any:
    """Return what a file of results has; nothing if there is no such file.

    Raises
    ------
    EvidenceError
        The file is damaged or incomplete: a report of it would say less than the one before.
    """
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return []
    found = read_results(path)
    require_complete(name, found)
    return found


def told_of_cycles(records: Records, folder: Path) -> Told:
    """Return what the report says of ``cycles.json``; write the plot to a folder."""
    plots.cycles(records, folder / "cycles.svg")
    return Told([cycles_headline(records)], [*cycles_section(records)])


def told_of_blocks(records: Records, _: Path) -> Told:
    """Return what the report says of ``block_clocks.json``."""
    return Told([block_clocks_headline(records)], [*block_clocks_section(records)])


def told_of_fpga(records: Records, folder: Path) -> Told:
    """Return what the report says of ``fpga.json``; write the plots to a folder."""
    targets = tomllib.loads(TARGETS.read_text())
    blocks, peers = targets["block"], targets["peer"]
    plots.fmax(records, blocks, folder / "fmax.svg")
    plots.front(records, peers, folder / "front.svg")
    plots.growth(records, folder / "growth.svg")
    plots.rates(records, peers, folder / "rates.svg")
    sections = [
        *cores_section(records, blocks),
        *small_section(records),
        *settings_section(records),
        *block_section(records),
        *growth_section(records),
        *peers_section(peers),
    ]
    return Told([cores_headline(records, blocks)], sections)


TELLS: dict[str, Callable[[Any, Path], Told]] = {
    "cycles": told_of_cycles,
    "block_clocks": told_of_blocks,
    "fpga": told_of_fpga,
    "simulation": lambda found, _: Told([], [*simulation_section(found)]),
    "model": lambda found, _: Told([], [*model_section(found)]),
}
"""For each file of results, in the order of the report, what tells of it."""


def with_figures(readme: str, fpga: Records, simulation: Any) -> str:
    """Return a README whose parts about FPGAs and simulation tell what was measured."""
    if fpga:
        blocks = tomllib.loads(TARGETS.read_text())["block"]
        readme = readme_parts.FPGA.replaced(readme, readme_parts.fpga_part(fpga, blocks))
    if simulation:
        with form_of("simulation"):
            text = readme_parts.simulation_part(simulation)
        readme = readme_parts.SIMULATION.replaced(readme, text)
    return readme


def wrong(records: Records) -> Iterator[str]:
    """Yield a line for each run in results that is not what it should be."""
    for record in records:
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
    """Write the report, its plots and the README; return 1 if a result is wrong.

    They are written when all of them are made, so that results of another form change nothing.
    """
    results = {name: found for name in TELLS if (found := load(name))}
    headlines, sections, faults = [], [], []
    with TemporaryDirectory() as folder:
        for name, found in results.items():
            with form_of(name):
                told = TELLS[name](found, Path(folder))
                faults += wrong(found if isinstance(found, list) else found.get("workloads", []))
            headlines += told.headlines
            sections += told.sections
        drawn = [(RESULTS / path.name, path.read_bytes()) for path in Path(folder).iterdir()]
    source = (
        "Written by `make bench-report` from the files in `bench/results/`: `cycles.json` and "
        "`block_clocks.json` are those of `make bench-cycles`, `fpga.json` of `make bench-fpga`, "
        "`simulation.json` of `make bench-simulation`, and `model.json` of `make bench-model`."
    )
    report = "\n\n".join(["# Results", source, *headlines, *sections]) + "\n"
    documents = [*drawn, (REPORT, report.encode())]
    if README.exists():
        readme = README.read_text()
        readme = with_figures(readme, results.get("fpga", []), results.get("simulation"))
        documents.append((README, readme.encode()))
    write_together(documents)
    print("\n".join(headlines))
    print("\n".join(faults), end="\n" if faults else "", file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    end(main)
