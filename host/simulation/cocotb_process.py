"""Compiles a core for a simulator, or runs a bench on it, in a process of its own.

Start it with ``python -m extremum.host.simulation.cocotb_process COMMAND ARGUMENTS``, where the
command is ``build`` or ``simulate``, and the arguments are a JSON object: those of the function of
that name. cocotb's runner changes the environment and prints what it does, which should not happen
to a user's process. Whether a test has failed is told by ``results.xml``, not by the exit status.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cocotb_tools import config
from cocotb_tools.runner import Icarus, Runner, Verilator

from extremum.hdl.verilog import TOP
from extremum.host.simulation.plain_paths import is_plain, link_to


class _Icarus(Icarus):
    """Icarus that writes waveforms as VCD, which every viewer reads."""

    def _test_command(self) -> list[list[str]]:
        commands = super()._test_command()
        return [["-vcd" if word == "-fst" else word for word in command] for command in commands]


class _Verilator(Verilator):
    """Verilator that keeps only the ports visible: its sources say which (``ports.vlt``).

    The makefile that it writes takes no space in the paths of cocotb's own files.
    """

    def _build_command(self) -> list[list[str]]:
        own = config.share_dir, config.libs_dir
        config.share_dir, config.libs_dir = map(link_to, own)
        try:
            commands = super()._build_command()
        finally:
            config.share_dir, config.libs_dir = own
        return [[word for word in words if word != "--public-flat-rw"] for words in commands]


def _runner(simulator: str) -> Runner:
    return _Verilator() if simulator == "verilator" else _Icarus()


def build(
    simulator: str,
    build_dir: str,
    *,
    sources: Sequence[str],
    arguments: Sequence[str] = (),
    waves: bool = False,
    top: str = TOP,
) -> None:
    """Compile a core.

    Parameters
    ----------
    simulator
        ``"verilator"`` or ``"icarus"``.
    build_dir
        Folder to compile it in.
    sources
        Files to compile.
    arguments
        Further options of the simulator's compiler.
    waves
        Whether the simulation shall be able to write waveforms.
    top
        The module that is simulated.
    """
    _runner(simulator).build(
        sources=[Path(source) for source in sources],
        hdl_toplevel=top,
        build_dir=build_dir,
        build_args=list(arguments),
        timescale=("1ns", "1ps"),
        waves=waves,
    )


def simulate(
    simulator: str,
    build_dir: str,
    *,
    test_dir: str,
    module: str,
    waves: str | None = None,
    environment: Mapping[str, str] | None = None,
    top: str = TOP,
) -> None:
    """Run a cocotb bench on a compiled core.

    Parameters
    ----------
    simulator
        ``"verilator"`` or ``"icarus"``.
    build_dir
        Where it was compiled.
    test_dir
        Where it runs, and leaves its results.
    module
        The bench.
    waves
        Path of a VCD file to write, from `test_dir`. The core must have been compiled for it.
    environment
        Variables for the bench.
    top
        The module that is simulated.
    """
    arguments: Sequence[str] = ()
    plusargs: list[str] = []
    if waves is not None:
        if simulator == "verilator":
            arguments = ("--trace-file", waves)
        else:
            plusargs = [f"+dumpfile_path={waves}"]
    variables = dict(environment or {})
    if not is_plain(config.libs_dir):
        given = os.environ.get("LD_LIBRARY_PATH", "")
        # The link with which it was compiled is gone.
        variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (str(config.libs_dir), given)))
    _runner(simulator).test(
        test_module=module,
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        build_dir=build_dir,
        test_dir=test_dir,
        results_xml=str(Path(test_dir) / "results.xml"),
        test_args=list(arguments),
        plusargs=plusargs,
        extra_env=variables,
        waves=waves is not None,
    )


if __name__ == "__main__":
    {"build": build, "simulate": simulate}[sys.argv[1]](**json.loads(sys.argv[2]))
