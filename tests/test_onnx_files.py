"""Models and weights in files of every kind: behind links, through pipes, with odd names."""

import os
import re
import threading

import numpy as np
import onnx
import pytest
from command_line import run as run_line
from onnx import helper, numpy_helper
from onnx_models import model_of

from extremum.onnx import NetworkError, load, run

X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4) - 8
AXES = np.array([3])


@pytest.fixture
def folder(tmp_path):
    """A folder with a model, and a file with its weights and the axes of its maximum."""
    nodes = [
        helper.make_node("Constant", [], ["axes"], value=numpy_helper.from_array(AXES, "axes")),
        helper.make_node("Add", ["x", "weight"], ["sum"]),
        helper.make_node("MaxPool", ["sum"], ["y"], kernel_shape=[2, 2]),
        helper.make_node("ReduceMax", ["sum", "axes"], ["z"], keepdims=0),
    ]
    inputs, constants = {"x": ("float32", X.shape)}, {"weight": X}
    model = model_of(nodes, inputs, ["y", "z"], constants=constants, opset=18)
    onnx.save_model(
        model, tmp_path / "model.onnx", save_as_external_data=True, size_threshold=0,
        location="weights", convert_attribute=True,
    )  # fmt: skip
    return tmp_path


def check(path):
    """Run a model on the gateware; all of its layers must be taken."""
    assert [c.reason for c in load(path).candidates if c.layer is None] == []
    outputs = run(path, {"x": X})
    assert outputs.agreement
    assert outputs["z"].tolist() == (X + X).max(3).tolist()


def test_a_cache_of_downloads_that_consists_of_links(folder):
    """The contents lie under their digests; the links have the names, and lie elsewhere."""
    contents, names = folder / "blobs", folder / "snapshots" / "1"
    contents.mkdir()
    names.mkdir(parents=True)
    for name, digest in (("model.onnx", "ab12"), ("weights", "cd34")):
        (folder / name).rename(contents / digest)
        (names / name).symlink_to(f"../../blobs/{digest}")
    check(names / "model.onnx")
    assert load(names / "model.onnx").files == (names / "weights",)
    status, _, err = run_line("onnx", str(names / "model.onnx"), "--random", "1")
    assert (status, err) == (0, [])


def test_weights_in_several_folders(folder):
    """One of them is a link that leads out of the folder of the model."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    (folder / "inner").mkdir()
    (folder / "inner" / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "inner" / "weights").symlink_to(folder / "weights")
    check(folder / "inner" / "model.onnx")


def test_a_model_through_a_pipe(folder):
    model = onnx.load(folder / "model.onnx")
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(model.SerializeToString(),))
    writer.start()
    status, out, err = run_line("onnx", str(pipe), "--random", "1")
    writer.join()
    assert (status, err) == (0, [])
    assert out[-1].startswith("output: z: ")


def test_a_path_that_is_not_utf8(folder):
    odd = folder / os.fsdecode(b"a\xff")
    odd.mkdir()
    whole = onnx.load(folder / "model.onnx")
    onnx.save_model(whole, odd / "whole.onnx")
    check(odd / "whole.onnx")
    for name in ("model.onnx", "weights"):
        (folder / name).rename(odd / name)
    with pytest.raises(NetworkError, match=r"^ONNX Runtime cannot read the weights .*not UTF-8$"):
        load(odd / "model.onnx")


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "breaks a rule of ONNX: the file '' of weight is none below the folder of the model"),
        ("/etc/passwd", "breaks a rule of ONNX: the file '/etc/passwd' of weight is none below"),
        ("../weights", "breaks a rule of ONNX: the file '../weights' of weight is none below"),
        ("nowhere/weights", "cannot read weight: there is no file .*/nowhere/weights"),
        ("inner", "cannot read weight: there is no file .*/inner"),
    ],
)
def test_weights_that_are_not_there(folder, location, message):
    (folder / "inner").mkdir()
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(NetworkError, match=message):
        load(folder / "model.onnx")


def test_attributes_that_a_file_ends_within(folder):
    content = (folder / "weights").read_bytes()
    (folder / "weights").write_bytes(content[: content.index(AXES.tobytes()) + 4])
    with pytest.raises(NetworkError, match=r"^cannot read \w+: .*/weights ends within it$"):
        load(folder / "model.onnx")


def test_axes_in_a_file_are_known_before_a_run(tmp_path):
    """ONNX Runtime does not run such a node; a plan needs no ONNX Runtime."""
    node = helper.make_node("ReduceMin", ["x", "axes"], ["y"], keepdims=0)
    inputs, constants = {"x": ("int8", (2, 3))}, {"axes": np.array([1])}
    model = model_of([node], inputs, ["y"], constants=constants, opset=18)
    path = tmp_path / "model.onnx"
    onnx.save_model(model, path, save_as_external_data=True, size_threshold=0, location="axes")
    (candidate,) = load(path).candidates
    assert candidate.layer is not None
    assert candidate.layer.problem.output_sizes == (2, 1)


def test_weights_of_a_model_from_memory_lie_in_the_working_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    model = onnx.load("model.onnx", load_external_data=False)
    for given in (model, model.SerializeToString()):
        check(given)
    assert re.fullmatch("weights", str(load(model).files[0]))
