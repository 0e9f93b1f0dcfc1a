"""What the regression counts and bounds: figures, seeds, clocks, and what it tells of them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from extremum.hdl.axi.register_map import BlockError
from extremum.host.plan.results import EMPTY
from extremum.tb.coverage import POINTS, Tally
from extremum.tb.regression import block_registers, evidence, on_block
from extremum.tb.regression import run as regression_run
from extremum.tb.regression.case import Batch, Case, Item
from extremum.tb.regression.database import Database
from extremum.tb.regression.lots import LOT_CASES, Lot, LotResult
from extremum.tb.regression.on_faulty_block import _Run
from extremum.tb.regression.pool import CORES_MOST, TARGETS, target_named
from extremum.tb.regression.random_cores import random_target, seeds_of
from extremum.tb.regression.revision import Revision
from extremum.tb.regression.run import Rig, run_case
from extremum.tb.regression.work import Difference, Figures, todo_of, watchdog
from extremum.tb.scoreboard import Scoreboard, ScoreboardError

ROWS = {"function": "argmax", "sizes": [3, 40], "data_type": "float32", "axes": [1]}


@pytest.fixture(name="rig", scope="module")
def native_rig():
    with Rig("native") as rig:
        yield rig


def test_seeds_of_lots():
    """They tell their core, and no two lots have one in common."""
    cases = LOT_CASES["native"]
    first, second = Lot("native", 5, 0), Lot("native", 5, 1)
    assert first.seeds == [5 + CORES_MOST * number for number in range(cases)]
    assert second.seeds == [5 + CORES_MOST * (cases + number) for number in range(cases)]
    assert second.target is TARGETS[5]
    for number in (0, 1, 6):
        drawn = Lot("native", -1 - number, 0)
        assert drawn.is_random
        assert drawn.seeds == seeds_of(number)[:cases]
        assert drawn.target == random_target(number)


def test_cores_drawn_at_random_are_not_drawn_again(tmp_path):
    database = Database(tmp_path / "lots", Revision("gateware", "bench", "core"))
    number = database.begin(0, "none", {})
    lots = {Lot("native", core, of_core) for core, of_core in ((0, 3), (-1, 0), (-2, 0), (-8, 0))}
    for lot in lots:
        assert database.add(number, lot, LotResult(Figures(cases=1), {}))
    assert database.done() == lots
    database.close()


def test_cases_with_a_difference_count_as_cases(tmp_path):
    database = Database(tmp_path / "lots", Revision("gateware", "bench", "core"))
    number = database.begin(0, "none", {})
    figures = Figures(cases=6, jobs=50, clocks=9000, beats=7000)
    result = LotResult(figures, {}, [(0, "wrong"), (64, "wrong"), (128, "wrong")], 7.0)
    assert database.add(number, Lot("native", 0, 0), result)
    found = database.figures()["native"]
    assert (found["cases"], found["differences"]) == (9, 3)
    assert [found[name] for name in ("jobs", "clocks", "beats")] == [50, 9000, 7000]
    database.end(number, 2.0)
    told = evidence.evidence(database)
    assert told["total"] == {
        "cases": 9, "jobs": 50, "clocks": 9000, "beats": 7000, "differences": 3, "lots_retried": 0,
    }  # fmt: skip
    of_backend = told["backends"]["native"]
    assert of_backend["seconds"] == 7
    assert of_backend["cases_per_second_of_a_worker"] == 1.29
    assert of_backend["beats_per_second_of_a_worker"] == 1000
    (done,) = told["passes"]
    assert (done["seconds"], done["cases_per_second"], done["beats_per_second"]) == (2, 4.5, 3500)
    database.close()


def test_lots_that_took_no_time(tmp_path):
    database = Database(tmp_path / "lots", Revision("gateware", "bench", "core"))
    number = database.begin(0, "none", {})
    assert database.add(number, Lot("native", 0, 0), LotResult(Figures(cases=6, beats=90), {}))
    told = evidence.evidence(database)["backends"]["native"]
    assert told["seconds"] == 0
    assert told["cases_per_second_of_a_worker"] == 6
    assert told["beats_per_second_of_a_worker"] == 90
    database.close()


def test_a_pass_that_was_killed_has_no_rates(tmp_path):
    database = Database(tmp_path / "lots", Revision("gateware", "bench", "core"))
    database.begin(0, "none", {"python": "3"})
    (done,) = evidence.evidence(database)["passes"]
    rates = ("seconds", "cases_per_second", "beats_per_second")
    assert [done[name] for name in rates] == [None] * 3
    assert done["versions"] == {"python": "3"}
    database.close()


def test_bins_that_were_met_and_those_that_cannot_be(tmp_path):
    """A bin that was counted and is none of the bins, as of another version, is not missing."""
    database = Database(tmp_path / "lots", Revision("gateware", "bench", "core"))
    number = database.begin(0, "none", {})
    point = next(point for point in POINTS if len(set(point.reasons.values())) < len(point.reasons))
    met, *others = [f"{point.name}: {', '.join(places)}" for places in point.bins]
    result = LotResult(Figures(), {met: 3, "no bin": 1, others[0]: 0})
    assert database.add(number, Lot("native", 0, 0), result)
    missing = evidence.missing(database)
    assert met not in missing
    assert "no bin" not in missing
    assert set(others) < set(missing)
    told = evidence.evidence(database)["coverage"]
    assert told["met"] == 1
    assert told["bins"] == 1 + len(missing)
    shown = told["points"][point.name]
    assert shown["met"] == 1
    assert shown["impossible"] == Counter(point.reasons.values())
    database.close()


def test_versions_of_what_is_not_installed(monkeypatch):
    monkeypatch.setattr(evidence, "PACKAGES", ("numpy", "no-package-of-this-name"))
    told = evidence.versions()
    assert told["numpy"] == np.__version__
    assert told["no-package-of-this-name"] == "none"


def pooled(**geometry):
    window = {"window": [2, 2], "strides": [2, 2], "start_padding": [2, 2], "end_padding": [0, 0]}
    given = {"sizes": [1, 4, 6, 6], "data_type": "int8", "return_indices": True}
    return Item("pooling", given | window | {"nan": "propagate"} | geometry)


@pytest.mark.parametrize("name", ["narrow", "image"])
def test_positions_of_windows_in_padding(rig, name):
    """A narrow core gives all bits of its positions for none, and so the host takes them."""
    target, batch = target_named(name), Batch([pooled()])
    (each,) = todo_of(target, batch)
    _, positions = each.expected()
    assert (positions == EMPTY).any()
    largest = int(positions[positions != EMPTY].max())
    assert largest < (1 << target.config.index_width) - 1
    assert run_case(Case(name, [batch]), rig, Tally()).jobs == 2  # and one behind the batch


def test_values_of_a_core_that_gives_none():
    (each, *_) = todo_of(target_named("positions"), Batch([Item(
        "reduction", ROWS | {"data_type": "float16"})]))  # fmt: skip
    values, _ = each.expected()
    assert not values.any()


def accepted(monkeypatch, rig, target, items, spent):
    """Run jobs on a block; return the clocks, and the fewest and the most that would be right."""
    seen = []
    sound = on_block._check_clocks
    monkeypatch.setattr(on_block, "_check_clocks", lambda *given: seen.append(given))
    run_case(Case(target, [Batch(items)]), rig, Tally())
    driver, todo, cycles = seen[0]

    def is_right(clocks):
        try:
            sound(driver, todo, clocks)
        except Difference:
            return False
        return True

    right = [clocks for clocks in range(cycles + spent) if is_right(clocks)]
    assert right == list(range(right[0], right[-1] + 1))
    return cycles, right[0], right[-1]


@pytest.mark.parametrize(
    ("target", "jobs", "early", "late"),
    [
        ("axi-endless", 1, 0, 0),
        ("axi-endless", 3, 47, 94),
        ("axi-small-endless", 1, 0, 1),
        ("axi-small-endless", 3, 5, 13),
        ("axi-reduction", 1, 2, 3),
        ("axi-reduction", 3, 54, 101),
        ("axi-small-lanes5", 1, 1, 9),
    ],
)
def test_bounds_of_the_clocks_of_a_block_are_close(monkeypatch, rig, target, jobs, early, late):
    """They hold what was measured, and a known number of clocks more."""
    kind = "uint32" if "lanes5" in target else "float32"
    sizes = [1, 37] if "endless" in target else [3, 40]
    items = [Item("reduction", ROWS | {"sizes": sizes, "data_type": kind})] * jobs
    cycles, fewest, most = accepted(monkeypatch, rig, target, items, 400)
    assert (cycles - fewest, most - cycles) == (early, late)


def test_every_event_is_cleared_and_compared():
    every = {block_registers.DONE, block_registers.ERROR, block_registers.IDLE}
    assert len(every) == 3
    assert all(event and event & (event - 1) == 0 for event in every)
    assert sum(every) == block_registers.ALL_EVENTS


def test_accesses_to_an_idle_block_change_nothing(rig):
    """Each kind of them is drawn, and the block is as it was."""
    target = target_named("axi-reduction")
    registers = block_registers.BlockRegisters(rig.block(target), target.config)
    registers.enable(0)
    source = random.Random(4)
    seen = Counter(registers.disturb(source, is_idle=True) for _ in range(1500))
    kinds = {name for name, _ in registers._accesses(source, is_idle=True)}
    assert seen.keys() == kinds
    run_case(Case(target.name, [Batch([Item("reduction", ROWS)])]), rig, Tally())


@pytest.mark.parametrize("clocks", [0, 1])
def test_a_soft_reset_is_one_of_software(rig, monkeypatch, clocks):
    resets = []
    sound = on_block.BlockDriver.reset
    monkeypatch.setattr(on_block.BlockDriver, "reset", lambda self: resets.append(sound(self)))
    batch = Batch([Item("reduction", ROWS)] * 2, reset_after=40, reset_clocks=clocks)
    run_case(Case("axi-reduction", [batch]), rig, Tally())
    assert len(resets) == (clocks == 0)


def test_a_job_that_fails_behind_a_right_one(rig):
    """Bins tell what stands in front of it, and behind it."""
    right = Item("reduction", ROWS)
    fails = replace(right, fault="early", fault_number=0)
    for items, where in (
        ([fails], {"alone", "a right job behind it"}),
        ([right, fails], {"a right job before it", "a right job behind it"}),
        ([replace(fails, fault_number=256)], {"a right job before it", "a right job behind it"}),
    ):
        tally = Tally()
        run_case(Case("axi-reduction", [Batch(items)]), rig, tally)
        assert not any(name.startswith("accesses") for name in tally.counts)
        found = {name for name in tally.counts if name.startswith("block errors: ")}
        assert found == {f"block errors: {BlockError.TLAST_EARLY.name}, {each}" for each in where}


@pytest.mark.parametrize("accesses", [0, 30])
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("range", BlockError.RANGE),
        ("late", BlockError.TLAST_LATE),
        ("registers", BlockError.COUNT),
        ("full", BlockError.QUEUE_FULL),
    ],
)
def test_jobs_that_fail_in_other_ways(rig, kind, code, accesses):
    """Right ones stand around each, and some have other registers than the last one had."""
    others = Item("reduction", ROWS | {"sizes": [4, 9]})
    items = [
        each
        for number in range(6)
        for each in (
            replace(others, fault=kind, fault_number=number),
            Item("reduction", ROWS),
            replace(Item("reduction", ROWS), fault=kind, fault_number=256 + number),
        )
    ]
    tally = Tally()
    run_case(Case("axi-reduction", [Batch(items, accesses=accesses)]), rig, tally)
    found = {name for name in tally.counts if name.startswith("block errors: ")}
    assert any(name.startswith(f"block errors: {code.name}, ") for name in found)


def test_a_block_that_stands_still_is_given_up(rig):
    """Not before nothing has moved for as long as a right one may rest."""
    target, batch = target_named("axi-reduction"), Batch([Item("reduction", ROWS)])
    block = rig.block(target)
    run = _Run(block, target, batch, Tally(), patience=640)
    run.begin()
    before = block.clocks.now
    with pytest.raises(Difference, match="it waits, and nothing moved for 704 clocks"):
        run._until(lambda: False, "it waits")
    assert block.clocks.now - before >= 640
    run.end()


def test_patience_covers_slots_and_rests():
    target = target_named("reduction")
    batch = Batch([Item("reduction", ROWS)])
    todo = todo_of(target, batch)
    slots = max(each.job.registers.slots for each in todo)
    assert slots > 0
    assert watchdog([], batch) < watchdog(todo, batch) == watchdog([], batch) + slots
    resting = replace(batch, input_stalls=[[5, 0], [700, 100], [9, 50]], job_stalls=[[30, 100]])
    assert watchdog(todo, resting) == watchdog(todo, batch) + 700 + 9 + 30
    assert watchdog(todo, replace(batch, output_stalls=60)) == watchdog(todo, batch)


@pytest.mark.parametrize("bus", ["none", "axi"])
@pytest.mark.parametrize("backend", ["native", "verilator", "icarus"])
def test_each_backend_has_its_own_simulations(monkeypatch, backend, bus):
    """Of those in a process of their own only a few are open; they end with the rig."""
    closed = []

    class Fake:
        def __init__(self, *given):
            self.given = given

        def close(self):
            closed.append(self)

    class Native(Fake):
        pass

    for name in ("NativeSimulator", "NativeBlock"):
        monkeypatch.setattr(regression_run, name, Native)
    for name in ("CocotbSimulator", "CocotbBlock"):
        monkeypatch.setattr(regression_run, name, Fake)
    targets = [target for target in TARGETS if target.bus == bus]
    most = regression_run.OPEN_SIMULATIONS
    with Rig(backend) as rig:
        simulation = rig.core if bus == "none" else rig.block
        made = [simulation(target) for target in targets[: most + 2]]
        assert simulation(targets[most + 1]) is made[-1]
        assert {type(each) for each in made} == {Native if backend == "native" else Fake}
        assert closed == ([] if backend == "native" else made[:2])
    assert closed == made


def test_a_result_that_differs_is_told_with_its_job():
    target = target_named("reduction")
    board = Scoreboard(target.config)
    for sizes in ([3, 40], [4, 9]):
        (each,) = todo_of(target, Batch([Item("reduction", ROWS | {"sizes": sizes})]))
        board.add(each.job, each.x)
    for number, job in ((0, 1), (len(board.expected) - 1, 2)):
        wrong = list(board.expected)
        wrong[number] ^= 1
        with pytest.raises(ScoreboardError, match=f"result {number} is .*, of job {job},"):
            board.check(wrong)
    board.check(board.expected, len(board.beats))


def test_many_results_of_a_block_whose_registers_are_accessed(rig):
    many = Item("reduction", ROWS | {"sizes": [1300, 2]})
    figures = run_case(Case("axi-reduction", [Batch([many], accesses=1)]), rig, Tally())
    assert figures.jobs >= 1


def test_a_database_in_a_folder_that_is_missing(tmp_path):
    database = Database(tmp_path / "no" / "such" / "lots", Revision("gateware", "bench", "core"))
    assert database.figures() == {}
    database.close()
