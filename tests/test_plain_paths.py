"""Folders of any name are given to the tools by paths that each of them takes."""

import multiprocessing
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cocotb_tools import config

from extremum.host.simulation import cocotb_process, plain_paths, verilated
from extremum.host.simulation.plain_paths import is_plain, link_to


@pytest.fixture
def spaced(tmp_path):
    folder = tmp_path / "a b" / "tools é"
    folder.mkdir(parents=True)
    (folder / "file").write_text("here")
    return folder


def test_a_plain_path_stays(tmp_path):
    assert is_plain(tmp_path)
    assert link_to(tmp_path) == tmp_path


def test_a_link_leads_to_a_folder_of_any_name(spaced):
    assert not is_plain(spaced)
    link = link_to(spaced)
    assert is_plain(link)
    assert (link / "file").read_text() == "here"
    assert link_to(spaced) == link
    shutil.rmtree(link.parent)
    other = link_to(spaced)
    assert other != link
    assert (other / "file").read_text() == "here"


def test_a_link_lasts_as_long_as_its_process_and_not_its_copies(spaced):
    script = f"""
import os, sys
from pathlib import Path
from extremum.host.simulation.plain_paths import link_to
link = link_to(Path({str(spaced)!r}))
if (child := os.fork()) == 0:
    sys.exit()
os.waitpid(child, 0)
print(link / "file", (link / "file").read_text())
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    path, text = ran.stdout.split()
    assert text == "here"
    assert not Path(path).parent.parent.exists()
    assert (spaced / "file").exists()


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_links_of_workers_do_not_stay(spaced, method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        link = pool.apply(link_to, (spaced,))
        assert link.exists()
        pool.close()
        pool.join()
    assert not link.parent.exists()


def test_a_temporary_folder_whose_path_is_not_plain_is_not_used(spaced, monkeypatch):
    monkeypatch.setattr(plain_paths.tempfile, "tempdir", str(spaced))
    assert is_plain(link_to(spaced))


def test_verilator_is_named_by_plain_paths(spaced, monkeypatch):
    """Its script takes no space in the path of its program."""
    monkeypatch.setattr(verilated, "files", lambda name: spaced)
    monkeypatch.setenv("PATH", "/bin")
    variables = verilated.verilator_variables()
    assert is_plain(Path(variables["VERILATOR_ROOT"]))
    assert variables["VERILATOR_BIN"] == variables["VERILATOR_ROOT"] + "/bin/verilator_bin"
    assert variables["PATH"] == variables["VERILATOR_ROOT"] + "/bin:/bin"
    assert is_plain(verilated.include_folder())


def test_the_makefile_of_cocotb_is_given_plain_paths(spaced, monkeypatch):
    monkeypatch.setattr(config, "libs_dir", spaced)
    monkeypatch.setattr(config, "share_dir", spaced)
    seen = []

    def command(self):
        seen.extend((config.libs_dir, config.share_dir))
        return [["verilator", "--public-flat-rw", "--vpi"], ["make"]]

    monkeypatch.setattr(cocotb_process.Verilator, "_build_command", command)
    runner = cocotb_process._Verilator.__new__(cocotb_process._Verilator)
    assert runner._build_command() == [["verilator", "--vpi"], ["make"]]
    assert len(seen) == 2
    assert all(map(is_plain, seen))
    assert (config.libs_dir, config.share_dir) == (spaced, spaced)


@pytest.mark.parametrize("given", ["", "/own"])
def test_cocotb_finds_its_libraries_when_the_link_is_gone(spaced, monkeypatch, tmp_path, given):
    monkeypatch.setattr(config, "libs_dir", spaced)
    monkeypatch.setenv("LD_LIBRARY_PATH", given)
    told = []

    class Fake:
        def test(self, **settings):
            told.append(settings["extra_env"])

    monkeypatch.setattr(cocotb_process, "_runner", lambda simulator: Fake())
    arguments = {"test_dir": str(tmp_path), "module": "bench", "environment": {"A": "1"}}
    cocotb_process.simulate("verilator", str(tmp_path), **arguments)
    monkeypatch.setattr(config, "libs_dir", tmp_path)
    cocotb_process.simulate("verilator", str(tmp_path), **arguments)
    path = f"{spaced}:{given}" if given else str(spaced)
    assert told == [{"A": "1", "LD_LIBRARY_PATH": path}, {"A": "1"}]
