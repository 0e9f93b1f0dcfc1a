"""How the regression runs jobs: what it expects, how close its bounds are, and what it draws."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from simulation import SIMULATORS

from extremum.hdl.axi.register_map import BlockError
from extremum.hdl.latency import latency
from extremum.host.plan.registers import Schedule
from extremum.host.plan.results import EMPTY
from extremum.tb.coverage import Tally
from extremum.tb.regression import block_registers, on_block
from extremum.tb.regression import run as regression_run
from extremum.tb.regression.case import Batch, Case, Item
from extremum.tb.regression.on_faulty_block import _Run
from extremum.tb.regression.pool import TARGETS, target_named
from extremum.tb.regression.run import Rig, run_case
from extremum.tb.regression.work import Difference, todo_of, watchdog
from extremum.tb.scoreboard import Scoreboard, ScoreboardError, noisy_beats

ROWS = {"function": "argmax", "sizes": [3, 40], "data_type": "float32", "axes": [1]}


@pytest.fixture(name="rig", scope="module")
def native_rig():
    with Rig("native") as rig:
        yield rig


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


@pytest.mark.parametrize(("height", "early", "late"), [(8, 4, 7), (9, 0, 11)])
def test_bounds_of_the_clocks_where_a_plane_ends_a_job(monkeypatch, rig, height, early, late):
    """The last line of the second plane meets no window."""
    pooling = {"sizes": [1, 1, height, 16], "data_type": "int8", "window": 2, "strides": 2}
    items = [Item("pooling", pooling)]
    cycles, fewest, most = accepted(monkeypatch, rig, "axi-planes", items, 400)
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
        for by in (1, -1):
            wrong = list(board.expected)
            wrong[number] += by
            with pytest.raises(ScoreboardError, match=f"result {number} is .*, of job {job},"):
                board.check(wrong)
    board.check(board.expected, len(board.beats))
    board.check(board.expected)
    for taken in (len(board.beats) - 1, len(board.beats) + 1):
        with pytest.raises(ScoreboardError, match=f"^{taken} beats were taken, expected"):
            board.check(board.expected, taken)
    for results in (board.expected[:-1], [*board.expected, 0], []):
        with pytest.raises(ScoreboardError, match=f"^{len(results)} results came, expected"):
            board.check(results)


def test_many_results_of_a_block_whose_registers_are_accessed(rig):
    many = Item("reduction", ROWS | {"sizes": [1300, 2]})
    figures = run_case(Case("axi-reduction", [Batch([many], accesses=1)]), rig, Tally())
    assert figures.jobs >= 1


@pytest.mark.parametrize("rows", [7, 10])
def test_lanes_behind_the_tail_hold_noise(rows):
    """A core that looked at them would be found. Nothing else is noise."""
    item = Item("reduction", ROWS | {"sizes": [rows, 30], "data_type": "uint32"})
    job, x = next((t.job, t.x) for t in todo_of(target_named("lanes5"), Batch([item])))
    first, second = (noisy_beats(job, x, random.Random(seed)) for seed in (1, 2))
    differs = first != second
    groups, tail = job.registers.groups, job.registers.tail
    assert (groups, tail) == (2, rows - 5)
    last = len(differs) // groups
    assert not differs[:-last].any()
    assert not differs[-last:, :tail].any()
    assert differs[-last:, tail:].all()


@pytest.mark.parametrize(("clocks", "now"), [(0, 1), (1, 1), (5, 5)])
def test_under_cocotb_the_pin_ends_a_batch(rig, monkeypatch, clocks, now):
    seen = []
    monkeypatch.setattr(
        on_block, "run_on_faulty_block", lambda block, target, batch, tally: seen.append(batch)
    )
    target = target_named("axi-reduction")
    batch = Batch([Item("reduction", ROWS)], reset_clocks=clocks, accesses=1)
    on_block.run_on_block(None, target, batch, Tally())  # pyright: ignore[reportArgumentType]
    on_block.run_on_block(rig.block(target), target, batch, Tally())
    assert [each.reset_clocks for each in seen] == [now, clocks]


def test_the_last_beats_of_a_dataflow_block_may_be_taken_ahead(monkeypatch, rig):
    """Where elements come behind the last window, the buffer may have taken two of them."""
    seen = []
    sound = on_block._check_clocks
    monkeypatch.setattr(on_block, "_check_clocks", lambda *given: seen.append(given))
    item = Item("reduction", ROWS | {"sizes": [1, 37]})
    run_case(Case("axi-endless", [Batch([item])]), rig, Tally())
    driver, (todo,), _ = seen[0]
    assert on_block.TAKEN_AHEAD == 2
    schedule = todo.job.schedule
    for behind, spared in ((0, 0), (1, on_block.TAKEN_AHEAD)):
        end = schedule.last_window + latency(todo.job.config) + behind
        job = SimpleNamespace(
            schedule=replace(schedule, last_element=end), config=todo.job.config,
            beats_in=37, beats_out=1,
        )  # fmt: skip
        clocks = on_block.dataflow_clocks(job)  # pyright: ignore[reportArgumentType]
        given: Any = [SimpleNamespace(job=job)]
        sound(driver, given, clocks - spared)
        with pytest.raises(Difference, match="without stalls"):
            sound(driver, given, clocks - spared - 1)


@pytest.mark.parametrize("name", ["small-endless", "endless"])
def test_a_dataflow_block_may_be_late_by_the_slots_before_a_first_beat(name):
    """A small one by a clock more for each job, since it waits for the job before."""
    config = target_named(name).config
    schedule = Schedule(first_element=3, last_window=40, last_element=40)
    job = SimpleNamespace(schedule=schedule, config=config, beats_in=37, beats_out=1)
    driver: Any = SimpleNamespace(is_programmable=False)
    given: Any = [SimpleNamespace(job=job)] * 2
    late = 2 * (3 + (name == "small-endless"))
    most = 2 * on_block.dataflow_clocks(job) + late  # pyright: ignore[reportArgumentType]
    on_block._check_clocks(driver, given, most)
    with pytest.raises(Difference, match="2 jobs took"):
        on_block._check_clocks(driver, given, most + 1)


@pytest.mark.parametrize("backend", SIMULATORS)
def test_cocotb_drives_a_core_without_a_job_port(backend):
    """Jobs follow each other without a gap, until a reset ends one."""
    job = Item("reduction", ROWS | {"sizes": [1, 37], "data_type": "float32"})
    batches = [Batch([job] * 3), Batch([job] * 2, input_stalls=50, reset_after=50), Batch([job])]
    with Rig(backend) as rig:
        figures = run_case(Case("endless", batches), rig, Tally())
    assert figures.jobs >= 5
