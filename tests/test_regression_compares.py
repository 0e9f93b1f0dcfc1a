"""Each thing that the regression compares: if it is wrong, the case has a difference.

The gateware is right, so nothing else would tell of a comparison that has been lost.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Any

import numpy as np
import pytest
from regression_jobs import BLOCK, CORE, ROWS, counted

from extremum.hdl.axi import register_map as regs
from extremum.host.driver.block import BlockDriver
from extremum.host.errors import DeviceError
from extremum.host.simulation.native import NativeSimulator
from extremum.host.simulation.native_block import NativeBlock
from extremum.tb.coverage import Tally
from extremum.tb.regression import on_block, on_faulty_block
from extremum.tb.regression.block_registers import COUNTERS, BlockRegisters
from extremum.tb.regression.case import Batch, Case
from extremum.tb.regression.on_core import _compare
from extremum.tb.regression.pool import target_named
from extremum.tb.regression.received import Received
from extremum.tb.regression.run import run_case
from extremum.tb.regression.work import Difference, todo_of

pytest_plugins = ["regression_rig"]


def difference(rig, target, **batch):
    """Run a case, and return what is different."""
    given: dict[str, Any] = {"items": [ROWS]} | batch
    with pytest.raises(Difference) as caught:
        run_case(Case(target, [Batch(**given)]), rig, Tally())
    return str(caught.value)


@pytest.mark.parametrize(("target", "fewest"), [(CORE, 1), (BLOCK, 2)])
def test_a_job_counts_if_it_began(rig, target, fewest):
    """One job more runs behind the batch. A block takes beats while the jobs are started."""
    both = [ROWS, ROWS]
    assert counted(rig, target, Batch(both))[0].jobs == 3
    for clocks, jobs in ((0, fewest), (5000, 3)):
        batch = Batch(both, reset_after=clocks, reset_clocks=1)
        assert counted(rig, target, batch)[0].jobs == jobs


def altered(monkeypatch, alter):
    """Let the results of a core, or what is measured, come otherwise in the first run."""
    run, runs = NativeSimulator.run, itertools.count()

    def run_altered(self, given, take, watch=None):
        if next(runs):
            return run(self, given, take, watch)
        return alter(lambda taking: run(self, given, taking, watch), take)

    monkeypatch.setattr(NativeSimulator, "run", run_altered)


def flipped(array):
    array = array.copy()
    array.reshape(-1).view(np.uint8)[0] ^= 1
    return array


@pytest.mark.parametrize("stalls", [0, 30])
@pytest.mark.parametrize("what", ["value", "position"])
def test_a_result_of_a_core(rig, monkeypatch, what, stalls):
    def alter(run, take):
        def altered_take(values, positions):
            if what == "value":
                take(flipped(values), positions)
            else:
                take(values, flipped(positions))

        return run(altered_take)

    altered(monkeypatch, alter)
    assert f"{what}" in difference(rig, CORE, output_stalls=stalls)


def test_a_result_of_a_core_in_front_of_a_reset(rig, monkeypatch):
    def alter(run, take):
        return run(lambda values, positions: take(flipped(values), positions))

    altered(monkeypatch, alter)
    assert "value" in difference(rig, CORE, items=[ROWS, ROWS], reset_after=200, reset_clocks=1)


def test_a_result_of_a_core_that_does_not_come(rig, monkeypatch):
    altered(monkeypatch, lambda run, take: run(lambda v, p: take(v[:-1], p[:-1])))
    assert "results came" in difference(rig, CORE)


def test_results_of_a_core_that_come_one_by_one(rig, monkeypatch):
    """Several jobs, so that what has come is added up."""

    def alter(run, take):
        def one_by_one(values, positions):
            for n in range(len(values)):
                take(values[n : n + 1], positions[n : n + 1])

        return run(one_by_one)

    altered(monkeypatch, alter)
    run_case(Case(CORE, [Batch([ROWS] * 3)]), rig, Tally())


def test_results_that_end_between_two_jobs():
    """As those of a core do that was reset there: the second job has none to compare."""
    rows = dataclasses.replace(ROWS, arguments=ROWS.arguments | {"sizes": [2000, 8]})
    todo = todo_of(target_named(CORE), Batch([rows, rows]))
    values, positions = todo[0].expected()
    assert len(values) > 256
    _compare(todo, values.view(f"u{values.itemsize}"), positions)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"taken": 1}, "beats were taken"),
        ({"cycles": 1}, "without stalls, predicted are"),
        ({"cycles": -1}, "without stalls, predicted are"),
    ],
)
def test_what_is_measured_of_a_core(rig, monkeypatch, changed, told):
    def alter(run, take):
        measured = run(take)
        new = {name: getattr(measured, name) + by for name, by in changed.items()}
        return dataclasses.replace(measured, **new)

    altered(monkeypatch, alter)
    assert told in difference(rig, CORE)


def test_the_clocks_of_a_core_that_are_told(rig, monkeypatch):
    def alter(run, take):
        measured = run(take)
        return dataclasses.replace(measured, cycles=measured.cycles + 7)

    altered(monkeypatch, alter)
    found = re.search(
        "1 jobs took ([0-9]+) clocks .* are ([0-9]+) to ([0-9]+)$", difference(rig, CORE)
    )
    assert found is not None
    took, fewest, most = map(int, found.groups())
    assert took - 7 == fewest == most


def test_a_status_of_a_core(rig, monkeypatch):
    """That of a job that is right tells of a refused one; that of a refused one does not."""
    for item in (ROWS, dataclasses.replace(ROWS, refused=1)):
        for bits in range(16):

            def alter(run, take, bits=bits):
                measured = run(take)
                statuses = tuple(word ^ 1 << bits for word in measured.statuses)
                return dataclasses.replace(measured, statuses=statuses)

            with monkeypatch.context() as patch:
                altered(patch, alter)
                try:
                    told = difference(rig, CORE, items=[item])
                except pytest.fail.Exception:
                    continue
                assert "the status after job 0" in told
                break
        else:
            pytest.fail("no bit of the status is compared")


@pytest.mark.parametrize("times", [0, 2])
def test_a_status_that_is_missing_or_too_many(rig, monkeypatch, times):
    def alter(run, take):
        measured = run(take)
        return dataclasses.replace(measured, statuses=times * tuple(measured.statuses))

    altered(monkeypatch, alter)
    assert "jobs were taken" in difference(rig, CORE)


class Altered(Received):
    """Results of a block of which the first ones are wrong."""

    what = "value"

    def __call__(self, values, positions):
        if self.what == "value":
            values = flipped(values)
        elif self.what == "position":
            positions = flipped(positions)
        elif self.what == "count":
            values, positions = values[1:], positions[1:]
        super().__call__(values, positions)


@pytest.mark.parametrize("accesses", [0, 1])
@pytest.mark.parametrize("what", ["value", "position"])
def test_a_result_of_a_block(rig, monkeypatch, what, accesses):
    monkeypatch.setattr(Altered, "what", what)
    for module in (on_block, on_faulty_block):
        monkeypatch.setattr(module, "Received", Altered)
    assert what in difference(rig, BLOCK, accesses=accesses)


def test_a_result_of_a_block_that_does_not_come(rig, monkeypatch):
    sound = Received.__call__
    monkeypatch.setattr(Received, "__call__", lambda s, v, p: sound(s, v, p) or _forget(s))
    for accesses in (0, 1):
        told = difference(rig, BLOCK, accesses=accesses)
        assert told.startswith("batch 0: ")
        assert "results came" in told


def _forget(received):
    received.beats -= 1


@pytest.mark.parametrize("name", ["jobs", "beats_in", "beats_out"])
@pytest.mark.parametrize(("owner", "accesses"), [(BlockDriver, 0), (BlockRegisters, 1)])
def test_a_counter_of_a_block(rig, monkeypatch, owner, accesses, name):
    sound, calls = owner.counters, itertools.count()
    name = name if owner is BlockDriver else name.upper()

    def counters(self):
        found = sound(self)
        return found | {name: found[name] + next(calls)}

    monkeypatch.setattr(owner, "counters", counters)
    assert f"{name}, expected" in difference(rig, BLOCK, accesses=accesses)


@pytest.mark.parametrize("by", [-50, 200])
def test_the_clocks_of_a_block(rig, monkeypatch, by):
    sound, calls = BlockDriver.counters, itertools.count()

    def counters(self):
        found = sound(self)
        return found | {"cycles": found["cycles"] + by * next(calls)}

    monkeypatch.setattr(BlockDriver, "counters", counters)
    assert "without stalls, predicted are" in difference(rig, BLOCK)


def many_accesses():
    return {"items": [ROWS] * 60, "accesses": 100}


def test_an_interrupt_of_a_block(rig, monkeypatch):
    sound = NativeBlock.interrupt.fget
    assert sound is not None
    monkeypatch.setattr(NativeBlock, "interrupt", property(lambda self: not sound(self)))
    fails = dataclasses.replace(ROWS, fault="early", fault_number=256)
    assert "the interrupt is" in difference(rig, BLOCK, items=[fails], accesses=1)


@pytest.mark.parametrize("what", ["read", "write"])
def test_an_access_that_a_block_must_refuse(rig, monkeypatch, what):
    sound = getattr(NativeBlock, what)

    def accept(self, *arguments):
        try:
            return sound(self, *arguments)
        except DeviceError:
            return 0

    monkeypatch.setattr(NativeBlock, what, accept)
    if what == "write":  # whose answer the next read tells
        read = NativeBlock.read
        monkeypatch.setattr(
            NativeBlock,
            "read",
            lambda self, address: accept_read(read, self, address),
        )
    assert "the block took" in difference(rig, BLOCK, **many_accesses())


def accept_read(read, block, address):
    try:
        return read(block, address)
    except DeviceError as error:
        if "write" not in str(error):
            raise
        return read(block, address)


def test_a_constant_of_a_block(rig, monkeypatch):
    sound = NativeBlock.read
    constants = range(0x40, 0xC0)
    monkeypatch.setattr(NativeBlock, "read", lambda self, at: sound(self, at) ^ (at in constants))
    assert "the word at" in difference(rig, BLOCK, **many_accesses())


def test_the_enabled_events_of_a_block(rig, monkeypatch):
    sound = NativeBlock.read
    monkeypatch.setattr(
        NativeBlock, "read", lambda self, at: sound(self, at) ^ (at == regs.IRQ_ENABLE)
    )
    assert "IRQ_ENABLE holds" in difference(rig, BLOCK, accesses=1)


@pytest.mark.parametrize("name", COUNTERS)
def test_counters_of_an_idle_block(rig, monkeypatch, name):
    """They stay as they are."""
    registers = BlockRegisters(rig.block(target_named(BLOCK)), target_named(BLOCK).config)
    registers._expect_same(name, is_idle=True)
    sound = BlockRegisters.field
    for step in (1, -1):
        calls = itertools.count(7, step)

        def field(self, register, name="value", calls=calls):
            return sound(self, register, name) + next(calls)

        monkeypatch.setattr(BlockRegisters, "field", field)
        registers._expect_same(name, is_idle=False)
        with pytest.raises(Difference, match=f"{name} went from"):
            registers._expect_same(name, is_idle=True)


def test_counters_that_are_not_cleared(rig, monkeypatch):
    sound = BlockRegisters.write

    def write(self, register, word):
        if (register, word) != ("CONTROL", 0b10):
            sound(self, register, word)

    monkeypatch.setattr(BlockRegisters, "write", write)
    fails = [dataclasses.replace(ROWS, fault="early", fault_number=256) for _ in range(20)]
    assert "the counters were cleared" in difference(rig, BLOCK, items=fails, accesses=1)


@pytest.mark.parametrize("flips", [0x1, 0x2])
def test_the_status_of_a_block(rig, monkeypatch, flips):
    """An idle block is not busy, and one can start if its queue has space, whatever runs."""
    registers = BlockRegisters(rig.block(target_named(BLOCK)), target_named(BLOCK).config)
    for is_idle in (True, False):
        registers._expect_status(is_idle=is_idle)
    sound = NativeBlock.read
    monkeypatch.setattr(
        NativeBlock, "read", lambda self, at: sound(self, at) ^ flips * (at == regs.STATUS)
    )
    with pytest.raises(Difference, match="STATUS tells"):
        registers._expect_status(is_idle=True)
    if flips == 2:
        with pytest.raises(Difference, match="STATUS tells"):
            registers._expect_status(is_idle=False)
    else:
        registers._expect_status(is_idle=False)
