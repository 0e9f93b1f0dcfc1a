"""The parts of ``README.md`` that tell what was measured: the tables of cores and of simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import plots
from fpga_sections import figures, with_target
from markdown_tables import table
from results_files import Records
from simulation_sections import rates_table

FABRIC_NOTE = f"\\* Fabric alone: the part's clock network may end near {plots.CLOCK_TREE} MHz."


@dataclass(frozen=True)
class Part:
    """A part of the README that is written anew.

    Parameters
    ----------
    start, end
        The lines before and behind it.
    """

    start: str
    end: str

    def replaced(self, readme: str, text: str) -> str:
        """Return a README in which this part has another text.

        Raises
        ------
        ValueError
            It does not have both lines, once and in order.
        """
        places = [readme.find(self.start), readme.find(self.end)]
        if -1 in places or places != sorted(places) or readme.count(self.start) != 1:
            raise ValueError(f"the README must have {self.start} once, and {self.end} behind it")
        before, _, rest = readme.partition(self.start)
        _, _, after = rest.partition(self.end)
        return f"{before}{self.start}\n\n{text}\n\n{self.end}{after}"


FPGA = Part(
    '<!-- FPGA summary: from bench/RESULTS.md, "Cores on the ECP5-85F" -->',
    "<!-- end of the FPGA summary -->",
)
SIMULATION = Part(
    '<!-- simulation summary: from bench/RESULTS.md, "Simulation" -->',
    "<!-- end of the simulation summary -->",
)


def fpga_part(records: Records, targets: Records) -> str:
    """Return the table of cores."""
    columns = (
        "core", "COMB", "FF", "block RAM", "latency", "MHz", "million elements per second"
    )  # fmt: skip
    rows = []
    for record in with_target(records, targets):
        name, comb, ff, block_ram, latency, fmax, _, rate = figures(record)
        rows.append((f"`{name}`", comb, ff, block_ram, latency, fmax, rate))
    return "\n\n".join([table(columns, rows, 1), FABRIC_NOTE])


def simulation_part(found: Mapping[str, Any]) -> str:
    """Return the rates of simulation, and what some large problems and a first use take."""
    (stem,) = (row for row in found["workloads"] if row["workload"] == "resnet50_maxpool")
    large = {(row["case"], row["on"]): row for row in found["memory"]}
    argmax, golden_argmax, pooling, golden_pooling = (
        large[case, on]
        for case in ("argmax of 100 million", "pooling of 1x64x1024x1024")
        for on in ("native", "golden")
    )
    first_use = [row["seconds"] for row in found["first_use"]]
    prose = (
        f"The stem of ResNet-50 at full size, on 16 lanes, is simulated and checked in "
        f"{stem['simulation_seconds'] + stem['check_seconds']:.2f} s. An argmax of 100 million "
        f"int8 takes {argmax['seconds']:.1f} s and {argmax['beyond_input_mb']:.1f} MB beyond its "
        "input; "
        f"a 2x2 pooling of 1x64x1024x1024 with indices takes {pooling['seconds']:.1f} s and "
        f"{pooling['beyond_input_mb']:.0f} MB, {pooling['output_mb']:.0f} MB of which are its "
        f"output (the golden model: {golden_argmax['beyond_input_mb']:.1f} MB and "
        f"{golden_pooling['beyond_input_mb']:.0f} MB). A core is compiled once, in "
        f"{min(first_use):.0f} to {max(first_use):.0f} seconds, and kept: `extremum cache` shows "
        "where."
    )
    return f"{rates_table(found)}\n\n{fill(prose, 100, break_on_hyphens=False)}"
