"""`extremum plan --registers`, and plans for a core that has a name or a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run

from extremum.hdl.axi.register_map import START_COMMAND, command_address, register_map
from extremum.hdl.config import CoreConfig
from extremum.hdl.registers import job_shapes
from extremum.host.cli.job_registers import registers_dict
from extremum.host.driver.words import job_words
from extremum.host.fpga.presets import PRESETS
from extremum.host.plan import plan
from extremum.model import DataType, Pooling, Reduction

POOL = "plan max-pool --window 3 --strides 2 --start-padding 1 --end-padding 1 --type int8"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def expected(config, *sizes):
    problem = Pooling.of(sizes, "int8", 3, strides=2, start_padding=1, end_padding=1)
    return plan(problem, config).jobs


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plan argmax --sizes 8 --preset argmax-int8", "length fixed to 4294967295, and the job"),
        (
            "plan max-pool --sizes 1,1,8,8 --window 2 --preset pool2x2-int8",
            "height.stride fixed to 2, and the job needs 1",
        ),
    ],
)
def test_a_core_whose_registers_are_fixed_to_others(line, message):
    """Without this its plan would predict clocks of jobs that the core cannot run."""
    status, out, (said,) = run(f"{line} --type int8")
    assert (status, out) == (2, [])
    assert message in said


@pytest.mark.parametrize("sizes", [(1, 7, 9, 11), (2, 9, 12, 1300)])
def test_registers_of_each_job(sizes):
    """One job, and many: tiles, and a last one with fewer slices."""
    config = PRESETS["programmable-int8x4"]
    line = f"{POOL} --preset programmable-int8x4 --sizes {','.join(map(str, sizes))} --registers"
    status, (text,), err = run(f"{line} --json")
    assert (status, err) == (0, [])
    told, jobs = json.loads(text)["jobs"], expected(config, *sizes)
    assert len(told) == len(jobs) >= 1
    names = {register.address: register.name for register in register_map(config)}
    for given, job in zip(told, jobs, strict=True):
        assert len(given["payload"]) == 2 + (given["payload_bits"] + 3) // 4
        values = job.registers.values()
        assert given["registers"] == {name: values[name] for name in job_shapes(config)}
        assert int(given["payload"], 16) == job.registers.to_bits(config)
        assert given["payload_bits"] == sum(s.width for s in job_shapes(config).values())
        words = {word["address"]: word["value"] for word in given["words"]}
        assert words == {**job_words(job), command_address(START_COMMAND): 1}
        assert list(words)[-1] == command_address(START_COMMAND)
        assert all(word["register"] == names[word["address"]] for word in given["words"])
    status, out, err = run(line)
    assert (status, err) == (0, [])
    first = out[out.index("job 1: registers") :]
    assert first[1].split() == ["minimum", "0"]
    assert ["slots", str(told[0]["registers"]["slots"])] in [line.split() for line in first]
    assert f"  {told[0]['payload']}" in first
    for word in told[0]["words"]:
        assert f"  0x{word['address']:03x}  0x{word['value']:08x}  {word['register']}" in first


def test_without_the_option_there_are_none():
    status, out, _ = run(f"{POOL} --preset programmable-int8x4 --sizes 1,1,4,4 --json")
    assert status == 0
    assert "registers" not in json.loads(out[0])["jobs"][0]
    status, out, _ = run(f"{POOL} --preset programmable-int8x4 --sizes 1,1,4,4")
    assert not any(line.startswith("job 1:") for line in out)


def test_only_the_first_of_many_jobs_are_printed():
    line = f"{POOL} --preset programmable-int8x4 --sizes 1,1,8,9000 --registers"
    status, out, _ = run(line)
    assert status == 0
    assert sum(line.endswith(": registers") for line in out) == 12
    assert out[-1].endswith(" more, whose registers --json lists")


def test_the_core_of_a_file_with_other_lanes():
    Path("own.toml").write_text('data_types = ["int8", "int16"]\nmax_window = [1, 3, 3]\n')
    line = f"{POOL} --sizes 1,4,6,6 --registers --json --config own.toml"
    (two,) = (json.loads(run(f"{line} --lanes 2")[1][0]),)
    (one,) = (json.loads(run(line)[1][0]),)
    assert (one["lanes"], two["lanes"]) == (1, 2)
    assert one["beats_in"] == 2 * two["beats_in"]
    assert "tail" in two["jobs"][0]["registers"]
    assert "data_type" in two["jobs"][0]["registers"]


def test_the_payload_has_a_digit_for_every_four_bits():
    """Also those above the highest bit that is set, since they are bits of the port."""
    core = CoreConfig((DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",))
    (job,) = plan(Reduction.of("argmax", (3,), "int8"), core).jobs
    told = registers_dict(job)
    assert (told["payload"], told["payload_bits"]) == (f"0x{0x400000004:017x}", 65)


def test_a_core_without_a_job_port():
    Path("own.toml").write_text(
        'data_types = ["int8"]\nmax_window = [1, 1, 1]\noperators = ["argmax"]\n'
        "[fixed]\ndecreasing = 0\nlength = 9\nslots = 9\n"
    )
    line = "plan argmax --config own.toml --type int8 --sizes 9 --registers"
    status, out, err = run(line)
    assert (status, err) == (0, [])
    assert out[-1] == "job 1: all registers are fixed"
    told = json.loads(run(f"{line} --json")[1][0])["jobs"][0]
    assert (told["registers"], told["payload"], told["words"]) == ({}, None, [])
    assert told["payload_bits"] == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plan argmax --preset argmax-int8 --type int8 --sizes 9 --registers",
         "built with the job register length fixed to 4294967295, and the job needs 9"),
        ("plan argmax --preset argmax-int8 --type int16 --sizes 9", "add it to data_types"),
        ("plan argmin --preset argmax-int8 --type int8 --sizes 9", "add argmin to operators"),
        ("plan argmax --preset argmax-int8 --config a --type int8 --sizes 9", "give one"),
        ("plan argmax --config a.toml --type int8 --sizes 9", "cannot read a.toml"),
    ],
)  # fmt: skip
def test_refusals(line, message):
    """In one line, and with nothing on stdout, also if the first jobs would do."""
    for json_option in ("", " --json"):
        status, out, err = run(line + json_option)
        assert (status, out) == (2, [])
        assert len(err) == 1
        assert message in err[0]


def test_a_plan_for_a_preset_is_for_that_core():
    config = replace(PRESETS["pool3x3-int8-indices"], lanes=2)
    problem = Pooling.of(
        (1, 3, 20, 20), "int8", 3, start_padding=1, end_padding=1, return_indices=True
    )
    line = (
        "plan max-pool --window 3 --start-padding 1 --end-padding 1 --type int8 --sizes 1,3,20,20 "
        "--preset pool3x3-int8-indices --lanes 2 --indices i.npy --json"
    )
    status, out, _ = run(line)
    assert status == 0
    assert json.loads(out[0])["cycles"] == plan(problem, config).cycles
