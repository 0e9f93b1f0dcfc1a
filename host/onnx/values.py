"""Values of ONNX Runtime, and what they are in Python.

Tensors pass from part to part as ONNX Runtime's own values, so that types which NumPy has not stay
as they are. What leaves a network are arrays: those types then are the ones of `ml_dtypes`, which
comes with the package `onnx`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from extremum.onnx.network import NetworkError

__all__ = [
    "Value",
    "array",
    "as_python",
    "is_tensor",
    "session",
    "silent_options",
    "type_name",
    "value_of",
]

Value = onnxruntime.OrtValue

SILENT = 4
"""Level of ONNX Runtime's log: what fails is told once, by the error that it raises."""


def silent_options() -> onnxruntime.SessionOptions:
    """Return options of a session that writes nothing by itself."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = SILENT
    return options


def session(
    model: ModelProto, options: onnxruntime.SessionOptions | None = None
) -> onnxruntime.InferenceSession:
    """Return what runs a model on the CPU."""
    if options is None:
        options = silent_options()
    return onnxruntime.InferenceSession(
        model.SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
        # It would print, and try the same once more.
        enable_fallback=0,
    )


def value_of(x: np.ndarray) -> Value:
    """Return an array as a value of ONNX Runtime.

    Raises
    ------
    RuntimeError
        ONNX Runtime has no such type.
    """
    if x.dtype.isbuiltin != 1 and x.dtype.kind not in "OU":  # one of `ml_dtypes`
        code = helper.np_dtype_to_tensor_dtype(x.dtype)
        bits = np.asarray(x, order="C").view(f"u{x.dtype.itemsize}")
        return Value.ortvalue_from_numpy_with_onnx_type(bits, code)
    if x.dtype.kind not in "OU":
        return Value.ortvalue_from_numpy(np.asarray(x, order="C"))
    # It makes values of text itself alone, so it is given the text as a constant.
    texts = [str(text).encode() for text in x.reshape(-1)]
    held = TensorProto(name="x", data_type=TensorProto.STRING, dims=x.shape, string_data=texts)
    made = session(_identity([], [held])).run_with_ort_values(["y"], {})
    return made[0]


def array(value: Value) -> np.ndarray:
    """Return a tensor's elements; numbers are a view of the value's memory.

    Raises
    ------
    TypeError
        It is no tensor.
    """
    if not is_tensor(value):
        raise TypeError(f"it is {type_name(value)}, and no tensor")
    code = value.element_type()
    dtype = None if code == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(code)
    if dtype is None or dtype.isbuiltin == 1:
        return value.numpy()
    raw = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return numpy_helper.to_array(TensorProto(data_type=code, dims=value.shape(), raw_data=raw))


def as_python(values: Mapping[str, Any], kinds: Iterable[ValueInfoProto]) -> dict[str, Any]:
    """Return values as what is Python's own: arrays, lists, dictionaries, or None.

    Parameters
    ----------
    values
        The values, by their names.
    kinds
        Their types.

    Raises
    ------
    NetworkError
        There is text that is not UTF-8, which Python has no value for.
    """
    named = {kind.name: kind for kind in kinds}
    found = dict(values)
    for name, value in values.items():
        if isinstance(value, Value):
            try:
                found[name] = _as_python(value, named[name])
            except UnicodeDecodeError as error:
                raise NetworkError(f"the output {name} has text that is not UTF-8") from error
    return found


def _as_python(value: Value, kind: ValueInfoProto) -> Any:
    if not value.has_value():
        return None
    if value.is_tensor():
        return array(value).copy()
    info = ValueInfoProto(name="x", type=kind.type)
    return session(_identity([info], [])).run(["y"], {"x": value})[0]


def is_tensor(value: Value) -> bool:
    """Tell whether a value is a tensor, and no sequence and no optional that holds nothing.

    Of one that holds nothing ONNX Runtime must be asked nothing else: it ends the process.
    """
    return value.has_value() and value.is_tensor()


def type_name(value: Value) -> str:
    """Return the element type of a tensor by its name: ``tensor(float)`` is float32."""
    if not is_tensor(value):
        return value.data_type() if value.has_value() else "an optional that holds nothing"
    code = value.element_type()
    return "string" if code == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(code).name


def _identity(inputs: list[ValueInfoProto], constants: list[TensorProto]) -> ModelProto:
    """Return a model that gives its input or its constant."""
    node = NodeProto(op_type="Identity", input=["x"], output=["y"])
    graph = helper.make_graph([node], "identity", inputs, [ValueInfoProto(name="y")], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)
