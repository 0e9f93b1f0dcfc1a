"""Models and weights in files of every kind: behind links, through pipes, with odd names."""

import os
import re
import threading

import numpy as np
import onnx
import pytest
from command_line import run as run_line
from onnx import helper, numpy_helper
from onnx.external_data_helper import set_external_data
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


def in_a_file(tensor, folder):
    """Move the elements of a tensor to a file of their own."""
    name = f"{tensor.name or 'indices'}.bin"
    (folder / name).write_bytes(tensor.raw_data)
    set_external_data(tensor, name)
    tensor.ClearField("raw_data")
    return tensor


def placed(where, folder):
    """Return nodes, sparse initialisers and functions of which one has a tensor in a file."""
    tensor = in_a_file(numpy_helper.from_array(np.ones((2, 3), np.float32), where), folder)
    constant = helper.make_node("Constant", [], ["ones"], value=tensor)
    add = helper.make_node("Add", ["x", "ones"], ["y"])
    if where == "subgraph":
        given = helper.make_tensor_value_info("y", 1, (2, 3))
        true = helper.make_node(
            "Constant", [], ["true"], value=numpy_helper.from_array(np.array(True))
        )
        branch = helper.make_graph([constant, add], "branch", [], [given])
        fork = helper.make_node("If", ["true"], ["y"], then_branch=branch, else_branch=branch)
        return [true, fork], [], []
    if "function" in where:
        opset = 18 if where == "function of another opset" else 17
        function = helper.make_function(
            "own", "Plus", ["x"], ["y"], [constant, add], [helper.make_opsetid("", opset)]
        )
        if where == "function with a default":
            # The constant is an attribute of the function, which no call gives.
            default = function.attribute_proto.add(name="ones", type=onnx.AttributeProto.TENSOR)
            default.t.CopyFrom(tensor)
            asked = function.node[0].attribute[0]
            asked.ClearField("t")
            asked.ref_attr_name = "ones"
        return [helper.make_node("Plus", ["x"], ["y"], domain="own")], [], [function]
    values = numpy_helper.from_array(np.ones(2, np.float32), "ones")
    indices = numpy_helper.from_array(np.array([1, 4]))
    if where != "sparse indices":
        in_a_file(values, folder)
    if where != "sparse values":
        in_a_file(indices, folder)
    sparse = helper.make_sparse_tensor(values, indices, [2, 3])
    if where == "sparse constant":
        return [helper.make_node("Constant", [], ["ones"], sparse_value=sparse), add], [], []
    return [add], [sparse], []


@pytest.mark.parametrize(
    "where",
    [
        "subgraph",
        "function",
        "function of another opset",
        "function with a default",
        "sparse values",
        "sparse indices",
        "sparse both",
        "sparse constant",
    ],
)
def test_tensors_in_files_anywhere_in_a_model(tmp_path, where):
    nodes, sparse, functions = placed(where, tmp_path)
    nodes.append(helper.make_node("ReduceMax", ["y"], ["z"], axes=[1], keepdims=0))
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info("x", 1, (2, 3))],
        [helper.make_tensor_value_info("z", 1, (2,))], sparse_initializer=sparse,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    assert {file.suffix for file in load(path).files} == {".bin"}
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    outputs = run(path, {"x": x})
    assert outputs.agreement
    added = np.zeros((2, 3), np.float32)
    added.reshape(-1)[[1, 4] if "sparse" in where else range(6)] = 1
    assert outputs["z"].tolist() == (x + added).max(1).tolist()
    for file in load(path).files:
        file.unlink()
    with pytest.raises(NetworkError, match="there is no file"):
        load(path)


@pytest.mark.parametrize("length", [1 << 40, 10**30, -5])
def test_a_length_that_no_file_has(tmp_path, length):
    tensor = in_a_file(numpy_helper.from_array(AXES, "axes"), tmp_path)
    tensor.external_data.add(key="length", value=str(length))
    nodes = [
        helper.make_node("Constant", [], ["axes"], value=tensor),
        helper.make_node("ReduceMax", ["x", "axes"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, 1, (1, 1, 4, 4)) for name in "xy")
    graph = helper.make_graph(nodes, "graph", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(NetworkError, match=r"^cannot read axes: "):
        load(tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "breaks a rule of ONNX: the file '' of weight is none below the folder of the model"),
        ("/etc/passwd", "breaks a rule of ONNX: the file '/etc/passwd' of weight is none below"),
        ("../weights", "breaks a rule of ONNX: the file '../weights' of weight is none below"),
        ("nowhere/weights", "cannot read weight: there is no file .*/nowhere/weights"),
        ("inner", "cannot read weight: there is no file .*/inner"),
        ("n" * 300, "cannot read weight: there is no file .*/n{300}"),
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


def test_a_model_that_is_a_device():
    """It may never end, as this one."""
    status, out, err = run_line("onnx", "/dev/zero", "--plan")
    assert (status, out) == (2, [])
    assert err == ["extremum: /dev/zero is a device: give the file of a model"]
