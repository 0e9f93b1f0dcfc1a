"""What the regression must find: results too many, wrong rows, and bins of a case that failed."""

import dataclasses
import random

import numpy as np
import pytest
from wrapped_core import wrap_core

from extremum.hdl.config import CoreConfig
from extremum.host.plan import plan
from extremum.host.plan.gathered_jobs import GatheredJob
from extremum.model import DataType, Pooling
from extremum.tb.coverage import BINS, Tally
from extremum.tb.regression import lots
from extremum.tb.regression.case import Batch, Case, Item
from extremum.tb.regression.lots import Lot, run_lot
from extremum.tb.regression.operators import drawn_operator
from extremum.tb.regression.pool import TARGETS, target_named
from extremum.tb.regression.run import Rig, closing_batch, run_case
from extremum.tb.regression.work import Difference, Figures
from extremum.tb.scoreboard import ScoreboardError, expected_beats

GENEROUS = """
  reg [1:0] given = 0;
  wire [32:0] right;
  wire valid, more = given == 3;
  sound_core core (
      .clk(clk), .rst(rst), .i__valid(i__valid), .i__payload(i__payload), .i__ready(i__ready),
      .o__valid(valid), .o__payload(right), .o__ready(o__ready & ~more)
  );
  assign o__valid = valid | more;
  assign o__payload = more ? 33'h1_0000_0007 : right;
  reg ended = 0;
  always @(posedge clk) begin
    if (rst) {given, ended} <= 0;
    else if (o__valid & o__ready & ~ended) {ended, given} <= {more, given + 2'd1};
  end
endmodule
"""
"""Around a core: it offers a fourth result behind the third."""

ROWS = Item("reduction", {"function": "argmax", "sizes": [3, 1], "data_type": "int8", "axes": [1]})


@pytest.fixture(name="generous")
def generous_core(monkeypatch):
    wrap_core(monkeypatch, GENEROUS)


@pytest.mark.usefixtures("generous")
def test_a_result_too_many_behind_the_last_batch():
    """The run has ended by then, so the job behind it must find it."""
    with Rig("native") as rig, pytest.raises(Difference, match=r"^the job behind the last batch: "):
        run_case(Case("endless1", [Batch([ROWS])]), rig, Tally())


def test_the_job_behind_the_last_batch_is_a_small_and_right_one():
    config = target_named("image").config
    large = dataclasses.replace(ROWS, arguments=ROWS.arguments | {"sizes": [3, 50]}, fault="count")
    wrong = dataclasses.replace(ROWS, jobs=4, refused=3)
    (batch,) = closing_batch(Case("image", [Batch([large]), Batch([wrong, large])]), config)
    assert batch == Batch([dataclasses.replace(ROWS, jobs=1)])


def test_without_any_job_there_is_none_behind():
    """The window is gathered and meets no element, so the operator has no job."""
    sizes = {"sizes": [1, 1, 1, 1], "data_type": "int8", "window": [2, 2], "dilations": [4, 4],
             "start_padding": [2, 2], "end_padding": [2, 2]}  # fmt: skip
    nothing = Item("pooling", sizes)
    config = target_named("image").config
    assert not len(plan(nothing.problem, config).jobs)
    assert closing_batch(Case("image", [Batch([nothing])]), config) == []


def gathered():
    """A pooling whose windows the host gathers, its job, and a tensor."""
    config = CoreConfig((DataType.INT8,), lanes=2, max_window=(1, 2, 2))
    problem = Pooling.of((1, 1, 5, 6), "int8", 3, return_indices=True)
    (job,) = plan(problem, config).jobs
    assert isinstance(job, GatheredJob)
    return job, np.arange(30, dtype=np.int8).reshape(problem.sizes)


def test_rows_of_the_right_elements():
    job, x = gathered()
    values, _ = expected_beats(job, x)
    assert values.reshape(-1)[:12].tolist() == [14, 15, 16, 17, 20, 21, 22, 23, 26, 27, 28, 29]


@pytest.mark.parametrize("what", ["value", "position"])
def test_rows_of_other_elements(monkeypatch, what):
    """What they must give is not taken from the rows alone."""
    job, x = gathered()
    if what == "value":
        right = GatheredJob.gather
        monkeypatch.setattr(GatheredJob, "gather", lambda job, x: right(job, x[..., ::-1]))
    else:
        elements, positions = gathered()[0]._table
        monkeypatch.setattr(GatheredJob, "_table", (elements, positions[::-1]))
    with pytest.raises(ScoreboardError, match=f"gathered has another {what}, of GatheredJob"):
        expected_beats(job, x)


def test_a_case_that_fails_counts_for_no_bin(monkeypatch):
    one, *_ = sorted(BINS)
    place, _, names = one.partition(": ")
    outcomes = iter([Figures(cases=1), Difference("wrong"), ValueError("odd"), Figures(cases=1)])

    def run(case, rig, tally):
        tally.count(place, *names.split(", "))
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(lots, "run_case", run)
    monkeypatch.setattr(lots, "LOT_CASES", lots.LOT_CASES | {"native": 4})
    result = run_lot(Lot("native", 0, 0))
    assert (result.figures.cases, result.bins) == (2, {one: 2})
    assert [told for _, told in result.failures] == ["wrong", "ValueError: odd"]


def test_operators_of_all_ranks_and_paddings_are_drawn(monkeypatch):
    """Up to eight dimensions, and more padding than a window reaches, on one side or both."""
    config = next(target.config for target in TARGETS if target.name == "image")
    source = random.Random(1)
    ranks, beyond = set(), set()
    for _ in range(3000):
        operator, arguments = drawn_operator(source, config, None)
        if operator == "reduction":
            ranks.add(len(arguments["sizes"]))
            continue
        for window, dilation, *pads in zip(
            arguments["window"], arguments["dilations"], arguments["start_padding"],
            arguments["end_padding"], strict=True,
        ):  # fmt: skip
            beyond.add(tuple(pad > (window - 1) * dilation for pad in pads))
    assert ranks == set(range(1, 9))
    assert beyond == {(False, False), (True, False), (False, True), (True, True)}
