"""What is told of a simulator that ended: its error, or else the signal that ended it."""

import subprocess
import sys

import pytest

from extremum.host.processes import Command
from extremum.host.simulation.cocotb_link import _last_words


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("print('going on', flush=True); os.kill(os.getpid(), 9)", "SIGKILL ended it"),
        # As a shell tells it, and the process that starts a simulator.
        ("print('going on'); sys.exit(128 + 15)", "SIGTERM ended it"),
        ("print('an error: full'); sys.exit(128 + 15)", "an error: full"),
        ("print('going on'); sys.exit(1)", "going on"),
        ("sys.exit(0)", "it left no message"),
        # As cocotb tells it, where the simulator alone has been ended.
        ("sys.exit('RuntimeError: Command failed with return code: -9')", "SIGKILL ended it"),
        (
            "sys.exit('RuntimeError: Command failed with return code: 9')",
            "RuntimeError: Command failed with return code: 9",
        ),
        # A number that no signal has.
        ("print('going on'); sys.exit(255)", "going on"),
    ],
)
def test_last_words(program, told, tmp_path):
    with (tmp_path / "output").open("w+b") as output:
        program = [sys.executable, "-c", f"import os, sys\n{program}"]
        process = subprocess.Popen(program, stdout=output, stderr=output)
        process.wait()
        assert _last_words(Command("simulator", process, output)) == told
