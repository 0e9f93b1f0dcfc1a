"""``extremum onnx``: what it reads and writes, and what it says of what was not compared."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import onnx
import pytest
from command_line import GOLDEN, run
from onnx import TensorProto, helper
from onnx_models import model_of, node, one_node

from extremum.host.cli import onnx_inputs
from extremum.host.cli.onnx_files import LONGEST_NAME, output_paths
from extremum.host.tools import TOOLS

X: np.ndarray = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)


@pytest.fixture
def folder(tmp_path):
    """A folder with a pooling, its input x, and a weight in a file of its own."""
    model = model_of(
        [node("Add", "x w", "a"), node("MaxPool", "a", "y", name="pool→", kernel_shape=[2, 2])],
        {"x": ("float32", X.shape)}, ["y"], constants={"w": X},
    )  # fmt: skip
    onnx.save_model(
        model, tmp_path / "y.npy", save_as_external_data=True, size_threshold=0, location="w.bin"
    )
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "wide.npy", X.astype(np.float64))
    return tmp_path


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--report", "{folder}/y.npy"], "--report would overwrite the model: {folder}/y.npy"),
        (["--report", "{folder}/x.npy"], "--report would overwrite the input x: {folder}/x.npy"),
        (["--report", "{folder}/w.bin"], "--report would overwrite weights of the model"),
        (["--output", "{folder}"], "--output would overwrite the model: {folder}/y.npy"),
        (
            ["--output", "{folder}/out", "--report", "{folder}/out/y.npy"],
            "--output would overwrite the page of --report",
        ),
        (
            ["--output", "{folder}/new.html", "--report", "{folder}/new.html"],
            "--report would take the place of a folder of --output: {folder}/new.html",
        ),
        (
            ["--output", "{folder}/new.html/y", "--report", "{folder}/new.html"],
            "--report would take the place of a folder of --output: {folder}/new.html",
        ),
        (
            ["--report", "{folder}/out/page.npy"],
            "--report must name a .html file, not {folder}/out/",
        ),
        (["--clock", "1e-320"], "is neither a number of MHz from 1e-06 to 1e+06 nor a preset"),
    ],
)
def test_what_is_read_is_not_overwritten(folder, more, message):
    (folder / "out").mkdir()
    more = [text.replace("{folder}", str(folder)) for text in more]
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    status, out, err = run("", "onnx", f"{folder}/y.npy", *GOLDEN, f"--input={folder}/x.npy", *more)
    assert (status, out, len(err)) == (2, [], 1)
    assert message.replace("{folder}", str(folder)) in err[0]
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_what_a_page_needs_is_missed_before_the_network_runs(folder, monkeypatch, package):
    absent = replace(TOOLS[package], search=lambda: None)
    monkeypatch.setitem(TOOLS, package, absent)
    line = ["onnx", f"{folder}/y.npy", *GOLDEN, f"--input={folder}/x.npy"]
    status, out, err = run("", *line, f"--report={folder}/page.html")
    assert (status, out, len(err)) == (4, [], 1)
    assert err[0].startswith(f"extremum: {package} is missing: needs ")
    assert not (folder / "page.html").exists()
    assert run("", *line)[0] == 0  # nothing else needs it


def test_an_input_of_another_type(folder):
    line = ["onnx", f"{folder}/y.npy", *GOLDEN, f"--input=x={folder}/wide.npy"]
    status, out, err = run("", *line)
    assert (status, out) == (2, [])
    assert "x must be float32 of the sizes (1, 1, 4, 4), not float64 of the sizes" in err[0]


def test_names_with_an_equals_sign(tmp_path):
    value = helper.make_node("MaxPool", ["a=b"], ["y"], kernel_shape=[2, 2])
    onnx.save(model_of([value], {"a=b": ("float32", X.shape)}, ["y"]), tmp_path / "net.onnx")
    (tmp_path / "c=d").mkdir()
    np.save(tmp_path / "c=d/x.npy", X)
    line = ["onnx", f"{tmp_path}/net.onnx", *GOLDEN]
    for given in (f"a=b={tmp_path}/c=d/x.npy", f"{tmp_path}/c=d/x.npy"):
        assert run("", *line, "--input", given)[0] == 0
    assert run("", *line, "--random=1", "--sizes", "a=b=1,1,4,4")[0] == 0


def save(path, nodes, outputs, **options):
    onnx.save(model_of(nodes, {"x": ("float32", X.shape)}, outputs, **options), path)


def test_text_is_written_as_numpy_reads_it(tmp_path):
    y = helper.make_tensor_value_info("y", TensorProto.STRING, [1])
    nodes = [
        node("GlobalMaxPool", "x", "m"),
        node("Flatten", "m", "f", axis=0),
        helper.make_node("Constant", [], ["one"], value_ints=[1]),
        node("Reshape", "f one", "g"),
        node("Cast", "g", "y", to=TensorProto.STRING),
    ]
    save(tmp_path / "net.onnx", nodes, [y])
    np.save(tmp_path / "x.npy", X)
    line = ["onnx", f"{tmp_path}/net.onnx", *GOLDEN, f"--input={tmp_path}/x.npy"]
    status, out, err = run("", *line, "--output", f"{tmp_path}/out")
    assert (status, err) == (0, [])
    assert "output: y: string (1,)" in out
    assert np.load(tmp_path / "out/y.npy").tolist() == ["15"]


@pytest.mark.parametrize("kind", ["bfloat16", "sequence"])
def test_what_a_file_of_numpy_cannot_hold_is_said_before_the_run(tmp_path, kind):
    if kind == "bfloat16":
        last = node("Cast", "m", "y", to=TensorProto.BFLOAT16)
        y = helper.make_tensor_value_info("y", TensorProto.BFLOAT16, [1, 1, 1, 1])
    else:
        last = node("SequenceConstruct", "m", "y")
        y = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
    save(tmp_path / "net.onnx", [node("GlobalMaxPool", "x", "m"), last], [y])
    line = ["onnx", f"{tmp_path}/net.onnx", *GOLDEN, "--random=1"]
    status, _, err = run("", *line, "--output", f"{tmp_path}/out")
    assert status == 2
    assert f"the output y has the type {kind}, which .npy cannot hold" in err[0]
    assert not (tmp_path / "out").exists()
    status, out, err = run("", *line)
    assert (status, err) == (0, [])
    assert out[-1].startswith("output: y: bfloat16" if kind == "bfloat16" else "output: y: list")


def test_what_was_compared(tmp_path):
    told = {
        True: "bit for bit with ONNX Runtime, in each layer and in the outputs",
        None: "not everything was compared; no difference",
    }

    def agreement(*more):
        line = ["onnx", f"{tmp_path}/net.onnx", *GOLDEN, "--random=1", *more]
        status, (text,), err = run("", *line, "--json")
        assert (status, err) == (0, [])
        agreed = json.loads(text)["agreement"]
        expected = "nothing was compared" if "--no-compare" in more else told[agreed]
        assert f"agreement: {expected}" in run("", *line)[1]
        return agreed

    save(tmp_path / "net.onnx", [node("Relu", "x", "y")], ["y"])
    assert agreement() is True
    save(tmp_path / "net.onnx", [node("GlobalMaxPool", "x", "y")], ["y"])
    assert agreement() is True
    assert agreement("--no-compare") is None
    x = np.zeros((2, 3), np.int16)
    onnx.save(one_node("ArgMax", x), tmp_path / "net.onnx")
    assert agreement() is None
    _, out, _ = run("", "onnx", f"{tmp_path}/net.onnx", *GOLDEN, "--random=1")
    assert "note: node: not compared: ONNX Runtime has no such kernel" in out


def test_what_only_the_cut_rounds_is_a_note(tmp_path):
    nodes = [
        node("Exp", "x", "a"),
        node("MaxPool", "a", "b", kernel_shape=[2, 2]),
        node("Sigmoid", "b", "y"),
    ]
    model = model_of(nodes, {"x": ("float16", (1, 2, 30, 30))}, ["y"], opset=13)
    onnx.save(model, tmp_path / "half.onnx")
    line = ["onnx", f"{tmp_path}/half.onnx", *GOLDEN, "--random", "1"]
    status, out, err = run("", *line)
    assert (status, err) == (0, [])
    (note,) = [row for row in out if row.startswith("note: uncut, ONNX Runtime rounds elsewhere")]
    assert "y differ; first at (0, " in note
    (agreement,) = [row for row in out if row.startswith("agreement: bit for bit with ONNX")]
    assert agreement.endswith("in the outputs, if it is cut at the same places")
    told = json.loads(run("", *line, "--json")[1][0])
    assert (told["agreement"], told["difference"]) == (True, None)
    assert told["rounding"]["output"] == "y"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--sizes", "x=99999999999999999999999"], "must be at most 9223372036854775807, not 9999"),
        (["--sizes", "x=3", "--random", "1"], "--random draws no string: give --input x=FILE"),
    ],
)
def test_an_input_of_text(tmp_path, more, message):
    value = helper.make_tensor_value_info("x", TensorProto.STRING, ["N"])
    y = helper.make_tensor_value_info("y", TensorProto.STRING, ["N"])
    graph = helper.make_graph([node("Identity", "x", "y")], "same", [value], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(model, tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", np.array(["a", "long word"]))
    line = ["onnx", f"{tmp_path}/net.onnx", *GOLDEN]
    status, out, err = run("", *line, *more)
    assert (status, out, len(err)) == (2, [], 1)
    assert message in err[0]
    status, out, err = run("", *line, f"--input={tmp_path}/x.npy")
    assert (status, err, out[-1]) == (0, [], "output: y: string (2,)")


def test_names_outside_the_encoding_of_the_terminal(folder):
    report = folder / "page.html"
    plain = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    program = "from extremum.host.cli.main import main; main()"
    line = ["onnx", f"{folder}/y.npy", *GOLDEN, "--random=1", f"--report={report}"]
    ran = subprocess.run(
        [sys.executable, "-c", program, *line],
        env=os.environ | plain | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert r"pool\u2192" in ran.stdout
    assert "pool→" in report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "refused"),
    [(["--plan"], False), (["--random=1"], False), (["--random=1", "--strict"], True)],
)
def test_names_cannot_steer_a_terminal(tmp_path, more, refused):
    """Neither in the table nor in the message that a node is not taken."""
    size = 9 if refused else 2
    pool = helper.make_node(
        "MaxPool", ["x"], ["y\x1b"], name="p\x1b[2J\n", kernel_shape=[size, size]
    )
    save(tmp_path / "net.onnx", [pool], ["y\x1b"])
    status, out, err = run("", "onnx", f"{tmp_path}/net.onnx", *GOLDEN, *more)
    told = "\n".join(out + err)
    assert (status, bool(out)) == ((2, False) if refused else (0, True))
    assert r"p\x1b[2J" in told
    assert "\x1b" not in told


def test_every_output_has_a_file_of_its_own(tmp_path):
    """A name that was changed for the file may be the name of another output."""
    names = ["a/b", "a_b_2", "a:b", "a_b"]
    nodes = [
        helper.make_node("MaxPool", ["x"], [name], kernel_shape=[size, size])
        for size, name in enumerate(names, 1)
    ]
    save(tmp_path / "net.onnx", nodes, names)
    line = ["onnx", f"{tmp_path}/net.onnx", *GOLDEN, "--random=1", "--output", f"{tmp_path}/out"]
    status, out, err = run("", *line)
    assert (status, err) == (0, [])
    assert any(text.startswith("output: a:b: float32") for text in out)
    files = [text.removeprefix("written: ") for text in out if text.startswith("written: ")]
    assert [np.load(file).shape[-1] for file in files] == [4, 3, 2, 1]
    assert len(set(files)) == 4


def test_inputs_larger_than_any_memory(tmp_path):
    sizes = (1, 1, 2**40, 2**40)
    model = model_of([node("GlobalMaxPool", "x", "y")], {"x": ("float32", sizes)}, ["y"])
    onnx.save(model, tmp_path / "net.onnx")
    status, out, err = run("", "onnx", f"{tmp_path}/net.onnx", *GOLDEN, "--random=1")
    assert (status, out, len(err)) == (2, [], 1)
    assert "the input x is too large for this machine: " in err[0]


def external(array, location):
    """Return a tensor whose elements lie in a file."""
    tensor = onnx.numpy_helper.from_array(array, "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", str(array.nbytes))):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return tensor


@pytest.mark.parametrize("place", ["an attribute", "a subgraph"])
@pytest.mark.parametrize("option", ["--report", "--output"])
def test_no_file_of_a_model_is_overwritten(tmp_path, place, option):
    """Tensors of attributes and of subgraphs may lie in files, too."""
    name = "w.bin" if option == "--report" else "y.npy"
    (tmp_path / name).write_bytes(X.tobytes())
    tensor = external(X, name)
    pool = node("MaxPool", "s", "y", kernel_shape=[2, 2])
    if place == "an attribute":
        nodes = [node("Constant", "", "k", value=tensor), node("Add", "x k", "s"), pool]
    else:
        kind = helper.make_tensor_value_info("p", TensorProto.FLOAT, X.shape)
        branch = helper.make_graph([node("Add", "x w", "p")], "b", [], [kind], [tensor])
        other = helper.make_graph([node("Identity", "x", "p")], "b", [], [kind])
        condition = helper.make_tensor("c", TensorProto.BOOL, [], [True])
        nodes = [
            node("Constant", "", "c", value=condition),
            node("If", "c", "s", then_branch=branch, else_branch=other), pool,
        ]  # fmt: skip
    onnx.save_model(model_of(nodes, {"x": ("float32", X.shape)}, ["y"]), tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", X)
    target = tmp_path / name if option == "--report" else tmp_path
    status, out, (told,) = run(
        "",
        "onnx",
        f"{tmp_path}/net.onnx",
        *GOLDEN,
        f"--input={tmp_path}/x.npy",
        option,
        str(target),
    )
    assert (status, out) == (2, [])
    assert f"{option} would overwrite weights of the model" in told
    assert (tmp_path / name).read_bytes() == X.tobytes()


def test_an_initialiser_named_like_a_copy(tmp_path):
    """A weight that only poolings read is fetched under another name."""
    pools = [node("MaxPool", w, y, kernel_shape=[2, 2]) for w, y in (("w", "a"), ("w_copy", "b"))]
    onnx.save_model(
        model_of(pools, {}, ["a", "b"], constants={"w": X, "w_copy": X + 1}), tmp_path / "n.onnx"
    )
    status, _, err = run("", "onnx", f"{tmp_path}/n.onnx", *GOLDEN)
    assert (status, err) == (0, [])


def test_a_place_for_outputs_that_cannot_be_is_told_before_the_run(folder, monkeypatch):
    output = "x.npy/folder"
    monkeypatch.chdir(folder)
    status, out, (told,) = run("", "onnx", "y.npy", *GOLDEN, "--input=x.npy", "--output", output)
    assert (status, out) == (2, [])
    assert f"--output cannot be written: {output}" in told


def test_onnx_runtime_leaves_no_files_about_its_use(folder):
    """And no line on stderr, where it cannot."""
    (folder / "tmp").mkdir()
    ran = subprocess.run(
        [sys.executable, "-m", "extremum.host.cli.main", "onnx", "y.npy", "--plan"],
        env=os.environ | {"HOME": "/proc", "TMPDIR": str(folder / "tmp")},
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert list((folder / "tmp").iterdir()) == []


def one_output(name="y", data_type: str | None = "float32"):
    """Return a network of which the name and the type of the only output are known."""
    network: Any = SimpleNamespace(output_names=[name], output_type=lambda _: data_type)
    return network


def test_a_name_that_fits_a_file_may_be_as_long(tmp_path):
    longest = "a" * (LONGEST_NAME - len(".npy"))
    (path,) = output_paths(str(tmp_path), one_output(longest))
    path.touch()
    with pytest.raises(click.ClickException, match="a name too long for a file"):
        output_paths(str(tmp_path), one_output(f"{longest}a"))


@pytest.mark.parametrize("data_type", [None, "string", "bool", "uint8", "float32", "complex64"])
def test_types_that_a_file_can_hold(tmp_path, data_type):
    assert output_paths(str(tmp_path), one_output(data_type=data_type)) == [tmp_path / "y.npy"]


@pytest.mark.parametrize("data_type", ["bfloat16", "float8e5m2", "int4", "uint4"])
def test_types_that_no_file_can_hold(tmp_path, data_type):
    with pytest.raises(click.ClickException, match=f"has the type {data_type}, which .npy cannot"):
        output_paths(str(tmp_path), one_output(data_type=data_type))


@pytest.mark.parametrize("data_type", ["int8", "uint8", "int16", "uint64", "bool", "float16"])
def test_random_inputs_are_of_the_whole_type(data_type):
    network: Any = SimpleNamespace(input_type=lambda _: ((4000,), data_type))
    x = onnx_inputs._random(network, "x", np.random.default_rng(1))
    assert (x.dtype, x.shape) == (np.dtype(data_type), (4000,))
    if data_type == "bool":
        assert 1800 < x.sum() < 2200
    elif data_type == "float16":
        assert 0.9 < x.astype(float).std() < 1.1
        assert (x != x.round()).sum() > 3000
    else:
        limits = np.iinfo(data_type)
        assert x.min() < limits.min + limits.max / 256
        assert x.max() > limits.max - limits.max / 256
        assert x.itemsize > 1 or {limits.min, limits.max} < set(x.tolist())
