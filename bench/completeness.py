"""What a file of results has when all is measured: no record is missing, twice, or foreign."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple

import fpga
import model_cases
import simulation
from clock_counts import KEY, runs
from workloads import WORKLOADS

from extremum.tb.evidence import EvidenceError, known_form

__all__ = ["COMMANDS", "PARTS", "form_of", "require_complete"]

COMMANDS = {
    "cycles": "make bench-cycles",
    "block_clocks": "make bench-cycles",
    "fpga": "make bench-fpga",
    "simulation": "make bench-simulation",
    "model": "make bench-model",
}
"""What measures the records of each file of results."""


class Part(NamedTuple):
    """Records of a file that have the same form.

    Parameters
    ----------
    keys
        Names of what tells a record from the others.
    wanted
        What the records have under these names when all is measured.
    """

    keys: tuple[str, ...]
    wanted: list[tuple[Any, ...]]


def _clocks() -> dict[str, Part]:
    return {"": Part(KEY, [run.key for run in runs()])}


def _fpga() -> dict[str, Part]:
    return {"": Part(("name",), [(core.name,) for core in fpga.cores()])}


def _simulation() -> dict[str, Part]:
    uses = product(simulation.FIRST_USE_LANES, simulation.SETTINGS)
    return {
        "first_use": Part(("lanes", "pipelining"), list(uses)),
        "rates": Part(("lanes",), [(lanes,) for lanes in simulation.RATE_LANES]),
        "workloads": Part(("workload",), [(workload["name"],) for workload in _workloads()]),
        "memory": Part(("case", "on"), list(product(simulation.MEMORY, ("golden", "native")))),
    }


def _model() -> dict[str, Part]:
    timed: dict[str, list[tuple[str, str]]] = {"arg": [], "pool": []}
    for workload in _workloads():
        kind, own = workload["kind"], workload["type"]
        types = dict.fromkeys(["float32", own]) if kind == "pool" else [own]
        timed[kind] += [(workload["name"], each) for each in types]
    return {
        "reductions": Part(("workload", "type"), timed["arg"]),
        "poolings": Part(("workload", "type"), timed["pool"]),
        "small_calls": Part(("case",), [(case,) for case in model_cases.SMALL_CALLS]),
        "memory": Part(("case",), [(case,) for case in model_cases.LARGE]),
    }


def _workloads() -> list[dict[str, Any]]:
    return tomllib.loads(WORKLOADS.read_text())["workload"]


PARTS: dict[str, Callable[[], dict[str, Part]]] = {
    "cycles": _clocks,
    "block_clocks": _clocks,
    "fpga": _fpga,
    "simulation": _simulation,
    "model": _model,
}
"""For each file of results its parts by name. A file that is a list of records has one, no name."""


@contextmanager
def form_of(name: str) -> Iterator[None]:
    """Turn what goes wrong with results of another form into an EvidenceError in one line."""
    with known_form(f"{name}.json, which `{COMMANDS[name]}` writes,"):
        try:
            yield
        except ArithmeticError as error:  # a figure that others are divided by is 0
            raise ValueError(str(error)) from error


def require_complete(name: str, found: Any) -> None:
    """Make sure that a file of results has all that its bench measures, once, and nothing else.

    Parameters
    ----------
    name
        Name of the file, such as ``"cycles"``.
    found
        What the file has.

    Raises
    ------
    EvidenceError
        It has not. The message names the file, what is wrong, and the command that measures.
    """
    for part, (keys, wanted) in PARTS[name]().items():
        with form_of(name):
            records = _records(found, part)
            counts = Counter(tuple(record[key] for key in keys) for record in records)
        if fault := _fault(wanted, counts):
            told = f"{name}.json: {part}: {fault}" if part else f"{name}.json: {fault}"
            raise EvidenceError(f"{told}; `{COMMANDS[name]}` measures all")


def _records(found: Any, part: str) -> list[dict[str, Any]]:
    """Return the records of a part; none if nothing was measured."""
    if not found:
        return []
    records = found.get(part, []) if part else found
    if part and hasattr(records, "items"):  # the memory of the golden model: figures by case
        return [figures | {"case": case} for case, figures in records.items()]
    return records


def _fault(wanted: list[tuple[Any, ...]], counts: Counter[tuple[Any, ...]]) -> str | None:
    """Say what is wrong with the records of a part; None if nothing is."""
    if missing := [key for key in wanted if key not in counts]:
        return f"{len(missing)} of {len(wanted)} are not measured, such as {_shown(missing[0])}"
    if foreign := [key for key in counts if key not in wanted]:
        return f"the bench measures no {_shown(foreign[0])}"
    if twice := [key for key, count in counts.items() if count > 1]:
        return f"there are several records of {_shown(twice[0])}"
    return None


def _shown(key: tuple[Any, ...]) -> str:
    return ", ".join(map(str, key))
