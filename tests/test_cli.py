"""`extremum run`: results, JSON, mismatches, progress.

The backend is the golden model wherever hardware adds nothing: these tests are about the command.
"""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import GOLDEN, run, spoil

from extremum import model
from extremum.host import accelerator
from extremum.host.cli import printing, progress_bar
from extremum.host.comparison import Difference, first_difference
from extremum.host.progress import Progress

pytestmark = pytest.mark.usefixtures("x")


# Results


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("argmin --axes 1,2", lambda x: model.argmin(x, (1, 2))),
        ("argmin --axes -1", lambda x: model.argmin(x, -1)),
        ("argmin --axes -1,-2", lambda x: model.argmin(x, (2, 3))),
        ("argmax", model.argmax),
        (
            "argmax --axes 0 --axis-direction decreasing --index-type uint64 --nan ignore",
            lambda x: model.argmax(x, 0, axis_direction="decreasing", index_type="uint64"),
        ),
        ("reduce-min --axes 3", lambda x: model.reduce_min(x, 3)),
        ("reduce-max --axes 2,3", lambda x: model.reduce_max(x, (2, 3))),
        ("max-pool --window 3", lambda x: model.max_pooling(x, 3)),
        (
            "max-pool --window 3,2 --strides 2,1 --start-padding 1,0 --end-padding 0,1 "
            "--dilations 1,2",
            lambda x: model.max_pooling(
                x, (3, 2), strides=(2, 1), start_padding=(1, 0), end_padding=(0, 1),
                dilations=(1, 2),
            ),
        ),
    ],
)  # fmt: skip
def test_output_file_is_the_golden_models(x, line, expected):
    status, out, err = run(f"run {line} --input x.npy --output result", *GOLDEN)
    assert (status, err) == (0, [])
    wanted = expected(x)
    got = np.load("result")  # the name as given, without a suffix of NumPy's
    assert got.dtype == wanted.dtype
    assert np.array_equal(got, wanted)
    assert out[0].startswith(f"{line.split(' ', maxsplit=1)[0]} of int8 (2, 3, 8, 9), ")
    assert "  agreement   bit for bit with the golden model" in out
    assert out[-1] == "  written     result"


def test_pooling_writes_values_and_positions(x):
    status, out, _ = run(
        "run max-pool --input x.npy --window 2 --strides 2 --output v.npy --indices i.npy "
        "--index-type int64 --index-layout plane",
        *GOLDEN,
    )
    assert status == 0
    values, indices = model.max_pooling(
        x, 2, strides=2, return_indices=True, index_type="int64", index_layout="plane"
    )
    assert np.array_equal(np.load("v.npy"), values)
    assert np.load("i.npy").dtype == np.int64
    assert np.array_equal(np.load("i.npy"), indices)
    assert "index layout plane" in out[0]


def test_other_byte_order(x):
    np.save("big.npy", x.astype(">i4"))
    status, out, _ = run("run reduce-max --input big.npy --output o.npy", *GOLDEN)
    assert status == 0
    assert out[0].startswith("reduce-max of int32 ")
    assert np.load("o.npy").dtype == np.dtype("int32")


def test_run_json():
    line = "run argmax --input x.npy --axes 3 --output o.npy --json"
    status, out, err = run(line, *GOLDEN)
    assert (status, err) == (0, [])
    (text,) = out
    told = json.loads(text)
    assert told.pop("seconds") >= 0
    assert told.pop("predicted_cycles") > 0
    assert told == {
        "command": "run",
        "operator": "argmax",
        "data_type": "int8",
        "sizes": [2, 3, 8, 9],
        "output_sizes": [2, 3, 8, 1],
        "backend": "model",
        "lanes": None,
        "agreement": True,
        "mismatch": None,
        "reproduce": None,
        "cycles": None,
        "beats_in": 432,
        "beats_out": 48,
        "jobs": 1,
        "utilization": None,
        "empty_windows": 0,
        "notes": [],
        "written": ["o.npy"],
        "bus": None,
        "counters": None,
    }


@pytest.mark.slow
def test_run_on_the_block():
    """The block's own counters are told; the result is that of the core."""
    line = "run argmax --input x.npy --axes 3 --output o.npy --bus axi"
    status, out, err = run(line)
    assert (status, err) == (0, [])
    assert any(", bus: axi; " in text for text in out)
    status, out, err = run(line, "--json")
    assert (status, err) == (0, [])
    told = json.loads(out[0])
    assert (told["bus"], told["agreement"]) == ("axi", True)
    counters = told["counters"]
    assert (counters["beats_in"], counters["beats_out"], counters["jobs"]) == (432, 48, 1)
    assert counters["cycles"] == told["cycles"]


def test_empty_windows_are_counted(recwarn):
    line = "run max-pool --input x.npy --window 1 --start-padding 1,0"
    status, out, err = run(line, *GOLDEN)
    assert (status, err, len(recwarn)) == (0, [], 0)
    assert "  empty       54 windows lie wholly in padding" in out
    assert json.loads(run(line, *GOLDEN, "--json")[1][0])["empty_windows"] == 54


def test_cycles_and_utilization_are_shown(monkeypatch):
    """The golden model counts no cycles, so the report is made to look like a simulation's."""
    carry_out = accelerator.Accelerator._run

    def simulated(self, *arguments):
        result, report = carry_out(self, *arguments)
        return result, replace(report, cycles=500, predicted_cycles=480, notes=("in tiles",))

    monkeypatch.setattr(accelerator.Accelerator, "_run", simulated)
    out = run("run argmax --input x.npy --axes 3", *GOLDEN)[1]
    assert "  cycles      500, predicted 480, in 1 job" in out
    assert "  beats       432 in, 48 out" in out
    assert "  utilization 86.4%" in out
    assert "  note        in tiles" in out


def test_no_check(monkeypatch):
    spoil(monkeypatch, lambda result: result ^ 1)
    line = "run argmax --input x.npy --no-check --output o.npy"
    status, out, _ = run(line, *GOLDEN)
    assert status == 0
    assert "  agreement   not checked" in out
    assert np.load("o.npy").size == 1
    assert json.loads(run(line, "--json", *GOLDEN)[1][0])["agreement"] is None


# Mismatches


def test_mismatch(monkeypatch, x):
    np.save("my x.npy", x)

    def change(result):
        result[1, 2, 3, 0] ^= 1
        result[1, 2, 4, 0] ^= 1
        return result

    spoil(monkeypatch, change)
    line = "run argmax --axes -1 --input 'my x.npy' --output o.npy --backend model"
    right = int(model.argmax(x, -1)[1, 2, 3, 0])
    status, out, err = run(line)
    assert (status, err) == (1, [])
    assert (
        f"  MISMATCH    2 of 48 positions differ; first at (1, 2, 3, 0): expected {right}, "
        f"got {right ^ 1}"
    ) in out
    assert out[-1] == f"reproduce: extremum {line}"
    assert not Path("o.npy").exists()
    status, out, _ = run(line, "--json")
    told = json.loads(out[0])
    assert status == 1
    assert (told["agreement"], told["written"]) == (False, [])
    assert told["reproduce"] == f"extremum {line} --json"
    assert told["mismatch"] == {
        "output": "positions",
        "coordinate": [1, 2, 3, 0],
        "expected": right,
        "expected_bits": f"0x{right:08x}",
        "got": right ^ 1,
        "got_bits": f"0x{right ^ 1:08x}",
        "differing": 2,
        "elements": 48,
    }


def test_mismatch_of_floats_that_are_not_of_numpy():
    """For NumPy they are raw bytes, and as numbers they may look alike."""
    kinds = pytest.importorskip("ml_dtypes")
    expected, got = np.array([0.0, -0.0], kinds.bfloat16)
    told = printing.difference_text(Difference("values", (3,), expected, got, 1, 4))
    assert told.endswith("first at (3,): expected 0 (0x0000), got -0 (0x8000)")


def test_mismatch_of_pooled_indices(monkeypatch):
    def change(result):
        result[1][0, 0, 0, 0] += 1
        return result

    spoil(monkeypatch, change)
    status, out, _ = run("run max-pool --input x.npy --window 2 --indices i.npy", *GOLDEN)
    assert status == 1
    assert any("1 of 336 indices differ; first at (0, 0, 0, 0)" in line for line in out)


@pytest.mark.parametrize(
    ("element", "flipped", "shown"),
    [
        (np.float32(np.nan), 1, ["nan", "0x7fc00000", "nan", "0x7fc00001"]),
        (np.float16(0), 1 << 15, [0.0, "0x0000", -0.0, "0x8000"]),
        (np.float32(np.inf), 1 << 31, ["inf", "0x7f800000", "-inf", "0xff800000"]),
        (np.int64(-1), 1, [-1, "0x" + "f" * 16, -2, "0x" + "f" * 15 + "e"]),
        (np.uint64(2**64 - 1), 1, [2**64 - 1, "0x" + "f" * 16, 2**64 - 2, "0x" + "f" * 15 + "e"]),
    ],
)
def test_mismatch_of_one_bit(monkeypatch, element, flipped, shown):
    np.save("one.npy", element.reshape(1))
    unsigned = f"u{element.dtype.itemsize}"

    def change(result):
        result.view(unsigned)[0] ^= np.array(flipped, unsigned)
        return result

    spoil(monkeypatch, change)
    status, out, _ = run("run reduce-max --input one.npy --json", *GOLDEN)
    assert status == 1
    told = json.loads(out[0])["mismatch"]
    assert [told[key] for key in ("expected", "expected_bits", "got", "got_bits")] == shown
    if element.dtype.kind == "f":
        text = run("run reduce-max --input one.npy", *GOLDEN)[1]
        assert any(f"({shown[1]}), got" in line for line in text)


def test_equal_bits_agree_though_nan_differs_from_itself():
    x = np.array([np.nan, -0.0], np.float32)
    assert first_difference("values", x, x.copy()) is None


# Plans


def test_without_a_terminal_the_stages_of_a_compilation_are_told(capsys):
    with progress_bar.progress() as tell:
        tell(Progress("planning"))
        tell(Progress("compiling", stage="in a stage"))
        tell(Progress("simulating", 100, 9_000))
    told = capsys.readouterr().err
    assert told == "extremum: compiling the core, which is then kept: in a stage\n"


def test_progress_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    with progress_bar.progress() as tell:
        tell(Progress("planning"))
        tell(Progress("compiling", stage="in a stage"))
        for clocks in range(0, 4_000, 500):
            tell(Progress("simulating", clocks, 9_000, 1_234, 7_000, 1, 3))
    shown = terminal.getvalue()
    for words in ("in a stage", "simulating", "1,234 of 7,000 beats", "1 of 3 jobs", "M cycles/s"):
        assert words in shown
