"""Runs a compiled simulation in a process of its own: ``python -m extremum.host.simulate``.

Standard input holds one JSON object with the arguments of :func:`simulate`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cocotb_tools.runner import Icarus, Runner, Verilator

from extremum.hdl.verilog import TOP


class _Icarus(Icarus):
    """Icarus that writes waveforms as VCD, which every viewer reads."""

    def _test_command(self) -> list[list[str]]:
        commands = super()._test_command()
        return [["-vcd" if word == "-fst" else word for word in command] for command in commands]


def runner(simulator: str) -> Runner:
    """Return cocotb's runner of a simulator: ``"verilator"`` or ``"icarus"``."""
    return Verilator() if simulator == "verilator" else _Icarus()


def simulate(
    simulator: str,
    build_dir: str,
    *,
    test_dir: str,
    module: str,
    waves: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Run a cocotb bench on a compiled core; return the path of its results.

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
        Path of a VCD file to write. The core must have been compiled for it.
    environment
        Variables for the bench.
    """
    arguments: Sequence[str] = ()
    plusargs: list[str] = []
    if waves is not None:
        if simulator == "verilator":
            arguments = ("--trace-file", waves)
        else:
            plusargs = [f"+dumpfile_path={waves}"]
    return runner(simulator).test(
        test_module=module,
        hdl_toplevel=TOP,
        hdl_toplevel_lang="verilog",
        build_dir=build_dir,
        test_dir=test_dir,
        results_xml=str(Path(test_dir) / "results.xml"),
        test_args=list(arguments),
        plusargs=plusargs,
        extra_env=dict(environment or {}),
        waves=waves is not None,
    )


if __name__ == "__main__":
    simulate(**json.load(sys.stdin))
