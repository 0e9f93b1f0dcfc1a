"""The options of `run` and `plan`, as the command line reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from extremum.hdl.config import MAX_LANES
from extremum.host.tools import BACKEND_TOOLS
from extremum.model import DataType

__all__ = [
    "FILE",
    "OPERATORS",
    "Integers",
    "json_option",
    "operator_options",
    "options_of",
    "plan_options",
]

OPERATORS = ("argmin", "argmax", "reduce-min", "reduce-max", "max-pool")


class Integers(click.ParamType):
    """Whole numbers separated by commas; a single one is given as an int."""

    name = "integers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | tuple[int, ...]:
        """Parse the text of an option."""
        if not isinstance(value, str):
            return value
        if not re.fullmatch(r"\s*[+-]?\d+\s*(,\s*[+-]?\d+\s*)*", value, re.ASCII):
            self.fail(f"{value!r} is not whole numbers separated by commas", param, ctx)
        numbers = tuple(int(number) for number in value.split(","))
        return numbers[0] if len(numbers) == 1 else numbers


FILE = click.Path(path_type=str)
INTEGERS = Integers()
PERCENT = click.IntRange(0, 99)


def options_of(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make one decorator of many, which `--help` lists in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")

plan_options = options_of(
    click.option("--sizes", type=INTEGERS, help="Sizes of the tensor, if there is no input."),
    click.option(
        "--type",
        "data_type",
        type=click.Choice([t.value for t in DataType]),
        help="Its element type.",
    ),
)

operator_options = options_of(
    click.argument("operator", type=click.Choice(OPERATORS), metavar="OPERATOR"),
    click.option("--input", type=FILE, help="The array: a .npy file."),
    click.option(
        "--axes", type=INTEGERS, show_default="all", help="Axes to reduce; negative from the end."
    ),
    click.option(
        "--axis-direction",
        type=click.Choice(["increasing", "decreasing"]),
        show_default="increasing",
        help="Take the first or the last of equal elements.",
    ),
    click.option("--window", type=INTEGERS, help="One for each spatial dimension, or for all."),
    click.option("--strides", type=INTEGERS, show_default="1", help="Distance of windows."),
    click.option("--start-padding", type=INTEGERS, show_default="0", help="Absent before."),
    click.option("--end-padding", type=INTEGERS, show_default="0", help="Absent after."),
    click.option("--dilations", type=INTEGERS, show_default="1", help="Distance of taps."),
    click.option(
        "--index-type",
        type=click.Choice(["uint32", "uint64", "int32", "int64"]),
        show_default="uint32",
        help="Type of positions.",
    ),
    click.option(
        "--index-layout",
        type=click.Choice(["tensor", "plane", "column_major"]),
        show_default="tensor",
        help="What pooling's positions count.",
    ),
    click.option(
        "--nan",
        type=click.Choice(["propagate", "ignore"]),
        show_default="propagate",
        help="Whether NaN beats every number or none.",
    ),
    click.option("--output", type=FILE, help="Write the operator's result (.npy)."),
    click.option("--indices", type=FILE, help="Compute and write pooling's positions (.npy)."),
    click.option(
        "--check/--no-check",
        "compare",
        default=True,
        show_default=True,
        help="Compare with the golden model.",
    ),
    click.option(
        "--backend",
        type=click.Choice(list(BACKEND_TOOLS)),
        default="native",
        show_default=True,
        help="A simulator, or the golden model without hardware.",
    ),
    click.option(
        "--lanes", type=click.IntRange(1, MAX_LANES), show_default="1", help="Elements per beat."
    ),
    click.option("--max-window", type=INTEGERS, help="The core's largest window: D,H,W."),
    click.option("--max-dilation", type=INTEGERS, help="The core's largest dilation: D,H,W."),
    click.option("--max-line", type=int, help="The core's longest line, in outputs."),
    click.option("--max-plane", type=int, help="The core's largest plane, in outputs."),
    click.option("--coordinate-width", type=int, help="Bits of the core's coordinates."),
    click.option(
        "--input-stalls", type=PERCENT, show_default="0", help="Clocks without input, in percent."
    ),
    click.option(
        "--output-stalls", type=PERCENT, show_default="0", help="Clocks that take no output."
    ),
    click.option("--seed", type=click.IntRange(0), show_default="0", help="Of the stalls."),
    click.option(
        "--watchdog",
        type=click.IntRange(1),
        help="Clocks without a transfer after which a job is given up.",
    ),
    click.option("--waves", type=FILE, help="Write waveforms (.vcd)."),
    click.option("--wave-window", type=INTEGERS, help="First and last clock of the waveforms."),
)
