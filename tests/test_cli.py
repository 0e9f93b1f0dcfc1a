"""`extremum run` and `plan`: results, refusals, mismatches and exit statuses.

The backend is the golden model wherever hardware adds nothing: these tests are about the command.
"""

import io
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from extremum import model
from extremum.hdl.config import CoreConfig
from extremum.host import accelerator, cli, cli_output, main
from extremum.host.cli_check import first_difference
from extremum.host.errors import SimulationError
from extremum.host.plan import plan
from extremum.host.tools import TOOLS

GOLDEN = ["--backend", "model"]


@pytest.fixture(autouse=True)
def x(tmp_path, monkeypatch):
    """Work in a folder that holds x.npy, small integers with many ties."""
    monkeypatch.chdir(tmp_path)
    array = np.random.default_rng(5).integers(-3, 4, (2, 3, 8, 9), np.int8)
    np.save("x.npy", array)
    return array


@pytest.fixture
def run(capsys):
    """Run a command line: status, lines on stdout, lines on stderr."""

    def call(line, *more):
        status = cli.main([*shlex.split(line), *more])
        out, err = capsys.readouterr()
        return status, out.splitlines(), err.splitlines()

    return call


@pytest.fixture
def no_run(monkeypatch):
    """Fail if a command line gets as far as an accelerator or a plan."""

    def fail(*_, **__):
        pytest.fail("refused too late")

    monkeypatch.setattr(accelerator, "Accelerator", fail)
    monkeypatch.setattr("extremum.host.plan.plan", fail)


def spoil(monkeypatch, change):
    """Let the accelerator give results that `change` has been applied to."""
    right = accelerator.Accelerator.run

    def wrong(self, problem, x):
        return change(right(self, problem, x))

    monkeypatch.setattr(accelerator.Accelerator, "run", wrong)


def fail_with(monkeypatch, error):
    def change(_):
        raise error

    spoil(monkeypatch, change)


# Results


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("argmin --axes 1,2", lambda x: model.argmin(x, (1, 2))),
        ("argmin --axes -1", lambda x: model.argmin(x, -1)),
        ("argmin --axes -1,-2", lambda x: model.argmin(x, (2, 3))),
        ("argmax", lambda x: model.argmax(x)),
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
def test_output_file_is_the_golden_models(run, x, line, expected):
    status, out, err = run(f"run {line} --input x.npy --output result", *GOLDEN)
    assert (status, err) == (0, [])
    wanted = expected(x)
    got = np.load("result")  # the name as given, without a suffix of NumPy's
    assert got.dtype == wanted.dtype
    assert np.array_equal(got, wanted)
    assert out[0].startswith(f"{line.split(' ', maxsplit=1)[0]} of int8 (2, 3, 8, 9), ")
    assert "  agreement   bit for bit with the golden model" in out
    assert out[-1] == "  written     result"


def test_pooling_writes_values_and_positions(run, x):
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


def test_other_byte_order(run, x):
    np.save("big.npy", x.astype(">i4"))
    status, out, _ = run("run reduce-max --input big.npy --output o.npy", *GOLDEN)
    assert status == 0
    assert out[0].startswith("reduce-max of int32 ")
    assert np.load("o.npy").dtype == np.dtype("int32")


def test_run_json(run):
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
    }


def test_empty_windows_are_counted(run, recwarn):
    line = "run max-pool --input x.npy --window 1 --start-padding 1,0"
    status, out, err = run(line, *GOLDEN)
    assert (status, err, len(recwarn)) == (0, [], 0)
    assert "  empty       54 windows lie wholly in padding" in out
    assert json.loads(run(line, *GOLDEN, "--json")[1][0])["empty_windows"] == 54


def test_cycles_and_utilization_are_shown(run, monkeypatch):
    """As a simulation reports them."""
    finish = accelerator.Accelerator._finish

    def simulated(self, *arguments):
        finish(self, *arguments)
        self.report = replace(self.report, cycles=500, predicted_cycles=480, notes=("in tiles",))

    monkeypatch.setattr(accelerator.Accelerator, "_finish", simulated)
    out = run("run argmax --input x.npy --axes 3", *GOLDEN)[1]
    assert "  cycles      500, predicted 480, in 1 job" in out
    assert "  beats       432 in, 48 out" in out
    assert "  utilization 86.4%" in out
    assert "  note        in tiles" in out


def test_no_check(run, monkeypatch):
    spoil(monkeypatch, lambda result: result ^ 1)
    line = "run argmax --input x.npy --no-check --output o.npy"
    status, out, _ = run(line, *GOLDEN)
    assert status == 0
    assert "  agreement   not checked" in out
    assert np.load("o.npy").size == 1
    assert json.loads(run(line, "--json", *GOLDEN)[1][0])["agreement"] is None


# Mismatches


def test_mismatch(run, monkeypatch, x):
    (x_with_space := "my x.npy")
    np.save(x_with_space, x)

    def change(result):
        result[1, 2, 3, 0] ^= 1
        result[1, 2, 4, 0] ^= 1
        return result

    spoil(monkeypatch, change)
    line = f"run argmax --axes -1 --input '{x_with_space}' --output o.npy --backend model"
    right = int(model.argmax(x, -1)[1, 2, 3, 0])
    status, out, err = run(line)
    assert (status, err) == (1, [])
    assert (
        f"  MISMATCH    2 of 48 positions differ; first at (1, 2, 3, 0): expected {right}, "
        f"got {right ^ 1}"
    ) in out
    assert out[-1] == f"reproduce: extremum {line}"
    with pytest.raises(FileNotFoundError):
        np.load("o.npy")
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


def test_mismatch_of_pooled_indices(run, monkeypatch):
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
def test_mismatch_of_one_bit(run, monkeypatch, element, flipped, shown):
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


# Refusals, all before anything runs

COMMON = "--input x.npy"
REFUSED = [
    ("", "Missing command"),
    ("sing", "No such command 'sing'"),
    ("run", "Missing argument 'OPERATOR'"),
    ("run median", "'median' is not one of 'argmin', 'argmax', 'reduce-min'"),
    ("run argmax", "run needs --input"),
    ("run argmax --input", "requires an argument"),
    (f"run argmax {COMMON} --colour red", "No such option"),
    (f"run argmax {COMMON} --axes 1,,2", "'1,,2' is not whole numbers separated by commas"),
    (f"run argmax {COMMON} --axes 1.5", "'1.5' is not whole numbers separated by commas"),
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
    (f"run argmax {COMMON} --max-window 3", "max_window must be (depth, height, width), not 3"),
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
        "--lanes 1", "--waves w.vcd", "--input-stalls 0", "--output-stalls 0", "--seed 0",
        "--max-window 3,7,7", "--max-dilation 1,1,1", "--max-line 9", "--max-plane 9",
        "--coordinate-width 9",
    )
]  # fmt: skip
REFUSED += [
    (f"run argmax {COMMON} {option}", message)
    for option, message in (
        ("--output nowhere/o.npy", "--output cannot be written: nowhere/o.npy"),
        ("--output .", "--output cannot be written: ."),
        ("--output ./x.npy", "--output is the file of --input: x.npy"),
        ("--waves nowhere/w.vcd", "--waves cannot be written: nowhere/w.vcd"),
        ("--waves w.fst", "--waves must name a .vcd file, not w.fst"),
        ("--waves x.npy/w.vcd", "--waves cannot be written: x.npy/w.vcd"),
        ("--output w.vcd --waves w.vcd", "--waves is the file of --output: w.vcd"),
    )
]


@pytest.mark.parametrize(("line", "message"), REFUSED, ids=[line for line, _ in REFUSED])
def test_refused_in_one_line(run, no_run, line, message):
    status, out, err = run(line)
    assert (status, out, len(err)) == (2, [], 1)
    assert err[0].startswith("extremum: ")
    assert message.replace(" --window 2", "") in err[0]


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (None, "cannot read bad.npy: No such file or directory"),
        (b"", "bad.npy is not a .npy file"),
        (b"PK\x03\x04 an archive", "bad.npy is not a .npy file"),
        (b"\x93NUMPY\x01\x00\x05\x00oops\n", "bad.npy holds no readable array"),
        (b"\x93NUMPY\x09\x00", "bad.npy holds no readable array"),
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
def test_bad_file(run, tmp_path, no_run, write, message):
    if isinstance(write, bytes):
        (tmp_path / "bad.npy").write_bytes(write)
    elif write is not None:
        np.save("bad.npy", write)
    for command in ("run", "plan"):
        status, out, err = run(f"{command} argmax --input bad.npy")
        assert (status, out, len(err)) == (2, [], 1)
        assert message in err[0]


def test_cut_off_file(run, tmp_path):
    stream = io.BytesIO()
    np.save(stream, np.zeros(100, np.int32))
    (tmp_path / "bad.npy").write_bytes(stream.getvalue()[:-40])
    status, _, err = run("run argmax --input bad.npy", *GOLDEN)
    assert (status, len(err)) == (2, 1)
    assert "bad.npy holds no readable array" in err[0]


def test_pooling_needs_rank_4_or_5(run):
    np.save("flat.npy", np.zeros((3, 3), np.int8))
    status, _, err = run("run max-pool --input flat.npy --window 2", *GOLDEN)
    assert status == 2
    assert "rank for pooling must be 4 or 5, not 2" in err[0]


def test_file_that_turns_unwritable(run, tmp_path, monkeypatch):
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
def test_failures(run, monkeypatch, error, status, message):
    fail_with(monkeypatch, error)
    got, out, err = run("run argmax --input x.npy", *GOLDEN)
    assert (got, out) == (status, [])
    assert [line for line in err if line] == [message]


@pytest.mark.parametrize("change", [lambda r: r[0], lambda r: r.astype(np.int64)])
def test_result_of_a_wrong_kind_is_a_failed_simulation(run, monkeypatch, change):
    spoil(monkeypatch, change)
    status, _, err = run("run argmax --input x.npy --axes 3", *GOLDEN)
    assert status == 5
    assert "the positions should be uint32 (2, 3, 8, 1), but are" in err[0]


@pytest.mark.parametrize("backend", ["verilator", "icarus"])
def test_missing_simulator(run, monkeypatch, no_run, backend):
    absent = replace(TOOLS[backend], search=lambda: None)
    monkeypatch.setitem(TOOLS, backend, absent)
    status, out, err = run(f"run argmax --input x.npy --backend {backend}")
    assert (status, out, len(err)) == (4, [], 1)
    assert err[0].startswith(f"extremum: {backend} is missing: needs ")
    assert err[0].endswith(f"; install: {absent.install}")


def test_plan_without_the_gateware_package(run, monkeypatch, no_run):
    monkeypatch.setitem(TOOLS, "amaranth", replace(TOOLS["amaranth"], search=lambda: "0.4.5"))
    status, _, err = run("plan argmax --input x.npy")
    assert status == 4
    assert err[0].startswith("extremum: amaranth 0.4.5 is too old: needs 0.5 or newer")


@pytest.mark.parametrize("arguments", [[], ["run", "argmax"], ["doctor"], ["demo"]])
def test_golden_model_alone(monkeypatch, capsys, arguments):
    for name in ("click", "rich"):
        monkeypatch.setitem(TOOLS, name, replace(TOOLS[name], search=lambda: None))
    monkeypatch.setattr(sys, "argv", ["extremum", *arguments])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 4
    out, err = capsys.readouterr()
    assert not out
    (line,) = err.splitlines()
    assert line.startswith("extremum: the command line needs the extra sim")
    assert "pip install 'extremum[sim]'" in line


def test_entry_point_imports_the_standard_library_alone():
    code = (
        "import sys\n"
        "for name in ('numpy', 'click', 'rich', 'amaranth', 'cocotb'): sys.modules[name] = None\n"
        "import extremum.host.main\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_entry_point_gives_its_status(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["extremum", "run", "argmax", "--input", "none.npy"])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 2
    assert capsys.readouterr().err == "extremum: cannot read none.npy: No such file or directory\n"


def test_version_and_help(run):
    status, out, _ = run("--version")
    assert status == 0
    assert re.fullmatch(r"extremum \d+\.\d+\.\d+", out[0])
    for line in ("--help", "run -h", "plan --help", "demo --help", "doctor --help"):
        status, out, err = run(line)
        assert (status, err) == (0, [])
        assert out[0].startswith("Usage: extremum ")


# Plans


def test_plan_of_sizes(run):
    line = "plan max-pool --sizes 1,4,20,20 --type float16 --window 3 --strides 2 --lanes 4"
    problem = model.Pooling.of((1, 4, 20, 20), "float16", 3, strides=2)
    expected = plan(problem, CoreConfig((model.DataType.FLOAT16,), 4))
    status, out, err = run(line)
    assert (status, err) == (0, [])
    assert out[0] == "max-pool of float16 (1, 4, 20, 20), window (3, 3), strides (2, 2)"
    assert re.search(rf"^ +1 +sliding .* {expected.cycles}$", out[2].rstrip())
    status, out, _ = run(line, "--json")
    told = json.loads(out[0])
    assert status == 0
    assert told == {
        "command": "plan",
        "operator": "max-pool",
        "data_type": "float16",
        "sizes": [1, 4, 20, 20],
        "output_sizes": [1, 4, 9, 9],
        "backend": "verilator",
        "lanes": 4,
        "cycles": expected.cycles,
        "beats_in": expected.beats_in,
        "beats_out": expected.beats_out,
        "utilization": expected.beats_in / expected.cycles,
        "empty_windows": 0,
        "notes": [],
        "jobs": [
            {
                "kind": "sliding",
                "summary": expected.jobs[0].summary,
                "beats_in": expected.beats_in,
                "beats_out": expected.beats_out,
                "cycles": expected.cycles,
            }
        ],
    }


def test_plan_takes_the_options_of_run(run, no_files=("o.npy", "i.npy", "w.vcd")):
    status, out, _ = run(
        "plan max-pool --input x.npy --window 2 --output o.npy --indices i.npy --waves w.vcd "
        "--input-stalls 30 --seed 4 --no-check --backend icarus --json"
    )
    assert status == 0
    told = json.loads(out[0])
    assert (told["data_type"], told["backend"]) == ("int8", "icarus")
    assert told["notes"] == ["the prediction is for streams without stalls"]
    for name in no_files:
        with pytest.raises(FileNotFoundError):
            open(name)


def test_plan_beyond_the_core_says_so(run):
    line = "plan max-pool --sizes 1,1,40,40 --type int8 --window 9"
    told = json.loads(run(line, "--json")[1][0])
    assert {job["kind"] for job in told["jobs"]} == {"gathered"}
    assert told["notes"]
    assert f"note: {told['notes'][0]}" in run(line)[1]
    told = json.loads(run(line, "--json", "--max-window", "1,9,9")[1][0])
    assert {job["kind"] for job in told["jobs"]} == {"sliding"}


def test_plan_shows_some_of_many_jobs(run):
    line = "plan max-pool --sizes 1,1,40,400 --type int8 --window 3 --max-line 8"
    told = json.loads(run(line, "--json")[1][0])
    jobs, shown = len(told["jobs"]), cli_output.SHOWN_JOBS
    assert jobs > shown
    out = run(line)[1]
    assert any(f"{jobs - shown} more, which --json lists" in row for row in out)


def test_plan_of_nothing_but_padding(run):
    line = "plan max-pool --sizes 1,1,1,1 --type int8 --window 1 --start-padding 5 --strides 9"
    told = json.loads(run(line, "--json")[1][0])
    assert told["empty_windows"] == 1
    assert (told["jobs"] == []) == (told["utilization"] is None)
    assert "empty: 1 windows lie wholly in padding" in run(line)[1]


# Progress


def test_progress_is_for_terminals(monkeypatch):
    with cli_output.progress() as update:
        assert update is None

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with cli_output.progress() as update:
        assert update is not None
        update(5, 10)
    assert "preparing" in terminal.getvalue() or "simulating" in terminal.getvalue()
