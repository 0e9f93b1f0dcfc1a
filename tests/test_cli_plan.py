"""`extremum plan`: what it says of an operator without running it."""

import json
import re
from dataclasses import replace

import pytest
from command_line import run

from extremum import model
from extremum.hdl.config import CoreConfig
from extremum.host.cli import printing
from extremum.host.package.configuration import parse
from extremum.host.plan import dataflow_core, plan

pytestmark = pytest.mark.usefixtures("x")


def test_plan_of_sizes():
    line = "plan max-pool --sizes 1,4,20,20 --type float16 --window 3 --strides 2 --lanes 4"
    problem = model.Pooling.of((1, 4, 20, 20), "float16", 3, strides=2)
    expected = plan(problem, CoreConfig((model.DataType.FLOAT16,), 4, pipelining="small"))
    fast = plan(problem, CoreConfig((model.DataType.FLOAT16,), 4)).cycles
    assert fast > expected.cycles
    assert json.loads(run(f"{line} --pipelining fast --json")[1][0])["cycles"] == fast
    status, out, err = run(line)
    assert (status, err) == (0, [])
    assert out[0] == "max-pool of float16 (1, 4, 20, 20), window (3, 3), strides (2, 2)"
    assert re.search(rf"^ +1 +sliding .* {expected.cycles}$", out[2].rstrip())
    status, out, _ = run(line, "--json")
    told = json.loads(out[0])
    assert status == 0
    assert told == {
        "command": "plan",
        "operator": "max-pool",
        "data_type": "float16",
        "sizes": [1, 4, 20, 20],
        "output_sizes": [1, 4, 9, 9],
        "backend": "native",
        "lanes": 4,
        "cycles": expected.cycles,
        "beats_in": expected.beats_in,
        "beats_out": expected.beats_out,
        "utilization": expected.beats_in / expected.cycles,
        "empty_windows": 0,
        "notes": [],
        "job_count": 1,
        "jobs": [
            {
                "kind": "sliding",
                "summary": expected.jobs[0].summary,
                "beats_in": expected.beats_in,
                "beats_out": expected.beats_out,
                "cycles": expected.cycles,
            }
        ],
    }


def test_plan_takes_the_options_of_run(tmp_path):
    status, out, _ = run(
        "plan max-pool --input x.npy --window 2 --output o.npy --indices i.npy --waves w.vcd "
        "--input-stalls 30 --seed 4 --no-check --backend icarus --bus axi --json"
    )
    assert status == 0
    told = json.loads(out[0])
    assert (told["data_type"], told["backend"]) == ("int8", "icarus")
    assert told["notes"] == [
        "the prediction is for streams without stalls",
        "the prediction is for the bare core: the AXI block takes some clocks more for each job, "
        "and one for each register that is written",
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["x.npy"]


def test_plan_beyond_the_core_says_so():
    line = "plan max-pool --sizes 1,1,40,40 --type int8 --window 9"
    told = json.loads(run(line, "--json")[1][0])
    assert {job["kind"] for job in told["jobs"]} == {"gathered"}
    assert told["notes"]
    assert f"note: {told['notes'][0]}" in run(line)[1]
    told = json.loads(run(line, "--json", "--max-window", "1,9,9")[1][0])
    assert {job["kind"] for job in told["jobs"]} == {"sliding"}


def test_plan_shows_some_of_many_jobs():
    line = "plan max-pool --sizes 1,1,40,400 --type int8 --window 3 --max-line 8"
    told = json.loads(run(line, "--json")[1][0])
    jobs, shown = len(told["jobs"]), printing.SHOWN_JOBS
    assert jobs > shown
    out = run(line)[1]
    assert any(f"{jobs - shown} more, which --json lists" in row for row in out)


def test_plan_lists_some_of_very_many_jobs():
    line = "plan max-pool --sizes 1,1,65535,65535 --type int8 --window 300"
    told = json.loads(run(line, "--json")[1][0])
    assert told["job_count"] == 65236 * -(-65236 // 11)
    assert len(told["jobs"]) == printing.LISTED_JOBS
    more = told["job_count"] - printing.SHOWN_JOBS
    text = f"{more} more, which --json lists as far as job {printing.LISTED_JOBS}"
    assert any(text in row for row in run(line)[1])


def test_plan_of_nothing_but_padding():
    line = "plan max-pool --sizes 1,1,1,1 --type int8 --window 1 --start-padding 5 --strides 9"
    told = json.loads(run(line, "--json")[1][0])
    assert told["empty_windows"] == 1
    assert (told["jobs"] == []) == (told["utilization"] is None)
    assert "empty: 1 windows lie wholly in padding" in run(line)[1]


# Progress


@pytest.mark.parametrize(
    ("line", "window"),
    [
        ("argmax --sizes 9 --type int8", (1, 1, 1)),
        ("reduce-min --sizes 9 --type int8 --lanes 2", (1, 1, 1)),
        ("argmax --sizes 9 --type int8 --max-window 1,2,3", (1, 2, 3)),
        ("argmax --sizes 9 --type int8 --max-line 16", (3, 7, 7)),
        ("max-pool --sizes 1,1,9,9 --type int8 --window 2", (3, 7, 7)),
    ],
)
def test_the_core_of_a_reduction_is_the_smallest(monkeypatch, line, window):
    configs = []

    def planned(problem, config):
        configs.append(config)
        return plan(problem, config)

    monkeypatch.setattr("extremum.host.plan.plan", planned)
    assert run("plan " + line)[0] == 0
    assert configs[0].max_window == window


LAYER = "plan max-pool --sizes 2,3,9,8 --type int8 --window 3 --strides 2 --start-padding 1"


def test_the_core_of_one_operator_is_written(tmp_path, monkeypatch):
    """The plan is that of this core, and `verilog` makes it, with a testbench for the operator."""
    monkeypatch.chdir(tmp_path)
    problem = model.Pooling.of((2, 3, 9, 8), "int8", 3, strides=2, start_padding=1)
    core = dataflow_core(problem, lanes=2, pipelining="small")
    status, out, err = run(f"{LAYER} --lanes 2 --dataflow layer.toml --json")
    assert (status, err) == (0, [])
    told = json.loads(out[0])
    assert (told["job_count"], told["cycles"]) == (1, plan(problem, core).cycles)
    assert told["written"] == ["layer.toml"]
    assert "written: layer.toml" in run(f"{LAYER} --lanes 2 --dataflow layer.toml")[1]
    text = (tmp_path / "layer.toml").read_text()
    assert "#   max-pool of int8 (2, 3, 9, 8), window (3, 3), strides (2, 2)" in text
    written = parse(text)
    assert (written.name, written.bus) == ("layer", "axi")
    assert replace(written.config, fixed=()) == replace(core, fixed=())
    assert dict(written.config.fixed) == dict(core.fixed)
    status, out, err = run("verilog --config layer.toml --output layer")
    assert (status, err) == (0, [])
    assert out[0].startswith("layer: dataflow AXI block")
    assert "max pooling of int8 (1, 6, 9, 8)" in (tmp_path / "layer/layer_tb.v").read_text()


def test_a_file_whose_name_is_no_module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(f"{LAYER} --pipelining fast --dataflow 3x3.toml")[0] == 0
    written = parse((tmp_path / "3x3.toml").read_text())
    assert (written.name, written.config.pipelining) == ("extremum_axi", "fast")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--max-line 9", "--max-line does not apply with --dataflow: the operator decides"),
        ("--preset argmax-int8", "--preset does not apply with --dataflow"),
        ("--config x.toml", "--config does not apply with --dataflow"),
        ("--window 256,1", "max_window must be from 1 to 255, not (1, 256, 1)"),
    ],
)
def test_a_core_of_one_operator_that_there_is_not(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.toml").write_text("lanes = 2\n")
    given = LAYER.replace("9,8", "300,8").split(" --window ")
    line = given[0] if options.startswith("--window") else " --window ".join(given)
    status, out, (said,) = run(f"{line} {options} --dataflow layer.toml")
    assert (status, out) == (2, [])
    assert message in said
    assert not (tmp_path / "layer.toml").exists()


def test_a_configuration_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, said = run(f"{LAYER} --dataflow nowhere/layer.toml")
    assert (status, out) == (2, [])
    assert said == [
        "extremum: --dataflow cannot be written: nowhere/layer.toml: nowhere is no folder"
    ]
    assert run(f"{LAYER} --dataflow x.npy")[2] == [
        "extremum: --dataflow must name a .toml file, not x.npy (see extremum plan --help)"
    ]
