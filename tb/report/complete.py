"""What evidence leaves out of all that there is now: proofs, blocks, targets, bins, sources.

Evidence tells only of what was run. Something that has been added since, or was not run, speaks
against nothing in it, so it is looked for here. So is a proof that is not the
present one: of another claim, or for another length of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from extremum.tb.coverage import BINS
from extremum.tb.faults.__main__ import RUNS, name_of
from extremum.tb.formal.proofs import all_proofs
from extremum.tb.formal.run import SOFTWARE
from extremum.tb.mutation.packages import PACKAGES
from extremum.tb.mutation.planted import BUGS
from extremum.tb.report.markdown import count
from extremum.tb.report.section import Section

__all__ = ["left_out"]


def left_out(section: Section, folder: Path) -> tuple[str, ...]:
    """Return what a section's evidence leaves out, in a few words for each kind."""
    data = section.data(folder)
    if data is None or section.name not in _LACKS:  # the former is told by the section
        return ()
    return tuple(_LACKS[section.name](data))


def _told(names: set[str], noun: str) -> Iterator[str]:
    """Tell how many of something are missing, and the first of them."""
    if names:
        yield f"{count(len(names), noun)} left out, such as {min(names)}"


def _sources(names: Iterable[str], data: dict[str, Any]) -> Iterator[str]:
    """Tell which sources have no digest in evidence, so that nobody sees when they change."""
    yield from _told({*names} - data.get("sources", {}).keys(), "source")


def _regression(data: dict[str, Any]) -> Iterator[str]:
    if not data["total"]["cases"]:
        yield "no case was run"


def _coverage(data: dict[str, Any]) -> Iterator[str]:
    met = {
        f"{name}: {places}"
        for name, point in data["points"].items()
        for places, times in point["bins"].items()
        if times
    }
    # What the evidence itself says is missing is told by the section.
    yield from _told(BINS - met - set(data["missing"]), "bin")


def _formal(data: dict[str, Any]) -> Iterator[str]:
    yield from _sources(SOFTWARE, data)
    done = {proof["name"]: proof for proof in data["proofs"]}
    planned = {proof.name: proof for proof in all_proofs()}
    yield from _told(planned.keys() - done.keys(), "proof")
    yield from _told(
        {
            f"{name}: {fault.what}"
            for name in planned.keys() & done.keys()
            for fault in planned[name].faults
            if fault.what not in {each["what"] for each in done[name]["faults"]}
        },
        "planted fault",
    )
    yield from _told({name for name, proof in done.items() if not proof["covered"]}, "cover")
    both = planned.keys() & done.keys()
    for what, name in (("for another length of time", "bounded"), ("of another depth", "depth"),
                       ("of another claim", "claim")):  # fmt: skip
        if other := {n for n in both if getattr(planned[n], name) != done[n][name]}:
            yield f"{count(len(other), 'proof')} {what}, such as {min(other)}"


def _software(data: dict[str, Any]) -> Iterator[str]:
    yield from _told(PACKAGES.keys() - data.keys(), "package")
    for name in sorted(PACKAGES.keys() & data.keys()):
        yield from _sources(PACKAGES[name].modules, data[name])


def _planted(data: dict[str, Any]) -> Iterator[str]:
    yield from _told({bug.name for bug in BUGS} - {bug["bug"] for bug in data["bugs"]}, "bug")


def _faults(data: dict[str, Any]) -> Iterator[str]:
    yield from _told(
        {name_of(*run) for run in RUNS} - {b["block"] for b in data["blocks"]}, "block"
    )


def _fuzz(data: dict[str, Any]) -> Iterator[str]:
    try:
        from extremum.tb.fuzz.__main__ import SOURCES  # noqa: PLC0415 - needs the extra test
        from extremum.tb.fuzz.targets import TARGETS  # noqa: PLC0415
    except ImportError:  # a test looks at it in any case
        return
    yield from _sources(SOURCES, data)
    yield from _told(TARGETS.keys() - {target["name"] for target in data["targets"]}, "target")


_LACKS: dict[str, Callable[[Any], Iterator[str]]] = {
    "regression": _regression,
    "coverage": _coverage,
    "formal": _formal,
    "software": _software,
    "planted": _planted,
    "faults": _faults,
    "fuzz": _fuzz,
}
"""What looks for what is left out, by the name of the section."""
