"""The options that describe a core, and the core that they describe."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click

from extremum.hdl.config import OPERATORS, CoreConfig
from extremum.host.cli.option_types import FILE, NAMES, Clock, options_of
from extremum.host.cli.parameter_options import (
    NO_WINDOWS,
    given_parameters,
    parameter_options,
)
from extremum.host.cli.tensor_files import bad_input
from extremum.host.cli.unwritable import told_as_unwritable
from extremum.host.fpga.devices import DEVICES
from extremum.host.fpga.presets import PRESETS
from extremum.host.package.configuration import Configuration, flat_registers, parse, toml_text
from extremum.host.package.names import default_name
from extremum.host.package.settings import Settings
from extremum.host.replaced_files import write_whole
from extremum.model import DataType

__all__ = [
    "base_of",
    "base_options",
    "config_of",
    "configuration_of",
    "core_options",
    "name_of",
    "own_name",
    "save",
]


base_options = options_of(
    click.option(
        "--preset",
        type=click.Choice(list(PRESETS)),
        metavar="NAME",
        help=f"Start from the parameters of a named core: {', '.join(PRESETS)}.",
    ),
    click.option(
        "--config", type=FILE, help="Start from the parameters in a .toml file: docs/verilog.md."
    ),
)

core_options = options_of(
    base_options,
    click.option(
        "--operators", type=NAMES, help=f"Operators to build: some of {','.join(OPERATORS)}."
    ),
    click.option("--types", type=NAMES, help="Element types to build: a job selects one of them."),
    parameter_options({}),
    click.option(
        "--index-width", type=int, help="Bits of a position; with 0, the core gives no positions."
    ),
    click.option(
        "--padding/--no-padding", default=None, help="Whether windows may reach into padding."
    ),
    click.option("--fixed", type=FILE, help="A .toml file of job registers that never change."),
)

clock_option = click.option(
    "--clock",
    type=Clock({}),
    metavar="MHZ",
    help="Measure the settings of --pipelining, and take the smallest that reaches this clock.",
)


def refuse_two_settings(options: Mapping[str, Any], clock: float | None) -> None:
    """Refuse ``--clock`` beside ``--pipelining``.

    Raises
    ------
    click.UsageError
        Both are given.
    """
    if clock is not None and options["pipelining"] is not None:
        raise click.UsageError("--clock chooses the setting of --pipelining: give one of the two")


def config_of(options: Mapping[str, Any]) -> CoreConfig:
    """Return the core that the options ask for, see :func:`configuration_of`."""
    return configuration_of(options).config


def configuration_of(options: Mapping[str, Any]) -> Configuration:
    """Return the core that the options ask for, and what its file says of the package.

    The core is that of the preset or of the file, changed by the other options. Without these two,
    a core that does not pool has windows only if ``--max-window`` asks for them.

    Raises
    ------
    click.ClickException
        A parameter is wrong, or a file cannot be read.
    """
    base = base_of(options)
    given = given_parameters(options)
    for name in ("operators", "index_width", "padding"):
        if options[name] is not None:
            given[name] = options[name]
    is_own = options["preset"] is None and options["config"] is None
    if is_own and "max-pool" not in given.get("operators", OPERATORS):
        given = {"max_window": NO_WINDOWS} | given
    with bad_input():
        if options["types"] is not None:
            given["data_types"] = tuple(map(DataType.from_dtype, options["types"]))
        if options["fixed"] is not None:
            hint = "; --fixed takes the name of a TOML file that has such lines"
            given["fixed"] = _read(options["fixed"], _registers, hint)
        return replace(base, config=replace(base.config, **given))


def device_of(asked: Configuration) -> str | None:
    """Return the part that a file of a configuration names, if it names one.

    Raises
    ------
    click.ClickException
        There is no such part.
    """
    if asked.device is not None and asked.device not in DEVICES:
        raise click.ClickException(
            f"package.device must be one of {', '.join(DEVICES)}, not {asked.device!r}"
        )
    return asked.device


def base_of(options: Mapping[str, Any]) -> Configuration:
    """Return the preset, or what the file of ``--config`` says, or the defaults.

    Raises
    ------
    click.ClickException
        Both are given, or the file is wrong.
    """
    preset, path = options["preset"], options["config"]
    if preset and path is not None:
        raise click.UsageError("--preset and --config both name the core to start from: give one")
    if path is not None:
        return _read(path, parse)
    return Configuration(PRESETS[preset] if preset else CoreConfig())


def save(config: CoreConfig, path: str, operator: str) -> None:
    """Write the core of one operator to a file for ``--config``, named after the file if it can be.

    Raises
    ------
    click.ClickException
        The file cannot be written.
    """
    try:
        settings = Settings(config, Path(path).stem)
    except ValueError:
        settings = Settings(config, default_name(None, "axi"))
    about = (
        "The smallest core that carries out this operator, and nothing else:",
        "",
        f"  {operator}",
        "",
        "`extremum verilog --config` with the name of this file makes it.",
        *(
            ("It is a small core; `--pipelining fast` gives the one with the highest clock.",)
            if config.pipelining == "small"
            else ()
        ),
    )
    with told_as_unwritable():
        write_whole(path, toml_text(settings, about).encode())


def own_name(options: Mapping[str, Any]) -> str | None:
    """Return the name of the preset or of the file, if the options change nothing of its core."""
    preset, path = options["preset"], options["config"]
    if base_of(options).config != config_of(options):
        return None
    return Path(path).stem if path is not None else preset


def name_of(options: Mapping[str, Any]) -> str:
    """Return the name of the preset or of the file, if the options change nothing, else "core"."""
    return own_name(options) or "core"


def _text_of(path: str) -> str:
    """Return the text of a file, which is read once for each command line: it may be a pipe."""
    context = click.get_current_context(silent=True)
    texts = {} if context is None else context.meta.setdefault(f"{__name__}.texts", {})
    if path not in texts:
        texts[path] = Path(path).read_text(encoding="utf-8")  # as TOML demands
    return texts[path]


def _registers(text: str) -> tuple[tuple[str, int], ...]:
    """Return the job registers of a TOML file."""
    table = tomllib.loads(text)
    if others := sorted(table.keys() & {each.name for each in fields(CoreConfig)}):
        raise ValueError(f"{others[0]} is no job register; --config takes a whole configuration")
    return tuple(flat_registers(table))


def _read(path: str, parse_text: Callable[[str], Any], hint: str = "") -> Any:
    """Return what a TOML file says."""
    try:
        text = _text_of(path)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}"
        raise click.ClickException(message + (hint if "=" in path else "")) from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{path} is not TOML: {error}") from error
    try:
        return parse_text(text)
    except tomllib.TOMLDecodeError as error:
        raise click.ClickException(f"{path} is not TOML: {error}") from error
    except RecursionError as error:
        raise click.ClickException(f"{path} is nested too deeply") from error
    except (TypeError, ValueError) as error:
        raise click.ClickException(f"{path}: {error}") from error
