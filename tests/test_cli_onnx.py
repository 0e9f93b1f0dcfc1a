"""``extremum onnx``: its table, its JSON, its files, and what it refuses."""

import json
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from amounts import mostly_slow
from command_line import GOLDEN, run, spoil
from onnx import helper
from onnx_models import model_of, runtime

from extremum.host.cli import onnx_command
from extremum.host.fpga.presets import MEASURED_MHZ

X = np.random.default_rng(5).integers(-9, 9, (1, 4, 8, 8)).astype(np.float32)


@pytest.fixture
def network(tmp_path):
    """A file with a network of an open size, beside a file with an array for it."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["a"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("ReduceMax", ["flag"], ["b"], "left", keepdims=0),
        helper.make_node("ArgMax", ["a"], ["out/put"], "best", axis=1),
    ]
    inputs = {"x": ("float32", ("N", 4, 8, 8)), "flag": ("bool", (2,))}
    model = model_of(nodes, inputs, ["out/put", "b"], opset=20)
    onnx.save(model, tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "flag.npy", np.array([True, False]))
    return tmp_path


def line(folder, *more):
    """Return the command line that runs the network on its arrays."""
    given = [f"--input=x={folder}/x.npy", f"--input=flag={folder}/flag.npy"]
    return ["onnx", f"{folder}/net.onnx", *GOLDEN, *given, *more]


def test_the_table(network):
    status, out, err = run("", *line(network, "--output", str(network / "out")))
    assert (status, err) == (0, [])
    assert [row.split()[:2] for row in out[:5]] == [
        ["node", "operator"], ["pool", "MaxPool"], ["left", "ReduceMax"], ["best", "ArgMax"],
        ["all", "2"],
    ]  # fmt: skip
    assert "onnxruntime: elements of type bool are not taken" in out[2]
    assert "clocks are predicted; times are at 100 MHz" in out
    assert f"written: {network}/out/out_put.npy" in out
    model = onnx.load(network / "net.onnx")
    expected = runtime(model, {"x": X, "flag": np.array([True, False])})
    assert (np.load(network / "out/out_put.npy") == expected[0]).all()
    assert np.load(network / "out/b.npy") == expected[1]


@pytest.mark.parametrize("columns", ["60", "24"])
def test_a_narrow_terminal_loses_nothing_of_the_table(network, monkeypatch, columns):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    status, wide, _ = run("", *line(network))
    monkeypatch.setenv("COLUMNS", columns)
    narrow_status, narrow, _ = run("", *line(network))
    assert (status, narrow_status) == (0, 0)
    letters = [Counter(re.findall(r"\w", "".join(rows))) for rows in (wide, narrow)]
    assert letters[0] - letters[1] == Counter()


def test_json(network):
    status, (text,), err = run("", *line(network, "--json", "--clock", "50", "--lanes", "2"))
    told = json.loads(text)
    assert (status, err, told["agreement"], told["taken"]) == (0, [], True, 2)
    pool, left, best = told["nodes"]
    assert (pool["beats_in"], pool["beats_out"], pool["where"]) == (128, 32, "model")
    assert (left["where"], left["jobs"]) == ("onnxruntime", None)
    assert told["clocks"] == pool["predicted_cycles"] + best["predicted_cycles"]
    assert told["milliseconds"] == told["clocks"] / 50e3
    assert told["core"]["data_types"] == ["float32"]
    assert [y["name"] for y in told["outputs"]] == ["out/put", "b"]


def test_the_seconds_are_those_of_the_run(network, monkeypatch):
    clock = iter([1000.5, 1004.0])
    monkeypatch.setattr(onnx_command, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    _, (text,), _ = run("", *line(network, "--json"))
    assert json.loads(text)["seconds"] == 3.5


def test_plan_and_random(network):
    status, out, err = run("", "onnx", f"{network}/net.onnx", "--plan", "--sizes", "x=3,4,8,8")
    assert (status, err) == (0, [])
    assert "3x4x8x8" in out[1]
    line = ["onnx", f"{network}/net.onnx", "--plan", "--sizes=x=3,4,8,8"]
    status, out, err = run("", *line, "--clock", "programmable-float32")
    assert f"times are at {MEASURED_MHZ['programmable-float32']} MHz" in out[-1]
    status, out, err = run("", "onnx", f"{network}/net.onnx", "--plan")
    assert (status, err) == (0, [])
    assert "unknown: its sizes are not known before a run" in out[1]
    arguments = ["onnx", f"{network}/net.onnx", *GOLDEN, "--random=1", "--sizes=x=2,4,8,8"]
    status, out, err = run("", *arguments)
    assert (status, err) == (0, [])


@pytest.mark.parametrize("setting", mostly_slow(["fast", "small"], ["small"]))
def test_native(network, setting):
    command, path, *_, x, flag = line(network)
    status, (text,), err = run("", command, path, x, flag, "--json", "--pipelining", setting)
    told = json.loads(text)
    assert (status, err, told["agreement"]) == (0, [], True)
    for node in told["nodes"]:
        assert node["cycles"] == node["predicted_cycles"]
    assert told["nodes"][0]["where"] == "native"


def test_a_mismatch(network, monkeypatch):
    spoil(monkeypatch, lambda y: y + 1)
    status, out, _ = run("", *line(network, "--output", str(network / "out")))
    assert status == 1
    told = [row for row in out if row.startswith("mismatch: ")]
    assert told[0].startswith("mismatch: pool: 64 of 64 a differ; first at (0, 0, 0, 0): expected ")
    assert not (network / "out").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--strict"], "ReduceMax left is not taken: elements of type bool are not taken"),
        (["--input", "x=x.npy"], "--input gives x twice"),
        (["--input", "y=x.npy"], "the network has no input y: it has x, flag"),
        (["--input", ""], "--input is written NAME=VALUE, not ''"),
        (["--input", "x.npy"], "--input is written NAME=VALUE, not 'x.npy'"),
        (["--sizes", "x=a"], "--sizes x: 'a' is not whole numbers"),
        (["--sizes", "x=3,4,8,8"], "--sizes gives x, and so does --input"),
        (["--sizes", "x=0"], "the sizes of x must be at least 1, not 0"),
        (["--sizes", "z=1"], "the network has no input z: it has x, flag"),
        (["--bus", "axi"], "--bus does not apply to --backend model"),
        (["--max-window", "0,2"], "max_window must be"),
        (["--max-dilation", "1,1,2,2"], "it has one, two or three numbers, not 4"),
        (["--scheduler", "nowhere"], "--scheduler 'nowhere' is no address: missing port number"),
        (["--output", "{folder}/x.npy"], "--output must be a folder, not"),
    ],
)
def test_what_is_refused(network, more, message):
    more = [text.replace("{folder}", str(network)) for text in more]
    status, out, err = run("", *line(network, *more))
    assert (status, out, len(err)) == (2, [], 1)
    assert message in err[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{folder}/none.onnx", "--plan"], "cannot read {folder}/none.onnx: No such file"),
        (["{folder}", "--plan"], "cannot read {folder}: Is a directory"),
        (["{folder}/x.npy", "--plan"], "{folder}/x.npy: it is no ONNX model"),
        (["{folder}/net.onnx"], "the input x needs --input x=FILE or --random"),
        (["{folder}/net.onnx", "--random", "1"], "leaves sizes of x open: give --sizes x=..."),
        (["{folder}/net.onnx", "--random", "-1"], "-1 is not in the range x>=0"),
        (
            ["{folder}/net.onnx", "--clock", "0", "--plan"],
            "'0' is neither a number of MHz from 1e-06 to 1e+06 nor",
        ),
        (["{folder}/net.onnx", "--clock", "nan", "--plan"], "'nan' is neither a number of MHz"),
        (["{folder}/net.onnx", "--clock", "fast", "--plan"], "'fast' is neither a number of MHz"),
        (["{folder}/net.onnx", "--plan", "--strict"], "MaxPool pool is not taken: its sizes"),
    ],
)
def test_what_is_refused_of_a_file(network, arguments, message):
    arguments = [text.replace("{folder}", str(network)) for text in arguments]
    status, out, err = run("", "onnx", *arguments)
    assert (status, out, len(err)) == (2, [], 1)
    assert message.replace("{folder}", str(network)) in err[0]


def test_a_wrong_name_of_the_only_input_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    node = helper.make_node("ReduceMax", ["x"], ["y"], keepdims=0)
    onnx.save(model_of([node], {"x": ("float32", (3,))}, ["y"], opset=18), "net.onnx")
    for file in ("x.npy", "z=x.npy"):
        np.save(file, np.arange(3, dtype=np.float32))
        assert run("", "onnx", "net.onnx", *GOLDEN, "--input", file)[0] == 0
    status, out, err = run("", "onnx", "net.onnx", *GOLDEN, "--input", "")
    assert (status, out) == (2, [])
    assert "'' names no file" in err[-1]
    status, out, err = run("", "onnx", "net.onnx", *GOLDEN, "--input", "image=x.npy")
    assert (status, out) == (2, [])
    assert err == ["extremum: the network has no input image: it has x (see extremum onnx --help)"]
