"""The bins of what happens at the ports: each is counted if it happened, and only then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from regression_jobs import BEFORE, BEHIND, BLOCK, CORE, FAILS, LOOKED_AT, NEXT, ROWS

from extremum.hdl.latency import latency, queue_depth
from extremum.tb.coverage import Tally
from extremum.tb.regression import on_block
from extremum.tb.regression.block_registers import BlockRegisters
from extremum.tb.regression.case import Batch, Case
from extremum.tb.regression.observe import sink_phase
from extremum.tb.regression.pool import target_named
from extremum.tb.regression.run import run_case
from extremum.tb.regression.work import todo_of

pytest_plugins = ["regression_rig"]


def counted(rig, target, batch):
    """Run a case of one batch; return its figures, and the names of the bins that it met."""
    tally = Tally()
    figures = run_case(Case(target, [batch]), rig, tally)
    return figures, set(tally.counts)


@pytest.mark.parametrize(
    ("jobs", "first", "rest", "phase"),
    [
        (4, 4, 600, None), (4, 3, 600, "drained"), (4, 0, 600, "drained"),
        (4, 1, 9, "middle"), (4, 3, 9, "end"), (4, 4, 9, None), (4, 70, 9, None),
    ],
)  # fmt: skip
def test_a_rest_counts_if_it_came(rig, jobs, first, rest, phase):
    """The job port rests once so many jobs have been offered."""
    batch = Batch([ROWS] * jobs, job_stalls=[[first, 0], [rest, 100], [1, 0]])
    figures, bins = counted(rig, CORE, batch)
    plain, _ = counted(rig, CORE, Batch([ROWS] * jobs))
    assert {name for name in bins if name.startswith("stalls: core, job")} == (
        {f"stalls: core, job, {phase}"} if phase else set()
    )
    assert (figures.clocks > plain.clocks + 500) == (phase == "drained" and first > 0)
    assert not any(name.startswith(("neighbours", "changes")) for name in bins)


@pytest.mark.parametrize(("first", "phase"), [(2, "turns"), (4, None)])
def test_turns_count_if_one_came(rig, first, phase):
    turns = [[first, 0], *[[3, 100], [3, 0]] * 9]
    _, bins = counted(rig, CORE, Batch([ROWS] * 4, job_stalls=turns))
    found = {name for name in bins if name.startswith("stalls: core, job")}
    assert found == ({"stalls: core, job, turns"} if phase else set())


def test_phases_of_the_other_ports(rig):
    beats = 4 * 120 // target_named(CORE).config.lanes
    for port, last in (("input", beats), ("output", beats + 60)):
        for first, phase in ((last // 2, "middle"), (last - last // 8, "end"), (9 * last, None)):
            stalls: dict[str, Any] = {f"{port}_stalls": [[first, 0], [20, 100], [1, 0]]}
            _, bins = counted(rig, CORE, Batch([ROWS] * 4, **stalls))
            found = {name for name in bins if name.startswith(f"stalls: core, {port}")}
            assert found == ({f"stalls: core, {port}, {phase}"} if phase else set()), first
            assert any(name.startswith("neighbours") for name in bins)


def phase(*, rests, end, items=(ROWS,), started=0, **stalls):
    batch = Batch(list(items), output_stalls=rests, **stalls)
    return sink_phase(batch, todo_of(target_named(CORE), batch), end, started)


def test_a_long_rest_fills_the_queues_if_there_are_enough_results():
    """Of a result in each clock before it as many may have left."""
    config = target_named(CORE).config
    space = queue_depth(config)
    row = replace(ROWS, arguments=ROWS.arguments | {"sizes": [1, 40]})
    assert todo_of(target_named(CORE), Batch([row]))[0].job.beats_out == 1
    few, many = ([row] * count for count in (space, space + 1))
    long = 33 + 400 * len(many)
    for items, before, rest, expected in (
        (few, 0, long, None),
        (many, 0, long, "full"),
        (many, 1, long, None),
        (many, 0, 501, None),  # too short for so many jobs
    ):
        assert phase(rests=[[before, 0], [rest, 100], [1, 0]], end=rest, items=items) == expected
    for stalls in ({"input_stalls": 3}, {"job_stalls": 3}):
        rests = [[0, 0], [long, 100], [1, 0]]
        assert phase(rests=rests, end=long, items=many, **stalls) is None


def test_the_results_of_rows_come_evenly():
    rows = replace(ROWS, arguments=ROWS.arguments | {"sizes": [400, 8]})
    config = target_named(CORE).config
    job = todo_of(target_named(CORE), Batch([rows]))[0].job
    space = queue_depth(config)
    assert job.beats_out > space + 2
    needed = latency(config) + -(-(space + 2) * job.cycles // job.beats_out)
    for rest, expected in ((max(needed, 501) + 32, "full"), (501, None)):
        if rest == 501 and needed <= 501 - 32:
            continue
        assert phase(rests=[[0, 0], [rest, 100], [1, 0]], end=9000, items=[rows]) == expected


def test_a_rest_at_the_end_is_not_one_in_the_middle():
    """The clocks of the rest itself do not count."""
    for before, expected in ((74, "middle"), (75, "end"), (160, None)):
        assert phase(rests=[[before, 0], [60, 100], [1, 0]], end=160) == expected


def test_a_rest_at_the_begin_holds_a_result_for_sure():
    (each,) = todo_of(target_named(CORE), Batch([ROWS]))
    ready = each.job.schedule.last_window + latency(each.job.config)
    rests = [[ready + 33, 100], [1, 0]]
    assert phase(rests=rests, end=900) == "begin"
    assert phase(rests=[[ready + 32, 100], [1, 0]], end=900) is None
    assert phase(rests=rests, end=900, started=1) is None
    assert phase(rests=rests, end=900, input_stalls=3) is None
    assert phase(rests=rests, end=900, job_stalls=3) is None
    assert phase(rests=rests, end=900, items=[replace(ROWS, refused=0)]) is None


@pytest.mark.parametrize(
    ("items", "where"),
    [
        ([replace(FAILS, fault_number=0)], {"alone"}),
        ([replace(FAILS, fault_number=BEHIND)], {"a right job behind it"}),
        ([ROWS, replace(FAILS, fault_number=0)], {"a right job before it"}),
        ([replace(FAILS, fault_number=BEFORE)], {"a right job before it"}),
        (
            [replace(FAILS, fault_number=BEFORE | BEHIND)],
            {"a right job before it", "a right job behind it"},
        ),
        (
            [replace(FAILS, fault_number=n) for n in (BEHIND, 0)],
            {"a right job behind it", "a right job before it", "an earlier error is told"},
        ),
        (
            [replace(FAILS, fault_number=n) for n in (NEXT, NEXT)],
            {"an error before it", "an earlier error is told"},
        ),
        (
            [replace(FAILS, fault_number=n) for n in (BEHIND, LOOKED_AT)],
            {"a right job behind it", "alone"},
        ),
        (
            [replace(FAILS, fault_number=n) for n in (NEXT, LOOKED_AT)],
            {"alone"},
        ),
    ],
)
def test_what_is_around_an_error(rig, items, where):
    _, bins = counted(rig, BLOCK, Batch(items))
    assert not any(name.startswith("accesses") for name in bins)
    found = {name for name in bins if name.startswith("block errors: ")}
    assert found == {f"block errors: TLAST_EARLY, {each}" for each in where}


def test_accesses_beside_jobs_are_made_while_the_block_is_busy(rig, monkeypatch):
    sound = BlockRegisters.field

    def never_busy(self, register, name="value"):
        return 0 if (register, name) == ("STATUS", "busy") else sound(self, register, name)

    batch: dict[str, Any] = {"items": [ROWS] * 20, "accesses": 100}
    beside = {name for name in counted(rig, BLOCK, Batch(**batch))[1] if "under way" in name}
    assert beside
    monkeypatch.setattr(BlockRegisters, "field", never_busy)
    assert not [name for name in counted(rig, BLOCK, Batch(**batch))[1] if "under way" in name]


@pytest.mark.parametrize(("target", "bus"), [(CORE, "core"), (BLOCK, "block")])
def test_clocks_of_one_job_and_of_several(rig, target, bus):
    for items, jobs in (([ROWS], "one"), ([ROWS] * 2, "several")):
        _, bins = counted(rig, target, Batch(items))
        assert {name for name in bins if name.startswith("clocks")} == {f"clocks: {bus}, {jobs}"}


def test_the_clocks_of_a_block_begin_with_its_first_beat(rig, monkeypatch):
    told = []
    monkeypatch.setattr(on_block, "observe", lambda *_, started, **__: told.append(started))
    block = rig.block(target_named(BLOCK))
    on_block.run_on_block(block, target_named(BLOCK), Batch([ROWS]), Tally())
    assert told
    assert told[0] > 20  # the registers are written first


def test_commands_wait_until_the_queue_has_space(rig):
    """No packet comes for long, and each job has other registers than the one before."""
    other = replace(ROWS, arguments=ROWS.arguments | {"sizes": [4, 9]})
    batch = Batch([ROWS, other] * 12, accesses=1, input_stalls=[[0, 0], [3000, 100], [1, 0]])
    _, bins = counted(rig, BLOCK, batch)
    assert not any(name.startswith("block errors") for name in bins)
