"""The command line where nobody reads its output, or its streams are closed."""

import os
import resource
import shlex
import socket
import subprocess
import sys

import numpy as np
import pytest
from amounts import mostly_slow

from extremum.host.cli.exit import Exit

PROGRAM = "from extremum.host.cli.main import main; main()"


@pytest.mark.parametrize(
    "line",
    [
        "plan max-pool --sizes 1,1,65535,65535 --type int8 --window 300 --json",
        "plan max-pool --sizes 1,1,65535,65535 --type int8 --window 300",
        "--help",
        "doctor",
    ],
)
def test_a_reader_that_goes_away_is_no_mismatch(line):
    """Nothing is said, and the status is that of a program that a closed pipe ends.

    Status 1, with which Python would end, means a mismatch here.
    """
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *line.split()],
        stdout=write, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(write)
    assert (ran.returncode, ran.stderr) == (Exit.CLOSED_PIPE, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_the_caller_has_closed(tmp_path, closed):
    """What goes to them is lost, and nothing else."""
    np.save(tmp_path / "x.npy", np.array([1, 3, 2], np.int8))
    line = "run argmax --input x.npy --backend model --output y.npy"
    command = [sys.executable, "-c", PROGRAM, *line.split()]
    ran = subprocess.run(
        ["sh", "-c", f"exec {shlex.join(command)} {closed}"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    assert np.load(tmp_path / "y.npy").tolist() == [1]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize(
    ("line", "status"), [("run argmax --input none.npy", 2), ("nix", 2), ("plan argmax", 2)]
)
def test_a_full_disk_behind_stderr_is_no_mismatch(tmp_path, line, status):
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, *line.split()],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=full, timeout=120, check=False,
        )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (status, b"")


def test_arrays_come_through_a_pipe_and_leave_for_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "x.npy", np.array([1, 3, 2], np.int8))
    os.mkfifo(tmp_path / "pipe")
    program = f"{sys.executable} -c '{PROGRAM}' run argmax --backend model"

    def ran(command):
        return subprocess.run(
            ["sh", "-c", command], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    found = ran(f"cat x.npy | {program} --input /dev/stdin --output y.npy")
    assert found.returncode == 0, found.stderr
    assert np.load(tmp_path / "y.npy").tolist() == [1]
    found = ran(f"{program} --input x.npy --output pipe")
    told = "extremum: --output needs a file, and pipe is a pipe\n"
    assert (found.returncode, found.stdout, found.stderr) == (2, "", told)
    with socket.socket(socket.AF_UNIX) as listener:
        (tmp_path / "pipe").unlink()
        listener.bind("pipe")  # the names of sockets are short
        found = ran(f"{program} --input x.npy --output pipe")
    assert (found.returncode, found.stdout, found.stderr) == (2, "", told)


def test_stdout_is_not_the_input(tmp_path):
    """What is told there would be a part of the input."""
    np.save(tmp_path / "x.npy", np.array([1, 3, 2], np.int8))
    before = (tmp_path / "x.npy").read_bytes()
    program = f"{sys.executable} -c '{PROGRAM}' run argmax --backend model"
    ran = subprocess.run(
        ["sh", "-c", f"{program} --input x.npy >> x.npy"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (2, "extremum: --input is the file of stdout: x.npy\n")
    assert (tmp_path / "x.npy").read_bytes() == before


@pytest.mark.parametrize("elements", mostly_slow([250, 300, 1010, 1500, 3000], [250, 1010]))
@pytest.mark.parametrize("before", [None, b"what was there"])
def test_a_file_that_finds_no_space_is_not_called_written(tmp_path, elements, before):
    """Wherever the space ends: in the header's block, in a later one, or in the last.

    What was there before is there still, and nothing else.
    """
    np.save(tmp_path / "x.npy", np.zeros((elements, 2), np.int8))
    if before is not None:
        (tmp_path / "y.npy").write_bytes(before)
    limit = 4 * elements + 100

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    line = "run argmax --axes 1 --input x.npy --backend model --output y.npy"
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *line.split()],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False, preexec_fn=limited,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "extremum: cannot write y.npy: File too large\n"
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != "x.npy"}
    assert found == ({} if before is None else {"y.npy": before})


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_file_of_a_stream_is_no_place_for_results(tmp_path, stream):
    """What is told there would destroy them."""
    np.save(tmp_path / "x.npy", np.array([1, 3, 2], np.int8))
    number = {"stdout": 1, "stderr": 2}[stream]
    for line, name in (
        ("run argmax --input x.npy --backend model --output told.npy", "--output"),
        (f"run argmax --input x.npy --backend model --output /dev/fd/{number}", "--output"),
        ("verilog --preset argmax-int8 --output told.v", "told.v"),
    ):
        command = shlex.join([sys.executable, "-c", PROGRAM, *line.split()])
        place = "told.v" if "verilog" in line else "told.npy"
        ran = subprocess.run(
            ["sh", "-c", f"{command} {number}>{place}"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        told = (tmp_path / place).read_text() if stream == "stderr" else ran.stderr
        assert ran.returncode == 2
        assert told.startswith(f"extremum: {name} is the file of {stream}"), told
