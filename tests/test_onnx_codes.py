"""Codes of real numbers, the core that a quantised network needs, and what is told of it."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from equal_bits import assert_equal_bits
from quantised_models import codes, layer, model, node, types_of

from extremum.hdl.config import CoreConfig
from extremum.host import Accelerator
from extremum.host.cli.commands import main
from extremum.model import DataType
from extremum.onnx import core_for, load, run
from extremum.onnx.page import feature_map
from extremum.onnx.quantised import CodedTensors, Codes


@pytest.mark.parametrize("real", ["float32", "float16"])
def test_codes_and_numbers_are_in_the_same_order(real):
    """At both ends of the scales that count, too, and whatever the zero point."""
    limits = np.finfo(real)
    ends = [float(limits.smallest_normal), float(limits.max) / 256]
    low, high = np.log10(ends)
    scales = 10 ** np.random.default_rng(2).uniform(low, high, 300)
    every = np.arange(-128, 128).astype(np.int8)
    for scale in np.array([*ends, *scales], real):
        for zero in (-128, -1, 0, 127):
            coding = Codes(scale, np.array(zero, np.int8))
            numbers = coding.real(every)
            assert np.isfinite(numbers).all()
            assert (numbers[1:] > numbers[:-1]).all()
            assert_equal_bits(coding.of(numbers), every)


def test_what_no_code_stands_for():
    coding = Codes(np.array(0.1, np.float32), np.array(2, np.int8))
    x = coding.real(codes())
    assert_equal_bits(coding.of(x), codes())
    for wrong in (np.nextafter(x[0, 0, 0, 0], 9), np.nan, np.inf, -np.inf, -0.0, 1e9):
        other = x.copy()
        other[1, 2, 6, 7] = wrong
        assert coding.of(other) is None
    assert coding.of(x.astype(np.float16)) is None
    assert Codes(np.ones(2, np.float32), np.zeros(2, np.int8), 1).of(x[0, 0, 0]) is None


def test_another_rank_in_the_run():
    """The model states one that ONNX cannot infer; along another axis are other scales."""
    coding = Codes(np.array([0.5, 2], np.float32), np.zeros(2, np.int8), -1)
    last = node("ArgMax", "r", "places", axis=1)
    assert not coding.suit(last, 2)
    assert coding.suit(last, 3)
    assert not coding.suit(last, 0)
    assert not coding.suit(last, None)
    pool = layer("pool")
    assert [Codes(coding.scale, coding.zero_point, -3).suit(pool, rank) for rank in (4, 5)] == [
        True, False,
    ]  # fmt: skip
    real = coding.real(np.array([[1, 1], [2, -2]], np.int8))
    assert coding.of(real) is not None
    assert coding.of(real[:, :1]) is None
    assert coding.of(np.zeros((2, 3), np.float32)) is None
    assert coding.of(real[0, 0]) is None


def test_what_a_node_compares_is_asked_in_the_run(monkeypatch):
    """Its input may have another rank than the model states."""
    monkeypatch.setattr(CodedTensors, "codes", lambda self, node: self._found.get(node.input[0]))
    x = codes()
    scale = np.array([0.5, 2, 0.25], np.float32)
    tested = model([layer("first")], x, scale, np.zeros(3, np.int8), axis=1)
    assert types_of(load(tested).candidates) == ["int8"]
    outputs = run(tested, {"q": x})
    assert types_of(outputs.nodes) == ["float32"]
    assert outputs.agreement


def test_a_core_for_other_codes_takes_the_numbers():
    """One whose type is fixed takes the codes of no other."""
    types = (DataType.FLOAT32, DataType.INT8)
    config = CoreConfig(types, max_window=(1, 3, 3), fixed=(("data_type", 0),))
    x = codes()
    tested = model([layer("pool")], x, np.float32(0.05), np.int8(7))
    with Accelerator(config, backend="model") as accelerator:
        outputs = run(tested, {"q": x}, accelerator=accelerator, strict=True)
    assert types_of(outputs.nodes) == ["float32"]


def test_a_core_without_a_type_for_what_is_no_code(monkeypatch):
    monkeypatch.setattr(Codes, "of", lambda *_: None)
    config = CoreConfig((DataType.INT8,), max_window=(1, 3, 3))
    x = codes()
    tested = model([layer("pool")], x, np.float32(0.05), np.int8(7))
    with Accelerator(config, backend="model") as accelerator:
        outputs = run(tested, {"q": x}, accelerator=accelerator)
    (found,) = outputs.nodes
    told = "its elements are not those of their codes, and the core was built for INT8, not for "
    assert found.reason.startswith(told)


def test_the_page_shows_numbers():
    x = codes()
    (pool,) = load(model([layer("pool")], x, np.float32(0.05), np.int8(7))).candidates
    assert pool.layer is not None
    found = feature_map("pool", pool.layer, x)
    assert found is not None
    assert found.high == np.float32(0.05) * (127 - 7)
    assert found.low == np.float32(0.05) * (-128 - 7)


def test_the_core_of_a_quantised_network():
    x = codes()
    tested = model([layer("plane")], x, np.float32(0.05), np.int8(7))
    assert core_for(load(tested).candidates).data_types == (DataType.INT8,)
    for value in (tested.graph.input[0], tested.graph.value_info[0]):
        value.type.tensor_type.shape.dim[2].dim_param = "height"
    (found,) = load(tested).candidates
    assert found.layer is None
    assert core_for([found]).data_types == (DataType.INT8,)


@pytest.mark.parametrize(
    ("types", "data_type"),
    [(("float32",), "float32"), (("int8",), "int8"), (("float32", "int8"), "int8")],
)
def test_a_core_without_the_codes_takes_the_numbers(types, data_type):
    config = CoreConfig(data_types=tuple(map(DataType, types)), max_window=(1, 3, 3))
    x = codes()
    tested = model([layer("pool")], x, np.float32(0.05), np.int8(7))
    with Accelerator(config, backend="model") as accelerator:
        outputs = run(tested, {"q": x}, accelerator=accelerator)
    assert outputs.agreement
    assert types_of(outputs.nodes) == [data_type]


def test_numbers_that_are_no_codes_are_taken_as_they_are(monkeypatch):
    """Should ONNX Runtime compute them otherwise, the layer takes what there is."""
    monkeypatch.setattr(Codes, "of", lambda *_: None)
    x = codes()
    outputs = run(model([layer("pool")], x, np.float32(0.05), np.int8(7)), {"q": x})
    assert outputs.agreement
    assert types_of(outputs.nodes) == ["float32"]


@pytest.mark.parametrize("options", [["--plan"], ["--backend", "model", "--random", "1"]])
def test_the_table_tells_what_the_core_takes(options, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    layers = [layer("plane"), node("ArgMax", "y", "places", axis=1)]
    tested = model(layers, codes(), np.float32(0.05), np.int8(7))
    onnx.save(tested, "quantised.onnx")
    assert main(["onnx", "quantised.onnx", *options]) == 0
    told = capsys.readouterr().out
    assert "float32 as int8 2x3x7x8" in told
    assert "float32 as int8 2x3x1x1" in told
    assert main(["onnx", "quantised.onnx", "--json", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["core"]["data_types"] == ["int8"]
    assert [(n["data_type"], n["core_type"]) for n in found["nodes"]] == [("float32", "int8")] * 2
