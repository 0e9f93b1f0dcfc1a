"""The options that describe a core, and the core that they describe."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from extremum.hdl.config import MAX_LANES, OPERATORS, CoreConfig
from extremum.host.cli.shared_options import FILE, Integers, options_of
from extremum.host.cli.tensor_files import bad_input
from extremum.host.fpga.presets import PRESETS
from extremum.model import DataType

__all__ = ["config_of", "core_options", "name_of"]


class Names(click.ParamType):
    """Names separated by commas, passed on as a tuple."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Parse the text of an option."""
        return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


INTEGERS = Integers()
NAMES = Names()
AXES = 3
"""Dimensions that a window can have: depth, height and width."""

core_options = options_of(
    click.option(
        "--preset",
        type=click.Choice(list(PRESETS)),
        metavar="NAME",
        help=f"Start from the parameters of a named core: {', '.join(PRESETS)}.",
    ),
    click.option(
        "--operators", type=NAMES, help=f"Operators to build: some of {','.join(OPERATORS)}."
    ),
    click.option("--types", type=NAMES, help="Element types to build: a job selects one of them."),
    click.option("--lanes", type=click.IntRange(1, MAX_LANES), help="Elements per beat."),
    click.option(
        "--index-width", type=int, help="Bits of a position; with 0, the core gives no positions."
    ),
    click.option(
        "--padding/--no-padding", default=None, help="Whether windows may reach into padding."
    ),
    click.option("--max-window", type=INTEGERS, help="Largest window: D,H,W or H,W or W."),
    click.option("--max-dilation", type=INTEGERS, help="Largest dilation: D,H,W or H,W or W."),
    click.option("--max-line", type=int, help="Longest line kept on chip, in outputs."),
    click.option("--max-plane", type=int, help="Largest plane kept on chip, in outputs."),
    click.option("--coordinate-width", type=int, help="Bits of a spatial coordinate."),
    click.option("--fixed", type=FILE, help="A .toml file of job registers that never change."),
)

PARAMETERS = (
    "operators", "lanes", "index_width", "padding", "max_line", "max_plane", "coordinate_width",
)  # fmt: skip
"""Options that are parameters of the core, by the same name and with the same value."""


def config_of(options: Mapping[str, Any]) -> CoreConfig:
    """Return the core that the options ask for: the preset, changed by the other options.

    Raises
    ------
    click.ClickException
        A parameter is wrong, or the file of fixed registers cannot be read.
    """
    given = {name: options[name] for name in PARAMETERS if options[name] is not None}
    with bad_input():
        if options["types"] is not None:
            given["data_types"] = tuple(map(DataType.from_dtype, options["types"]))
        for name in ("max_window", "max_dilation"):
            if options[name] is not None:
                given[name] = _per_axis(name, options[name])
        if options["fixed"] is not None:
            given["fixed"] = _fixed(options["fixed"])
        preset = options["preset"]
        return replace(PRESETS[preset] if preset else CoreConfig(), **given)


def name_of(options: Mapping[str, Any]) -> str:
    """Return the name of the preset, if the options change nothing of it, else "core"."""
    preset = options["preset"]
    own = config_of(options)
    return preset if preset and PRESETS[preset] == own else "core"


def _per_axis(name: str, sizes: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return a limit of all three dimensions. Those that are left out, outermost first, are 1."""
    given = (sizes,) if isinstance(sizes, int) else sizes
    if len(given) > AXES:
        raise ValueError(f"{name} has one, two or three numbers, not {len(given)}")
    return (1,) * (AXES - len(given)) + given


def _fixed(path: str) -> tuple[tuple[str, int], ...]:
    """Read job registers from a TOML file, in which each dimension is a table."""
    try:
        registers = tomllib.loads(Path(path).read_text())
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}"
        if "=" in path:
            message += "; --fixed takes the name of a TOML file that has such lines"
        raise click.ClickException(message) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{path} is not TOML: {error}") from error
    return tuple(_flatten(registers))


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        elif isinstance(value, int):
            yield prefix + name, int(value)
        else:
            raise TypeError(f"job register {prefix}{name} must be an integer, not {value!r}")
