"""The random regression: it finds a fault, repeats it, loses nothing, and counts nothing twice."""

import itertools
import json
import multiprocessing
import os
import random
import shlex
import signal
from dataclasses import replace
from typing import Any

import click
import pytest
from click.testing import CliRunner
from wrapped_core import wrap_core

from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.tb.coverage import BINS, EXCUSED, POINTS, Tally
from extremum.tb.regression import lots as lots_module
from extremum.tb.regression.block_registers import BlockRegisters
from extremum.tb.regression.campaign import (
    SchedulerError,
    Settings,
    _run_on_worker,
    run_pass,
)
from extremum.tb.regression.case import Batch, Case, Item
from extremum.tb.regression.command import regress
from extremum.tb.regression.database import Database
from extremum.tb.regression.draw import drawn_case
from extremum.tb.regression.faults import FAULTS
from extremum.tb.regression.lots import RANDOM_CORES, Lot, close_rigs, lots, run_lot
from extremum.tb.regression.operators import jobs_of
from extremum.tb.regression.pool import CORES_MOST, TARGETS, target_of
from extremum.tb.regression.revision import Revision, revision
from extremum.tb.regression.run import Rig
from extremum.tb.regression.shrink import failure

pytest_plugins = ["few_cases"]


@pytest.fixture(autouse=True)
def own_simulations():
    """Keep the simulations of a test from the next one."""
    close_rigs()
    yield
    close_rigs()


@pytest.fixture(name="no_earlier")
def no_earlier_gateware(monkeypatch):
    """Look for no earlier gateware with the same netlists, which takes seconds."""
    monkeypatch.setattr("extremum.tb.netlists.earlier_revisions", lambda **_: {})


def command(*arguments):
    """Run the command in this process; return its status and its lines."""
    ran = CliRunner().invoke(regress, list(map(str, arguments)), standalone_mode=False)
    if ran.exception is not None:
        raise ran.exception
    return ran.return_value, ran.output.splitlines()


@pytest.mark.parametrize("core", range(0, len(TARGETS), 3), ids=lambda core: TARGETS[core].name)
def test_the_same_seed_is_the_same_case(core, few):
    seed = core + 7 * CORES_MOST
    case = drawn_case(seed)
    random.seed(1)
    assert drawn_case(seed) == case == Case.from_json(case.to_json())
    assert case != drawn_case(seed + CORES_MOST)
    assert case.target == target_of(seed).name


@pytest.mark.slow
def test_random_cores_go_on_where_the_last_pass_ended(tmp_path, monkeypatch):
    """Two cores of a pass, and two others of the next; none of their bins is counted."""
    monkeypatch.setattr(lots_module, "LOT_CASES", {"native": 2})
    path, evidence = tmp_path / "results.sqlite", tmp_path / "evidence.json"
    options = ("--core", "random", "--workers", 0, "--database", path, "--evidence", evidence)
    for passed in (4, 8):
        status, told = command(*options, "--lots", 2)
        assert (status, told[-1]) == (0, f"{passed} passed, 0 failed")
    database = Database(path, revision())
    assert database.done() == {Lot("native", -1 - number, 0) for number in range(4)}
    assert database.bins() == {}
    database.close()
    found = json.loads(evidence.read_text())
    assert found["random_cores"]["cores"] == 4
    assert found["random_cores"]["jobs"] == found["total"]["jobs"] > 8
    # On another gateware they count for nothing, and take nothing from what counts.
    later = Database(path, Revision("later", "bench", "core"), {revision().gateware: {"image"}})
    assert (later.counted(), later.drawn()["cores"]) == (["later"], 0)
    later.close()


@pytest.mark.usefixtures("few")
def test_all_cores_are_those_of_the_pool_and_some_drawn_at_random():
    turn = list(itertools.islice(lots(["native"], [], []), 2 * (len(TARGETS) + RANDOM_CORES)))
    assert len(set(turn)) == len(turn)
    assert sorted(lot.core for lot in turn if lot.is_random) == list(range(-2 * RANDOM_CORES, 0))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x", "Expecting value"),
        ("[" * 100000, "recursion"),
        ("[1]", r"a case must be an object, not \[1\]"),
        ('{"batches":[]}', "the case lacks the field 'target'"),
        ('{"target":1,"batches":[]}', "'target' must be a name, not 1"),
        ('{"target":"image","batch":[]}', "a case has no field 'batch', only target, batches"),
        ('{"target":"image","batches":{}}', "'batches' must be a list"),
        ("BATCH 1", "a batch must be an object"),
        ('BATCH {"no":1}', "a batch has no field 'no'"),
        ('BATCH {"items":[0],"seed":true}', "'seed' must be a number from 0 to 2147483647"),
        ('BATCH {"items":[0],"input_stalls":101}', "'input_stalls' must be a percentage, or pairs"),
        ('BATCH {"items":[0],"input_stalls":100}', "below 100 at last, not 100"),
        ('BATCH {"items":[0],"output_stalls":[[5,100]]}', "'output_stalls' must be a percentage"),
        ('BATCH {"items":[0],"output_stalls":[[16777216,100],[1,0]]}', "'output_stalls' must be"),
        ('BATCH {"items":[0],"reset_clocks":16777216}', "'reset_clocks' must be a number of"),
        ('BATCH {"items":[0],"job_stalls":[[5,50],[5]]}', "'job_stalls' must be a percentage"),
        ('BATCH {"items":[0],"output_stalls":[[-1,5]]}', "'output_stalls' must be a percentage"),
        ('BATCH {"items":[0],"accesses":-1}', "'accesses' must be a percentage"),
        ('BATCH {"items":[0],"reset_after":-1}', "'reset_after' must be null or a number of"),
        ('BATCH {"items":[]}', "'items' must be a list that is not empty"),
        ('ITEM {"operator":"reduction"}', "the item lacks the field 'arguments'"),
        ('ITEM {"operator":"sum","arguments":{}}', "'operator' must be one of reduction, pooling"),
        ('ITEM {"operator":"pooling","arguments":[]}', "'arguments' must be an object"),
        ('ITEM {"operator":"pooling","arguments":{},"fill":[]}', "'fill' must be one of few, "),
        ('ITEM {"operator":"pooling","arguments":{},"jobs":1.5}', "'jobs' must be a number from 1"),
        ('ITEM {"operator":"pooling","arguments":{},"fault":"x"}', "'fault' must be null or one"),
    ],
)  # fmt: skip
def test_what_is_no_case(text, told):
    kind, _, value = text.partition(" ")
    batch = {"BATCH": value, "ITEM": f'{{"items":[{value}]}}'}.get(kind)
    text = text if batch is None else f'{{"target":"image","batches":[{batch}]}}'
    with pytest.raises(ValueError, match=f"this is no case: .*{told}"):
        Case.from_json(text)


def test_a_seed_of_no_core():
    with pytest.raises(ValueError, match=f"seed modulo 128 must be below {len(TARGETS)}"):
        drawn_case(CORES_MOST - 1)


@pytest.mark.parametrize("name", ["row130", "balanced-column130"])
def test_windows_of_more_than_64_taps_are_drawn_where_they_can_slide(name):
    """With positions, in a third of the cases: no other core meets the third digit of a tap."""
    number = [target.name for target in TARGETS].index(name)
    met = 0
    for nth in range(8):
        items = [i for batch in drawn_case(number + nth * CORES_MOST).batches for i in batch.items]
        jobs = [job for item in items for job in jobs_of(item, TARGETS[number].config)]
        sliding = [job.problem for job in jobs if isinstance(job, SlidingJob)]
        met += any(max(each.window) > 64 and each.return_indices for each in sliding)
    assert met >= 3


SPOILT = """
  reg [1:0] count = 0;
  wire [32:0] right;
  sound_core core (
      .clk(clk), .rst(rst), .i__valid(i__valid), .i__payload(i__payload), .i__ready(i__ready),
      .o__valid(o__valid), .o__payload(right), .o__ready(o__ready)
  );
  assign o__payload = {right[32:1], right[0] ^ (count == 2)};
  always @(posedge clk) begin
    if (rst) count <= 0;
    else if (o__valid & o__ready & count != 3) count <= count + 1;
  end
endmodule
"""
"""Around a core: it spoils the third result behind a reset."""


@pytest.fixture(name="faulty")
def faulty_core(monkeypatch):
    """Spoil the third result of the core ``endless1`` behind a reset."""
    wrap_core(monkeypatch, SPOILT)


@pytest.mark.usefixtures("faulty", "few")
def test_a_fault_is_found_and_shrunk_and_its_command_repeats_it(tmp_path, monkeypatch):
    database = tmp_path / "results.sqlite"
    status, told = command(
        "--core", "endless1", "--lots", 1, "--workers", 0, "--database", database
    )
    assert status == 1
    assert told[-1].endswith(" failed")
    assert not told[-1].endswith(" 0 failed")
    repeat = next(line for line in told if line.startswith("  repeat: "))
    words = shlex.split(repeat.removeprefix("  repeat: "))
    assert words[:3] == ["extremum", "regress", "--case"]
    case = Case.from_json(words[3])
    # Two rows of one element, and the job behind the last batch, which has as many, are the least
    # that shows it, without a stall and without a reset.
    (batch,) = case.batches
    (item,) = batch.items
    assert batch == Batch([item])
    assert sorted(item.arguments["sizes"]) == [1, 2]
    status, told = command(*words[2:])
    assert (status, told[-1]) == (1, "0 passed, 1 failed")
    where = "the job behind the last batch: position 0 of lane 0 is 0x1"
    assert any(line.startswith(f"difference: {where}") for line in told)
    assert told[0] == "core: endless1"
    # Without the fault both pass.
    monkeypatch.undo()
    status, told = command(*words[2:])
    assert (status, told[-1]) == (0, "1 passed, 0 failed")


@pytest.mark.usefixtures("few", "no_earlier")
def test_a_database_is_continued(tmp_path):
    path, evidence = tmp_path / "results.sqlite", tmp_path / "evidence.json"
    options = ("--core", "reduction", "--workers", 0, "--database", path)
    for passed in (4, 8):
        status, told = command(*options, "--lots", 2, "--evidence", evidence)
        assert (status, told[-1]) == (0, f"{passed} passed, 0 failed")
    database = Database(path, revision())
    core = [target.name for target in TARGETS].index("reduction")
    lots = {Lot("native", core, number) for number in range(4)}
    assert database.done() == lots
    whole, bins = database.figures(), database.bins()
    assert whole["native"]["cases"] == 8
    assert whole["native"]["lots_retried"] == 0
    # A lot that is there is not counted again.
    number = database.begin(1, "local", {})
    assert not database.add(number, Lot("native", core, 0), run_lot(Lot("native", core, 0)))
    assert (database.figures(), database.bins()) == (whole, bins)
    database.close()
    found = json.loads(evidence.read_text())
    assert found["total"]["beats"] == whole["native"]["beats"] > 0
    assert [each["cases"] for each in found["passes"]] == [4, 4]
    assert sum(found["coverage"]["points"]["cores"]["bins"].values()) == bins["cores: reduction"]
    # A bin that nobody met fails a pass that must cover all.
    status, told = command(*options, "--lots", 0, "--full-coverage")
    assert status == 1
    assert told[-1] == f"8 passed, {len(BINS) - len(bins)} failed"


@pytest.mark.usefixtures("few", "no_earlier")
def test_more_evidence_stays_than_a_new_database_has(tmp_path, capsys):
    """Unless it is of other sources."""
    evidence = tmp_path / "evidence.json"
    options = ("--core", "reduction", "--workers", 0, "--lots", 1, "--evidence", evidence)
    assert command(*options, "--database", tmp_path / "one.sqlite")[0] == 0
    found = json.loads(evidence.read_text())
    more = found | {"total": found["total"] | {"cases": 99}}
    evidence.write_text(json.dumps(more))
    status, told = command(*options, "--database", tmp_path / "other.sqlite")
    assert status == 0
    assert "the evidence about the regression stays: it is of 99" in "".join(
        (*told, *capsys.readouterr())
    )
    assert json.loads(evidence.read_text()) == more
    earlier = more | {"revision": found["revision"] | {"bench": "another"}}
    evidence.write_text(json.dumps(earlier))
    assert command(*options, "--database", tmp_path / "third.sqlite")[0] == 0
    assert json.loads(evidence.read_text())["total"]["cases"] == found["total"]["cases"]
    # A difference is told in any case.
    evidence.write_text(json.dumps(more))
    database = Database(tmp_path / "fourth.sqlite", Revision(revision().gateware, "another", "c"))
    result = replace(run_lot(Lot("native", 0, 0)), failures=[(7, "wrong")])
    assert database.add(database.begin(0, "none", {}), Lot("icarus", 0, 0), result)
    database.close()
    assert command(*options, "--database", tmp_path / "fourth.sqlite")[0] == 1
    told = json.loads(evidence.read_text())
    assert told["total"]["differences"] == told["backends"]["icarus"]["differences"] == 1
    # What is no evidence of a regression is told before anything runs.
    evidence.write_text(json.dumps(more | {"total": []}))
    with pytest.raises(click.UsageError, match="is no evidence of a regression, remove it"):
        command(*options, "--database", tmp_path / "fifth.sqlite")


@pytest.mark.slow
def test_killed_workers_lose_nothing_and_count_nothing_twice(tmp_path):
    """All workers are killed in the middle; the results are those of an undisturbed process."""
    settings = {"cores": ("reduction", "volume"), "seconds": 1e9, "most_lots": 8}
    disturbed = Database(tmp_path / "disturbed.sqlite", revision())
    killed = []

    def kill(progress):
        if not killed:
            for child in multiprocessing.active_children():
                if child.name.startswith("Dask Worker") and child.pid is not None:
                    killed.append(child.pid)
                    os.kill(child.pid, signal.SIGKILL)

    run_pass(Settings(workers=2, **settings), disturbed, kill, {})
    assert len(killed) == 2
    quiet = Database(tmp_path / "quiet.sqlite", revision())
    run_pass(Settings(workers=0, **settings), quiet, lambda progress: None, {})
    assert disturbed.done() == quiet.done()
    assert disturbed.bins() == quiet.bins()
    one, two = disturbed.figures()["native"], quiet.figures()["native"]
    assert one.pop("lots_retried") >= 1
    assert two.pop("lots_retried") == 0
    del one["seconds"], two["seconds"]
    assert one == two
    disturbed.close()
    quiet.close()


def test_a_worker_with_other_sources_is_refused():
    """Its results would count for gateware that it does not have."""
    lot: Any = None  # which is not looked at
    other = replace(revision(), gateware="0123456789ab")
    with pytest.raises(SchedulerError, match=r"^a worker has other sources: .*they are 01234567"):
        _run_on_worker(lot, "lot", other)


def test_bins_are_declared_and_possible():
    tally = Tally()
    tally.count("operator", "argmin", "int8", "decreasing", "propagate")
    assert list(tally.counts.values()) == [1]
    with pytest.raises(KeyError, match="was declared impossible: values and poolings take the fir"):
        tally.count("operator", "max-pool", "int8", "decreasing", "propagate")
    with pytest.raises(KeyError, match="is not declared"):
        tally.count("operator", "sum", "int8", "increasing", "propagate")
    assert not BINS & EXCUSED.keys()
    assert all(point.bins for point in POINTS)


def test_a_case_that_no_core_can_run_is_no_failure():
    wrong = '{"target":"reduction","batches":[{"items":[{"operator":"reduction","arguments":%s}]}]}'
    arguments = {"function": "argmax", "sizes": [3], "data_type": "int8", "axes": [0]}
    with Rig("native") as rig:
        assert failure(Case.from_json(wrong % json.dumps(arguments)), rig) is None


@pytest.mark.parametrize("fault", FAULTS)
def test_a_job_that_fails_is_told_and_the_next_one_is_right(fault):
    """A block that tells another error, or none, or goes on wrongly, is a difference."""
    arguments = {"function": "argmax", "sizes": [3, 40], "data_type": "float32", "axes": [1]}
    item = Item("reduction", arguments, fault=fault, fault_number=259)
    case = Case("axi-reduction", [Batch([item, item], accesses=80, seed=5)])
    assert Case.from_json(case.to_json()) == case
    with Rig("native") as rig:
        assert failure(case, rig) is None


def test_an_error_that_names_another_job_is_a_difference(monkeypatch):
    arguments = {"function": "argmax", "sizes": [3, 40], "data_type": "float32", "axes": [1]}
    item = Item("reduction", arguments, fault="early", fault_number=256)
    sound = BlockRegisters.field

    def field(self, register, name="value"):
        return sound(self, register, name) - (name == "job")

    monkeypatch.setattr(BlockRegisters, "field", field)
    with Rig("native") as rig:
        told = failure(Case("axi-reduction", [Batch([item])]), rig)
    assert told == "batch 0: ERROR.job is 0, expected 1"
