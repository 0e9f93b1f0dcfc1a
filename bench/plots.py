"""Draws the plots of ``bench/RESULTS.md``; equal figures give equal files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from results_files import Records

from extremum.host.fpga.devices import DEVICES

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "extremum"
mpl.rcParams["axes.spines.top"] = mpl.rcParams["axes.spines.right"] = False

from matplotlib import pyplot as plt  # noqa: E402 (after the choice of what draws)

WIDTH = 9.0
CLOCK_TREE = 257
"""Fastest clock, in MHz, of the ECP5's primary clock tree at speed grade 6, by its data sheet."""


@contextmanager
def figure(path: Path, height: float, columns: int = 1) -> Iterator[Any]:
    """Yield axes to draw on, then write the figure to a file."""
    drawn, axes = plt.subplots(1, columns, figsize=(WIDTH, height), layout="constrained")
    yield axes
    path.parent.mkdir(exist_ok=True)
    drawn.savefig(path, metadata={"Date": None})
    plt.close(drawn)


def cycles(records: Records, path: Path) -> None:
    """Draw each workload's clocks on the fast cores as a multiple of the bound."""
    records = [record for record in records if record["pipelining"] == "fast"]
    names = list(dict.fromkeys(record["workload"] for record in records))
    counts = sorted({record["lanes"] for record in records})
    with figure(path, 4.5) as axes:
        for place, lanes in enumerate(counts):
            mine = [record for record in records if record["lanes"] == lanes]
            shift = 0.8 * ((place + 0.5) / len(counts) - 0.5)
            where = [names.index(record["workload"]) + shift for record in mine]
            over = [100 * (record["cycles"] / record["bound"] - 1) for record in mine]
            axes.bar(where, over, 0.8 / len(counts), label=f"{lanes} lane{'s'[: lanes > 1]}")
        axes.axhline(2, color="grey", linewidth=0.8, linestyle=":")
        axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
        axes.set_ylabel("clocks beyond the bound, percent")
        axes.set_title("0: no core could be faster. 64 clocks more are allowed than the dotted 2%.")
        axes.legend(frameon=False)


def _cost(record: dict[str, Any]) -> str:
    """Return in three lines what a core takes beside its clock."""
    return (
        f"{record['comb']} COMB, {record['ff']} FF\n{record['block_ram']} block RAM\n"
        f"latency {record['latency']}"
    )


def fmax(records: Records, targets: Records, path: Path) -> None:
    """Draw the Fmax of each block beside its two targets: the aim, and the floor."""
    by_name = {record["name"]: record for record in records}
    shown = [target for target in targets if target["name"] in by_name]
    names = [target["name"] for target in shown]
    with figure(path, 4.2) as axes:
        axes.bar(names, [by_name[name]["fmax_mhz"] for name in names], 0.6, color="C0")
        for name in names:
            seeds = [run["fmax_mhz"] for run in by_name[name]["seeds"]]
            axes.plot([name] * len(seeds), seeds, "k.", markersize=4)
        for level, style in (("aim", "C2^"), ("floor", "C3v"), ("limit_mhz", "C4_")):
            reach = {target["name"]: target[level] for target in shown if level in target}
            label = "the part's own primitives" if level == "limit_mhz" else level
            axes.plot(list(reach), list(reach.values()), style, markersize=10, label=label)
        broken = [name.replace("-", "-\n", 1) for name in names]
        labels = [
            f"{text}\n{_cost(by_name[name])}" for text, name in zip(broken, names, strict=True)
        ]
        axes.set_xticks(range(len(names)), labels, fontsize="x-small")
        axes.set_ylabel("MHz")
        axes.set_title("Fmax on the ECP5-85F: median (bar) and seeds (dots)")
        axes.legend(frameon=False)


FRONTS = {"ecp5-85k": "ECP5-85F: COMB + FF (others: COMB)", "ice40-hx8k": "iCE40 HX8K: logic cells"}
"""The parts on which cores are drawn by area and clock, and what area is there."""


def front(records: Records, peers: Records, path: Path) -> None:
    """Draw the area of each core over its clock, from setting to setting, beside other designs."""
    colors: dict[str, str] = {}
    with figure(path, 5.0, len(FRONTS)) as panels:
        for axes, (device, area) in zip(panels, FRONTS.items(), strict=True):
            cores: dict[str, list[tuple[float, int]]] = {}
            for record in records:
                is_bare = record["bus"] == "none"
                if record["device"] == device and is_bare and not record.get("series"):
                    core = record["name"].split(" on ")[0].split(", ")[0]
                    cells = DEVICES[device].area(record["comb"], record["ff"])
                    cores.setdefault(core, []).append((record["fmax_mhz"], cells))
            for core, points in cores.items():
                if len(points) > 1:
                    color = colors.setdefault(core, f"C{len(colors)}")
                    axes.plot(*zip(*sorted(points), strict=True), f"{color}o-", label=core)
            others = [
                peer
                for peer in peers
                if peer.get("device", "ecp5-85k") == device
                and peer.get("comb", "").isdigit()
                and peer["mhz"].isdigit()
            ]
            for peer, marker in zip(others, "XPDv^s*ph<>8"[: len(others)], strict=True):
                label = f"{peer['who']}:\n{peer['work']}"
                axes.plot(float(peer["mhz"]), float(peer["comb"]), f"k{marker}", label=label)
            axes.set_yscale("log", base=2)
            axes.yaxis.set_major_formatter("{x:.0f}")
            axes.set_xlabel("MHz")
            axes.set_title(area, fontsize="medium")
            axes.legend(frameon=False, fontsize="x-small", loc="upper center",
                        bbox_to_anchor=(0.5, -0.15))  # fmt: skip


def growth(records: Records, path: Path) -> None:
    """Draw area and clock against lanes, window and line."""
    series: dict[str, list[tuple[int, float, float, float]]] = {}
    for record in records:
        if record.get("series"):
            name, size = record["series"]
            point = (size, record["comb"], record["ff"], record["fmax_mhz"])
            series.setdefault(name, []).append(point)
    if not series:
        return
    with figure(path, 3.2, len(series)) as all_axes:
        panels = all_axes if len(series) > 1 else [all_axes]
        for axes, (name, points) in zip(panels, series.items(), strict=True):
            sizes, comb, ff, clock = zip(*sorted(points), strict=True)
            axes.plot(sizes, comb, "C0o-", label="COMB")
            axes.plot(sizes, ff, "C0^:", label="FF")
            axes.set_ylim(0, 1.1 * max(*comb, *ff))
            axes.set_ylabel("COMB (dots), FF (triangles)", color="C0")
            axes.set_xscale("log", base=2)
            axes.set_xticks(sizes, map(str, sizes), fontsize="small", rotation=45)
            axes.set_xlabel(name)
            right = axes.twinx()
            right.plot(sizes, clock, "C1s--")
            right.set_ylim(0, 1.2 * max(clock))
            right.set_ylabel("MHz", color="C1")


def rates(records: Records, peers: Records, path: Path) -> None:
    """Draw elements per second against lanes, beside those of other designs."""
    ours = sorted(
        (record["lanes"], record["elements_per_second"] / 1e6)
        for record in records
        if (record.get("series") or [None])[0] == "lanes"
    )
    if not ours:
        return
    with figure(path, 3.0) as axes:
        axes.plot(*zip(*ours, strict=True), "C0o-", label="extremum, programmable, windows to 3x3")
        limit = [CLOCK_TREE * lanes for lanes, _ in ours]
        axes.plot(
            [lanes for lanes, _ in ours], limit, "k:", label="a beat per clock of the clock tree"
        )
        for place, peer in enumerate(peer for peer in peers if "rate" in peer):
            label = f"{peer['who']}:\n{peer['work']}"
            axes.plot(peer["lanes"], peer["rate"], f"C{place + 1}X", label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter("{x:.0f}")
        axes.set_xticks([lanes for lanes, _ in ours], [str(lanes) for lanes, _ in ours])
        axes.set_xlabel("lanes")
        axes.set_ylabel("million int8 elements per second")
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
