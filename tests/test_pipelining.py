"""The settings of ``pipelining``: other registers, other clocks, and the same results."""

from dataclasses import replace

import pytest
from amounts import mostly_slow
from click.testing import CliRunner

from extremum.hdl.config import PIPELINING, CoreConfig
from extremum.hdl.latency import job_interval, latency
from extremum.host.cli.commands import commands
from extremum.host.errors import SynthesisError
from extremum.host.fpga.clock_target import smallest_for
from extremum.host.fpga.devices import DEVICES
from extremum.host.fpga.presets import PRESETS
from extremum.model import DataType
from extremum.tb.coverage import Tally
from extremum.tb.regression import pool
from extremum.tb.regression.draw import drawn_case
from extremum.tb.regression.lots import close_rigs, rig_of
from extremum.tb.regression.pool import CORES_MOST, TARGETS
from extremum.tb.regression.run import run_case
from extremum.tb.regression.target import Target

OTHERS = [number for number, target in enumerate(TARGETS) if target.config.pipelining != "fast"]
QUICK = [
    number
    for number, target in enumerate(TARGETS)
    if target.name in ("small-pool2", "axi-small-pool3", "balanced-unpadded")
]


@pytest.fixture(autouse=True)
def own_simulations():
    """Keep the simulations of a test from the next one."""
    close_rigs()
    yield
    close_rigs()


@pytest.mark.parametrize(
    "number", mostly_slow(OTHERS, QUICK), ids=lambda number: TARGETS[number].name
)
def test_random_jobs(number):
    """Results, order, statuses, stalls, resets, and the clocks, as in the random regression."""
    for nth in range(6):
        run_case(drawn_case(number + nth * CORES_MOST), rig_of("native"), Tally())


@pytest.mark.slow
def test_random_poolings_on_many_lanes(monkeypatch):
    """From 32 lanes on the timing parameters are others; the pool has no such core with windows."""
    crowded = CoreConfig(
        (DataType.INT8,), 64, (1, 3, 3), (1, 2, 1), max_line=24, max_plane=96, coordinate_width=7
    )
    number = len(TARGETS)
    monkeypatch.setattr(pool, "TARGETS", (*TARGETS, Target("crowded", crowded)))
    for nth in range(6):
        run_case(drawn_case(number + nth * CORES_MOST), rig_of("native"), Tally())


def test_the_pool_has_cores_of_each_setting():
    assert {target.config.pipelining for target in TARGETS} == set(PIPELINING)


@pytest.mark.parametrize("name", PRESETS)
def test_fewer_registers_make_a_shorter_way(name):
    """The latency grows with the registers, and so does the time that a short job needs."""
    configs = [replace(PRESETS[name], pipelining=setting) for setting in PIPELINING]
    clocks = [latency(config) for config in configs]
    assert clocks == sorted(set(clocks))
    assert job_interval(configs[0]) < job_interval(configs[-1])


@pytest.mark.parametrize("wrong", ["Small", "", None, 1])
def test_a_setting_that_is_none(wrong):
    with pytest.raises(ValueError, match="pipelining must be one of small, balanced, fast, not"):
        CoreConfig(pipelining=wrong)


class Measured:
    """What :func:`smallest_for` reads of a measurement."""

    def __init__(self, fmax, comb, ff):
        self.fmax, self.comb, self.ff = fmax, comb, ff


MEASURED = {"small": (50, 10, 5), "balanced": (100, 10, 20), "fast": (200, 10, 60)}
"""Answers of measurements: MHz, look-up tables and flip-flops of each setting."""


@pytest.fixture(name="answers")
def given_answers(monkeypatch):
    """Answer measurements from a table; return the table and the settings that were measured."""
    tried, table = [], dict(MEASURED)

    def answer(config, *_, **__):
        tried.append(config.pipelining)
        return Measured(*table[config.pipelining])

    monkeypatch.setattr("extremum.host.fpga.clock_target.measure", answer)
    return table, tried


@pytest.fixture(name="tried")
def tried_settings(answers):
    return answers[1]


@pytest.mark.parametrize(
    ("clock", "setting"),
    [(1, "small"), (50, "small"), (50.1, "balanced"), (100, "balanced"), (200, "fast")],
)
def test_the_smallest_that_reaches_a_clock(tried, clock, setting):
    """The fast core is measured only where it is needed."""
    found = smallest_for(clock, PRESETS["pool2x2-int8"], DEVICES["ecp5-85k"])
    assert found.config == replace(PRESETS["pool2x2-int8"], pipelining=setting)
    measured = list(PIPELINING if setting == "fast" else PIPELINING[:-1])
    assert tried == measured == list(found.measured)
    assert found.summary.startswith(f"{setting} is the smallest that reaches {clock:g} MHz: small")
    assert [told["pipelining"] for told in found.as_dict()] == measured
    assert found.chosen.fmax >= clock


def test_registers_may_save_look_up_tables(answers):
    """A setting with more registers is chosen where it is smaller as a whole."""
    answers[0].update(small=(50, 40, 5), balanced=(100, 20, 10))
    found = smallest_for(40, PRESETS["argmax-float32"], DEVICES["ecp5-85k"])
    assert found.config.pipelining == "balanced"


@pytest.mark.parametrize(("device", "setting"), [("ecp5-85k", "small"), ("ice40-hx8k", "balanced")])
def test_area_is_that_of_the_part(answers, device, setting):
    """A logic cell of an iCE40 has a flip-flop of its own, and one of an ECP5 has not."""
    answers[0].update(small=(50, 21, 0), balanced=(100, 20, 10))
    found = smallest_for(40, PRESETS["argmax-float32"], DEVICES[device])
    assert found.config.pipelining == setting


def test_a_clock_that_no_setting_reaches(tried):
    with pytest.raises(SynthesisError, match=r"reaches 201 MHz .* fast 200"):
        smallest_for(201, PRESETS["pool2x2-int8"], DEVICES["ecp5-85k"])
    assert tried == list(PIPELINING)


@pytest.mark.parametrize("command", ["fpga", "verilog --output build"])
def test_a_clock_and_a_setting_are_refused(command):
    """``--clock`` chooses the setting, so both at once say two things."""
    options = [*command.split(), "--preset", "pool2x2-int8", "--clock", "90"]
    told = CliRunner().invoke(commands, [*options, "--pipelining", "small"])
    assert told.exit_code == 2
    assert "give one of the two" in told.output


def test_a_package_for_a_clock(tried, tmp_path):
    """The Verilog is that of the setting that was chosen, and its latency is told."""
    target = tmp_path / "block.v"
    options = ["verilog", "--preset", "pool2x2-int8", "--name", "pool", "--output", str(target)]
    told = CliRunner().invoke(commands, [*options, "--clock", "60"])
    assert told.exit_code == 0, told.output
    assert tried == ["small", "balanced"]
    assert "balanced is the smallest that reaches 60 MHz: small 50.0 MHz" in told.output
    chosen = target.read_text()
    CliRunner().invoke(commands, [*options, "--pipelining", "balanced"])
    assert target.read_text() == chosen
