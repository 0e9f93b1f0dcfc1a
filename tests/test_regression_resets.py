"""Jobs of a block that fail, and that a reset ends: what is counted, and what is compared."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pytest
from regression_jobs import BEFORE, BEHIND, BLOCK, FAILS, ROWS

from extremum.tb.coverage import Tally
from extremum.tb.regression import on_block, on_faulty_block
from extremum.tb.regression.block_registers import BlockRegisters
from extremum.tb.regression.case import Batch, Case
from extremum.tb.regression.faults import fault_of
from extremum.tb.regression.on_faulty_block import run_on_faulty_block
from extremum.tb.regression.pool import target_named
from extremum.tb.regression.run import Rig, run_case
from extremum.tb.regression.work import Difference, todo_of

pytest_plugins = ["regression_rig"]


@pytest.mark.parametrize("clocks", [0, 1])
@pytest.mark.parametrize("number", [0, BEFORE, BEHIND])
def test_errors_that_a_reset_ends(rig, number, clocks):
    """The job that follows is right. It counts if some beats of the wrong packet were taken."""
    way = "aresetn" if clocks else "soft"
    fails = replace(FAILS, fault_number=number + 18)
    wait = [[whole_beats() if number == BEFORE else 0, 0], [2000, 100], [1, 0]]
    met = []
    for rests in (0, [[0, 0], [2000, 100], [1, 0]], wait):
        for after in (*range(0, 90, 6), 900):
            batch = Batch([fails], input_stalls=rests, reset_after=after, reset_clocks=clocks)
            tally = Tally()
            run_case(Case(BLOCK, [batch]), rig, tally)
            assert not [name for name in tally.counts if name.startswith("block errors")]
            found = {name for name in tally.counts if name.startswith("errors ended by a reset")}
            assert found <= {f"errors ended by a reset: TLAST_EARLY, {way}"}
            met.append((rests == 0, after, bool(found)))
    assert any(found for *_, found in met)
    assert not any(found for plain, after, found in met if not plain or after == 900)


def whole_beats():
    (each,) = todo_of(target_named(BLOCK), Batch([ROWS]))
    return each.job.beats_in


@pytest.mark.parametrize("clocks", [0, 1, None])
def test_figures_of_jobs_that_fail(rig, clocks):
    """Jobs that are right count if they began, and beats of all packets if they were taken."""
    items = [replace(FAILS, fault_number=BEFORE | BEHIND), replace(FAILS, fault_number=0)]
    target = target_named(BLOCK)
    (each,) = todo_of(target, Batch([ROWS]))
    whole, cut = each.job.beats_in, fault_of("early", BEFORE | BEHIND, each.job)
    assert cut is not None
    for after, begun in ((0, None), (3000, 2)) if clocks is not None else ((None, 3),):
        batch = Batch(items, reset_after=after, reset_clocks=clocks or 0)
        found = run_on_faulty_block(rig.block(target), target, batch, Tally())
        assert found.cases == 0
        assert found.clocks > found.beats
        if begun == 2:  # the first fault ends the batch, with a right job before and behind it
            assert (found.jobs, found.beats) == (2, 2 * whole + cut.beats)
        elif begun == 3:
            early = fault_of("early", 0, each.job)
            assert early is not None
            assert (found.jobs, found.beats) == (3, 3 * whole + cut.beats + early.beats)
        else:
            assert found.jobs <= 2
            assert found.beats < 2 * whole + cut.beats


def resets(monkeypatch, alter, *, clocks, seed=4):
    """Return what differs behind a reset that ends a failing job, if registers read otherwise."""
    sound = BlockRegisters.field

    def field(self, register, name="value"):
        return alter(register, name, sound(self, register, name))

    batch = Batch(
        [replace(ROWS, fault="early", fault_number=256)],
        reset_after=400,
        reset_clocks=clocks,
        seed=seed,
    )
    with Rig("native") as rig, ExitStack() as stack:
        assert run_case(Case(BLOCK, [batch]), rig, Tally()).jobs >= 1
        block, target = rig.block(target_named(BLOCK)), target_named(BLOCK)
        reset = on_faulty_block._Run.reset

        def altered_reset(self, fault):
            patch.setattr(BlockRegisters, "field", field)
            reset(self, fault)

        patch = stack.enter_context(monkeypatch.context())
        patch.setattr(on_faulty_block._Run, "reset", altered_reset)
        with pytest.raises(Difference) as caught:
            on_block.run_on_block(block, target, batch, Tally())
    return str(caught.value)


@pytest.mark.parametrize("clocks", [0, 1])
@pytest.mark.parametrize(
    ("register", "name", "told"),
    [
        ("STATUS", "busy", "STATUS.busy is 1, expected 0"),
        ("STATUS", "queue_free", "STATUS.queue_free is"),
        ("JOBS", "value", "JOBS, at most"),
        ("BEATS_IN", "value", "BEATS_IN, at most"),
        ("BEATS_OUT", "value", "BEATS_OUT, at most"),
        ("IRQ_STATUS", "done", "IRQ_STATUS.done is"),
    ],
)
def test_registers_behind_a_reset(monkeypatch, register, name, told, clocks):
    added = 1000 if name == "value" else 1

    def alter(at, field, word):
        return word ^ added if (at, field) == (register, name) else word

    assert told in resets(monkeypatch, alter, clocks=clocks)


def test_an_error_behind_a_reset(monkeypatch):
    """A soft reset leaves one that has been told, and the pin does not."""

    def other_code(at, field, word):
        return word ^ 1 if (at, field) == ("ERROR", "code") else word

    def flag(at, field, word):
        return 1 if (at, field) == ("IRQ_STATUS", "error") else word

    def no_flag(at, field, word):
        return next(flags) if (at, field) == ("IRQ_STATUS", "error") else word

    flags = iter((1, 0))
    assert "ERROR.code is" in resets(monkeypatch, other_code, clocks=0)
    assert "IRQ_STATUS.error is 0, expected 1" in resets(monkeypatch, no_flag, clocks=0, seed=6)
    assert "IRQ_STATUS.error is 1, expected 0" in resets(monkeypatch, flag, clocks=1)


def test_figures_of_jobs_that_a_reset_ends(rig):
    """What was begun counts, and what is run behind the reset."""
    alone = run_case(Case(BLOCK, [Batch([ROWS], reset_after=1)]), rig, Tally())
    figures = run_case(Case(BLOCK, [Batch([ROWS] * 8, reset_after=60)]), rig, Tally())
    assert figures.jobs == alone.jobs + 1
    assert 60 <= figures.beats - alone.beats < 120
