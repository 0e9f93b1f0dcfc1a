"""The bins of what happens at the ports: each is counted if it happened, and only then."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from regression_jobs import BEFORE, BEHIND, BLOCK, CORE, FAILS, LOOKED_AT, NEXT, ROWS, counted

from extremum.hdl.latency import latency, queue_depth
from extremum.tb.coverage import Tally
from extremum.tb.regression import on_block, on_faulty_block
from extremum.tb.regression.block_registers import DONE, ERROR, IDLE, BlockRegisters
from extremum.tb.regression.case import Batch, Item
from extremum.tb.regression.observe import sink_phase, source_phase
from extremum.tb.regression.pool import target_named
from extremum.tb.regression.work import todo_of

pytest_plugins = ["regression_rig"]


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


def least_rest(items, before=0, target=CORE):
    """Return the fewest clocks of a rest that surely fills the queues."""
    todo = todo_of(target_named(target), Batch(items))

    def is_full(rest):
        batch = Batch(items, output_stalls=[[before, 0], [rest, 100], [1, 0]])
        return sink_phase(batch, todo, before + rest, 0) == "full"

    rests = range(501, 1_000_000)
    found = bisect.bisect_left(rests, True, key=is_full)
    return rests[found] if found < len(rests) else None


@pytest.mark.parametrize("elements", [40, 800])
def test_a_long_rest_fills_the_queues_if_there_are_enough_results(elements):
    """Of a result in each clock before it as many may have left.

    A job's only result has come with its end, 256 clocks may pass to the next job, and 32 to the
    first beat.
    """
    config = target_named(CORE).config
    space = queue_depth(config)
    row = replace(ROWS, arguments=ROWS.arguments | {"sizes": [1, elements]})
    (one,) = (each.job for each in todo_of(target_named(CORE), Batch([row])))
    assert one.beats_out == 1
    assert least_rest([row] * space) is None
    enough = space * (one.cycles + 256) + one.cycles + 32
    assert least_rest([row] * (space + 1)) == enough
    assert least_rest([row] * (space + 1), before=1) is None
    assert least_rest([row] * (space + 3), before=2) == enough + 2 * (one.cycles + 256) - 2
    rests = [[0, 0], [enough, 100], [1, 0]]
    items = [row] * (space + 1)
    assert phase(rests=rests, end=enough, items=items) == "full"
    assert phase(rests=rests, end=enough, items=items, started=1) is None
    for stalls in ({"input_stalls": 3}, {"job_stalls": 3}):
        assert phase(rests=rests, end=enough, items=items, **stalls) is None
    assert phase(rests=rests, end=enough, items=[*items, replace(ROWS, refused=0)]) is None


def test_a_core_without_a_queue_is_full_with_one_result():
    row = replace(ROWS, arguments=ROWS.arguments | {"sizes": [1, 2400]})
    target = "small-reduction"
    (one,) = (each.job for each in todo_of(target_named(target), Batch([row])))
    assert one.cycles > 501
    assert least_rest([row], target=target) == one.cycles + 32


def test_the_results_of_rows_come_evenly():
    """One less than what the clocks behind the pipeline give, since they are not quite even."""
    config = target_named(CORE).config
    space = queue_depth(config)
    rows = replace(ROWS, arguments=ROWS.arguments | {"sizes": [900, 80]})
    (job,) = (each.job for each in todo_of(target_named(CORE), Batch([rows])))
    assert job.beats_out > space + 2
    given = -(-(space + 2) * job.cycles // job.beats_out)
    assert least_rest([rows]) == latency(config) + given + 32


def test_the_results_of_windows_have_come_with_their_job():
    image = Item("pooling", {"sizes": [1, 1, 40, 40], "window": [2, 2], "data_type": "int8"})
    jobs = [each.job for each in todo_of(target_named("image"), Batch([image]))]
    space = queue_depth(jobs[0].config)
    came = list(itertools.accumulate(job.beats_out for job in jobs))
    needed = next(n for n, beats in enumerate(came) if beats > space)
    clocks = sum(job.cycles for job in jobs[: needed + 1]) + 256 * needed
    assert least_rest([image], target="image") == clocks + 32


def test_a_rest_of_500_clocks_is_a_short_one():
    for rest, expected in ((500, "middle"), (501, None)):
        assert phase(rests=[[0, 0], [rest, 100], [1, 0]], end=9000) == expected
    for rest, expected in ((500, "middle"), (501, "drained")):
        assert source_phase([[0, 0], [rest, 100], [1, 0]], 9) == expected


@pytest.mark.parametrize(("items", "expected"), [(9, None), (10, "turns")])
def test_turns_of_a_source_that_begin_before_its_last_item(items, expected):
    assert source_phase([[4, 0], [5, 0], [1, 7], [1, 0]], items) == expected


def test_a_rest_at_the_end_is_not_one_in_the_middle():
    """The clocks of the rest itself do not count."""
    for before, expected in ((74, "middle"), (75, "end"), (159, "end"), (160, None)):
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


def test_each_event_of_a_failed_job_is_cleared_alone(rig, monkeypatch):
    sound, written = BlockRegisters.write, []

    def write(self, register, value):
        if register == "IRQ_STATUS":
            written.append(value)
        sound(self, register, value)

    monkeypatch.setattr(BlockRegisters, "write", write)
    counted(rig, BLOCK, Batch([FAILS]))
    alone = [0, DONE, ERROR, IDLE]
    assert any(written[n : n + 4] == alone for n in range(len(written)))


def test_a_faulty_block_is_accessed_while_it_is_idle(rig):
    """An access that is made then counts in any case, whatever is read."""
    _, bins = counted(rig, BLOCK, Batch([FAILS] * 8, accesses=100))
    assert any(name.startswith("accesses") and name.endswith(", idle") for name in bins)


@pytest.mark.parametrize(("taken", "begun"), [(0, 0), (1, 1), (5, 1), (6, 1), (10, 1), (11, 2)])
def test_right_jobs_of_a_faulty_block_that_began(taken, begun):
    sent = [(5, True), (5, False), (5, True)]
    block = SimpleNamespace(clocks=SimpleNamespace(taken=taken))
    run = SimpleNamespace(_sent=sent, block=block)
    assert on_faulty_block._Run.begun.fget(run) == begun  # pyright: ignore[reportOptionalCall]
