"""`extremum verilog` and what was measured: the figures of --cost, and the part of --clock."""

import json
from pathlib import Path

import pytest
from command_line import run

from extremum.hdl.interface import parameters as parameters_of
from extremum.host.cli import verilog_command
from extremum.host.fpga.clock_target import Found
from extremum.host.fpga.critical_path import CriticalPath
from extremum.host.fpga.devices import DEVICES
from extremum.host.fpga.measure import Measurement, Placement
from extremum.host.fpga.presets import PRESETS


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_cost_is_in_the_readme():
    config = PRESETS["argmax-int8"]
    told = {
        "bus": "none",
        "device": "ecp5-85k",
        "comb": 157,
        "ff": 438,
        "block_ram": 0,
        "fmax_mhz": 332.4,
    }
    Path("cost.json").write_text(json.dumps(told | {"parameters": parameters_of(config)}))
    line = "verilog --preset argmax-int8 --bus none --output out"
    assert run(f"{line} --cost cost.json")[0] == 0
    assert "| 157 | 438 | 0 | 332 |" in Path("out/README.md").read_text()
    assert run(line)[0] == 0
    assert "extremum fpga --config extremum_argmax_int8.toml" in Path("out/README.md").read_text()
    for content, message in (
        ("{", "cost.json is not JSON"),
        ("[]", "cost.json is not what `extremum fpga --json` prints"),
        (json.dumps(told), "cost.json is not what `extremum fpga --json` prints"),
        (json.dumps(told | {"parameters": {}}), "cost.json is the measurement of another core"),
        (
            json.dumps(told | {"parameters": {}, "fmax_mhz": "fast"}),
            "cost.json is not what `extremum fpga --json` prints",
        ),
        *(
            (
                json.dumps(told | {"parameters": parameters_of(config)} | wrong),
                "cost.json is not what `extremum fpga --json` prints",
            )
            for wrong in (
                {"fmax_mhz": 10**400},
                {"comb": float("inf")},
                {"ff": float("nan")},
                {"block_ram": -1},
                {"device": ["ecp5-85k"]},
                {"device": "ecp5-85k\n\n# Title"},
                {"comb": 1.5},
            )
        ),
        (
            json.dumps(told | {"parameters": {}, "fmax_mhz": float("nan")}),
            "cost.json is not what `extremum fpga --json` prints",
        ),
        (
            json.dumps(told | {"parameters": parameters_of(config), "bus": "axi"}),
            "cost.json was measured with --bus axi, and the package has --bus none",
        ),
    ):
        Path("cost.json").write_text(content)
        status, _, err = run(f"{line} --cost cost.json")
        assert status == 2
        assert message in err[0]


def test_the_cost_is_that_of_the_part():
    """A package that leaves the memories to the tools says that the measured one does not."""
    told = {"bus": "none", "comb": 225, "ff": 393, "block_ram": 1, "fmax_mhz": 213.0}
    told |= {"device": "ecp5-85k", "parameters": parameters_of(PRESETS["pool2x2-int8"])}
    Path("cost.json").write_text(json.dumps(told))
    line = "verilog --preset pool2x2-int8 --bus none --output out --cost cost.json"
    for device, is_told in (("", True), ("--device ecp5-85k", False)):
        assert run(f"{line} {device}")[0] == 0
        readme = Path("out/README.md").read_text()
        assert ("That is what `--device ecp5-85k` writes." in readme) == is_told
        assert ("tools infer the memories, and it may be larger and slower" in readme) == is_told
    Path("cost.json").write_text(json.dumps(told | {"device": "ice40-up5k"}))
    assert run(line.replace("--output out", "--output other"))[0] == 0
    assert "it may ask for memories that the part has not" in Path("other/README.md").read_text()
    Path("cost.json").write_text(json.dumps(told))
    status, _, err = run(f"{line} --device ice40-up5k")
    assert status == 2
    assert err == [
        "extremum: cost.json was measured on ecp5-85k, and the package is for ice40-up5k"
    ]


@pytest.mark.parametrize(
    ("option", "part", "is_told"),
    [("", "ecp5-85k", True), ("--device ecp5-85k", "ecp5-85k", False),
     ("--device ice40-hx8k", "ice40-hx8k", False)],
)  # fmt: skip
def test_a_clock_is_that_of_the_memories_of_a_part(monkeypatch, option, part, is_told):
    """Verilog that leaves them to the tools may be slower, and that is told."""

    def smallest(clock, config, device, **options):
        assert device is DEVICES[part]
        measured = Measurement(1, 1, (Placement(1, 1, 1, clock, CriticalPath(())),))
        return Found(clock, config, {config.pipelining: measured})

    monkeypatch.setattr(verilog_command, "smallest_for", smallest)
    line = f"verilog --preset pool2x2-int8 --output a.v --clock 200 {option}"
    status, out, _ = run(line)
    assert status == 0
    assert out[1].startswith(f"  on {part}: fast is the smallest that reaches 200 MHz: ")
    remark = "These clocks are those of the part's own memories, which --device ecp5-85k writes."
    assert any(each.startswith(remark) for each in out) == is_told
    assert ("DP16KD" in Path("a.v").read_text()) == (option == "--device ecp5-85k")
    assert json.loads("\n".join(run(f"{line} --json")[1]))["device"] == part
