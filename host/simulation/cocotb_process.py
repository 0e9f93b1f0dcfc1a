"""Runs a compiled simulation in a process of its own.

Start it with ``python -m extremum.host.simulation.cocotb_process``.

The first line of standard input is a JSON object with the arguments of :func:`simulate`. If it
also says ``"tied": true``, the process leads a group, and the group ends with standard input: when
the process at its other end closes it, or ends in whatever way.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread

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


def _end_with(lifeline: int) -> None:
    """Wait for the end of a pipe, then end this process's group."""
    while os.read(lifeline, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def _main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    if request.pop("tied", False):
        # The simulator gets none of the pipe, which it would keep open, or read.
        lifeline = os.dup(0)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    simulate(**request)


if __name__ == "__main__":
    _main()
