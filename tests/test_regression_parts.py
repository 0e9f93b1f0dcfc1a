"""Parts of what the regression runs, where its own cases seldom lead."""

from __future__ import annotations

from dataclasses import replace

import pytest
from regression_jobs import BLOCK, CORE, FAILS, ROWS

from extremum.hdl.job import JobRegisters
from extremum.hdl.ports import JobError
from extremum.tb.coverage import Tally
from extremum.tb.refusal import bad_jobs, bad_payloads
from extremum.tb.regression import on_faulty_block
from extremum.tb.regression.case import Batch, Case, Item
from extremum.tb.regression.pool import target_named
from extremum.tb.regression.received import Received
from extremum.tb.regression.run import run_case
from extremum.tb.regression.work import Difference, begun, name_of, todo_of

pytest_plugins = ["regression_rig"]

MANY = replace(ROWS, arguments=ROWS.arguments | {"sizes": [200, 3]})


@pytest.mark.parametrize("wrong", [None, "value", "position"])
def test_results_of_a_block_in_parts_of_any_size(wrong):
    """The place of a part is the sum of those before it, and a wrong result names its job."""
    (todo,) = todo_of(target_named(BLOCK), Batch([MANY]))
    values, positions = todo.expected()
    arrays = {"value": values.copy(), "position": positions.copy()}
    if wrong is not None:
        arrays[wrong][-1:].view("u1")[0, 0] ^= 1
    received, start = Received(todo), 0
    for size in (3, 2, 1, 7, len(values) - 14):
        part = slice(start, start + size)
        received(arrays["value"][part], arrays["position"][part])
        start += size
        assert received.beats == start
    given = arrays["value"][start:], arrays["position"][start:]
    if wrong is None:
        received(*given)
        received.finish()
    else:
        with pytest.raises(Difference, match=f"^{wrong} 0 of lane 0 is .*, of ") as told:
            received(*given)
        assert str(told.value).endswith(f", of {name_of(todo.job)}")


def test_jobs_that_a_core_has_begun():
    todo = todo_of(target_named(CORE), Batch([ROWS, ROWS, ROWS]))
    beats = todo[0].job.beats_in
    expected = {0: 0, 1: 1, beats: 1, beats + 1: 2, 2 * beats: 2, 2 * beats + 1: 3, 3 * beats: 3}
    assert {taken: begun(todo, taken) for taken in expected} == expected


def failed(monkeypatch, rig, target=BLOCK, **batch):
    """Run a batch; return how many jobs failed, and how many were reset in the middle."""
    calls = {"fail": 0, "reset": 0}
    sound = {name: getattr(on_faulty_block._Run, name) for name in calls}
    for name in calls:

        def counted(self, *arguments, name=name):
            calls[name] += 1
            return sound[name](self, *arguments)

        monkeypatch.setattr(on_faulty_block._Run, name, counted)
    run_case(Case(target, [Batch(**batch)]), rig, Tally())
    return calls["fail"], calls["reset"]


def test_only_the_first_job_of_an_item_fails(monkeypatch, rig):
    """The other jobs of its operator are right, and so are items without a fault."""
    sizes = {"sizes": [1, 5, 9, 300], "data_type": "int8", "window": [2, 2]}
    several = Item("pooling", sizes, jobs=3, fault="early")
    right = replace(several, jobs=1, fault=None)
    assert len(todo_of(target_named("axi-image"), Batch([several]))) == 3
    assert failed(monkeypatch, rig, "axi-image", items=[several, right]) == (1, 0)


@pytest.mark.parametrize(("fault", "resets"), [("early", 1), ("late", 1), ("full", 0)])
def test_a_full_queue_is_not_reset(monkeypatch, rig, fault, resets):
    """Its jobs are waited for, since what they hold up is part of the test."""
    given = {"items": [replace(FAILS, fault=fault)], "reset_after": 5, "reset_clocks": 1}
    assert failed(monkeypatch, rig, **given) == (1, resets)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_soft_reset_ends_a_job_that_fails(monkeypatch, rig, seed):
    """The seed says whether it clears the counters, and whether the error is looked at before."""
    given = {"reset_after": 5, "reset_clocks": 0, "seed": seed}
    assert failed(monkeypatch, rig, items=[FAILS], **given) == (1, 1)


@pytest.mark.parametrize(("fault", "is_compared"), [("late", True), ("early", False)])
def test_results_of_a_packet_that_is_too_long_are_compared(monkeypatch, rig, fault, is_compared):
    class Altered(Received):
        def __call__(self, values, positions):
            values = values.copy()
            values.reshape(-1).view("u1")[0] ^= 1
            super().__call__(values, positions)

    monkeypatch.setattr(on_faulty_block, "Received", Altered)
    monkeypatch.setattr(on_faulty_block._Run, "start", lambda self, each: None)
    case = Case(BLOCK, [Batch([replace(FAILS, fault=fault)])])
    if is_compared:
        with pytest.raises(Difference, match="value"):
            run_case(case, rig, Tally())
    else:
        run_case(case, rig, Tally())


@pytest.mark.parametrize("name", ["image", "reduction", "unpadded", "volumes"])
def test_every_wrong_register_is_offered_to_every_core(name):
    """A core without padding can be told a wrong window, though the host would not."""
    config, good = target_named(name).config, JobRegisters()
    wrong, offered = list(bad_jobs(good, config)), list(bad_payloads(good, config))
    assert [reason for _, reason in offered] == [reason for _, reason in wrong]
    assert (JobError.WINDOW in dict(offered).values()) == (name != "reduction")
    if config.padding:
        assert [payload for payload, _ in offered] == [each.to_bits(config) for each, _ in wrong]
    right = good.to_bits(config)
    assert len({right, *(payload for payload, _ in offered)}) == 1 + len(offered)
