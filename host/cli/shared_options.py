"""The options of `run` and `plan`, and how the command line reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import click

from extremum.hdl.config import FASTEST_TO_SIMULATE, MAX_LANES, PIPELINING
from extremum.host.checks import MOST_CLOCKS
from extremum.host.tools import BACKEND_TOOLS
from extremum.model import DataType

__all__ = [
    "FILE",
    "OPERATORS",
    "Clock",
    "Integers",
    "PerAxis",
    "bus_option",
    "json_option",
    "operator_options",
    "options_of",
    "plan_options",
]

OPERATORS = ("argmin", "argmax", "reduce-min", "reduce-max", "max-pool")


class Integers(click.ParamType):
    """Whole numbers separated by commas. A single number is passed on as an int."""

    name = "integers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | tuple[int, ...]:
        """Parse the text of an option."""
        if not isinstance(value, str):
            return value
        if not re.fullmatch(r"\s*[+-]?\d+\s*(,\s*[+-]?\d+\s*)*", value, re.ASCII):
            self.fail(f"{value!r} is not whole numbers separated by commas", param, ctx)
        try:
            numbers = tuple(int(number) for number in value.split(","))
        except ValueError as error:  # Python reads no number of thousands of digits
            self.fail(str(error), param, ctx)
        return numbers[0] if len(numbers) == 1 else numbers


AXES = 3
"""Dimensions that a window can have: depth, height and width."""


class PerAxis(Integers):
    """Limits of depth, height and width. Those that are left out, outermost first, are 1."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text of an option."""
        numbers = super().convert(value, param, ctx)
        given = (numbers,) if isinstance(numbers, int) else numbers
        if len(given) > AXES:
            self.fail(f"it has one, two or three numbers, not {len(given)}", param, ctx)
        return (1,) * (AXES - len(given)) + given


SLOWEST, FASTEST = 1e-6, 1e6
"""The range of clocks, in MHz."""


class Clock(click.ParamType):
    """A clock in MHz, or the name of a core whose clock was measured.

    Parameters
    ----------
    measured
        The measured clocks, by name.
    """

    name = "clock"

    def __init__(self, measured: Mapping[str, float]) -> None:
        self.measured = measured

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the text of an option."""
        if value in self.measured:
            return float(self.measured[value])
        try:
            clock = float(value)
        except ValueError:
            clock = 0.0
        if not SLOWEST <= clock <= FASTEST:
            number = f"a number of MHz from {SLOWEST:g} to {FASTEST:g}"
            expected = f"neither {number} nor a preset" if self.measured else f"not {number}"
            self.fail(f"{value!r} is {expected}", param, ctx)
        return clock


class File(click.Path):
    """The name of a file or a folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse an empty text, which as a path is the folder at hand."""
        if value == "":
            self.fail("'' names no file", param, ctx)
        return super().convert(value, param, ctx)


FILE = File(path_type=str)
INTEGERS = Integers()
PERCENT = click.IntRange(0, 99)


def options_of(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return one decorator that adds many options. `--help` lists them in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")

bus_option = click.option(
    "--bus",
    type=click.Choice(["none", "axi"]),
    show_default="none",
    help="Simulate the bare core, or the AXI block around it and its driver.",
)

pipelining_option = click.option(
    "--pipelining",
    type=click.Choice(PIPELINING),
    show_default=FASTEST_TO_SIMULATE,
    help="From the fewest registers to the highest clock; what has fewer simulates faster.",
)

plan_options = options_of(
    click.option(
        "--sizes", type=INTEGERS, help="Sizes of the tensor, instead of an input: 1,3,224,224."
    ),
    click.option(
        "--type",
        "data_type",
        type=click.Choice([t.value for t in DataType]),
        help="Element type of the tensor, beside --sizes.",
    ),
    click.option(
        "--registers",
        is_flag=True,
        help="Show the registers of each job, the payload of the job port, and the words on AXI.",
    ),
)

operator_options = options_of(
    click.argument("operator", type=click.Choice(OPERATORS), metavar="OPERATOR"),
    click.option("--input", type=FILE, help="The .npy file that holds the array."),
    click.option(
        "--axes", type=INTEGERS, show_default="all", help="Axes to reduce; negative from the end."
    ),
    click.option(
        "--axis-direction",
        type=click.Choice(["increasing", "decreasing"]),
        show_default="increasing",
        help="Which of equal elements wins: the first (increasing) or the last.",
    ),
    click.option(
        "--window",
        type=INTEGERS,
        help="Size of the windows: one for each spatial dimension, or one for all.",
    ),
    click.option(
        "--strides", type=INTEGERS, show_default="1", help="Elements from one window to the next."
    ),
    click.option(
        "--start-padding", type=INTEGERS, show_default="0", help="Padding before the first element."
    ),
    click.option(
        "--end-padding", type=INTEGERS, show_default="0", help="Padding after the last element."
    ),
    click.option(
        "--dilations",
        type=INTEGERS,
        show_default="1",
        help="Elements from one tap of a window to the next.",
    ),
    click.option(
        "--index-type",
        type=click.Choice(["uint32", "uint64", "int32", "int64"]),
        show_default="uint32",
        help="Element type of the positions.",
    ),
    click.option(
        "--index-layout",
        type=click.Choice(["tensor", "plane", "column_major"]),
        show_default="tensor",
        help="What the positions of a pooling count.",
    ),
    click.option(
        "--nan",
        type=click.Choice(["propagate", "ignore"]),
        show_default="propagate",
        help="Whether NaN beats every number or none.",
    ),
    click.option("--output", type=FILE, help="Write the operator's result to this .npy file."),
    click.option(
        "--indices",
        type=FILE,
        help="Compute a pooling's positions too, and write them to this .npy file.",
    ),
    click.option(
        "--check/--no-check",
        "compare",
        default=True,
        show_default=True,
        help="Compare the result with that of the golden model.",
    ),
    click.option(
        "--backend",
        type=click.Choice(list(BACKEND_TOOLS)),
        default="native",
        show_default=True,
        help="What computes the result: a simulator, or the golden model without hardware.",
    ),
    bus_option,
    click.option(
        "--lanes", type=click.IntRange(1, MAX_LANES), show_default="1", help="Elements per beat."
    ),
    pipelining_option,
    click.option(
        "--max-window",
        type=PerAxis(),
        help="Largest window that the core can slide: D,H,W or H,W or W.",
    ),
    click.option(
        "--max-dilation",
        type=PerAxis(),
        help="Largest dilation that the core can slide: D,H,W or H,W or W.",
    ),
    click.option("--max-line", type=int, help="Longest line that the core can store, in outputs."),
    click.option(
        "--max-plane", type=int, help="Largest plane that the core can store, in outputs."
    ),
    click.option("--coordinate-width", type=int, help="Bits of a spatial coordinate in the core."),
    click.option(
        "--input-stalls",
        type=PERCENT,
        show_default="0",
        help="Percentage of the clocks in which the source offers no beat.",
    ),
    click.option(
        "--output-stalls",
        type=PERCENT,
        show_default="0",
        help="Percentage of the clocks in which the sink takes no beat.",
    ),
    click.option(
        "--seed", type=click.IntRange(0), show_default="0", help="Seed of the random stalls."
    ),
    click.option(
        "--watchdog",
        type=click.IntRange(1, MOST_CLOCKS),
        help="Give a job up after so many clocks without any transfer.",
    ),
    click.option("--waves", type=FILE, help="Write waveforms to this .vcd file."),
    click.option("--wave-window", type=INTEGERS, help="First and last clock to write: 1000,2000."),
)
