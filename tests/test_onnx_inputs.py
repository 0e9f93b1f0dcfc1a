"""What is given to a network: types, sizes, lists, text, and inputs that have a default."""

import re
from typing import Any

import numpy as np
import onnx
import pytest
from equal_bits import assert_equal_bits
from onnx import TensorProto, helper, numpy_helper
from onnx_models import OWN, model_of, node, one_node, runtime

from extremum.onnx import NetworkError, load, run

X: np.ndarray = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
POOL = one_node("MaxPool", X, kernel_shape=[2, 2])


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (X.astype(np.float64), r"must be float32 of the sizes \(1, 1, 4, 4\), not float64 of"),
        (X.astype(np.int8), r"must be float32 .*, not int8 of the sizes \(1, 1, 4, 4\)$"),
        (X.astype(np.complex64), "not complex64 of"),
        (X.astype("M8[s]"), "not datetime64"),
        (X[0], r"not float32 of the sizes \(1, 4, 4\)$"),
        (np.array(["a"]), "not string of"),
        ("text", "not string of"),
        (np.array([None]), "is no array of numbers or of text$"),
        (np.array(["a", None], object), "is no array of numbers or of text$"),
        (np.array(["a", "b"], object), "not string of"),
        ([[1.0, 2.0], [3.0]], "is no array: "),
        (np.ma.masked_array(X, X > 1), "is a masked array: fill it with x.filled$"),
        ([1j], "not complex128"),
    ],
)
def test_an_input_of_another_type_or_size_is_refused(x, message):
    with pytest.raises(NetworkError, match=f"^the input x .*{message}"):
        run(POOL, [x])


@pytest.mark.parametrize(("sizes", "told"), [((), "()"), ((3,), "(3,)"), ((2, 3), "(2, 3)")])
def test_sizes_are_told_as_python_writes_them(sizes, told):
    model = model_of([node("Identity", "x", "y")], {"x": ("float32", sizes)}, ["y"])
    wrong = np.zeros((2, 2, 2), np.float32)
    with pytest.raises(NetworkError, match=rf"of the sizes {re.escape(told)}, not float32 of"):
        run(model, [wrong])


def test_what_is_no_model_is_refused():
    wrong: list[Any] = [None, 5, [POOL]]
    for model in wrong:
        with pytest.raises(TypeError, match=r"^model must be a ModelProto, bytes or a file"):
            run(model, [X])


@pytest.mark.parametrize("x", [X, X.tolist(), X.astype(int).tolist(), X.astype(">f4")])
def test_lists_and_other_byte_orders_become_the_type_of_the_model(x):
    outputs = run(POOL, {"x": x})
    assert outputs.nodes[0].layer is not None
    assert_equal_bits(outputs["y"], runtime(POOL, {"x": X})[0])


def identity(data_type, constants=()):
    """Return a model that gives what it is given, any number of elements, and constants besides."""
    kind = TensorProto.STRING if data_type == "string" else None
    kind = kind or helper.np_dtype_to_tensor_dtype(np.dtype(data_type))
    value = helper.make_tensor_value_info("x", kind, [None])
    outputs = [helper.make_tensor_value_info("y", kind, [None])]
    nodes = [node("Identity", "x", "y")]
    for constant in constants:
        info = helper.make_tensor_value_info(constant.name, constant.data_type, constant.dims)
        nodes.append(node("Identity", constant.name, info.name + "_same"))
        info.name += "_same"
        outputs.append(info)
    graph = helper.make_graph(nodes, "same", [value], outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize(
    ("data_type", "x"),
    [
        ("uint64", [2**63, 1]),
        ("uint64", [2**64 - 1]),
        ("uint64", [2**63 + 1, np.uint64(5)]),
        ("float64", [2**63, -(2**70)]),
        ("float32", [True, False]),
    ],
)
def test_lists_of_any_integers_become_the_type_of_the_model(data_type, x):
    """NumPy makes floats, or objects, of integers that none of its integer types holds."""
    (y,) = run(identity(data_type), [x])
    assert y.dtype == data_type
    assert y.tolist() == [int(number) for number in x]


@pytest.mark.parametrize("way", ["a list", "an array", "objects"])
@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_text_that_is_no_unicode_is_refused(text, way):
    x = {"a list": [text], "an array": np.array([text]), "objects": np.array([text], object)}[way]
    message = r"^the input x has text with code points that Unicode has not$"
    with pytest.raises(NetworkError, match=message):
        run(identity("string"), [x])


def test_code_points_beyond_the_last_are_refused():
    x = np.array([0x7FFFFFFF], np.uint32).view("U1")
    with pytest.raises(NetworkError, match=r"^the input x has text with code points that Unicode"):
        run(identity("string"), [x])


def test_an_output_that_is_not_utf8_is_told():
    raw = TensorProto(name="c", data_type=TensorProto.STRING, dims=[1], string_data=[b"\xff\xfe"])
    with pytest.raises(NetworkError, match=r"^the output c_same has text that is not UTF-8$"):
        run(identity("float32", [raw]), [np.zeros(1, np.float32)])


@pytest.mark.parametrize(
    ("data_type", "x", "message"),
    [
        ("uint64", [2**63, -1], "has numbers that are no uint64$"),
        ("string", [2**63, 1], "not float64 of"),
        ("bool", [2**63, 1], "not float64 of"),
        ("int64", [2**63], "has numbers that are no int64$"),
        ("int64", [2**70], "has numbers that are no int64$"),
        ("int64", [2**63, 1.5], "not float64 of"),
        ("int8", [300], "has numbers that are no int8$"),
        ("uint8", [np.int64(-1)], "has numbers that are no uint8$"),
        ("int8", [1.5], "not float64 of"),
        ("bool", [2], "not int64 of"),
        ("string", [1], "not int64 of"),
    ],
)
def test_lists_that_are_not_of_the_type_are_refused(data_type, x, message):
    model = identity(data_type)
    with pytest.raises(NetworkError, match=f"^the input x .*{message}"):
        run(model, [x])
    assert run(model, [np.zeros(1, object if data_type == "string" else data_type).astype(
        str if data_type == "string" else data_type)])["y"].shape == (1,)  # fmt: skip


def with_default(ir_version):
    """Return a model whose weight is an input with a default, which a layer reads."""
    weight = np.ones(6, np.float32)
    nodes = [node("Add", "x w", "a"), node("ReduceMax", "a", "y"), node("ReduceMax", "w", "z")]
    inputs = {"x": ("float32", (6,)), "w": ("float32", (6,))}
    model = model_of(nodes, inputs, ["y", "z"], constants={"w": weight}, opset=8)
    model.ir_version = ir_version
    return model


@pytest.mark.parametrize("ir_version", [3, 4, 8])
def test_an_input_with_a_default(ir_version):
    model, x = with_default(ir_version), np.arange(6, dtype=np.float32)
    assert load(model).input_names == ("x",)
    outputs = run(model, [x])
    assert (outputs.agreement, outputs["y"].item(), outputs["z"].item()) == (True, 6, 1)
    if ir_version > 3:  # before, ONNX Runtime takes it for a constant
        outputs = run(model, {"x": x, "w": 10 * x})
        assert (outputs.agreement, outputs["y"].item(), outputs["z"].item()) == (True, 55, 50)


def test_inputs_that_are_no_collection_of_arrays():
    model = model_of([node("Relu", "x", "y")], {"x": ("float32", ("n",))}, ["y"])
    message = r"^inputs must be arrays by name, or a list of arrays, not "
    wrong: Any = np.zeros(3, np.float32)
    with pytest.raises(TypeError, match=f"{message}a single array$"):
        run(model, wrong)
    wrong = None
    with pytest.raises(TypeError, match=f"{message}None$"):
        run(model, wrong)
    with pytest.raises(NetworkError, match=r"must have sizes of at least 0, not \(-3,\)$"):
        load(model, {"x": (-3,)})


def test_a_negative_size_is_open():
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [-1, 1, 4, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [-1, 1, 3, 3])
    graph = helper.make_graph(list(POOL.graph.node), "pool", [value], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    assert load(model).candidates[0].unknown == "its sizes are not known before a run"
    assert run(model, [np.concatenate([X, X])])["y"].shape == (2, 1, 3, 3)


def test_a_sequence_cannot_be_given():
    sequence = helper.make_tensor_sequence_value_info("q", TensorProto.FLOAT, None)
    at = helper.make_node("SequenceAt", ["q", "i"], ["y"])
    zero = numpy_helper.from_array(np.array(0), "i")
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None])
    graph = helper.make_graph([at], "at", [sequence], [y], [zero])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    with pytest.raises(NetworkError, match=r"^the input q is no tensor, and cannot be given$"):
        run(model, [[X]])


def test_a_sparse_weight_of_a_layer():
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [3.0, 5.0])
    places = helper.make_tensor("places", TensorProto.INT64, [2], [1, 4])
    sparse = helper.make_sparse_tensor(values, places, [6])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph(
        [node("ReduceMax", "w", "y")], "g", [], [y], sparse_initializer=[sparse]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    outputs = run(model, {})
    assert (outputs["y"].tolist(), outputs.agreement) == ([5.0], True)


def test_axes_in_a_file_of_their_own(tmp_path):
    axes = numpy_helper.from_array(np.array([1]), "axes")
    nodes = [
        helper.make_node("Constant", [], ["axes"], value=axes),
        node("ReduceMax", "x axes", "y"),
    ]
    model = model_of(nodes, {"x": ("float32", (2, 3))}, ["y"])
    path = tmp_path / "model.onnx"
    onnx.save_model(
        model, path, save_as_external_data=True, size_threshold=0, location="axes.bin",
        convert_attribute=True,
    )  # fmt: skip
    assert load(path).candidates[0].layer is not None
    assert run(path, [np.ones((2, 3), np.float32)]).agreement
    (tmp_path / "axes.bin").write_bytes(b"")
    with pytest.raises(NetworkError, match=r"cannot read|breaks a rule"):
        run(path, [np.ones((2, 3), np.float32)])


def test_a_weight_that_is_cut_off(tmp_path):
    model = model_of([node("ReduceMax", "w", "y")], {}, ["y"], constants={"w": X}, opset=13)
    path = tmp_path / "model.onnx"
    onnx.save_model(model, path, save_as_external_data=True, size_threshold=0, location="w.bin")
    (tmp_path / "w.bin").write_bytes(b"12")
    with pytest.raises(NetworkError, match=r"^ONNX Runtime cannot run it: "):
        run(path, {})
    assert load(path).files == (tmp_path / "w.bin",)


def test_models_that_the_checker_of_onnx_lets_pass():
    model = onnx.ModelProto.FromString(POOL.SerializeToString())
    model.graph.node[0].attribute.append(
        onnx.AttributeProto(name="auto_pad", type=onnx.AttributeProto.STRING, s=b"\xff\xfe")
    )
    with pytest.raises(NetworkError, match=r"MaxPool node: auto_pad must be a text, not b'"):
        load(model)
    model = onnx.ModelProto.FromString(POOL.SerializeToString())
    model.graph.input[0].type.tensor_type.elem_type = 99
    with pytest.raises(NetworkError, match=r"x has elements of the unknown type 99$"):
        load(model)


def misspelt():
    """Return a model that spells the domain of its node."""
    model = onnx.ModelProto.FromString(POOL.SerializeToString())
    model.graph.node[0].domain = "ai.onnx"
    return model


def without_shape():
    """Return a model that leaves the shape of its output out."""
    model = onnx.ModelProto.FromString(POOL.SerializeToString())
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def of_another_opset():
    """Return a model with a function whose opset is not the model's."""
    pool = node("MaxPool", "a", "b", kernel_shape=[2, 2])
    opsets = [helper.make_opsetid("", 11)]
    function = helper.make_function(OWN, "Pool", ["a"], ["b"], [pool], opsets)
    call = helper.make_node("Pool", ["x"], ["y"], domain=OWN)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 3, 3])
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)
    graph = helper.make_graph([call], "calls", [value], [y])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(OWN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=[function])


@pytest.mark.parametrize("made", [misspelt, without_shape, of_another_opset])
def test_models_that_onnx_runtime_runs_and_onnx_forbids(made):
    assert runtime(made(), {"x": X})[0].shape == (1, 1, 3, 3)
    with pytest.raises(NetworkError, match=r"^it breaks a rule of ONNX: "):
        load(made())
