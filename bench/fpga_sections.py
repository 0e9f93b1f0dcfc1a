"""Sections of ``bench/RESULTS.md`` about what cores cost on an FPGA, and which clock they reach."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import plots
from markdown_tables import table
from results_files import Records


def cores_headline(records: Records, targets: Records) -> str:
    """Return a sentence that tells which cores are as fast and as small as their targets."""
    wanted = {target["name"]: target for target in targets}
    cores = with_target(records, targets)
    at_aim, at_floor = (
        sum(reached(record, wanted[record["name"]], level) for record in cores)
        for level in ("aim", "floor")
    )
    return (
        f"Of {len(cores)} cores with a target on the ECP5-85F, {at_aim} reach the aim and "
        f"{at_floor} the floor."
    )


def cores_section(records: Records, targets: Records) -> Iterator[str]:
    """Yield the section about the cores that have a target."""
    wanted = {target["name"]: target for target in targets}
    cores = with_target(records, targets)
    yield "## Cores on the ECP5-85F"
    yield (
        f"Speed grade 6, {_tools(cores)}, full valid/ready handshake. The core is measured "
        "within registers on all its ports, so that every path of it is timed; the registers "
        "are not counted. Area is COMB, FF and block RAM together: COMB counts look-up tables and "
        "carry cells as nextpnr does, FF the flip-flops of the core. Latency is in clocks, from a "
        "beat to the result that it completes. Fmax is the median of three placement seeds. "
        "Elements are input elements: Fmax x lanes / clocks per beat, where the clocks are those "
        "of the core's workload, or one per beat if it has none. The aim is what a core should "
        "reach, the floor what it must reach; they and the workloads are in `bench/targets.toml`."
    )
    columns = (
        "core", "COMB", "FF", "block RAM", "latency", "Fmax, MHz", "of the seeds",
        "M elements/s", "aim", "floor", "reaches",
    )  # fmt: skip
    yield table(columns, (core_row(record, wanted[record["name"]]) for record in cores), 1)
    yield (
        "\\* The data sheet bounds the primary clock tree at speed grade 6 to about "
        f"{plots.CLOCK_TREE} MHz, which nextpnr does not check: above that a figure is of the "
        "fabric, not of a board."
    )
    yield (
        "For comparison, what simple circuits of the part's own primitives reached, in MHz, "
        "measured apart from any core. A core may be faster: its comparisons are cut into more "
        "parts."
    )
    yield table(("core", "circuit"), ((t["name"], t["limit"]) for t in targets if "limit" in t), 2)
    yield "Where the clock is lost (nanoseconds):"
    columns = ("core", "from", "to", "logic", "routing")
    yield table(columns, map(path_row, cores), 3)
    yield "![Fmax beside aim and floor](results/fmax.svg)"


def _tools(records: Records) -> str:
    """Return the tools that measured, with their versions, each once."""
    found = {f"{tool} {of}" for record in records for tool, of in record["tools"].items()}
    return " and ".join(sorted(found, reverse=True))


def with_target(records: Records, targets: Records) -> Records:
    """Return the cores that have a target."""
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


def core_row(record: dict[str, Any], target: dict[str, Any]) -> tuple[Any, ...]:
    """Return a block's row: its figures, its targets, and which of them it reaches."""

    def wanted(level: str) -> str:
        limit = target.get(f"{level}_comb")
        return f"{target[level]}" + (f", {limit} COMB" if limit else "")

    verdict = next((level for level in ("aim", "floor") if reached(record, target, level)), "-")
    return (*figures(record), wanted("aim"), wanted("floor"), verdict)


def figures(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return the first columns of a block's row, which all tables of FPGA figures share."""
    seeds = ", ".join(f"{run['fmax_mhz']:.0f}" for run in record["seeds"])
    return (
        record["name"], record["comb"], record["ff"], record["block_ram"], record["latency"],
        clock(record), seeds, f"{record['elements_per_second'] / 1e6:.0f}",
    )  # fmt: skip


def clock(record: dict[str, Any]) -> str:
    """Return a block's Fmax, with a star where it is beyond the part's clock tree."""
    fabric = record["device"] == "ecp5-85k" and record["fmax_mhz"] > plots.CLOCK_TREE
    return f"{record['fmax_mhz']:.0f}" + (" \\*" if fabric else "")


def path_row(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return a block's row in the table of critical paths.

    Lines are left out: they are those of the sources at the time of the measurement.
    """
    path = record["critical_path"]
    ends = [f"`{re.sub(r':[0-9]+', '', path[end])}`" for end in ("from", "to")]
    return (record["name"], *ends, f"{path['logic_ns']:.2f}", f"{path['routing_ns']:.2f}")


def small_section(records: Records) -> Iterator[str]:
    """Yield the section about the same cores on other parts."""
    yield "## Cores on the iCE40"
    columns = (
        "core", "logic cells", "FF", "block RAM", "latency", "Fmax, MHz", "of the seeds",
        "M elements/s",
    )  # fmt: skip
    others = (
        r for r in records
        if r["device"] != "ecp5-85k" and r["bus"] == "none" and not is_other_setting(r)
    )  # fmt: skip
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
    chosen = [
        r for r in records
        if is_other_setting(r) and r["bus"] == "none" and not r.get("series")
    ]  # fmt: skip
    fast = {(without_part(record), record["device"]): record for record in records}
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
    yield table(columns, ((without_part(r), r["device"], *figures(r)[1:]) for r in rows), 2)


def without_part(record: dict[str, Any]) -> str:
    """Return the name of a core without that of its part."""
    return record["name"].replace(f" on {record['device']}", "")


def block_section(records: Records) -> Iterator[str]:
    """Yield the section about what the AXI block costs around each core."""
    yield "## With AXI ports"
    yield (
        "Each core bare, and within the AXI block: programmable if it has job registers, dataflow "
        "if all of them are fixed. The differences are what registers, commands, packets, counters "
        "and buffers cost; a programmable block holds each bit of the job port in a flip-flop. Its "
        "reset comes from a register, whose ways are timed, and that of the bare core from a port. "
        "Beyond the clock tree (\\*), what is lost is of the fabric."
    )
    bare = {record["name"]: record for record in records}
    columns = (
        "core", "form", "ports", "COMB or cells", "more", "FF", "more", "block RAM", "latency",
        "MHz", "clock lost",
    )  # fmt: skip
    rows = []
    for block in records:
        if block["bus"] != "axi":
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
                f"{core['block_ram']} -> {block['block_ram']}",
                f"{core['latency']} -> {block['latency']}",
                f"{clock(core)} -> {clock(block)}",
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
    yield (
        "Other designs, measured once with the same tools and seeds, on the ECP5-85F unless a row "
        "says otherwise. They are not part of this project, so no command of it repeats these "
        "figures. An empty cell was not measured; flip-flops were not counted for most."
    )
    columns = ("work", "who", "Fmax, MHz", "COMB or cells", "FF", "M elements/s", "note")
    yield table(
        columns,
        (
            (
                peer["work"],
                peer["who"],
                *(peer.get(name, "") for name in ("mhz", "comb", "ff", "rate", "note")),
            )
            for peer in peers
        ),
        7,
    )
    yield "![elements per second beside others](results/rates.svg)"
