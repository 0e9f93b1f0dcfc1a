"""The networks of `examples/networks`: outputs, clocks, and what they recognise."""

import importlib.util
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from extremum.onnx import run

FOLDER = Path(__file__).parents[1] / "examples" / "networks"


@pytest.fixture(scope="module")
def trained():
    sys.path.append(str(FOLDER))
    try:
        yield importlib.import_module("trained")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.parametrize(("name", "told"), [("trained.py", "python"), ("README.md", "markdown")])
def test_the_type_of_a_file(trained, name, told):
    content = ((FOLDER if name.endswith(".py") else FOLDER.parents[1]) / name).read_bytes()
    outputs = run(trained.classifier(), {"bytes": trained.ends_of(content)})
    assert [node.operator for node in outputs.nodes] == ["GlobalMaxPool", "ReduceMax"]
    assert all(node.layer is not None for node in outputs.nodes)
    assert outputs.rounding is None
    assert outputs.difference is None
    assert not outputs.differences
    assert trained.type_of(outputs[0]) == told


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="rapidocr is not installed")
def test_the_text_in_a_picture(trained):
    model, text = trained.recogniser(), "Max of 3, 7 and 7: the first"
    outputs = run(model, {"x": trained.pixels(trained.picture(text))})
    assert [node.operator for node in outputs.nodes] == ["MaxPool", "ArgMax"]
    assert all(node.layer is not None for node in outputs.nodes)
    assert outputs.rounding is None
    assert outputs.difference is None
    assert not outputs.differences
    assert trained.text_of(model, outputs["classes"][0]) == text


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="rapidocr is not installed")
def test_the_text_in_a_picture_by_a_quantised_network(trained):
    """The core takes 8 bits, and all bits are those of ONNX Runtime."""
    text = "Max of 3, 7 and 7: the first"
    model = trained.quantised(trained.recogniser(), "The quick brown fox, 0123456789")
    outputs = run(model, {"x": trained.pixels(trained.picture(text))})
    taken = [node.layer.problem.data_type.value for node in outputs.nodes if node.layer]
    assert taken == ["uint8", "uint8"]
    assert outputs.agreement
    assert outputs.rounding is None
    assert trained.text_of(model, outputs["classes"][0]) == text


@pytest.mark.slow
@pytest.mark.skipif(find_spec("rapidocr") is None, reason="rapidocr is not installed")
def test_all_networks(capsys):
    sys.path.append(str(FOLDER))
    spec = importlib.util.spec_from_file_location("networks_run", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    assert module.main(["--lanes", "4"]) == 0
    assert "12 passed, 0 failed" in capsys.readouterr().out
