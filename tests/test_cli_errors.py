"""What `extremum` refuses before anything runs, and the other ways to fail."""

import errno
import io
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import GOLDEN, run, spoil

from extremum.host import accelerator
from extremum.host.errors import SimulationError
from extremum.host.tools import TOOLS

pytestmark = pytest.mark.usefixtures("x")


@pytest.fixture
def no_run(monkeypatch):
    """Fail if a command line gets as far as an accelerator or a plan."""

    def fail(*_, **__):
        pytest.fail("refused too late")

    monkeypatch.setattr(accelerator, "Accelerator", fail)
    monkeypatch.setattr("extremum.host.plan.plan", fail)


def fail_with(monkeypatch, error):
    def change(_):
        raise error

    spoil(monkeypatch, change)


# Refusals, all before anything runs

COMMON = "--input x.npy"
REFUSED = [
    ("", "Missing command"),
    ("sing", "No such command 'sing'"),
    ("run", "Missing argument 'OPERATOR'"),
    ("run median", "'median' is not one of 'argmin', 'argmax', 'reduce-min'"),
    ("run argmax", "run needs --input"),
    ("run argmax --input ''", "'--input': '' names no file"),
    ("run argmax --input", "requires an argument"),
    (f"run argmax {COMMON} --colour red", "No such option"),
    (f"run argmax {COMMON} --axes 1,,2", "'1,,2' is not whole numbers separated by commas"),
    (f"run argmax {COMMON} --axes 1.5", "'1.5' is not whole numbers separated by commas"),
    (f"run argmax {COMMON} --axes {'9' * 5000}", "Exceeds the limit (4300 digits)"),
    (f"run argmax {COMMON} --axes 4", "axes must be in [-4, 3] for rank 4, not (4,)"),
    (f"run argmax {COMMON} --axes 1,-3", "axes must not repeat"),
    (f"run argmax {COMMON} --axis-direction up", "'up' is not one of"),
    (f"run argmax {COMMON} --nan maybe", "'maybe' is not one of"),
    (f"run argmax {COMMON} --index-type int8", "'int8' is not one of"),
    (f"run argmax {COMMON} --backend quartus", "'quartus' is not one of"),
    (f"run argmax {COMMON} --lanes 0", "'--lanes': 0 is not in the range"),
    (f"run argmax {COMMON} --lanes 65", "'--lanes': 65 is not in the range"),
    (f"run argmax {COMMON} --input-stalls 100", "100 is not in the range"),
    (f"run argmax {COMMON} --output-stalls -1", "-1 is not in the range"),
    (f"run argmax {COMMON} --seed -1", "-1 is not in the range"),
    (f"run argmax {COMMON} --max-window 1,1,3,3", "it has one, two or three numbers, not 4"),
    (f"run argmax {COMMON} --max-window 1,0,3", "max_window must be from 1 to 255"),
    (f"run argmax {COMMON} --max-line 0", "max_line must be from 1 to 65536, not 0"),
    (f"run argmax {COMMON} --max-plane 0", "max_plane must be from 1"),
    (f"run argmax {COMMON} --max-dilation 0,1,1", "max_dilation must be from 1"),
    (f"run argmax {COMMON} --coordinate-width 3", "coordinate_width must be from 4"),
    (f"run max-pool {COMMON}", "max-pool needs --window"),
    (f"run max-pool {COMMON} --window 3,3,3", "window must have one value for each of 2"),
    (f"run max-pool {COMMON} --window 10", "window extent must not exceed the padded size 8"),
    (f"run max-pool {COMMON} --window 0", "window must be at least 1"),
    (f"run max-pool {COMMON} --window 2 --strides 0", "strides must be at least 1"),
    (f"run max-pool {COMMON} --window 2 --dilations 0", "dilations must be at least 1"),
    (f"run max-pool {COMMON} --window 2 --start-padding -1", "start_padding must be at least 0"),
    (f"run max-pool {COMMON} --window 2 --index-type uint64", "of max-pool needs --indices"),
    (f"run max-pool {COMMON} --window 2 --index-layout plane", "of max-pool needs --indices"),
    (f"run max-pool {COMMON} --window 2 --indices i --index-type int32", "index_type must be"),
    (f"run argmax {COMMON} --sizes 3", "No such option"),
    ("plan argmax", "plan needs --input, or --sizes and --type"),
    ("plan argmax --sizes 3", "plan needs --input, or --sizes and --type"),
    ("plan argmax --sizes 3 --type int8 --input x.npy", "not both"),
    ("plan argmax --sizes 3 --type int9", "'int9' is not one of"),
    ("plan argmax --sizes 3,0 --type int8", "sizes must be at least 1, not (3, 0)"),
    ("plan argmax --sizes 3 --type int8 --window 2", "--window does not apply to argmax"),
    ("plan argmax --sizes 3 --type int8 --backend model", "--backend model has no cycles to plan"),
    ("demo --lanes 0", "0 is not in the range"),
    ("demo --backend model --lanes 2", "--lanes does not apply to --backend model"),
    ("doctor --verbose", "No such option"),
]
REFUSED += [
    (f"run {operator} {COMMON} {option}", f"{option.split()[0]} does not apply to {operator}")
    for operators, options in (
        (
            ("argmin", "argmax", "reduce-min", "reduce-max"),
            ("--window 2", "--strides 1", "--start-padding 0", "--end-padding 0", "--dilations 1",
             "--index-layout tensor", "--indices i.npy"),
        ),
        (("reduce-min", "reduce-max"), ("--axis-direction increasing", "--index-type uint32")),
        (("max-pool --window 2",), ("--axes 1", "--axis-direction increasing")),
    )
    for operator in operators
    for option in options
]  # fmt: skip
REFUSED += [
    (
        f"run argmax {COMMON} --backend model {option}",
        f"{option.split()[0]} does not apply to --backend model",
    )
    for option in (
        "--bus axi", "--lanes 1", "--waves w.vcd", "--input-stalls 0", "--output-stalls 0",
        "--seed 0", "--watchdog 9", "--wave-window 1,2",
        "--max-window 3,7,7", "--max-dilation 1,1,1", "--max-line 9", "--max-plane 9",
        "--coordinate-width 9",
    )
]  # fmt: skip
REFUSED += [
    (f"run argmax {COMMON} {option}", message)
    for option, message in (
        (
            "--output nowhere/o.npy",
            "--output cannot be written: nowhere/o.npy: nowhere is no folder",
        ),
        ("--output .", "--output cannot be written: .: it is a folder"),
        ("--output ./x.npy", "--output is the file of --input: x.npy"),
        ("--output new/", "--output cannot be written: new/: it is a folder"),
        ("--waves nowhere/w.vcd", "--waves cannot be written: nowhere/w.vcd"),
        ("--wave-window 1,2", "--wave-window needs --waves"),
        ("--waves w.vcd --wave-window 5", "--wave-window must be the first and the last clock"),
        (
            "--waves w.vcd --wave-window 5,6 --backend icarus",
            "--wave-window does not apply to --backend icarus",
        ),
        ("--watchdog 0", "0 is not in the range 1<=x<=18446744073709551615"),
        (f"--watchdog {1 << 64}", f"{1 << 64} is not in the range 1<=x<="),
        (f"--waves w.vcd --wave-window 0,{1 << 64}", "--wave-window must end at clock 18446744073"),
        # The last clock itself is taken: what is wrong then is the file.
        (f"--waves no/w.vcd --wave-window 0,{(1 << 64) - 1}", "no is no folder"),
        ("--waves w.fst", "--waves must name a .vcd file, not w.fst"),
        ("--waves x.npy/w.vcd", "--waves cannot be written: x.npy/w.vcd"),
        ("--output w.vcd --waves w.vcd", "--waves is the file of --output: w.vcd"),
        (f"--output {'n' * 300}", f"cannot follow {'n' * 300}: File name too long"),
        ("--input y.npy", "--input is given 2 times (see extremum run --help)"),
        ("--lanes 1 --lanes=2 --lanes 1", "--lanes is given 3 times"),
    )
]


@pytest.mark.parametrize(("line", "message"), REFUSED, ids=[line[:80] for line, _ in REFUSED])
def test_refused_in_one_line(no_run, line, message):
    status, out, err = run(line)
    assert (status, out, len(err)) == (2, [], 1)
    assert err[0].startswith("extremum: ")
    assert message.replace(" --window 2", "") in err[0]


def npy(header):
    """Return a .npy file of version 1 with any text as its header, and three bytes behind it."""
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"abc"


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (None, "cannot read bad.npy: No such file or directory"),
        (b"", "bad.npy is not a .npy file"),
        (b"PK\x03\x04 an archive", "bad.npy is not a .npy file"),
        (b"\x93NUMPY\x01\x00\x05\x00oops\n", "bad.npy holds no readable array"),
        (b"\x93NUMPY\x09\x00", "bad.npy holds no readable array"),
        *(
            (npy(header), "bad.npy holds no readable array")
            for header in (
                "{[]: 1}",
                "{1: 2, 'a': 3}",
                "(" * 9000,
                "1" + "+1" * 4000,
                "{'descr': '''",
                "{'descr': '\\d', 'fortran_order': False, 'shape': (3,)}",
                "{'descr': ('a',), 'fortran_order': False, 'shape': (3,)}",
                "{'descr': '|i1', 'fortran_order': False, 'shape': (True,)}",
                f"{{'descr': '|i1', 'fortran_order': False, 'shape': ({10**30},)}}",
            )
        ),
        (np.array([{}, 1], object), "Object arrays cannot be loaded"),
        (np.zeros(3), "data type must be one of float32"),
        (np.zeros(3, bool), "data type must be one of"),
        (np.zeros(3, "c8"), "data type must be one of"),
        (np.zeros(3, "U2"), "data type must be one of"),
        (np.zeros(3, "i4,f4"), "data type must be one of"),
        (np.int8(3), "rank must be 1 to 8, not 0"),
        (np.zeros((1,) * 9, "i1"), "rank must be 1 to 8, not 9"),
        (np.zeros((2, 0), "i1"), "sizes must be at least 1, not (2, 0)"),
    ],
)
def test_bad_file(tmp_path, no_run, write, message):
    if isinstance(write, bytes):
        (tmp_path / "bad.npy").write_bytes(write)
    elif write is not None:
        np.save("bad.npy", write)
    for command in ("run", "plan"):
        status, out, err = run(f"{command} argmax --input bad.npy")
        assert (status, out, len(err)) == (2, [], 1)
        assert message in err[0]
        assert "bad.npy" in err[0]


def test_a_file_of_python_2(tmp_path):
    """NumPy reads it and warns; the result is right, and nothing is said on stderr."""
    header = "{'descr': '|i1', 'fortran_order': False, 'shape': (3L,)}"
    (tmp_path / "old.npy").write_bytes(npy(header))
    status, _, err = run("run argmax --input old.npy", *GOLDEN)
    assert (status, err) == (0, [])


@pytest.mark.parametrize("options", ["--config deep.toml", "--fixed deep.toml", "--cost deep.json"])
def test_files_that_are_nested_too_deeply(tmp_path, options):
    (tmp_path / "deep.toml").write_text("a = " + "[" * 5000)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    status, out, err = run(f"verilog --output package {options}")
    assert (status, out) == (2, [])
    assert err == [f"extremum: {options.split()[1]} is nested too deeply"]


def test_cut_off_file(tmp_path):
    stream = io.BytesIO()
    np.save(stream, np.zeros(100, np.int32))
    (tmp_path / "bad.npy").write_bytes(stream.getvalue()[:-40])
    status, _, err = run("run argmax --input bad.npy", *GOLDEN)
    assert (status, len(err)) == (2, 1)
    assert "bad.npy holds no readable array" in err[0]


def test_pooling_needs_rank_4_or_5():
    np.save("flat.npy", np.zeros((3, 3), np.int8))
    status, _, err = run("run max-pool --input flat.npy --window 2", *GOLDEN)
    assert status == 2
    assert "rank for pooling must be 4 or 5, not 2" in err[0]


def test_file_that_turns_unwritable(tmp_path, monkeypatch):
    spoil(monkeypatch, lambda result: (tmp_path / "o.npy").mkdir() or result)
    status, _, err = run("run argmax --input x.npy --output o.npy", *GOLDEN)
    assert status == 2
    assert err == ["extremum: cannot write o.npy: Is a directory"]


# Other exit statuses


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (SimulationError("verilator ended:\nhorribly"), 5, "extremum: verilator ended: horribly"),
        (KeyboardInterrupt(), 130, "extremum: interrupted"),
    ],
)
def test_failures(monkeypatch, error, status, message):
    fail_with(monkeypatch, error)
    got, out, err = run("run argmax --input x.npy", *GOLDEN)
    assert (got, out) == (status, [])
    assert [line for line in err if line] == [message]


@pytest.mark.parametrize("change", [lambda r: r[0], lambda r: r.astype(np.int64)])
def test_result_of_a_wrong_kind_is_a_failed_simulation(monkeypatch, change):
    spoil(monkeypatch, change)
    status, _, err = run("run argmax --input x.npy --axes 3", *GOLDEN)
    assert status == 5
    assert "the positions should be uint32 (2, 3, 8, 1), but are" in err[0]


@pytest.mark.parametrize("backend", ["verilator", "icarus"])
def test_missing_simulator(monkeypatch, no_run, backend):
    absent = replace(TOOLS[backend], search=lambda: None)
    monkeypatch.setitem(TOOLS, backend, absent)
    status, out, err = run(f"run argmax --input x.npy --backend {backend}")
    assert (status, out, len(err)) == (4, [], 1)
    assert err[0].startswith(f"extremum: {backend} is missing: needs ")
    assert err[0].endswith(f"; install: {absent.install}")


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (OSError("No space left on device"), 2, "No space left on device"),
        *(
            (OSError(number, "no more"), 2, "extremum: stdout cannot be written: no more")
            for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        ),
        (OSError(errno.EIO, "no more"), 2, f"extremum: [Errno {errno.EIO}] no more"),
        (MemoryError(), 2, "out of memory"),
        (ZeroDivisionError("oops"), 70, "internal error: ZeroDivisionError: oops"),
    ],
)
def test_only_a_mismatch_exits_with_1(monkeypatch, error, status, told):
    fail_with(monkeypatch, error)
    exit_status, out, err = run("run argmax --input x.npy --backend model")
    assert exit_status == status
    assert out == []
    assert len(err) == 1
    assert told in err[0]


def test_two_names_of_one_file_are_one_file(tmp_path, no_run):
    np.save("x.npy", np.zeros((1, 1, 4, 4), np.int8))
    Path("one.npy").touch()
    os.link("one.npy", "two.npy")
    os.link("x.npy", "again.npy")
    for files, message in (
        ("--output one.npy --indices two.npy", "--indices is the file of --output: two.npy"),
        ("--output again.npy", "--output is the file of --input: again.npy"),
    ):
        status, out, err = run(f"run max-pool --input x.npy --window 2 {files}")
        assert (status, out, err) == (2, [], [f"extremum: {message}"])


@pytest.mark.parametrize(
    "line",
    [
        f"run argmax {COMMON} --output folder/y.npy",
        "verilog --preset argmax-int8 --output folder/core.v",
        "verilog --preset argmax-int8 --output folder/core",
    ],
)
def test_a_folder_into_which_nobody_may_look(line, tmp_path, monkeypatch, no_run):
    """It may be written, but that is of no use."""
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda _path, mode: not mode & os.X_OK)
    status, out, (said,) = run(line)
    assert (status, out) == (2, [])
    assert said.startswith("extremum: --output cannot be written: folder/")


def test_a_device_that_keeps_nothing_may_be_named_twice(tmp_path):
    line = "run max-pool --input x.npy --window 2 --output /dev/null --indices /dev/null"
    status, _, err = run(line, *GOLDEN)
    assert (status, err) == (0, [])


def test_a_link_that_leads_to_itself(tmp_path, no_run):
    np.save("x.npy", np.zeros((1, 1, 4, 4), np.int8))
    Path("loop.npy").symlink_to("loop.npy")
    for files in ("--input loop.npy", "--input x.npy --output loop.npy"):
        status, out, err = run(f"run max-pool --window 2 {files}")
        assert (status, out, len(err)) == (2, [], 1)
        assert "loop.npy: Too many levels of symbolic links" in err[0]


def test_plan_without_the_gateware_package(monkeypatch, no_run):
    monkeypatch.setitem(TOOLS, "amaranth", replace(TOOLS["amaranth"], search=lambda: "0.4.5"))
    status, _, err = run("plan argmax --input x.npy")
    assert status == 4
    assert err[0].startswith("extremum: amaranth 0.4.5 is too old: needs 0.5 or newer")
