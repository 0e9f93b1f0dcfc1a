"""`extremum verilog`: a block as a package for somebody else's system, or as one Verilog file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from extremum.hdl.config import BUSES
from extremum.host.cli import core_options, printing, progress_bar, shared_options
from extremum.host.cli.option_types import FILE
from extremum.host.cli.tensor_files import (
    bad_input,
    file_of,
    files_of_streams,
    may_be_written,
)
from extremum.host.cli.unwritable import told_as_unwritable
from extremum.host.fpga.clock_target import smallest_for
from extremum.host.fpga.devices import DEFAULT_DEVICE, DEVICES
from extremum.host.package.names import check_name, default_name, map_name
from extremum.host.package.settings import Settings
from extremum.host.replaced_files import write_together
from extremum.host.tools import GATEWARE, require

__all__ = ["grouped", "verilog"]

MOST_MEASURED = 1_000_000_000
"""No part has so many cells, and none so high a clock in megahertz: what is more is no figure."""

PROJECT = b"extremum"
PAGE_MARK = b"Written by extremum"
"""Every source of a package says what it was written by."""

SOURCES = (".sv", ".v", ".vh", ".svh", ".vhd", ".vhdl")
"""Endings of sources: a folder of such a name would be taken for a file."""

MEASURED = ("bus", "device", "comb", "ff", "block_ram", "fmax_mhz", "parameters")
"""What of a measurement goes into a package."""

COUNTS = ("comb", "ff", "block_ram")
"""What of that is a whole number."""


@click.command()
@core_options.core_options
@click.option(
    "--output",
    type=FILE,
    required=True,
    help="The folder to write the package to; or a .v file, to write the Verilog alone.",
)
@click.option(
    "--name",
    help="Name of the top module, which the names of all other modules begin with.",
)
@click.option(
    "--bus",
    type=click.Choice(BUSES),
    show_default="axi",
    help="axi: the block with AXI4-Stream and AXI4-Lite ports; none: the bare core.",
)
@click.option("--source", is_flag=True, help="Keep attributes with the source line of each signal.")
@click.option("--cost", type=FILE, help="What `extremum fpga --json` printed, for the README.")
@click.option(
    "--device",
    type=click.Choice(list(DEVICES)),
    help="Use the block memories of this part, if it is an ECP5; else tools infer memories."
    f" With --clock it is the part that is measured, by default {DEFAULT_DEVICE}.",
)
@core_options.clock_option
@shared_options.json_option
def verilog(
    output: str, cost: str | None, clock: float | None, as_json: bool, **options: Any
) -> None:
    """Write a block as a package: Verilog, testbench, registers, and files for other tools.

    If --output ends in .v, the Verilog alone is written.
    """
    core_options.refuse_two_settings(options, clock)
    settings = _settings(options)
    target = _target(output, cost)
    is_alone = target.suffix == ".v"
    _refuse_unwritable(target, is_alone=is_alone)
    found, part = None, settings.device or DEFAULT_DEVICE
    if clock is not None:
        with progress_bar.status_line() as say:
            found = smallest_for(clock, settings.config, DEVICES[part], say=say, bus=settings.bus)
        settings = replace(settings, config=found.config)
    measured = _measured(cost, settings) if cost else None
    require(*GATEWARE)
    from extremum.host.package.description import describe  # noqa: PLC0415 (needs the gateware)
    from extremum.host.package.ports import ports_of  # noqa: PLC0415

    text, files = _files(settings, target, measured)
    notes = [] if is_alone else _notes(files, target, settings.name)
    _refuse_overwriting(files, (options["config"], options["fixed"], cost))
    _refuse_files_as_folders(files, target)
    if not is_alone:
        _refuse_foreign(files, target, settings.name)
        _refuse_leftovers(files, target, settings.name)
    summary = describe(settings, ports_of(text, settings.name))
    with told_as_unwritable():
        write_together(files.items(), makes_folders=True)
    written = [str(path) for path in files]
    if as_json:
        told: dict[str, Any] = {"command": "verilog", "written": written}
        if found is not None:
            told |= {"clock_mhz": clock, "device": part, "settings": found.as_dict()}
        click.echo(printing.dumps(told | {k: v for k, v in summary.items() if k != "ports"}))
        return
    _print(settings, summary, written, None if found is None else f"on {part}: {found.summary}")
    if found is not None and settings.device is None and _has_own_memories(settings, part):
        click.echo(
            f"These clocks are those of the part's own memories, which --device {part} writes. "
            "Here tools infer the memories, and the clock may be lower."
        )
    for note in notes:
        click.echo(note)


def _target(output: str, cost: str | None) -> Path:
    """Return the folder or the .v file to write.

    Raises
    ------
    click.UsageError
        It is neither, or ``--cost`` has no README to go into.
    """
    target = Path(output)
    is_alone = target.suffix == ".v"
    if is_alone and output.endswith(os.sep):
        raise click.UsageError(f"--output must be a folder or a .v file, not both: {output}")
    if not is_alone and (target.suffix.lower() in SOURCES or target.name in SOURCES):
        raise click.UsageError(f"--output must be a folder or a .v file, not {output}")
    if is_alone and cost is not None:
        raise click.UsageError("--cost needs a folder as --output: it goes into the README there")
    return target


def _files(
    settings: Settings, target: Path, measured: Mapping[str, Any] | None
) -> tuple[str, dict[Path, bytes]]:
    """Return the Verilog, and what is written: a package, or the Verilog alone."""
    from extremum.host.package.files import package_files  # noqa: PLC0415 (needs the gateware)
    from extremum.host.package.verilog import block_verilog  # noqa: PLC0415

    if target.suffix == ".v":
        text = block_verilog(settings)
        return text, {target: text.encode()}
    package = package_files(settings, measured)
    text = package[f"{settings.name}.v"].decode()
    return text, {target / path: content for path, content in package.items()}


def _print(
    settings: Settings, summary: Mapping[str, Any], written: Sequence[str], measured: str | None
) -> None:
    """Print what was written, and what was measured of it."""
    ports, latency = len(summary["ports"]), summary["latency"]
    click.echo(f"{settings.name}: {settings.form}, {ports} ports, latency {latency} clocks")
    if measured is not None:
        click.echo(f"  {measured}")
    for path in grouped(written):
        click.echo(f"  {path}")


def _has_own_memories(settings: Settings, part: str) -> bool:
    """Tell whether the Verilog for a part has memories that only this part has."""
    from extremum.host.package.ecp5_models import models  # noqa: PLC0415 (needs the gateware)
    from extremum.host.package.verilog import block_verilog  # noqa: PLC0415

    of_part = replace(settings, device=part)
    return models(of_part, block_verilog(of_part)) is not None


def _settings(options: Mapping[str, Any]) -> Settings:
    """Return what the options, and behind them the file of ``--config``, ask for."""
    asked = core_options.configuration_of(options)
    bus = options["bus"] or asked.bus or "axi"
    name = options["name"] if options["name"] is not None else asked.name
    if name is None:
        name = default_name(core_options.own_name(options), bus)
    device = options["device"] or core_options.device_of(asked)
    with bad_input():
        return Settings(asked.config, name, bus, options["source"], device)


def grouped(written: Sequence[str]) -> list[str]:
    """Return the files of a package, and in place of the pages and the model their folders."""
    folders = ("/registers/html/", "/registers/python/")
    shown: dict[str, None] = {}
    for path in written:
        inside = next((folder for folder in folders if folder in path), None)
        shown[path.partition(inside)[0] + inside if inside else path] = None
    return list(shown)


def _refuse_unwritable(target: Path, *, is_alone: bool) -> None:
    # `Path` would raise what no name says: that a folder may not be looked into.
    file_of(target)
    place = target if os.path.exists(target) else target.parent
    why = None
    if not os.path.exists(place):
        why = f"the folder {place} does not exist"
    elif place == target and is_alone:
        why = None if os.path.isfile(target) else "it is no file"
    elif not os.path.isdir(place):
        why = "it is no folder, and not named .v" if place == target else f"{place} is no folder"
    if why is None and not may_be_written(place):
        why = "it is not permitted"
    if why:
        raise click.ClickException(f"--output cannot be written: {target}: {why}")


def _refuse_overwriting(files: Mapping[Path, bytes], inputs: Sequence[str | None]) -> None:
    """Refuse to write over an input, unless it stays as it is."""
    read = {file_of(path) for path in inputs if path is not None}
    streams = files_of_streams()
    for path, content in files.items():
        if file_of(path) in streams:
            raise click.ClickException(f"{path} is the file of {streams[file_of(path)]}")
        if file_of(path) in read and path.read_bytes() != content:
            raise click.ClickException(f"{path} would be overwritten, and is an input")


def _refuse_files_as_folders(files: Mapping[Path, bytes], target: Path) -> None:
    """Refuse a place with a file where a package has a folder, or the other way round."""
    for path in files:
        for folder in path.parents:
            if folder == target.parent:
                break
            if folder.exists() and not folder.is_dir():
                raise click.ClickException(f"{folder} is a file, and a package has a folder there")
        if path.is_dir():
            raise click.ClickException(f"{path} is a folder, and a package has a file there")


def _refuse_foreign(files: Mapping[Path, bytes], target: Path, name: str) -> None:
    """Refuse to write over files that are of no package.

    Most files of a package name the project. The others are of one if its Verilog is there, and the
    pages about the registers, which packages in one folder share, if any package's README is.
    """
    has_package, has_another = (_names_project(target / n) for n in (f"{name}.v", "README.md"))
    for path, content in files.items():
        is_page = target / "registers" / "html" in path.parents
        is_known = has_package or (has_another and is_page)
        if path.exists() and not _names_project(path) and (PROJECT in content or not is_known):
            raise click.ClickException(
                f"{path} would be overwritten, and is of no package of extremum: "
                "let --output name another folder"
            )


def _refuse_leftovers(files: Mapping[Path, bytes], target: Path, name: str) -> None:
    """Refuse a folder in which files of an earlier package of the name would stay.

    They would seem to belong to the new one: a testbench or registers of another block.
    """
    registers = target / "registers"
    optional = (
        *(target / f"{name}_{what}.v" for what in ("tb", "ecp5")),
        *(registers / f"{map_name(name)}.{suffix}" for suffix in ("rdl", "h", "xml")),
    )
    if not _names_project(target / f"{name}.v"):
        return
    left = [path for path in optional if path not in files and path.exists()]
    script = target / "package_ip.tcl"  # whose name is that of no package
    is_left = script not in files and script.is_file()
    if is_left and re.search(rf"\b{name}\.v\b".encode(), script.read_bytes()):
        left.append(script)
    if left:
        raise click.ClickException(
            f"{', '.join(map(str, left))}: of an earlier package {name}, and the new one has no "
            "such file: remove the earlier package, or let --output name another folder"
        )


def _notes(files: Mapping[Path, bytes], target: Path, name: str) -> list[str]:
    """Return what a user might not expect of a package: what it lacks, and whose files it takes."""
    notes, page = [], target / "README.md"
    if target / f"{name}_tb.v" not in files:
        notes.append(f"There is no testbench: {page} says why.")
    owner = _owner(page)
    if owner not in (None, name) and _names_project(target / f"{owner}.v"):
        inside = (path.name for path in files if path.parent == target and path.exists())
        shared = [file for file in inside if not file.startswith((f"{name}.", f"{name}_"))]
        pages = target / "registers" / "html"
        if pages.exists() and any(pages in path.parents for path in files):
            shared.append("registers/html")
        notes.append(
            f"{', '.join(sorted(shared))} were those of {owner}: give each package a folder of "
            "its own to keep both."
        )
    return notes


def _owner(page: Path) -> str | None:
    """Return the name of the package whose README a file is, None if it is of none."""
    if not _names_project(page):
        return None
    title = page.read_text(errors="replace").partition("\n")[0].removeprefix("# ")
    # People may write a page with any title, also with one that can be no name of a file.
    with suppress(ValueError):
        check_name(title)
        return title
    return None


def _names_project(path: Path) -> bool:
    """Return whether a file is a source of a package, or empty."""
    if not path.is_file():
        return False
    content = path.read_bytes()
    # Many pages that people write may name the project, so the page of a package must say more.
    mark = PAGE_MARK if path.name == "README.md" else PROJECT
    return not content or mark in content


def _measured(path: str, settings: Settings) -> Mapping[str, Any]:
    """Read a measurement, and make sure that it is one of this core."""
    from extremum.hdl.interface import parameters  # noqa: PLC0415 (needs the gateware)

    try:
        told = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise click.ClickException(f"{path} is not JSON: {error}") from error
    except RecursionError as error:
        raise click.ClickException(f"{path} is nested too deeply") from error
    if (
        not isinstance(told, dict)
        or any(name not in told for name in MEASURED)
        or any(type(told[name]) is not int for name in COUNTS)
        or type(told["fmax_mhz"]) not in (int, float)
        or not all(0 <= told[name] <= MOST_MEASURED for name in (*COUNTS, "fmax_mhz"))
        or told["device"] not in [*DEVICES]
    ):
        raise click.ClickException(f"{path} is not what `extremum fpga --json` prints")
    if told["parameters"] != json.loads(json.dumps(parameters(settings.config))):
        raise click.ClickException(f"{path} is the measurement of another core")
    if told["bus"] != settings.bus:
        raise click.ClickException(
            f"{path} was measured with --bus {told['bus']}, and the package has --bus "
            f"{settings.bus}"
        )
    if settings.device not in (None, told["device"]):
        raise click.ClickException(
            f"{path} was measured on {told['device']}, and the package is for {settings.device}"
        )
    return told
