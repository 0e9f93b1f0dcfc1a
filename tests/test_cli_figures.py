"""Figures that the command line tells: their units, and what they are of."""

from types import SimpleNamespace
from typing import Any

import pytest

from extremum.host.cache import Entry
from extremum.host.cli import printing
from extremum.host.cli.onnx_printing import Row, _row_dict


def test_the_time_of_a_node_is_in_milliseconds():
    """2,000 clocks of a hundred million in a second."""
    row = Row("n", "MaxPool", (1,), "int8", "native", cycles=2000, predicted_cycles=2000)
    assert _row_dict(row, 100.0)["milliseconds"] == pytest.approx(0.02)


@pytest.mark.parametrize("stalled", ["input_stalls", "output_stalls"])
def test_a_prediction_is_said_to_be_without_stalls(stalled):
    for percent, told in ((30, ["the prediction is for streams without stalls"]), (0, [])):
        shown: Any = SimpleNamespace(settings={stalled: percent})
        planned: Any = SimpleNamespace(notes=())
        assert printing.plan_notes(shown, planned) == told


def test_what_is_removed_from_the_cache_is_summed(capsys):
    kept, removed = [Entry("native-1", 5_000_000)], [Entry("a", 1_000_000), Entry("b", 250_000)]
    printing.print_cache("folder", removed, kept)
    told = capsys.readouterr().out.split("\n")
    assert [line.split() for line in told[2:4]] == [["native-1", "5.0"], ["all", "5.0"]]
    assert told[4] == "removed: 2 entries, 1.2 MB"
