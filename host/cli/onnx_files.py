"""The files that ``extremum onnx`` writes: the outputs of a network, and a page about it."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from extremum.host.cli.tensor_files import (
    as_npy,
    file_of,
    files_of_streams,
    may_be_written,
    refuse_other_suffix,
    refuse_unwritable,
)
from extremum.host.cli.unwritable import told_as_unwritable
from extremum.host.replaced_files import (
    Content,
    write_together,
    write_whole,
)

if TYPE_CHECKING:
    from extremum.onnx import Network, Outputs

__all__ = ["output_paths", "refuse_overwriting", "save", "write_page"]


LONGEST_NAME = 255
"""Bytes of the longest name that file systems take."""


def output_paths(folder: str | None, network: Network) -> list[Path]:
    """Return the file of each output of a network: that of its name, in the folder.

    Raises
    ------
    click.ClickException
        The folder is none, or an output is of a type that a file of NumPy cannot hold.
    """
    if folder is None:
        return []
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise click.UsageError(f"--output must be a folder, not {folder}")
    nearest = next(
        path for path in (Path(folder), *Path(folder).absolute().parents) if os.path.exists(path)
    )
    if not os.path.isdir(nearest):
        raise click.ClickException(f"--output cannot be written: {folder}: {nearest} is no folder")
    if not may_be_written(nearest):
        raise click.ClickException(f"--output cannot be written: {folder}: it is not permitted")
    found: list[Path] = []
    for place, name in enumerate(network.output_names):
        data_type = network.output_type(name)
        if data_type is not None and data_type != "string" and not _is_numpy_type(data_type):
            raise click.ClickException(
                f"the output {name} has the type {data_type}, which .npy cannot hold"
            )
        plain = re.sub(r"[^\w.-]", "_", name) or f"output_{place}"
        names = itertools.chain((plain,), (f"{plain}_{n}" for n in itertools.count(place)))
        paths = (Path(folder) / f"{each}.npy" for each in names)
        found.append(next(path for path in paths if path not in found))
        if len(os.fsencode(found[-1].name)) > LONGEST_NAME:
            raise click.ClickException(f"the output {name} has a name too long for a file")
    return found


def refuse_overwriting(
    read: Mapping[str, str], report: str | None, written: Sequence[Path]
) -> None:
    """Refuse to write a file that is read, or one twice, or a page that is named as no page.

    Parameters
    ----------
    read
        The files that are read, and what each of them is.
    report
        The page, if one is written.
    written
        The files of the outputs.

    Raises
    ------
    click.ClickException
        The message names both, or the option.
    """
    taken = files_of_streams() | {file_of(path): what for path, what in read.items()}
    if report is not None:
        refuse_unwritable({"report": report})
        if file_of(report) in taken:
            what = taken[file_of(report)]
            raise click.ClickException(f"--report would overwrite {what}: {report}")
        taken[file_of(report)] = "the page of --report"
    for path in written:
        if file_of(path) in taken:
            what = taken[file_of(path)]
            raise click.ClickException(f"--output would overwrite {what}: {path}")
        taken[file_of(path)] = f"another output, {path}"
    folders = [file_of(folder) for path in written for folder in path.absolute().parents]
    if report is not None and file_of(report) in folders:
        raise click.ClickException(
            f"--report would take the place of a folder of --output: {report}"
        )
    if report is not None:
        refuse_other_suffix("report", report, ".html")


def save(paths: Sequence[Path], outputs: Outputs) -> list[str]:
    """Write the outputs, all of them or none; return the files.

    Text is written with as many characters as the longest has, as `numpy.load` reads it.

    Raises
    ------
    click.ClickException
        A file cannot be written, or an output is no array.
    """
    contents: dict[Path, Content] = {}
    for path, name, value in zip(paths, outputs.names, outputs, strict=True):
        if not isinstance(value, np.ndarray):
            raise click.ClickException(f"the output {name} is no array, which .npy holds")
        contents[path] = as_npy(value.astype(str) if value.dtype.kind == "O" else value)
    with told_as_unwritable():
        write_together(contents.items(), makes_folders=True)
    return [str(path) for path in paths]


def write_page(path: str, text: str) -> str:
    """Write a page; return its file.

    Raises
    ------
    click.ClickException
        It cannot be written.
    """
    with told_as_unwritable():
        write_whole(path, text.encode())
    return path


def _is_numpy_type(name: Any) -> bool:
    try:
        return np.dtype(name).isbuiltin == 1
    except TypeError:
        return False
