"""Sections of ``bench/RESULTS.md`` about clocks: of the workloads, and through the AXI block."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_tables import table
from results_files import Records


def cycles_headline(records: Records) -> str:
    """Return a few sentences that tell how fast the workloads run."""
    met = sum(record["cycles"] <= record["allowed"] for record in records)
    right = sum(record["agreement"] for record in records)
    beyond = max(record["cycles"] - record["bound"] for record in records)
    missed = max(abs(record["cycles"] - record["predicted"]) for record in records)
    sampled = [record for record in records if record["cocotb"] is not None]
    same = sum(record["cocotb"] == record["cycles"] for record in sampled)
    return (
        f"{met} of {len(records)} runs of the workloads at full size take at most 1.02 B + 64 "
        f"clocks, where B is the least that a core could take for the same beats; the largest "
        f"distance from B is {beyond} clocks. {right} of {len(records)} runs give the results of "
        f"the golden model, bit for bit. The plan's prediction misses by at most {missed} clocks. "
        f"cocotb on Verilator counts the same clocks in {same} of the {len(sampled)} runs sampled."
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
        "B is the earliest clock in which a core could finish with these beats: input beat i is "
        "taken in clock i, an output beat leaves in the clock of the last input that it needs or "
        "later, one in each clock, in order (`bench/bound.py`). Full size, backend `native`, "
        "without stalls, every result compared with that of the golden model. The cores are "
        "`fast`, and in the last two columns `small`."
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
    met = sum(record["cycles"] <= record["allowed"] for record in records)
    right = sum(record["agreement"] for record in records)
    single = [record["cycles"] - record["predicted"] for record in records if record["jobs"] == 1]
    return (
        f"Through the AXI block, {met} of {len(records)} runs take at most 1.02 B + 64 + 8 clocks; "
        f"a run of one job takes at most {max(single)} clocks more than is predicted of the bare "
        f"core. {right} of {len(records)} runs give the results of the golden model, bit for bit."
    )


def block_clocks_section(records: Records) -> Iterator[str]:
    """Yield the section about the clocks of every workload through the AXI block."""
    small = {
        (record["workload"], record["lanes"]): record
        for record in records
        if record["pipelining"] == "small"
    }
    yield "## Clocks through the AXI block"
    yield (
        "From the first beat taken on `s_axis` to the last beat that moved on any stream; the "
        "first packet is offered when its job waits for it. Beside them are the clocks that are "
        "predicted of the bare core, whose jobs come one after another; in the block several jobs "
        "may overlap. Idle are clocks without a beat on `s_axis` before its last one: those in "
        "which the core gives results and takes none."
    )
    columns = (
        "workload", "lanes", "jobs", "B", "fast: clocks", "core", "idle",
        "small: clocks", "core", "idle",
    )  # fmt: skip
    yield table(
        columns,
        (
            (
                record["workload"], record["lanes"], record["jobs"], record["bound"],
                *(
                    each[name]
                    for each in (record, small[record["workload"], record["lanes"]])
                    for name in ("cycles", "predicted", "idle")
                ),
            )
            for record in records
            if record["pipelining"] == "fast"
        ),
        1,
    )  # fmt: skip
