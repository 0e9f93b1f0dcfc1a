"""The options of `run` and `plan`: an operator, its tensor, and how it is run."""

from __future__ import annotations

import click

from extremum.hdl.config import BUSES, FASTEST_TO_SIMULATE
from extremum.host.checks import MOST_CLOCKS
from extremum.host.cli.option_types import FILE, INTEGERS, PERCENT, options_of
from extremum.host.cli.parameter_options import parameter_options
from extremum.host.tools import BACKEND_TOOLS
from extremum.model import DataType

__all__ = ["OPERATORS", "bus_option", "json_option", "operator_options", "plan_options"]

OPERATORS = ("argmin", "argmax", "reduce-min", "reduce-max", "max-pool")

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")

bus_option = click.option(
    "--bus",
    type=click.Choice(BUSES),
    show_default="none",
    help="Simulate the bare core, or the AXI block around it and its driver.",
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
    click.option(
        "--dataflow",
        type=FILE,
        help="Plan for the smallest core that carries out this operator alone, and write its "
        "configuration to this .toml file, for `extremum verilog --config`.",
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
        help="Element type of the positions; not int32 for max-pool.",
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
    parameter_options({"lanes": 1, "pipelining": FASTEST_TO_SIMULATE}),
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
