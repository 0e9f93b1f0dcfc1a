"""The networks of `examples/networks`: outputs, clocks, and what they recognise."""

import importlib.util
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

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


@pytest.fixture(scope="module")
def script(trained):
    """The program that runs all networks."""
    spec = importlib.util.spec_from_file_location("networks_run", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("nodes", "agreement", "rounding", "is_right"),
    [
        ([(100, 100), (None, 50)], True, None, True),
        ([(None, 50)], True, None, True),
        ([(101, 100)], True, None, False),
        ([(100, 100), (99, 100)], True, None, False),
        ([(100, 100)], False, None, False),
        ([(100, 100)], None, None, False),
        ([(100, 100)], True, "in the last bit", False),
        ([], True, None, False),
    ],
)
def test_what_a_network_must_show(script, monkeypatch, nodes, agreement, rounding, is_right):
    """A node on the core, clocks as predicted where they are counted, and equal outputs."""
    reports = [SimpleNamespace(cycles=n, predicted_cycles=p) for n, p in nodes]
    outputs = SimpleNamespace(
        nodes=[SimpleNamespace(report=report) for report in (*reports, None)],
        agreement=agreement, rounding=rounding,
    )  # fmt: skip
    graph = SimpleNamespace(graph=SimpleNamespace(node=range(9)))
    monkeypatch.setattr(script, "load", lambda _: graph)
    monkeypatch.setattr(script, "seconds_alone", lambda _: 1.0)
    row, right = script.row_of(script.Example("net", Path(), {}), outputs)
    assert right == is_right
    assert row[:2] == ["net", f"{len(nodes)} of 9"]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("rapidocr") is None, reason="rapidocr is not installed")
def test_all_networks(script, capsys):
    assert script.main(["--lanes", "4"]) == 0
    assert "12 passed, 0 failed" in capsys.readouterr().out
