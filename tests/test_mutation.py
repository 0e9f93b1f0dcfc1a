"""The machinery of ``make mutation``, on a counter: what is killed, proved, explained, fails."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue] (not in the stubs)
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amounts import mostly_slow

from extremum.hdl.registers import job_shapes
from extremum.hdl.timing import timing_parameters
from extremum.tb.mutation import (
    axi_trials,
    campaign,
    core_trials,
    explained,
    planted,
    rules,
    yosys,
)
from extremum.tb.mutation.__main__ import QUICK_BLOCKS
from extremum.tb.mutation.blocks import (
    BLOCKS,
    BUILDS,
    DESIGN_OF,
    WHOLE_CORES,
    Cell,
    block_of,
    is_of_axi_block,
)
from extremum.tb.mutation.columns import Columns, reached
from extremum.tb.mutation.compiled_design import CompiledDesign, Recorder
from extremum.tb.mutation.designs import COUNTER_BITS, DESIGNS, scaled
from extremum.tb.mutation.names import names, places
from extremum.tb.mutation.packages import PACKAGES
from extremum.tb.mutation.proof import Prover, netlist_of
from extremum.tb.mutation.rules import every, meant, widths
from extremum.tb.refusal import beyond

ALL = 1_000_000
"""More bits than a port has."""


class Counter(wiring.Component):
    """Counts to two, over and over, and tells when it is there; three is never reached."""

    enable: Signal
    valid: Signal
    count: Signal

    def __init__(self):
        super().__init__({"enable": In(1), "valid": Out(1), "count": Out(2)})

    def elaborate(self, platform):
        m = Module()
        number, spare = Signal(2), Signal()
        with m.If(self.enable):
            m.d.sync += number.eq(number + 1)
            with m.If(number == 2):
                m.d.sync += number.eq(0)
        m.d.sync += spare.eq(self.enable)
        m.d.comb += [self.count.eq(number), self.valid.eq((number == 2) & (number[1] | spare))]
        return m


class Small:
    """A design like those of the campaign."""

    bus, clock, config, block, prefix = "none", "clk", None, "part", ""

    def rtlil(self):
        return rtlil.convert(Counter(), name="mutated", emit_src=True)


@pytest.fixture(scope="module")
def design():
    return Small()


@pytest.fixture(scope="module")
def mutants(design):
    """A known fault, one that nobody can see, and one in a payload that does not count."""
    text = yosys.flat(design)
    cells = [line.split() for line in text.splitlines() if line.startswith("  cell ")]
    (add,) = (words[2] for words in cells if words[1] == "$add")
    (spare,) = (words[2] for words in cells if words[1] == "$or")
    return [
        yosys.Mutant(add, "Y", 1, "inv"),
        yosys.Mutant(spare, "Y", 0, "const1"),
        yosys.Mutant(add, "Y", 0, "const0"),
    ]


def record(model, clocks=20, valids=None):
    recorder = Recorder(model)
    counts = [recorder.clock(rst=0, enable=1)["count"] for _ in range(clocks)]
    assert counts == [clock % 3 for clock in range(clocks)]
    return recorder.trial("counts", valids or {})


def made_prover(design, mutants, valids):
    model, netlist = CompiledDesign(design, mutants), netlist_of(design, mutants)
    seen = reached(netlist, Columns(netlist), model.inputs, [record(model)], 100)
    return Prover(netlist, len(mutants), valids, ("rst", 1), seen)


def test_a_fault_is_killed_and_told_by_its_output(design, mutants):
    model = CompiledDesign(design, mutants)
    trial = record(model)
    assert model.replay(0, trial) is None
    assert model.replay(2, trial) is None
    difference = model.replay(1, trial)
    assert difference is not None
    assert model.differing(trial, *difference) == "count"


def test_outputs_that_do_not_count_are_not_compared(design, mutants):
    model = CompiledDesign(design, mutants)
    masked = record(model, clocks=2, valids={"valid": ("count",)})
    assert model.replay(3, masked) is None
    assert model.replay(3, record(model, clocks=20, valids={"valid": ("count",)})) is not None


def test_an_equivalent_is_proved_and_a_fault_is_not(design, mutants):
    prover = made_prover(design, mutants, {})
    assert [prover.is_equivalent(number) for number in (1, 2, 3)] == [False, True, False]
    prover.close()


def test_a_survivor_fails_unless_it_is_explained(design, mutants, monkeypatch):
    monkeypatch.setattr(campaign, "trials", lambda design, model, rounds: [record(model)])
    monkeypatch.setattr(campaign, "valids", lambda design: {})

    def outcome(rules, known=()):
        run = campaign.Campaign(design, {"part": mutants}, lambda line: None)
        run.kill(range(1), float("inf"))
        run.alive[3] = mutants[2]  # as if no trial had found it
        run.prove(float("inf"))
        run.explain(rules, known)
        return run.outcomes["part"]

    assert outcome([]).surviving == [mutants[2].key]
    assert outcome([]).equivalent == 1
    rule = explained.Rule("part", "", r".*Y\[0\] const0", "for a test")
    assert outcome([rule]).explained == {"for a test": 1}
    assert outcome([], {f"part: {mutants[2].key}"}).open == [mutants[2].key]
    assert not outcome([], {f"part: {mutants[2].key}"}).surviving


def test_a_design_that_differs_from_its_own_recording_is_told(design, mutants, monkeypatch):
    monkeypatch.setattr(campaign, "trials", lambda design, model, rounds: [record(model)])
    made = campaign.Campaign(design, {"part": mutants}, lambda line: None)
    monkeypatch.setattr(made.model, "replay", lambda number, trial: (0, 0))
    with pytest.raises(RuntimeError, match=r"^the recording is not repeatable$"):
        made.kill(range(1), float("inf"))


def test_rules_explain_what_matches_them_and_nothing_else():
    text = '[[survivor]]\nblock = "key"\nat = "reset of a"\nmutants = ".*B.*"\nreason = "{}"\n'
    some = explained.rules(text.format("nobody can tell it"))
    assert explained.reason(some, "key", "reset of a", "a.$3.B[0] inv") == "nobody can tell it"
    for other in (
        ("fold", "reset of a", "a.$3.B[0] inv"),
        ("key", "reset of ab", "a.$3.B[0] inv"),
        ("key", "reset of a", "a.$3.A[0] inv"),
    ):
        assert explained.reason(some, *other) is None
    with pytest.raises(ValueError, match="has no reason"):
        explained.rules(text.format("why"))
    known = {name.partition(": ")[0] for name in explained.open_survivors()}
    known |= {rule.block for rule in explained.rules()}
    assert known <= {*BLOCKS, *PACKAGES}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "blocks"), BUILDS, ids=str)
def test_every_rule_is_about_a_mutant_that_there_is(name, blocks):
    """A change of the gateware may leave rules behind that explain nothing any more."""
    design = DESIGNS[name]
    with scaled(design):
        text = yosys.flat(design)
        used = {rule for b in blocks for rule, _ in meant(design, text, b, narrow=ALL)}
    assert not [rule for rule in explained.rules() if rule.block in blocks and rule not in used]


@pytest.mark.parametrize("name", mostly_slow(["block", "small.block"], ["block"]))
def test_the_trials_of_a_block_are_recorded(name):
    """They drive the block by the driver, whose changes they must follow."""
    design = DESIGNS[name]
    with scaled(design):
        mutants = yosys.mutants(design, yosys.flat(design), f"{design.prefix}axi.buffers", 1)
        model = CompiledDesign(design, mutants)
        recorded = list(axi_trials.trials(model, design.config, range(1), ("jobs", "stalls")))
        assert {trial.kind for trial in recorded} == {"jobs", "stalls"}
        assert all(model.replay(0, trial) is None for trial in recorded)


def test_the_documentation_lists_every_kind_of_trial():
    text = (Path(__file__).parents[1] / "docs/mutation.md").read_text()
    table = text.partition("| trial | of |")[2].partition("\n\n")[0]
    told = {"core": set(), "block": set()}
    for trials, designs, _ in re.findall(r"^\| (`.*?) \| ([a-z, ]+) \| (.*) \|$", table, re.M):
        for design in designs.split(", "):
            told[design] |= set(re.findall("`(.*?)`", trials))
    assert told == {"core": set(core_trials.KINDS), "block": set(axi_trials.KINDS)}


def test_a_cell_is_told_by_its_code_or_by_the_register_that_it_leads_to(design):
    found = set(places(yosys.flat(design)).values())
    assert {"reset of spare @ ", "reset of count @ ", "choice of count @ "} <= found


def test_names_of_cells_hold_no_numbers_of_other_code(design):
    text = yosys.flat(design)
    where, called = places(text), names(text)
    assert len({(where[cell], name) for cell, name in called.items()}) == len(called)
    assert {"add0", "or0", "dff0"} <= set(called.values())
    assert not any("$" in name for name in called.values())
    (adder,) = (cell for cell, name in called.items() if name == "add0")
    mutant = yosys.Mutant(adder, "Y", 1, "cnot0", 2, "", "hdl/a.py: x + 1", "part.add0")
    assert mutant.key == "hdl/a.py: x + 1 | part.add0.Y[1] cnot0/2"


def test_a_rule_may_have_several_places():
    text = """
[[survivor]]
block = "key"
where = [['a', 'x.*'], ['b', 'y']]
reason = "nobody can tell it"
"""
    some = explained.rules(text)
    found = [explained.reason(some, "key", *pair) for pair in (("a", "xy"), ("b", "y"), ("b", "x"))]
    assert found == ["nobody can tell it", "nobody can tell it", None]


def test_all_mutants_of_a_cell():
    text = r"""
  wire width 5 \a
  wire \b
  cell $add $1
    parameter \A_WIDTH 4
    connect \A { \a [3:1] \b }
    connect \B { 2'10 \a }
    connect \Y \a [2]
  end
  cell $dff $2
    connect \CLK \b
    connect \D \a [1:0]
    connect \Q \a [4:3]
  end
"""
    assert widths(text) == {"$1": {"A": 4, "B": 7, "Y": 1}, "$2": {"CLK": 1, "D": 2, "Q": 2}}
    found = [mutant.name for mutant in every("$2", widths(text)["$2"], "", "part.dff0")]
    ways = ("inv", "const0", "const1", "cnot0/{}", "cnot1/{}")
    assert found == [f"part.dff0.D[{n}] {way}".format(1 - n) for n in (0, 1) for way in ways]
    plain = [mutant.name for mutant in every("$2", {"D": 2}, "", "part.dff0", narrow=1)]
    assert plain == [name for name in found if "cnot" not in name]


def test_a_rule_that_means_a_fault_is_too_wide(design, monkeypatch, capsys):
    """All that a rule means is tried, whether the campaign's sample has it or not."""
    # Of a rule that means both kinds of mutants, those that depend on another bit are left out.
    both = r"add0\.Y\[\d\] (inv|cnot0/\d)"
    wide = explained.Rule("part", ".*", both, "the sum may be another one")
    other = explained.Rule("part", ".*", r"add0\.Y\[\d\] cnot1/\d", "nor does its other bit matter")
    right = explained.Rule("part", ".*", r"or0\.Y\[0\] const1", "the other number is never reached")
    for name, value in {
        "BLOCKS": ("part",),
        "BUILDS": [("counter", ("part",))],
        "DESIGNS": {"counter": design},
        "scaled": lambda design: nullcontext(),
        "trials": lambda design, model, rounds: [record(model)],
        "rules": lambda: [wide, other, right],
    }.items():
        monkeypatch.setattr(rules, name, value)
    # A rule that means mutants at wide ports alone has its mutants tried, however many they are.
    monkeypatch.setattr(rules, "NARROW", 1)
    monkeypatch.setattr("sys.argv", ["rules"])
    assert rules.main() == 1
    printed = capsys.readouterr().out
    assert printed.count("though: the sum may be another one") == 2
    assert printed.count("though: nor does its other bit matter") == 2
    assert "part: 10 mutants of 3 rules\n" in printed
    assert printed.endswith("1 passed, 2 failed\n")
    monkeypatch.setattr("sys.argv", ["rules", "--rounds", "0"])
    with pytest.raises(SystemExit, match="2"):
        rules.main()
    assert "--rounds is 0" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["rules"])
    monkeypatch.setattr(rules, "rules", lambda: [right])
    assert rules.main() == 0
    assert capsys.readouterr().out == "part: 1 mutant of 1 rule\n1 passed, 0 failed\n"
    nowhere = explained.Rule("part", "gone.py: .*", ".*", "it is gone")
    monkeypatch.setattr(rules, "rules", lambda: [right, nowhere])
    assert rules.main() == 1
    assert "no mutant of part is at gone.py" in capsys.readouterr().out


def test_a_rule_may_be_of_several_blocks():
    text = """
[[survivor]]
blocks = ["key", "small.rows"]
at = "a"
reason = "nobody can tell it"
"""
    some = explained.rules(text)
    found = [explained.reason(some, block, "a", "x") for block in ("key", "small.rows", "fold")]
    assert found == ["nobody can tell it", "nobody can tell it", None]


def test_cells_are_sorted_into_blocks():
    core = DESIGNS["windows"]
    inner = Cell("$flatten\\admission.\\slots.\\width.$12", "hdl/line.py:190")
    assert block_of(inner, core) == "slots"
    assert block_of(inner, DESIGNS["small.windows"]) == "small.windows"
    assert block_of(Cell("$flatten\\fold.$7", "hdl/winner.py:80"), core) == "winner"
    packets = Cell("$flatten\\packets.$7", "hdl/axi/input_packets.py:99")
    assert block_of(packets, DESIGNS["block"]) == "axi.packets"
    assert block_of(packets, DESIGNS["small.block"]) == "small.axi.packets"
    of_blocks = {name for name in BLOCKS if is_of_axi_block(name)}
    assert of_blocks == {name for name in BLOCKS if "axi." in name}
    assert block_of(Cell("$flatten\\core.\\fold.$7", ""), DESIGNS["block"]) not in BLOCKS


def test_the_quick_form_has_cores_of_each_setting_as_they_are():
    """Counters are narrow in all designs, but segments are made short in fast cores alone."""
    settings = {DESIGNS[DESIGN_OF[block]].config.pipelining for block in QUICK_BLOCKS}
    assert settings == {"fast", "small", "balanced"}
    for core in WHOLE_CORES:
        config = DESIGNS[core].config
        with scaled(DESIGNS[core]):
            assert timing_parameters(config).whole_count == 64
            assert job_shapes(config)["slots"].width == COUNTER_BITS


def test_numbers_beyond_a_limit():
    assert beyond(4, 4) == [5, 6, 8, 12, 15]
    assert beyond(3, 2) == []
    assert beyond(0, 3) == [1, 2, 4, 7]


@pytest.mark.parametrize(
    ("tests", "status", "fails"),
    [
        ("def test_it(): pass", 0, False),
        ("def test_it(): assert 0", 1, True),
        ("import nothing_of_that_name", 2, True),
        ("import time; time.sleep(600)", None, True),
        (None, 4, None),
    ],
)
def test_how_tests_end_with_a_planted_bug(tmp_path, monkeypatch, tests, status, fails):
    """What was not run has caught nothing."""
    if status is None:
        monkeypatch.setattr(planted, "SECONDS", 4)
    if tests is not None:
        (tmp_path / "test_it.py").write_text(tests)
    assert planted.status_of(tmp_path, "test_it.py") == status
    if fails is None:
        with pytest.raises(RuntimeError, match=r"pytest ended with status 4: test_it\.py"):
            planted.fails(tmp_path, "test_it.py")
    else:
        assert planted.fails(tmp_path, "test_it.py") == fails


def test_every_rung_must_pass_without_a_bug(monkeypatch, capsys):
    monkeypatch.setattr(planted, "refuse_no_tree", lambda parser: None)
    monkeypatch.setattr(planted, "copy", lambda *_: None)
    bench = planted.RUNGS[-1][1]
    monkeypatch.setattr(planted, "status_of", lambda _, tests: 1 if tests == bench else 0)
    monkeypatch.setattr("sys.argv", ["planted"])
    assert planted.main() == 1
    assert capsys.readouterr().out == (
        f"bench: without a bug these do not pass in time: {bench}\n0 passed, 1 failed\n"
    )


def test_bugs_to_plant_fit_the_sources(tmp_path, request):
    root = request.config.rootpath
    for bug in planted.BUGS:
        path = tmp_path / bug.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((root / bug.file).read_text())
        assert planted.plant(bug, tmp_path) != path.read_text()
        assert (root / bug.unit).exists()
