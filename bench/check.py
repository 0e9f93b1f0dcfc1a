"""Tells which results in ``bench/results`` are not those of the present sources.

A figure of an FPGA or of clocks belongs to the netlist that was measured, and clocks also to the
plan that predicts them. A time belongs to the sources that it took: of the golden model, or of the
cores and their simulation.

Usage: ``python bench/check.py [--only RESULTS ...]``, such as ``cycles``. The exit status is 1 if a
result is outdated or missing. It takes some minutes, since all cores are generated.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from operator import call
from typing import Any, NamedTuple

import fpga
import model_cases
import simulation
from clock_counts import KEY, runs
from completeness import PARTS, form_of, require_complete
from results_files import RESULTS, read_results

from extremum.host.fpga.devices import DEVICES
from extremum.host.fpga.measure import netlist_digest
from extremum.host.plan import plan
from extremum.tb.command import end
from extremum.tb.evidence import EvidenceError
from extremum.tb.netlists import digest
from extremum.tb.source_digest import changed_since


class Figure(NamedTuple):
    """A result that belongs to a netlist."""

    name: str
    digest: Callable[[], str]
    """Gives the digest of the netlist as it is now."""
    result: dict[str, Any]
    clocks: int | None = None
    """Clocks that the present plan predicts, for a result that tells them."""


def fpga_figures(results: list[dict[str, Any]]) -> Iterator[Figure]:
    """Yield the results of ``fpga.json``, which the bench can measure again."""
    cores = {core.name: core for core in fpga.cores()}
    for result in results:
        core = cores[result["name"]]
        now = partial(netlist_digest, core.config, DEVICES[core.device], core.bus)
        yield Figure(core.name, now, result)


def clock_figures(bus: str, results: list[dict[str, Any]]) -> Iterator[Figure]:
    """Yield the results of ``cycles.json``, or with the bus ``"axi"`` of ``block_clocks.json``."""
    listed = {run.key: run for run in runs()}
    for result in results:
        run = listed[tuple(result[name] for name in KEY)]
        clocks = plan(run.problem, run.config).cycles
        yield Figure(run.name, partial(digest, run.config, bus), result, clocks)


def outdated(figure: Figure, netlist: str) -> Iterator[str]:
    """Yield what is outdated in a result, whose core has this netlist now."""
    result = figure.result
    if result.get("netlist") != netlist:
        yield f"{figure.name}: measured {result.get('netlist')}, it is {netlist} now"
    if figure.clocks not in (None, predicted := result.get("predicted")):
        yield f"{figure.name}: predicted {predicted} clocks, it is {figure.clocks} now"


def outdated_netlists(figures: Iterable[Figure]) -> list[list[str]]:
    """Return for each result what is outdated in it."""
    listed = list(figures)
    # An interrupt ends the main process; those that it started tell nothing of their own.
    ignore = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(initializer=ignore) as pool:
        netlists: Iterator[Any] = pool.map(call, [each.digest for each in listed])
        return [list(outdated(*each)) for each in zip(listed, netlists, strict=True)]


def outdated_times(results: Iterable[dict[str, Any]], sources: Collection[str]) -> list[list[str]]:
    """Return for each result which sources have changed since, and which it does not tell."""
    faults = []
    for result in results:
        told = result.get("sources", {})
        untold = [name for name in sources if name not in told]
        faults.append([f"it is not told of which {name} a time is" for name in untold])
        faults[-1] += [f"{name} has changed since" for name in changed_since(told)]
    return faults


def outdated_simulation(found: dict[str, Any]) -> list[list[str]]:
    """Return what is outdated in each result of ``simulation.json``."""
    with form_of("simulation"):
        rows = [row for part in PARTS["simulation"]() for row in found[part]]
        return outdated_times(rows, simulation.SOURCES)


def outdated_model(found: dict[str, Any]) -> list[list[str]]:
    """Return what is outdated in ``model.json``, which is one result."""
    with form_of("model"):
        return outdated_times([found], model_cases.SOURCES)


def tell(name: str, faults: list[list[str]]) -> bool:
    """Tell what is outdated in a file of results; return whether nothing is."""
    for line in (line for each in faults for line in each):
        print(f"{name}: {line}", file=sys.stderr)
    present = sum(not each for each in faults)
    print(f"{name}: {present} of {len(faults)} results are of the present sources")
    return 0 < present == len(faults)


CHECKS: dict[str, Callable[[Any], list[list[str]]]] = {
    "fpga": lambda found: outdated_netlists(fpga_figures(found)),
    "cycles": lambda found: outdated_netlists(clock_figures("none", found)),
    "block_clocks": lambda found: outdated_netlists(clock_figures("axi", found)),
    "simulation": outdated_simulation,
    "model": outdated_model,
}
"""For each file of results what lists the faults of each result in it."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=CHECKS, metavar="RESULTS", default=CHECKS)
    arguments = parser.parse_args()
    found = {name: read_results(RESULTS / f"{name}.json") for name in arguments.only}
    are_present = []
    for name, results in found.items():
        try:
            require_complete(name, results)
            are_present.append(tell(name, CHECKS[name](results)))
        except EvidenceError as error:
            print(error, file=sys.stderr)
            are_present.append(False)
    return int(not all(are_present))


if __name__ == "__main__":
    end(main)
