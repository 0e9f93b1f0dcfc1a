"""What flip-flops and memories hold when the power comes does not matter: a reset is enough.

An ASIC has no initial values, and the configuration of an FPGA need not bring them. So the Verilog
of a package loses its own here. The registers begin with X, which shows whatever may depend on
them; and with random bits, since X is not a value that all simulators take through all gates.
"""

import random
import re

import pytest
from amounts import mostly_slow
from simulation import NEEDS_ICARUS, UNKNOWNS, run_bench

from extremum.hdl.plain_verilog import verilog_of
from extremum.hdl.verilog import TOPS
from extremum.tb.cores import CORES

pytestmark = NEEDS_ICARUS

REGISTER = re.compile(r"^(  reg (?:\[(\d+):0\] )?\w+) = [^;]+;$", re.MULTILINE)
"""A register, with the value that it powers up with."""
MEMORY = re.compile(r"^  initial begin\n.*?^  end\n", re.MULTILINE | re.DOTALL)
"""The values that a memory powers up with."""
RESET = re.compile(r"\b(?:\w+_)?rst \? \S+ : ")
"""What a reset does to a register."""


def unknown(verilog):
    """Return the Verilog with registers that power up with X."""
    return REGISTER.sub(r"\1;", verilog)


def drawn(verilog):
    """Return the Verilog with registers that power up with bits drawn at random."""
    rng = random.Random(1)

    def with_bits(found):
        width = int(found[2] or 0) + 1
        return f"{found[1]} = {width}'h{rng.getrandbits(width):x};"

    return REGISTER.sub(with_bits, verilog)


POWER_UPS = {"unknown": unknown, "random": drawn}


def powered_up(bus, core, power_up):
    """Return the Verilog of a package whose registers and memories have no values of their own."""
    verilog = verilog_of(CORES[core], TOPS[bus], bus=bus)
    assert len(REGISTER.findall(verilog)) > 100
    assert MEMORY.search(verilog) or (bus, core) == ("none", "reduction")
    verilog = POWER_UPS[power_up](MEMORY.sub("", verilog))
    assert "initial" not in verilog
    return verilog


@pytest.mark.parametrize("power_up", mostly_slow(POWER_UPS, ["unknown"]))
@pytest.mark.parametrize(
    ("bus", "core"),
    [
        pytest.param(bus, core, marks=() if (bus, core) == ("axi", "image") else pytest.mark.slow)
        for bus in UNKNOWNS
        for core in CORES
    ],
)
def test_a_reset_is_enough(bus, core, power_up, tmp_path):
    run_bench(
        "icarus", core, UNKNOWNS[bus], tmp_path, bus=bus, verilog=powered_up(bus, core, power_up)
    )


@pytest.mark.slow
@pytest.mark.parametrize("power_up", POWER_UPS)
@pytest.mark.parametrize("bus", UNKNOWNS)
def test_a_block_without_its_reset_is_found(bus, power_up, tmp_path):
    verilog, count = RESET.subn("", powered_up(bus, "image", power_up))
    assert count > 100
    with pytest.raises(AssertionError, match="tests failed"):
        run_bench("icarus", "image", UNKNOWNS[bus], tmp_path, bus=bus, verilog=verilog)
