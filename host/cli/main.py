"""The entry point of the command line.

It imports the standard library alone. So in an installation of the golden model, which brings NumPy
and nothing else, it can say what is missing, and `doctor`, `--help` and `--version` work. And what
takes time is imported within `main`, where an interrupt has an exit status and no traceback.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn, TextIO

from extremum.host.cli.exit import Exit

__all__ = ["main"]

COMMANDS = {
    "run": "Compute an operator on a .npy file, and check it bit for bit.",
    "plan": "Show an operator's jobs and their predicted cycles.",
    "demo": "Pool a photograph and find its extremes.",
    "verilog": "Write a block as Verilog, with testbench and registers.",
    "fpga": "Synthesise, place and route a core; print what it costs.",
    "onnx": "Run a network with its poolings and reductions on a core.",
    "cache": "Show or remove the simulations and figures that are kept.",
    "doctor": "List the tools, and how to install those that are missing.",
}
"""What each command does, for the list of commands: a line in 80 columns for each."""


def main() -> NoReturn:
    """Run the command line of this process and exit with its status."""
    for name in ("stdin", "stdout", "stderr"):
        # A stream that the caller has closed is None, and what is written to it goes nowhere.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors != "backslashreplace":
        # The name of a file, or of a node, need not be text in the encoding of the terminal.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = _run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
        status = Exit.CLOSED_PIPE
    except KeyboardInterrupt:  # while modules are loaded; later, `commands.main` takes it
        print("extremum: interrupted", file=sys.stderr)
        status = Exit.INTERRUPTED
    try:
        sys.stderr.flush()
    except OSError:  # a full disk: what was said is lost, and not the status
        _discard(sys.stderr)
    sys.exit(status)


def _discard(stream: TextIO) -> None:
    """Let what is left in a stream go nowhere: Python flushes it once more when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: Sequence[str]) -> int:
    from extremum.host.errors import ToolError  # noqa: PLC0415 (see above)
    from extremum.host.tools import require  # noqa: PLC0415

    try:
        require("numpy", "click", "rich")
    except ToolError as error:
        return _run_without_packages(arguments, str(error))
    from extremum.host.cli import commands  # noqa: PLC0415 (it imports what was looked for)

    return commands.main(arguments)


def _run_without_packages(arguments: Sequence[str], error: str) -> int:
    """Do what can be done without the packages of the command line; say how to install them."""
    from extremum.host.cli import doctor  # noqa: PLC0415
    from extremum.host.tools import SIM  # noqa: PLC0415

    if arguments in (["doctor"], ["doctor", "--json"]):
        text, ready = doctor.report(as_json="--json" in arguments)
        print(text)
        return Exit.AGREEMENT if ready else Exit.TOOL
    if list(arguments) == ["--version"]:
        print(f"extremum {version('extremum')}")
        return 0
    if list(arguments) in ([], ["-h"], ["--help"]):
        rows = [f"  {name:<9}{purpose}" for name, purpose in COMMANDS.items()]
        usage = "Usage: extremum [OPTIONS] COMMAND [ARGS]..."
        needed = f"All but doctor need the extra sim: {SIM}"
        print("\n".join([usage, "", "Commands:", *rows, "", needed]))
        return 0
    needed = f"the command line needs the extra sim ({SIM}): {error}"
    print(f"extremum: {needed}", file=sys.stderr)
    return Exit.TOOL
