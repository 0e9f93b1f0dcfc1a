"""The core of a network, and layers that a given core cannot take."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import model_of, node, one_node

from extremum.hdl.config import CoreConfig
from extremum.host import Accelerator
from extremum.host.team import Team
from extremum.model import DataType
from extremum.onnx import NetworkError, core_for, load, run

X: np.ndarray = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)


def computed():
    """Return a network whose layers have sizes that are only known in a run."""
    nodes = [
        node("NonZero", "x", "n"),
        node("ReduceMin", "n", "least", name="least", keepdims=0),
        node("Cast", "n", "f", to=TensorProto.FLOAT),
        node("Unsqueeze", "f axes", "g"),
        node("MaxPool", "g", "pooled", name="pool", kernel_shape=[1, 3], dilations=[1, 2],
             pads=[0, 1, 0, 1]),
        node("GlobalMaxPool", "g", "plane", name="plane"),
    ]  # fmt: skip
    outputs = [
        helper.make_tensor_value_info("least", TensorProto.INT64, []),
        helper.make_tensor_value_info("pooled", TensorProto.FLOAT, [1, 1, None, None]),
        helper.make_tensor_value_info("plane", TensorProto.FLOAT, [1, 1, 1, 1]),
    ]
    axes = {"axes": np.array([0, 1], np.int64)}
    return model_of(nodes, {"x": ("float32", (2, 9))}, outputs, constants=axes)


def test_the_core_of_layers_that_are_not_known_before_a_run():
    network = load(computed())
    assert [c.layer for c in network.candidates] == [None, None, None]
    assert {c.unknown for c in network.candidates} == {"its sizes are not known before a run"}
    config = core_for(network.candidates, lanes=2)
    assert set(config.data_types) == {DataType.INT64, DataType.FLOAT32}
    assert "argmin" in config.operators
    assert (config.max_window, config.max_dilation) == ((1, 1, 3), (1, 1, 2))
    assert config.padding
    default = CoreConfig()
    assert (config.max_line, config.max_plane) == (default.max_line, default.max_plane)
    with Accelerator(config, backend="model") as accelerator:
        outputs = run(computed(), [np.ones((2, 9), np.float32)], accelerator=accelerator)
    assert outputs.agreement
    assert [n.report.notes for n in outputs.nodes if n.report] == [(), (), ()]


def test_a_core_is_no_larger_than_cores_can_be():
    """What exceeds it is cut into tiles, or gathered."""
    x = np.zeros((1, 1, 70_000), np.int8)
    long = one_node("MaxPool", x, kernel_shape=[2])
    wide = one_node("MaxPool", x, kernel_shape=[2], dilations=[300])
    for model, name, value in ((long, "max_line", 1 << 16), (wide, "max_dilation", (1, 1, 255))):
        config = core_for(load(model).candidates, lanes=4)
        assert getattr(config, name) == value
        with Accelerator(config, backend="model") as accelerator:
            outputs = run(model, [x], accelerator=accelerator, compare=False)
        assert outputs.nodes[0].layer is not None


@pytest.mark.parametrize("window", [16, 17])
def test_windows_to_16_are_those_of_the_core(window):
    """A larger one is gathered."""
    x = np.zeros((1, 1, 1, 40), np.int8)
    config = core_for(load(one_node("MaxPool", x, kernel_shape=[1, window])).candidates, lanes=1)
    assert (config.max_window[2] == window) == (window == 16)


@pytest.mark.parametrize("kind", [Accelerator, Team])
def test_a_layer_that_a_given_core_cannot_take_is_left(kind):
    model = one_node("ReduceMin", X)
    reason = "the core was built for INT8, not for FLOAT32: add it to data_types"
    with kind(CoreConfig((DataType.INT8,)), backend="model") as accelerator:
        outputs = run(model, [X], accelerator=accelerator)
        assert (outputs.nodes[0].layer, outputs.nodes[0].reason) == (None, reason)
        assert outputs.agreement
        with pytest.raises(NetworkError, match=f"^ReduceMin node is not taken: {reason}$"):
            run(model, [X], accelerator=accelerator, strict=True)
    fixed = CoreConfig((DataType.FLOAT32,), max_window=(1, 2, 2), fixed=(("width.size", 8),))
    pooling = one_node("MaxPool", X, kernel_shape=[2, 2])
    with kind(fixed, backend="model") as accelerator:
        outputs = run(pooling, [X], accelerator=accelerator)
        assert "width.size fixed to 8, and the job needs 4" in outputs.nodes[0].reason
        assert outputs.agreement
        with pytest.raises(NetworkError, match="is not taken: the core was built with the job"):
            run(pooling, [X], accelerator=accelerator, strict=True)
    wrong: list[Any] = ["native", CoreConfig, 0]
    for given in wrong:
        with pytest.raises(TypeError, match=r"^accelerator must be an Accelerator or a Team"):
            run(pooling, [X], accelerator=given)
    config = CoreConfig((DataType.FLOAT32,), operators=("argmax", "max-pool"))
    with kind(config, backend="model") as accelerator:
        outputs = run(model, [X], accelerator=accelerator)
        assert outputs.nodes[0].reason.endswith("add argmin to operators")


def test_the_storage_is_that_of_the_largest_layer():
    """A line has five windows; two planes of fifteen windows are compared."""
    x = np.zeros((1, 1, 4, 4, 6), np.float32)
    config = core_for(load(one_node("MaxPool", x, kernel_shape=[2, 2, 2])).candidates, lanes=1)
    assert (config.max_line, config.max_plane) == (5, 15)


def test_without_a_pooling_no_window_slides():
    config = core_for(load(one_node("ArgMax", X)).candidates, lanes=1)
    assert (config.max_window, config.max_dilation) == ((1, 1, 1), (1, 1, 1))
    assert (config.max_line, config.max_plane) == (1, 1)
