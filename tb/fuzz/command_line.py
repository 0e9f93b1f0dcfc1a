"""Command lines, and the files that they read: .npy, TOML and JSON."""

from __future__ import annotations

import io
import json
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import numpy as np
from hypothesis import strategies as st

from extremum.hdl.config import CoreConfig
from extremum.hdl.interface import parameters
from extremum.host.cli import commands, fpga_commands, verilog_command
from extremum.host.errors import SynthesisError
from extremum.host.fpga import clock_target
from extremum.tb.fuzz.target import Target, new_folder, require

TEXT = st.text(
    st.one_of(
        st.characters(exclude_characters="\0", codec="utf-8"),
        st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"]),
    ),
    max_size=12,
)
"""An argument as a system passes it: any characters but NUL, and bytes that are not UTF-8."""

NUMBERS = st.one_of(
    st.integers(-3, 12).map(str),
    st.sampled_from(["65535", "4294967296", "-1", "1e3", "9" * 30, "9" * 5000, "0x1", "", "²"]),
)
LISTS = st.lists(NUMBERS, min_size=1, max_size=5).map(",".join)

FILES = ("x.npy", "volume.npy", "core.toml", "fuzzed", ".", "", "nowhere/file", "/dev/null", "é")


def _values(parameter: Any) -> st.SearchStrategy[str]:
    """Return arguments for an option: those that its type takes, and others."""
    choices = getattr(parameter.type, "choices", None)
    if choices:
        return st.one_of(st.sampled_from([str(choice) for choice in choices]), TEXT)
    name = parameter.type.name
    files = st.sampled_from(FILES)
    likely = {"path": files, "integers": LISTS, "names": st.lists(TEXT, max_size=3).map(",".join)}
    return st.one_of(likely.get(name, NUMBERS), TEXT, NUMBERS)


def lines() -> st.SearchStrategy[list[str]]:
    """Return command lines: mostly options that the command has, with good and bad values."""
    each = []
    for name in ("run", "plan", "verilog", "fpga", "cache"):
        options = [p for p in commands.commands.commands[name].params if p.opts[0].startswith("-")]
        drawn = st.one_of(*(_option(option) for option in options))
        head = [name, *(["argmax"] if name in ("run", "plan") else [])]
        some = st.lists(drawn, max_size=6).map(lambda parts: [w for part in parts for w in part])
        each.append(some.map(lambda words, head=head: [*head, *words]))
        if name in ("run", "plan"):
            problem = st.sampled_from(["argmin", "reduce-max", "max-pool --window 2"])
            start = [name, "--input", "x.npy"] if name == "run" else [name, *SIZED]
            each.append(
                st.tuples(problem, some).map(
                    lambda drawn, start=start: [*start, *drawn[0].split(), *drawn[1]]
                )
            )
    return st.one_of(*each, st.lists(TEXT, max_size=4))


SIZED = ("--sizes", "1,2,8,9", "--type", "int8")


def _option(option: Any) -> st.SearchStrategy[list[str]]:
    names = st.sampled_from([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names.map(lambda name: [name])
    return st.tuples(names, _values(option)).map(list)


def run_line(arguments: list[str]) -> str:
    """Run a command line in a folder of its own; check its status and what it says.

    No simulator and no tool for FPGAs is started, and no package is written.
    """
    with _workplace():
        return _run(_harmless(arguments))


def _harmless(arguments: list[str]) -> list[str]:
    """Add an option that keeps a command from compiling something, which would take a minute."""
    if arguments and arguments[0] == "run":
        return [*arguments, "--backend", "model"]
    if arguments and arguments[0] == "verilog":
        return [*arguments, "--output", "package"]
    return arguments


def _run(arguments: list[str]) -> str:
    # Real encoders, as the entry point sets them.
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = commands.main(arguments)
        except SystemExit as ended:
            status = ended.code
    out.flush()
    err.flush()
    said, told = (stream.buffer.getvalue() for stream in (out, err))  # type: ignore[attr-defined]
    shown = f"{shlex.join(arguments)!r} ended with {status}, and said {told[:500]!r}"
    if status == commands.Exit.AGREEMENT:
        require(not told, shown)
        return "done"
    refusals = (commands.Exit.USAGE, commands.Exit.TOOL, commands.Exit.SIMULATION)
    require(status in refusals, shown)
    require(told.startswith(b"extremum: ") and told.count(b"\n") == 1, shown)
    require(not said, f"{shown}; and on stdout {said[:200]!r}")
    return "taken" if STUBBED.encode() in told else "refused"


@cache
def _folder() -> Path:
    """Return the folder in which command lines run; it is removed when the process ends."""
    folder = new_folder()
    np.save(folder / "x.npy", np.arange(144, dtype=np.int8).reshape(1, 2, 8, 9) % 5)
    np.save(folder / "volume.npy", np.ones((1, 1, 3, 4, 5), np.float16))
    (folder / "core.toml").write_text('lanes = 2\n[package]\nbus = "none"\n')
    return folder


@contextmanager
def _workplace() -> Iterator[Path]:
    """Work in the folder, with a cache in it, and with no tool for FPGAs."""
    with ExitStack() as stack:
        stack.enter_context(chdir(_folder()))
        cached = {"EXTREMUM_CACHE": str(_folder() / "cache")}
        stack.enter_context(patch.dict(os.environ, cached))
        for module in (fpga_commands, clock_target):
            stack.enter_context(patch.object(module, "measure", _no_measurement))
        stack.enter_context(patch.object(verilog_command, "require", _no_package))
        yield _folder()


STUBBED = "nothing is made here"
"""What is said in place of a package or a measurement, when all that was given has been checked.

A package's own files are looked at behind that, whether they would be written over others."""


def _no_package(*_: Any) -> None:
    raise click.ClickException(STUBBED)


def _no_measurement(*_: Any, **__: Any) -> Any:
    raise SynthesisError(STUBBED)


def reader(*arguments: str) -> Callable[[bytes], str]:
    """Return the run of a target whose inputs are the bytes of the file ``fuzzed``."""

    def run(content: bytes) -> str:
        with _workplace() as folder:
            (folder / "fuzzed").write_bytes(content)
            return _run(_harmless(list(arguments)))

    return run


def arrays() -> st.SearchStrategy[bytes]:
    """Return .npy files: whole ones of any type, damaged ones, and headers of any text."""
    types = st.sampled_from(["i1", "<f4", ">i8", "b1", "O", "S3", "c8", "V2", "i4,f4"])
    shapes = st.lists(st.integers(0, 5), max_size=9).map(tuple)
    whole = st.builds(_array, types, shapes)
    numbers = st.sampled_from(["-1", "True", "3L", "2**31", str(2**63), "1.5", "()", "{}", "3"])
    shape = st.lists(numbers, max_size=3).map(lambda items: f"({','.join(items)},)")
    keys = st.lists(
        st.one_of(
            st.sampled_from(
                ["'descr': '|i1'", "'fortran_order': False", "'descr': ('a',)", "1: 2"]
            ),
            shape.map(lambda text: f"'shape': {text}"),
        ),
        max_size=4,
    )
    header = st.one_of(keys.map(lambda parts: f"{{{', '.join(parts)}}}"), st.text(max_size=30))
    return st.one_of(whole, damaged(whole), header.map(_headed), st.binary(max_size=40))


def _array(name: str, shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.zeros(shape, name))
    return file.getvalue()


def _headed(header: str) -> bytes:
    text = header.encode("latin1", "replace") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(16)


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Draw a file that was cut off, or some of whose bytes have changed."""
    content = bytearray(draw(whole))
    for place in draw(st.lists(st.integers(0, max(0, len(content) - 1)), max_size=4)):
        if content:
            content[place] = draw(st.integers(0, 255))
    return (
        bytes(content[: draw(st.integers(0, len(content)))])
        if draw(st.booleans())
        else bytes(content)
    )


def configurations() -> st.SearchStrategy[bytes]:
    """Return TOML files: keys that there are and others, with values of every type."""
    names = [
        "data_types", "operators", "lanes", "index_width", "padding", "max_window", "max_dilation",
        "max_line", "max_plane", "coordinate_width", "fixed", "fixed.width.window", "fixed.tail",
        "package", "package.name", "package.bus", "package.device", "colour",
    ]  # fmt: skip
    scalars = st.sampled_from([
        "0", "1", "3", "-1", "70000", "9" * 5000, "1.5", "nan", "true", '"int8"', '"axi"', '"é"',
        "1979-05-27", '""', "'argmax'", "{}", "{a = 1}", "[" * 3000,
    ])  # fmt: skip
    values = st.one_of(
        scalars, st.lists(scalars, max_size=4).map(lambda items: f"[{', '.join(items)}]")
    )
    line = st.builds("{} = {}".format, st.sampled_from(names), values)
    texts = st.lists(line, max_size=5).map("\n".join).map(str.encode)
    return st.one_of(texts, damaged(texts), st.binary(max_size=60))


def measurements() -> st.SearchStrategy[bytes]:
    """Return JSON files: a measurement of the default core with some of its values changed."""
    told: dict[str, Any] = {
        "bus": "axi", "device": "ecp5-85k", "comb": 900, "ff": 900.0, "block_ram": 0,
        "fmax_mhz": 200.5, "parameters": parameters(CoreConfig()),
    }  # fmt: skip
    values = st.sampled_from([
        None, True, -1, 0, 10**9 + 1, 10**400, 1e308, float("nan"), "", "none", [], {}, [[]],
        told["parameters"] | {"lanes": 2},
    ])  # fmt: skip
    changed = st.dictionaries(st.sampled_from([*told, "more"]), values, max_size=2)
    texts = changed.map(lambda odd: json.dumps(told | odd).encode())
    return st.one_of(texts, damaged(texts), st.binary(max_size=60), st.just(b"[" * 100_000))


TARGETS = (
    Target(
        "command lines",
        "any arguments of run (on the model), plan, verilog, fpga (both up to what they make) and "
        "cache: a result, or one line on stderr and a status that is documented",
        lines,
        run_line,
    ),
    Target(
        "npy files",
        "a .npy file of any content is read, or refused in one line with status 2",
        arrays,
        reader("run", "argmax", "--input", "fuzzed"),
        is_raw=True,
    ),
    Target(
        "configurations",
        "a TOML file of any content is taken by --config, or refused in one line with status 2",
        configurations,
        reader("plan", "argmax", *SIZED[:-1], "float32", "--config", "fuzzed", "--registers"),
        is_raw=True,
    ),
    Target(
        "fixed registers",
        "the same for --fixed",
        configurations,
        reader("verilog", "--fixed", "fuzzed"),
        is_raw=True,
    ),
    Target(
        "measurements",
        "the same for the JSON file of --cost",
        measurements,
        reader("verilog", "--cost", "fuzzed"),
        is_raw=True,
    ),
)
