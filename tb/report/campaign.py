"""Of the random regression: how much ran, what differed, what was met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from extremum.tb.report.markdown import bullets, count, number, paragraph, share, table
from extremum.tb.report.section import Told

RARE = 10
"""A bin that was met fewer times than this is told to be rare."""


def regression(evidence: dict[str, Any]) -> Told:
    """Tell the totals, the backends and the passes of the regression."""
    total, backends = evidence["total"], evidence["backends"]
    figures = ("cases", "jobs", "beats", "clocks", "seconds", "cores", "differences")
    rows = [[f"`{name}`", *(each[f] for f in figures)] for name, each in sorted(backends.items())]
    seconds = sum(each["seconds"] for each in backends.values())
    rows.append(["all", *(total[f] for f in figures[:4]), seconds, None, total["differences"]])
    told = ("pass", "started", "seconds", "workers", "cases", "beats", "differences")
    passes = table(
        [*told[:1], "began", *told[2:], "cases per second"],
        (
            [
                *((each[f] or None) if f == "seconds" else each[f] for f in told),
                each["cases_per_second"],
            ]
            for each in evidence["passes"]
            if each["cases"]
        ),
    )
    summary = (
        f"{count(total['cases'], 'case')}, {count(total['jobs'], 'job')}, "
        f"{count(total['beats'], 'beat')}: {count(total['differences'], 'difference')}"
    )
    text = [
        paragraph(
            f"{_counted(evidence)} there were {summary}. "
            "A difference is a result, a status or a number of clocks that is not the expected "
            "one; it stays in these figures until the gateware changes, also when its cause was "
            "in the bench or the host and has been mended since."
        ),
        table(["backend", *figures[:4], "seconds of workers", *figures[5:]], rows),
        *_drawn(evidence),
        paragraph(
            "The passes so far. A pass that was interrupted, or ran on an earlier gateware, is "
            "listed with what it did; how long one took that was killed is not known. One that "
            "ended before its first case is not listed."
        ),
        passes,
    ]
    problems = ()
    if total["differences"]:
        problems = (count(total["differences"], "difference"),)
    return Told(summary, "\n\n".join(text), problems, _regression_limits(evidence))


def _drawn(evidence: dict[str, Any]) -> Iterator[str]:
    """Yield what ran on cores drawn at random, if there are any."""
    drawn = evidence["random_cores"]
    if drawn["cores"]:
        yield paragraph(
            f"Among them are {count(drawn['cores'], 'core')} and blocks whose parameters were "
            f"drawn at random, with {count(drawn['cases'], 'case')} and "
            f"{count(drawn['jobs'], 'job')}: short ones, since each core is compiled for a dozen "
            "cases."
        )


def _counted(evidence: dict[str, Any]) -> str:
    """Return which gateware the figures are of, and which earlier ones count where equal."""
    present = f"On the gateware with the digest `{evidence['revision']['gateware']}`"
    digests = evidence.get("counted", [])
    if not (earlier := [f"`{digest}`" for digest in digests[1:]]):
        return present
    return f"{present}, and on those cores of {', '.join(earlier)} that have the same netlists,"


def _regression_limits(evidence: dict[str, Any]) -> tuple[str, ...]:
    total, backends = evidence["total"], evidence["backends"]
    native = backends.get("native", {"beats": 0})["beats"]
    others = [
        f"{number(each['beats'])} of `{name}` on {count(each['cores'], 'core')}"
        for name, each in sorted(backends.items())
        if name != "native"
    ]
    names = evidence["coverage"]["points"]["cores"]["bins"]
    cores = ", ".join(f"`{name}`" for name, met in names.items() if met)
    drawn = evidence["random_cores"]
    if drawn["cores"]:
        cores += f", and {count(drawn['cores'], 'core')} drawn at random"
    return (
        f"The random regression ran the cores and blocks {cores}. Another configuration is "
        "covered only as far as it is built of the same parts.",
        f"Of {number(total['beats'])} beats, {share(native, total['beats'])} ran on the native "
        f"backend; beside it there are {', and '.join(others) or 'no other backends'}.",
    )


def coverage(evidence: dict[str, Any]) -> Told:
    """Tell which bins of the functional coverage were met, and how thinly."""
    met, bins, missing = evidence["met"], evidence["bins"], evidence["missing"]
    rows, rare = [], 0
    for name, point in evidence["points"].items():
        counts = point["bins"]
        thin = sum(0 < times < RARE for times in counts.values())
        rare += thin
        impossible = sum(point["impossible"].values())
        told = [len(counts), point["met"], min(counts.values()), thin, impossible]
        rows.append([name, point["question"], *told])
    columns = [
        "point",
        "question",
        "bins",
        "met",
        "least count",
        f"met fewer than {RARE} times",
        "impossible",
    ]
    summary = f"{number(met)} of {count(bins, 'bin')} met"
    text = [
        paragraph(f"{summary}.", "These are missing:" if missing else "None is missing."),
        bullets(f"`{name}`" for name in missing),
        table(columns, rows),
        paragraph(
            "An impossible bin has its reason in `tb/coverage.py`, and is not counted among the "
            "others."
        ),
    ]
    limits = [
        f"A bin that was met was met at least once, and no more is claimed of it: {rare} of "
        f"the {number(met)} were met fewer than {RARE} times. Crosses of two points, such as type "
        "and stall, are no bins."
    ]
    if missing:
        limits.append(f"The functional coverage lacks {count(len(missing), 'bin')}, named with it.")
    problems = (f"{count(len(missing), 'bin')} missing",) if missing else ()
    return Told(summary, "\n\n".join(filter(None, text)), problems, tuple(limits))
