"""Figures that the command line tells: their units, and what they are of."""

import os
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pytest

from extremum.hdl.config import CoreConfig
from extremum.host.cache import Entry
from extremum.host.cli import printing, tensor_files
from extremum.host.cli.onnx_printing import NetworkShown, Row, _row_dict, page_facts
from extremum.host.cli.option_types import PERCENT
from extremum.host.cli.progress_bar import _short
from extremum.model import AxisDirection, DataType, Reduction


def test_the_time_of_a_node_is_in_milliseconds():
    """2,000 clocks of a hundred million in a second."""
    row = Row("n", "MaxPool", (1,), "int8", "native", cycles=2000, predicted_cycles=2000)
    assert _row_dict(row, 100.0)["milliseconds"] == pytest.approx(0.02)


def test_the_utilization_of_a_node_is_of_its_busier_side():
    row = Row("n", "MaxPool", (1,), "int8", "native", cycles=None, predicted_cycles=200)
    assert replace(row, beats_in=50, beats_out=20).utilization == 0.25
    assert replace(row, beats_in=50, beats_out=150).utilization == 0.75
    assert replace(row, cycles=400, beats_in=50, beats_out=20).utilization == 0.125
    assert row.utilization is None


@pytest.mark.parametrize("stalled", ["input_stalls", "output_stalls"])
def test_a_prediction_is_said_to_be_without_stalls(stalled):
    for percent, told in ((30, ["the prediction is for streams without stalls"]), (0, [])):
        shown: Any = SimpleNamespace(settings={stalled: percent})
        planned: Any = SimpleNamespace(notes=())
        assert printing.plan_notes(shown, planned) == told


def test_stalls_are_up_to_99_percent():
    assert [PERCENT(text) for text in ("0", "1", "99")] == [0, 1, 99]
    for text in ("-1", "100"):
        with pytest.raises(click.BadParameter):
            PERCENT(text)


def test_what_is_removed_from_the_cache_is_summed(capsys):
    kept, removed = [Entry("native-1", 5_000_000)], [Entry("a", 1_000_000), Entry("b", 250_000)]
    printing.print_cache("folder", removed, kept)
    told = capsys.readouterr().out.split("\n")
    assert [line.split() for line in told[2:4]] == [["native-1", "5.0"], ["all", "5.0"]]
    assert told[4] == "removed: 2 entries, 1.2 MB"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999_999, "999,999"), (1_000_000, "1.0 M"), (1_000_001, "1.0 M"),
     (12_345_678, "12.3 M"), (999_950_000_000, "999950.0 M")],
)  # fmt: skip
def test_large_numbers_are_told_in_millions(number, text):
    assert _short(number) == text


@pytest.mark.parametrize(("count", "is_shown"), [(7, True), (8, True), (9, False)])
def test_the_elements_of_a_small_array_are_shown(count, is_shown):
    array = np.arange(count, dtype=np.int8)
    text = f"int8 ({count},)"
    elements = ": " + " ".join(map(str, range(count)))
    assert printing._array(array) == text + elements * is_shown


@pytest.mark.parametrize(
    ("jobs", "told"), [(1, None), (12, None), (13, "1 more, which"), (30, "18 more, which")]
)
def test_jobs_that_a_table_leaves_out_are_counted(capsys, jobs, told):
    job = SimpleNamespace(beats_in=1, beats_out=1, cycles=3, kind="rows", summary="rows")
    planned: Any = SimpleNamespace(
        jobs=[job] * jobs, cycles=3 * jobs, beats_in=jobs, beats_out=jobs, empty_windows=0, notes=()
    )
    shown: Any = SimpleNamespace(text="argmax", settings={})
    printing.print_plan(shown, planned)
    out = capsys.readouterr().out
    assert ("more, which --json lists" in out) == (told is not None)
    assert (told or "") in out


def test_a_line_says_what_an_operator_has_beyond_the_usual():
    def text(problem):
        return printing.RunShown("argmax", problem, {}).text

    usual = Reduction.of("argmax", (2, 3), "float32", 1)
    assert text(usual) == "argmax of float32 (2, 3), axes (1,)"
    decreasing = replace(usual, axis_direction=AxisDirection.DECREASING, nan="ignore")
    assert text(decreasing) == "argmax of float32 (2, 3), axes (1,), decreasing, nan ignore"


def test_a_page_tells_whether_the_network_ran():
    shown = NetworkShown("folder/net.onnx", (), CoreConfig((DataType.INT8,)), 100.0)
    assert page_facts(shown)["model"] == "net.onnx"
    assert page_facts(shown)["ran"] is False
    assert page_facts(replace(shown, seconds=0.0))["ran"] is True


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize(("kind", "rights"), [("folder", os.W_OK | os.X_OK), ("file", os.W_OK)])
def test_what_is_written_to_may_be_written_and_a_folder_entered(
    monkeypatch, tmp_path, kind, rights, answer
):
    """As root everything may, so what is asked of the system is looked at."""
    path = tmp_path / "file"
    path.touch()
    path = tmp_path if kind == "folder" else path
    asked = []
    monkeypatch.setattr(os, "access", lambda *given: asked.append(given) or answer)
    assert tensor_files.may_be_written(path) is answer
    assert asked == [(path, rights)]
