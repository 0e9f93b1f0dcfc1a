"""What `extremum verilog` does not overwrite: its inputs, and files of no package."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from amounts import mostly_slow
from command_line import run

from extremum.host.cli import verilog_command
from extremum.host.fpga.presets import PRESETS
from extremum.host.package import files
from extremum.host.package.settings import Settings

made_once = cache(files.package_files)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, and make the content of equal packages once: that takes seconds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "package_files", made_once)


@pytest.mark.parametrize("output", [".", "own.v"])
def test_an_input_is_not_overwritten(output):
    """The configuration of a package has the package's name, so it may be its own input."""
    name = "own.toml" if output == "." else "own.v"
    text = "# mine\ndata_types = ['int8']\nmax_window = [1, 2, 2]\nmax_line = 32\n"
    Path(name).write_text(text)
    line = f"verilog --config {name} --name own --output {output}"
    status, out, (said,) = run(line)
    assert (status, out) == (2, [])
    assert said == f"extremum: {name} would be overwritten, and is an input"
    assert Path(name).read_text() == text
    if output == ".":
        assert run("verilog --config own.toml --name own --output package")[0] == 0
        assert run("verilog --config package/own.toml --output package")[0] == 0


def test_a_file_of_no_package_is_not_overwritten():
    """That of another package is, and of the same one."""
    line = "verilog --preset argmax-int8 --name one --output ."
    Path("README.md").write_text("# mine\n")
    status, out, (said,) = run(line)
    assert (status, out) == (2, [])
    assert said.startswith("extremum: README.md would be overwritten, and is of no package")
    assert not list(Path().glob("one*"))
    assert Path("README.md").read_text() == "# mine\n"
    Path("README.md").unlink()
    assert run(line)[0] == run(line)[0] == run(line.replace("one", "two"))[0] == 0
    Path("component.xml").unlink()
    Path("component.xml").mkdir()
    assert run(line)[::2] == (
        2, ["extremum: component.xml is a folder, and a package has a file there"]
    )  # fmt: skip


def test_a_page_that_only_names_the_project_is_not_overwritten():
    Path("README.md").write_text("Pooling, built with extremum.\n")
    status, out, (said,) = run("verilog --preset argmax-int8 --name one --output .")
    assert (status, out) == (2, [])
    assert said.startswith("extremum: README.md would be overwritten, and is of no package")


@pytest.mark.parametrize("place", mostly_slow(["registers", "registers/html"], ["registers"]))
def test_a_file_in_place_of_a_folder(place):
    """It is named, and nothing is written."""
    Path("registers").mkdir()
    if place == "registers":
        Path("registers").rmdir()
    Path(place).write_text("mine\n")
    before = sorted(map(str, Path().rglob("*")))
    status, out, (said,) = run("verilog --preset pool2x2-int8 --name one --output .")
    assert (status, out) == (2, [])
    assert said == f"extremum: {place} is a file, and a package has a folder there"
    assert sorted(map(str, Path().rglob("*"))) == before


def test_two_packages_in_a_folder():
    """The second one has a README, and the pages about registers that both share."""
    line = "verilog --preset pool2x2-int8 --output . --name"
    assert run(f"{line} one")[0] == run(f"{line} two")[0] == run(f"{line} one")[0] == 0
    assert Path("one.v").exists()
    assert Path("two.v").exists()
    shared = (
        "README.md, component.xml, component_2014.xml, package_ip.tcl, registers/html were those of"
        " one: "
    )
    _, out, _ = run(f"{line} two")
    assert out[-1].startswith(shared)
    _, out, _ = run(f"{line} two")
    assert not any("were those of" in said for said in out)


@pytest.mark.parametrize(
    "title", mostly_slow(["", "# " + 999 * "x", "# ../one", "# \0"], ["# ../one"])
)
def test_a_readme_with_a_title_of_its_own(title):
    """Such a page is of a package, by its mark, but of none that has a name."""
    Path("README.md").write_text(f"{title}\nWritten by extremum\n")
    status, out, said = run("verilog --preset pool2x2-int8 --name one --output .")
    assert (status, said) == (0, [])
    assert not any("were those of" in line for line in out)


def test_a_package_without_a_testbench_says_so():
    """The preset's rows are so long that no example ends."""
    _, out, _ = run("verilog --preset argmax-int8 --name one --output .")
    assert out[-1] == "There is no testbench: README.md says why."
    assert not Path("one_tb.v").exists()


@pytest.mark.parametrize(
    "name", mostly_slow(["one.v", "one.json", "registers/one_registers.h"], ["one.json"])
)
def test_a_source_of_no_package_is_not_overwritten(name):
    """Whether or not the file of the package would name the project."""
    line = "verilog --preset pool2x2-int8 --name one --output ."
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("mine\n")
    status, out, (said,) = run(line)
    assert (status, out) == (2, [])
    assert said.startswith(f"extremum: {name} would be overwritten, and is of no package")
    assert Path(name).read_text() == "mine\n"
    assert not Path("README.md").exists()
    Path(name).write_text("")
    assert run(line)[0] == run(line)[0] == 0


def test_a_configuration_is_utf_8_whatever_the_locale(tmp_path):
    """So TOML demands."""
    (tmp_path / "core.toml").write_bytes('# größer\ndata_types = ["int8"]\nlanes = 2\n'.encode())
    program = "from extremum.host.cli.main import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "plan", "argmax", "--sizes", "9", "--type", "int8",
         "--config", "core.toml"],
        env=os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0",
                          "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("name", ["own", "own.d", "own.w", "own.x"])
def test_a_folder_may_have_an_ending(name):
    """Only that of Verilog makes it a file."""
    settings = Settings(PRESETS["argmax-int8"], "own", "none")
    target = verilog_command._target(name, None)
    _, written = verilog_command._files(settings, target, None)
    assert len(written) > 1
    assert all(path.is_relative_to(name) for path in written)
    assert [*verilog_command._files(settings, Path("own.v"), None)[1]] == [Path("own.v")]
