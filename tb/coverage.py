"""Functional coverage: what the random jobs must have met, as bins with a name each.

A *point* crosses a few axes; each combination is a bin. A bin that cannot be met has a reason, and
to count one of these is an error, as it is to count a bin that is not declared.
:mod:`extremum.tb.regression.observe` tells which bins a job that has run belongs to.
"""

from __future__ import annotations

from extremum.model import DataType
from extremum.tb.coverage_block import BLOCK_POINTS
from extremum.tb.coverage_point import Point
from extremum.tb.regression.pool import TARGETS
from extremum.tb.regression.tensors import landmarks

TYPES = tuple(data_type.value for data_type in DataType)
DIRECTIONS = ("increasing", "decreasing")
DIMENSIONS = ("depth", "height", "width")
WINDOWS = ("sliding", "gathered")
KINDS = ("slices", "fold", *WINDOWS)
"""How a job's elements lie in beats: rows in lanes of their own, rows folded, windows."""
PHASES = ("none", "seldom", "often", "mostly", "begin", "middle", "end", "full", "drained", "turns")
"""When a port rests: at a rate below 10, below 60, above that; for a while at the first beats, such
that a result waits for its sink, halfway, or at the last ones; a sink for so long that all queues
fill, or a source such that they drain; in random turns."""


def _values() -> tuple[tuple[str, ...], ...]:
    return tuple(
        (data_type.value, name, place)
        for data_type in DataType
        for name, patterns in landmarks(data_type).items()
        if patterns
        for place in ("met", "won")
    )


LANES = tuple(str(n) for n in sorted({target.config.lanes for target in TARGETS}))

POINTS = (
    Point(
        "operator",
        "Which operator, of which type, direction and NaN mode?",
        {
            "operator": ("argmin", "argmax", "min", "max", "max-pool"),
            "type": TYPES,
            "direction": DIRECTIONS,
            "nan": ("propagate", "ignore"),
        },
        (
            (
                "values and poolings take the first of equal elements",
                lambda operator, _type, direction, _nan: (
                    direction == "decreasing" and not operator.startswith("arg")
                ),
            ),
        ),
    ),
    Point(
        "window",
        "Which windows slide in each dimension: taps, stride, and where the padding is?",
        {
            "dimension": DIMENSIONS,
            "taps": ("1", "2", "3", "4 or more"),
            "stride": ("1", "2", "3 or more"),
            "padding": ("none", "start", "end", "both", "beyond the window"),
        },
        (
            (
                "any padding is beyond a window of one tap",
                lambda _dimension, taps, _stride, padding: (
                    taps == "1" and padding in ("start", "end", "both")
                ),
            ),
        ),
    ),
    Point(
        "taps",
        "How many taps have windows in all dimensions together?",
        {"way": WINDOWS, "taps": ("1", "2 to 8", "9 to 64", "65 or more")},
    ),
    Point(
        "dilation",
        "Which windows are dilated in each dimension?",
        {
            "dimension": DIMENSIONS,
            "taps": ("2", "3", "4 or more"),
            "dilation": ("1", "2", "3 or more"),
            "way": WINDOWS,
        },
    ),
    Point(
        "ties",
        "Which elements tie for the winner of a row or of a window?",
        {
            "kind": KINDS,
            "direction": DIRECTIONS,
            "tie": (
                "none",
                "neighbours",
                "first and last",
                "all",
                "within a beat",
                "between beats",
                "zeros of both signs",
                "NaN of several payloads",
            ),
        },
        (
            (
                "windows take the first of equal elements",
                lambda kind, direction, _tie: direction == "decreasing" and kind in WINDOWS,
            ),
            (
                "only a fold has several elements of a row in a beat",
                lambda kind, _direction, tie: "beat" in tie and kind != "fold",
            ),
        ),
    ),
    Point(
        "values",
        "Which classes of values were met, and which of them won?",
        {"type": TYPES, "class": (), "place": ("met", "won")},
        only=_values(),
    ),
    Point(
        "lanes",
        "How many lanes, how do rows lie in them, and how many are left in the last group or beat?",
        {"lanes": LANES, "way": ("slices", "fold"), "tail": ("all", "some", "one")},
        (
            (
                "a fold needs a number of lanes that is a power of two above 1",
                lambda lanes, way, _tail: (
                    way == "fold" and (lanes == "1" or int(lanes) & (int(lanes) - 1) != 0)
                ),
            ),
            ("one lane has no rest", lambda lanes, _way, tail: lanes == "1" and tail != "all"),
            (
                "of two lanes one or all are left",
                lambda lanes, _way, tail: lanes == "2" and tail == "some",
            ),
        ),
    ),
    Point(
        "stalls",
        "When did each port rest?",
        {"bus": ("core", "block"), "port": ("input", "output", "job"), "phase": PHASES},
        (
            (
                "a block has registers instead of a job port",
                lambda bus, port, _phase: bus == "block" and port == "job",
            ),
            (
                "queues fill behind a sink that rests, and drain before a source that does",
                lambda _bus, port, phase: phase == ("drained" if port == "output" else "full"),
            ),
        ),
    ),
    Point(
        "neighbours",
        "Which job followed which, without a pause?",
        {"first": (*KINDS, "refused"), "second": (*KINDS, "refused")},
    ),
    Point(
        "changes",
        "What changed from one job to the next, without a pause?",
        {
            "change": (
                "another type of that width",
                "a wider type",
                "a narrower type",
                "float to integer",
                "integer to float",
                "maximum to minimum",
                "minimum to maximum",
                "another NaN mode",
                "another direction",
                "one beat after a long job",
                "a long job after one beat",
                "one beat after one beat",
                "the very same job",
            )
        },
    ),
    Point(
        "plan",
        "How was a pooling done?",
        {
            "way": (
                "whole",
                "tiles in width",
                "tiles in height",
                "tiles in depth",
                "tiles in several dimensions",
                "gathered as slices",
                "gathered and folded",
            ),
            "groups": ("one", "two", "more"),
        },
    ),
    Point(
        "empty windows",
        "Were there windows of padding alone, in a job, or left out of gathered ones?",
        {"way": WINDOWS, "empty": ("none", "some")},
    ),
    Point(
        "refused jobs",
        "For which reason was a job refused?",
        {"reason": ("COUNT", "WINDOW", "SPACING", "DATA_TYPE", "TAIL")},
    ),
    Point(
        "core reset",
        "In which phase of a queue of jobs was the core reset, and for how long?",
        {
            "phase": (
                "before the first beat",
                "before the first result",
                "while results come",
                "after the last beat",
                "when all is over",
            ),
            "clocks": ("1", "2 or more"),
        },
    ),
    Point(
        "clocks",
        "Were the clocks compared with the prediction?",
        {"bus": ("core", "block"), "jobs": ("one", "several")},
    ),
    Point(
        "cores",
        "Which cores and blocks ran?",
        {"core": tuple(target.name for target in TARGETS)},
    ),
    *BLOCK_POINTS,
)
"""All points."""

BINS = {f"{point.name}: {', '.join(places)}" for point in POINTS for places in point.bins}
"""The names of all bins that shall be met."""

EXCUSED = {
    f"{point.name}: {', '.join(places)}": why
    for point in POINTS
    for places, why in point.reasons.items()
}
"""The names of the bins that cannot be met, and why."""


class Tally:
    """Counts bins.

    Attributes
    ----------
    counts : dict
        How often each bin was met, by its name; bins that were not met are left out.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def count(self, point: str, *places: str) -> None:
        """Count a bin.

        Raises
        ------
        KeyError
            There is no such bin, or it was declared impossible.
        """
        name = f"{point}: {', '.join(places)}"
        if name not in BINS:
            why = EXCUSED.get(name)
            told = "is not declared" if why is None else f"was declared impossible: {why}"
            raise KeyError(f"the bin {name!r} was met, but {told}")
        self.counts[name] = self.counts.get(name, 0) + 1

    def add(self, other: Tally) -> None:
        """Count what another tally has counted."""
        for name, count in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count


class Uncounted(Tally):
    """Counts nothing."""

    def count(self, point: str, *places: str) -> None:
        """Leave a bin alone, whether it is declared or not."""
