"""Writes ``bench/RESULTS.md`` and its plots from what `cycles.py` and `fpga.py` measured.

Usage: ``python bench/report.py``. It measures nothing itself.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import plots

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
REPORT = FOLDER / "RESULTS.md"
README = FOLDER.parent / "README.md"
SUMMARY = '<!-- FPGA summary: from bench/RESULTS.md, "Blocks on the ECP5-85F" -->'
SUMMARY_END = "<!-- end of the FPGA summary -->"
FABRIC_NOTE = f"\\* Fabric alone: the part's clock network may end near {plots.CLOCK_TREE} MHz."
Records = list[dict[str, Any]]


def load(name: str) -> Records:
    """Return the records of a file of results; there are none if nothing was measured."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else []


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers_from: int) -> str:
    """Return a table in Markdown, its columns from ``numbers_from`` on aligned to the right."""
    rows = list(rows) or [["not measured", *[""] * (len(columns) - 1)]]
    rule = ["---" if n < numbers_from else "---:" for n in range(len(columns))]
    lines = [columns, rule, *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def cycles_headline(records: Records) -> str:
    """Return a few sentences that tell how fast the workloads run."""
    met = sum(record["cycles"] <= record["allowed"] for record in records)
    beyond = max(record["cycles"] - record["bound"] for record in records)
    missed = max(abs(record["cycles"] - record["predicted"]) for record in records)
    sampled = [record for record in records if record["cocotb"] is not None]
    same = sum(record["cocotb"] == record["cycles"] for record in sampled)
    return (
        f"{met} of {len(records)} runs of the workloads at full size take at most 1.02 B + 64 "
        f"clocks, where B is the least that any core could take; the largest distance from B is "
        f"{beyond} clocks. The plan's prediction misses by at most {missed}. cocotb on Verilator "
        f"counts the same clocks in {same} of the {len(sampled)} runs sampled."
    )


def blocks_headline(records: Records, targets: Records) -> str:
    """Return a sentence that tells which blocks are as fast and as small as their targets."""
    wanted = {target["name"]: target for target in targets}
    blocks = with_target(records, targets)
    at_aim, at_floor = (
        sum(reached(record, wanted[record["name"]], level) for record in blocks)
        for level in ("aim", "floor")
    )
    return (
        f"Of {len(blocks)} blocks with a target on the ECP5-85F, {at_aim} reach the aim and "
        f"{at_floor} the floor."
    )


def cycles_section(records: Records) -> Iterator[str]:
    """Yield the section about the clocks of every workload."""
    small = {
        (record["workload"], record["lanes"]): record
        for record in records
        if record["pipelining"] == "small"
    }
    yield "## Clocks"
    yield (
        "B is the earliest clock in which any core could finish: input beat i is taken in clock i, "
        "an output beat leaves in the clock of the last input that it needs or later, one in each "
        "clock, in order (`bench/bound.py`). Full size, backend `native`, without stalls, every "
        "result checked bit for bit. The cores are `fast`, and in the last two columns `small`."
    )
    columns = (
        "workload", "lanes", "beats in", "beats out", "B", "clocks", "clocks - B", "utilization",
        "predicted", "small: clocks - B", "predicted - B",
    )  # fmt: skip
    yield table(
        columns,
        (
            (
                record["workload"], record["lanes"], record["beats_in"], record["beats_out"],
                record["bound"], record["cycles"], record["cycles"] - record["bound"],
                f"{record['utilization']:.3f}", record["predicted"],
                *(
                    small[record["workload"], record["lanes"]][name] - record["bound"]
                    for name in ("cycles", "predicted")
                ),
            )
            for record in records
            if record["pipelining"] == "fast"
        ),
        1,
    )  # fmt: skip
    yield "![clocks over B](results/cycles.svg)"


def block_clocks_headline(records: Records) -> str:
    """Return a sentence that tells what the AXI block adds to the clocks of the workloads."""
    met = sum(record["block"] <= record["allowed"] for record in records)
    single = [record["block"] - record["core"] for record in records if record["jobs"] == 1]
    return (
        f"Through the AXI block, {met} of {len(records)} runs take at most 1.02 B + 64 + 8 clocks; "
        f"a run of one job takes at most {max(single)} clocks more than on the bare core."
    )


def block_clocks_section(records: Records) -> Iterator[str]:
    """Yield the section about the clocks of every workload through the AXI block."""
    yield "## Clocks through the AXI block"
    yield (
        "From the first beat taken on `s_axis` to the last beat that moved on any stream; the "
        "first packet is offered when its job waits for it. Idle are clocks without a beat on "
        "`s_axis` before its last one: those in which the core gives results and takes none. "
        "Several jobs overlap in the block; the clocks of the core are those of its jobs one after "
        "another."
    )
    columns = (
        "workload", "lanes", "jobs", "B", "core", "block", "block - core", "idle on s_axis",
    )  # fmt: skip
    yield table(
        columns,
        (
            (
                record["workload"], record["lanes"], record["jobs"], record["bound"],
                record["core"], record["block"], record["block"] - record["core"], record["idle"],
            )
            for record in records
        ),
        1,
    )  # fmt: skip


def blocks_section(records: Records, targets: Records) -> Iterator[str]:
    """Yield the section about the blocks that have a target."""
    wanted = {target["name"]: target for target in targets}
    blocks = with_target(records, targets)
    yield "## Blocks on the ECP5-85F"
    yield (
        "Speed grade 6, Yosys and nextpnr, full valid/ready handshake. The core is measured "
        "within registers on all its ports, so that every path of it is timed; the registers "
        "are not counted. Area is COMB, FF and block RAM together: COMB counts look-up tables and "
        "carry cells as nextpnr does, FF the flip-flops of the core. Latency is in clocks, from a "
        "beat to the result that it completes. Fmax is the median of three placement seeds. "
        "Elements are input elements: Fmax x lanes / measured clocks per beat."
    )
    columns = (
        "block", "COMB", "FF", "block RAM", "latency", "Fmax, MHz", "of the seeds",
        "M elements/s", "aim", "floor", "reaches",
    )  # fmt: skip
    yield table(columns, (block_row(record, wanted[record["name"]]) for record in blocks), 1)
    yield (
        "\\* The data sheet bounds the primary clock tree at speed grade 6 to about "
        f"{plots.CLOCK_TREE} MHz, which nextpnr does not check: above that a figure is of the "
        "fabric, not of a board."
    )
    yield "What the part's own primitives reach, in MHz, as measured apart from any core:"
    yield table(("block", "limit"), ((t["name"], t["limit"]) for t in targets if "limit" in t), 2)
    yield "Where the clock is lost (nanoseconds):"
    columns = ("block", "from", "to", "logic", "routing")
    yield table(columns, map(path_row, blocks), 3)
    yield "![Fmax beside aim and floor](results/fmax.svg)"


def with_target(records: Records, targets: Records) -> Records:
    """Return the blocks that have a target."""
    names = {target["name"] for target in targets}
    return [record for record in records if record["name"] in names]


def reached(record: dict[str, Any], target: dict[str, Any], level: str) -> bool:
    """Return whether a block reaches the clock and the area of one of its targets: aim or floor."""
    limit = target.get("aim_comb" if level == "aim" else "floor_comb", target.get("floor_comb"))
    return (
        record["fmax_mhz"] >= target[level]
        and (limit is None or record["comb"] <= limit)
        and record["block_ram"] <= target.get("block_ram", record["block_ram"])
    )


def block_row(record: dict[str, Any], target: dict[str, Any]) -> tuple[Any, ...]:
    """Return a block's row: its figures, its targets, and which of them it reaches."""

    def wanted(level: str) -> str:
        limit = target.get(f"{level}_comb")
        return f"{target[level]}" + (f", {limit} COMB" if limit else "")

    verdict = next((level for level in ("aim", "floor") if reached(record, target, level)), "-")
    return (*figures(record), wanted("aim"), wanted("floor"), verdict)


def figures(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return the first columns of a block's row, which all tables of FPGA figures share."""
    seeds = ", ".join(f"{run['fmax_mhz']:.0f}" for run in record["seeds"])
    fabric = (
        " \\*" if record["device"] == "ecp5-85k" and record["fmax_mhz"] > plots.CLOCK_TREE else ""
    )
    return (
        record["name"], record["comb"], record["ff"], record["block_ram"], record["latency"],
        f"{record['fmax_mhz']:.0f}{fabric}", seeds, f"{record['elements_per_second'] / 1e6:.0f}",
    )  # fmt: skip


def path_row(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return a block's row in the table of critical paths."""
    path = record["critical_path"]
    ends = (f"`{path['from']}`", f"`{path['to']}`")
    return (record["name"], *ends, f"{path['logic_ns']:.2f}", f"{path['routing_ns']:.2f}")


def small_section(records: Records) -> Iterator[str]:
    """Yield the section about the same blocks on other parts."""
    yield "## Blocks on the iCE40"
    columns = (
        "block", "logic cells", "FF", "block RAM", "latency", "Fmax, MHz", "of the seeds",
        "M elements/s",
    )  # fmt: skip
    others = (r for r in records if r["device"] != "ecp5-85k" and not is_other_setting(r))
    yield table(columns, map(figures, others), 1)


def is_other_setting(record: dict[str, Any]) -> bool:
    """Return whether a core was measured with another setting than the fast one."""
    return record.get("parameters", {}).get("pipelining", "fast") != "fast"


def settings_section(records: Records) -> Iterator[str]:
    """Yield the section about cores with fewer registers."""
    yield "## Settings of pipelining"
    yield (
        "The same cores with fewer registers, beside the fast ones where these were measured. A "
        "flip-flop is area as a look-up table is; on the iCE40 a logic cell is both."
    )
    yield "![area over clock](results/front.svg)"
    chosen = [r for r in records if is_other_setting(r) and not r.get("series")]
    fast = {(record["name"].split(" on ")[0], record["device"]): record for record in records}
    rows, seen = [], set()
    for record in chosen:
        core = record["name"].split(", ")[0], record["device"]
        if core in fast and core not in seen:
            rows.append(fast[core])
        seen.add(core)
        rows.append(record)
    columns = (
        "core", "part", "COMB or cells", "FF", "block RAM", "latency", "Fmax, MHz", "of the seeds",
        "M elements/s",
    )  # fmt: skip
    yield table(
        columns, ((r["name"].split(" on ")[0], r["device"], *figures(r)[1:]) for r in rows), 2
    )


def block_section(records: Records) -> Iterator[str]:
    """Yield the section about what the AXI block costs around each core."""
    yield "## With AXI ports"
    yield (
        "Each core bare, and within the AXI block: programmable if it has job registers, dataflow "
        "if all of them are fixed. The differences are what registers, commands, packets, counters "
        "and buffers cost; a programmable block holds each bit of the job port in a flip-flop."
    )
    bare = {record["name"]: record for record in records}
    columns = (
        "core", "form", "ports", "COMB", "more", "FF", "more", "block RAM", "latency", "MHz",
        "clock lost",
    )  # fmt: skip
    rows = []
    for block in records:
        if block.get("bus") != "axi":
            continue
        core = bare[block["name"].removesuffix(", AXI")]
        lost = 1 - block["fmax_mhz"] / core["fmax_mhz"]
        rows.append(
            (
                f"`{core['name']}`",
                "dataflow" if block["ports"] < 20 else "programmable",
                f"{core['ports']} -> {block['ports']}",
                f"{core['comb']} -> {block['comb']}",
                block["comb"] - core["comb"],
                f"{core['ff']} -> {block['ff']}",
                block["ff"] - core["ff"],
                block["block_ram"],
                f"{core['latency']} -> {block['latency']}",
                f"{core['fmax_mhz']:.0f} -> {block['fmax_mhz']:.0f}",
                f"{100 * lost:.0f}%",
            )
        )
    yield table(columns, rows, 2)


GROWTH = {
    "lanes": "A lane is a comparator for each tap, its storage and its part of the result queue.",
    "small lanes": "The same in small cores: no copies of registers, and no result queue.",
    "window": "Another tap in a dimension is a comparator, and in the height also a stored line.",
    "line": "A longer line is a longer memory; its address is a counter.",
}


def growth_section(records: Records) -> Iterator[str]:
    """Yield the section about how area and clock of the programmable core grow."""
    yield "## How figures grow"
    yield (
        "The programmable core for int8 (`programmable-int8x4`), one parameter changed at a time. "
        "The limit is a beat in each clock of the part's clock tree, in millions of elements."
    )
    for series, text in GROWTH.items():
        rows = [
            (record["series"][1], *figures(record)[1:], plots.CLOCK_TREE * record["lanes"])
            for record in records
            if (record.get("series") or [None])[0] == series
        ]
        yield f"### {series}"
        yield text
        columns = (
            series, "COMB", "FF", "block RAM", "latency", "Fmax, MHz", "of the seeds",
            "M elements/s", "limit",
        )  # fmt: skip
        yield table(columns, rows, 0)
    yield "![growth](results/growth.svg)"


def peers_section(peers: Records) -> Iterator[str]:
    """Yield the section about the figures of other designs."""
    yield "## Others"
    yield "The same part, tools and seeds."
    columns = ("work", "who", "Fmax, MHz", "COMB", "M elements/s", "note")
    yield table(
        columns,
        (
            (
                peer["work"],
                peer["who"],
                *(peer.get(name, "") for name in ("mhz", "comb", "rate", "note")),
            )
            for peer in peers
        ),
        6,
    )
    yield "![elements per second beside others](results/rates.svg)"


def readme_summary(records: Records, targets: Records) -> str:
    """Return the table of blocks for the README, between its two markers."""
    columns = (
        "block", "COMB", "FF", "block RAM", "latency", "MHz", "million elements per second"
    )  # fmt: skip
    rows = []
    for record in with_target(records, targets):
        name, comb, ff, block_ram, latency, fmax, _, rate = figures(record)
        rows.append((f"`{name}`", comb, ff, block_ram, latency, fmax, rate))
    return "\n\n".join([SUMMARY, table(columns, rows, 1), FABRIC_NOTE, SUMMARY_END])


def with_summary(readme: str, summary: str) -> str:
    """Return a README in which the table of blocks is replaced."""
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
        headlines.append(blocks_headline(fpga, blocks))
        parts += blocks_section(fpga, blocks)
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
    source = (
        "Written by `make bench-cycles` and `make bench-fpga` from `bench/results/cycles.json`, "
        "`block_clocks.json` and `fpga.json`."
    )
    REPORT.write_text("\n\n".join(["# Results", source, *headlines, *parts]) + "\n")
    print("\n".join(headlines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
