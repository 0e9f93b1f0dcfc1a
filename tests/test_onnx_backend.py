"""ONNX's own tests of its operators, run by ONNX's own runner on `extremum.onnx.backend`."""

import unittest

import numpy as np
import onnx.backend.test
import pytest
from accelerators import make
from simulation import NATIVE_FIRST

from extremum.onnx import backend
from extremum.onnx.backend import ExtremumBackend

OPERATORS = ("argmax", "argmin", "maxpool", "globalmaxpool", "reduce_max", "reduce_min")
LEFT = {
    "test_reduce_max_bool_inputs_cpu",
    "test_reduce_max_empty_set_cpu",
    "test_reduce_min_bool_inputs_cpu",
    "test_reduce_min_empty_set_cpu",
}
"""Tests of what the operators do not take: booleans, and tensors without elements."""
PASSED = 69


class Result(unittest.TestResult):
    """Keeps the names of the tests that passed."""

    def __init__(self):
        super().__init__()
        self.passed = set()

    def addSuccess(self, test):
        """Keep the name of a test."""
        self.passed.add(test.id().rsplit(".")[-1])


def run_tests(module):
    """Run the tests of our operators on a backend; return the outcome."""
    runner = onnx.backend.test.BackendTest(module, __name__)
    for operator in OPERATORS:
        runner.include(f"test_{operator}_")
    tests = runner.enable_report().test_cases["OnnxBackendNodeModelTest"]
    names = [n for n in dir(tests) if n.startswith("test_") and n.endswith("_cpu")]
    chosen = [n for n in names if any(n.startswith(f"test_{o}_") for o in OPERATORS)]
    result = Result()
    unittest.TestSuite(tests(name) for name in chosen).run(result)
    return result


def check(result):
    assert not result.errors + result.failures
    assert len(result.passed) == PASSED
    assert {test.id().rsplit(".")[-1] for test, _ in result.skipped} == LEFT


def test_golden_model():
    check(run_tests(backend))


@pytest.mark.parametrize("simulator", NATIVE_FIRST)
def test_gateware(simulator):
    with make("every_type", simulator) as accelerator:
        jobs = []

        class OnAccelerator(ExtremumBackend):
            @classmethod
            def prepare(cls, model, device="CPU", **kwargs):
                prepared = super().prepare(model, device, accelerator=accelerator, **kwargs)
                jobs.append(accelerator)
                return prepared

        check(run_tests(OnAccelerator))
        assert len(jobs) == PASSED
        assert accelerator.report is not None
        assert accelerator.report.cycles


def test_one_node():
    node = onnx.helper.make_node("ArgMax", ["x"], ["y"], axis=1, keepdims=0)
    x = onnx.numpy_helper.to_array(onnx.helper.make_tensor("x", 1, [2, 3], [1, 3, 3, 5, 4, 5]))
    (y,) = backend.run_node(node, [x])
    assert y.tolist() == [1, 0]
    last = onnx.helper.make_node("ArgMax", ["x"], ["y"], axis=1, select_last_index=1)
    assert backend.run_node(last, x, opset_version=13)["y"].tolist() == [[2], [2]]


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [18, None])
def test_one_node_whose_axes_are_an_input(opset, keepdims):
    node = onnx.helper.make_node("ReduceMax", ["x", "axes"], ["y"], keepdims=keepdims)
    x = np.array([[1, 3, 2], [6, 5, 4]], np.float32)
    version = {} if opset is None else {"opset_version": opset}
    for inputs in ([x, np.array([1])], {"axes": np.array([1]), "x": x}):
        (y,) = backend.run_node(node, inputs, **version)
        np.testing.assert_array_equal(y, x.max(axis=1, keepdims=bool(keepdims)))


@pytest.mark.parametrize("names", [(), ("x",), ("x", "axes", "z"), ("x", "z")])
def test_one_node_that_reads_other_inputs(names):
    node = onnx.helper.make_node("ReduceMax", ["x", "axes"], ["y"])
    told = rf"^ReduceMax reads x, axes, and given are {', '.join(names) or 'none'}$"
    with pytest.raises(ValueError, match=told):
        backend.run_node(node, dict.fromkeys(names, np.zeros(2, np.float32)))


def test_nodes_that_are_not_taken():
    """They are refused, and left to ONNX Runtime only if that is asked for."""
    x = np.array([-1, 2], np.float32)
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    with pytest.raises(ValueError, match=r"^Relu y is not taken; with strict=False it is left to"):
        backend.run_node(node, [x])
    (y,) = backend.run_node(node, [x], strict=False)
    assert y.tolist() == [0, 2]
    with pytest.raises(ValueError, match=r"^Relu reads 1 inputs, and 2 are given$"):
        backend.run_node(node, [x, x])


def test_devices():
    assert backend.supports_device("CPU")
    assert backend.supports_device("CPU:0")
    assert not backend.supports_device("CUDA")
    model = onnx.helper.make_model(onnx.helper.make_graph([], "none", [], []))
    with pytest.raises(ValueError, match=r"^device must be CPU, not CUDA$"):
        backend.prepare(model, "CUDA")


def test_models_that_are_not_compatible():
    """Models that break a rule of ONNX are not compatible, and raise no error here."""
    node = onnx.helper.make_node("ReduceMax", ["x"], ["y"])
    for code, attribute in ((1, b"\xff\xfe"), (99, b"SAME_UPPER")):
        pool = onnx.helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2], auto_pad=attribute)
        x = onnx.helper.make_tensor_value_info("x", code, [1, 1, 4])
        y = onnx.helper.make_tensor_value_info("y", 1, [1, 1, None])
        model = onnx.helper.make_model(onnx.helper.make_graph([pool], "wrong", [x], [y]))
        assert not backend.is_compatible(model)
    x = onnx.helper.make_tensor_value_info("x", 1, [1, 1, 4])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "right", [x], [y]))
    assert backend.is_compatible(model)
