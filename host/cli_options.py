"""The options of `run` and `plan`: their form, what goes with what, and what they mean."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

from extremum.hdl.config import MAX_LANES, CoreConfig
from extremum.host.tools import BACKEND_TOOLS
from extremum.model import DataType, Pooling, ReduceFunction, Reduction, as_tensor

__all__ = [
    "FILE",
    "OPERATORS",
    "Integers",
    "accelerator_settings",
    "config_of",
    "json_option",
    "load",
    "operator_options",
    "plan_options",
    "planned_tensor",
    "problem_of",
    "refuse_misfits",
    "refuse_unwritable",
    "save",
]

ARGS = ("argmin", "argmax")
REDUCTIONS = {
    "argmin": ReduceFunction.ARGMIN,
    "argmax": ReduceFunction.ARGMAX,
    "reduce-min": ReduceFunction.MIN,
    "reduce-max": ReduceFunction.MAX,
}
POOL = ("max-pool",)
OPERATORS = (*REDUCTIONS, *POOL)

PARAMETERS = {
    "axes": tuple(REDUCTIONS),
    "axis_direction": ARGS,
    "window": POOL,
    "strides": POOL,
    "start_padding": POOL,
    "end_padding": POOL,
    "dilations": POOL,
    "index_type": (*ARGS, *POOL),
    "index_layout": POOL,
    "nan": OPERATORS,
}
"""Options that are arguments of the model, and the operators that have them."""

LIMITS = ("max_window", "max_dilation", "max_line", "max_plane", "coordinate_width")
HARDWARE = ("lanes", *LIMITS, "input_stalls", "output_stalls", "seed", "waves")
"""Options that mean nothing without a core."""

WRITTEN = ("output", "indices", "waves")


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


def _options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make one decorator of many, which `--help` lists in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")

plan_options = _options(
    click.option("--sizes", type=INTEGERS, help="Sizes of the tensor, if there is no input."),
    click.option(
        "--type",
        "data_type",
        type=click.Choice([t.value for t in DataType]),
        help="Its element type.",
    ),
)

operator_options = _options(
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
        default="verilator",
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
    click.option("--waves", type=FILE, help="Write waveforms (.vcd)."),
)


@contextmanager
def bad_usage() -> Iterator[None]:
    """Turn what the model's and the core's checks raise into one line for the user."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise click.ClickException(str(error)) from error


def refuse_misfits(operator: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the operator or the backend does not have.

    Raises
    ------
    click.UsageError
        An option would be ignored, or one is missing.
    """
    for name, operators in PARAMETERS.items():
        if options[name] is not None and operator not in operators:
            raise click.UsageError(f"{_flag(name)} does not apply to {operator}")
    if operator in POOL:
        if options["window"] is None:
            raise click.UsageError(f"{operator} needs --window")
        for name in ("index_type", "index_layout"):
            if options[name] is not None and options["indices"] is None:
                raise click.UsageError(f"{_flag(name)} of {operator} needs --indices")
    elif options["indices"] is not None:
        raise click.UsageError(f"--indices does not apply to {operator}")
    if options["backend"] == "model":
        for name in HARDWARE:
            if options[name] is not None:
                raise click.UsageError(f"{_flag(name)} does not apply to --backend model")
    waves = options["waves"]
    if waves is not None and Path(waves).suffix.lower() != ".vcd":
        raise click.UsageError(f"--waves must name a .vcd file, not {waves}")


def refuse_unwritable(options: Mapping[str, Any]) -> None:
    """Refuse files that cannot be written, or that would overwrite each other or the input.

    Raises
    ------
    click.ClickException
        One of them, by name.
    """
    taken = {}
    if options.get("input") is not None:
        taken[Path(options["input"]).resolve()] = "input"
    for name in WRITTEN:
        if options.get(name) is None:
            continue
        path = Path(options[name])
        target = path if path.exists() else path.parent
        misplaced = path.is_dir() or not path.parent.is_dir()
        if misplaced or not os.access(target, os.W_OK):
            raise click.ClickException(f"{_flag(name)} cannot be written: {path}")
        other = taken.setdefault(path.resolve(), name)
        if other != name:
            raise click.ClickException(f"{_flag(name)} is the file of {_flag(other)}: {path}")


def load(path: str) -> np.ndarray:
    """Read the tensor in a .npy file.

    Raises
    ------
    click.ClickException
        There is no such file, it is no array, or no operator takes such an array.
    """
    try:
        with Path(path).open("rb") as file:
            if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
                raise click.ClickException(f"{path} is not a .npy file")
            file.seek(0)
            array = np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError, SyntaxError, MemoryError) as error:
        raise click.ClickException(f"{path} holds no readable array: {error}") from error
    with bad_usage():
        return as_tensor(array)


def planned_tensor(options: Mapping[str, Any]) -> tuple[tuple[int, ...], Any]:
    """Give the sizes and the type that a plan is for.

    Raises
    ------
    click.UsageError
        Neither an input nor sizes and type are given, or both.
    """
    sizes, data_type = options["sizes"], options["data_type"]
    if options["input"] is not None:
        if sizes is not None or data_type is not None:
            raise click.UsageError("plan takes --input, or --sizes and --type, not both")
        x = load(options["input"])
        return x.shape, x.dtype
    if sizes is None or data_type is None:
        raise click.UsageError("plan needs --input, or --sizes and --type")
    return (sizes,) if isinstance(sizes, int) else sizes, data_type


def problem_of(
    operator: str, options: Mapping[str, Any], sizes: tuple[int, ...], data_type: Any
) -> Reduction | Pooling:
    """Build the problem that the options describe.

    Raises
    ------
    click.ClickException
        It breaks a rule of the operator.
    """
    given = {name: options[name] for name in PARAMETERS if options[name] is not None}
    with bad_usage():
        if operator in POOL:
            return_indices = options["indices"] is not None
            return Pooling.of(sizes, data_type, **given, return_indices=return_indices)
        return Reduction.of(REDUCTIONS[operator], sizes, data_type, **given)


def config_of(problem: Reduction | Pooling, options: Mapping[str, Any]) -> CoreConfig:
    """Describe the core that the options ask for.

    Raises
    ------
    click.ClickException
        A limit is out of range.
    """
    given = {name: options[name] for name in ("lanes", *LIMITS) if options[name] is not None}
    with bad_usage():
        return CoreConfig((problem.data_type,), **given)


def accelerator_settings(
    problem: Reduction | Pooling, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Give the arguments of `Accelerator`.

    Raises
    ------
    click.ClickException
        A limit is out of range.
    """
    config_of(problem, options)
    given = {name: options[name] for name in HARDWARE if options[name] is not None}
    return {
        "data_types": (problem.data_type.value,),
        "backend": options["backend"],
        **given,
    }


def save(outputs: Mapping[str, np.ndarray], options: Mapping[str, Any]) -> list[str]:
    """Write the outputs to the files of `--output` and `--indices`, and name those files.

    Raises
    ------
    click.ClickException
        A file cannot be written.
    """
    written = []
    for name, array in outputs.items():
        path = options["indices" if name == "indices" else "output"]
        if path is None:
            continue
        try:
            with Path(path).open("wb") as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
        except OSError as error:
            raise click.ClickException(f"cannot write {path}: {error.strerror or error}") from error
        written.append(path)
    return written


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
