"""Yosys where it cannot keep what it compiled of itself, as in a container without a home."""

import json
import os
import subprocess
import sys

import pytest
from command_line import run

from extremum.hdl.config import CoreConfig
from extremum.host import cache, yosys_startup
from extremum.host.errors import CacheError, SynthesisError
from extremum.host.package.settings import Settings
from extremum.host.package.verilog import block_verilog

CONFIG = CoreConfig(max_window=(1, 1, 1), operators=("argmax",), coordinate_width=4)
TOLD = (
    r"^Yosys keeps what it compiled of itself in {}/wasmtime, which cannot be made: set XDG_CACHE"
)

only_on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the folder of Linux")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file where the folder for caches should be, and a cache of cores that can be used."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cores"))
    return tmp_path / "file"


@only_on_linux
def test_a_core_cannot_be_generated(file):
    with pytest.raises(CacheError, match=TOLD.format(file)):
        cache.verilog(CONFIG)
    with pytest.raises(CacheError, match=TOLD.format(file)):
        block_verilog(Settings(CONFIG, "core", "none"))


@only_on_linux
def test_doctor_tells_it(file):
    _, out, _ = run("doctor")
    assert out[-1].startswith(
        "New cores cannot be generated: Yosys keeps what it compiled of itself"
    )
    assert str(file) in out[-1]
    assert json.loads(run("doctor --json")[1][0])["cache"] == yosys_startup.problem()


@only_on_linux
@pytest.mark.parametrize("given", ["folder", "folder/new", "", "relative"])
def test_nothing_is_told_of_a_folder_that_can_be_made(tmp_path, monkeypatch, given):
    """A relative path is not looked at, as the rules of these folders demand."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "relative").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "folder"))
    is_path = given.startswith("folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / given) if is_path else given)
    assert yosys_startup.problem() is None
    assert os.listdir(tmp_path / "folder") == []


def test_a_user_without_a_home():
    said = "WasmtimeError: Cache directory not specified and failed to get the default"
    told = r"in the user's folder for caches, which cannot be made: set XDG_CACHE_HOME"
    with pytest.raises(CacheError, match=told), yosys_startup.explained():
        raise subprocess.CalledProcessError(1, "yosys", stderr=said)


def test_too_few_addresses():
    said = "WasmtimeError: mmap failed to reserve 0x104000000 bytes: Cannot allocate memory"
    with pytest.raises(SynthesisError, match=r"ulimit -v"), yosys_startup.explained():
        raise subprocess.CalledProcessError(1, "yosys", stderr=said)


def test_other_errors_are_left_alone():
    with pytest.raises(subprocess.CalledProcessError), yosys_startup.explained():
        raise subprocess.CalledProcessError(1, "yosys", stderr="ERROR: of another kind")
