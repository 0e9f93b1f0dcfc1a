"""AXI blocks that break the rules of their streams: what the native simulation says of them."""

from dataclasses import replace

import numpy as np
import pytest
from dataflow_cores import CORES
from simulation import ONE_COCOTB

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.streams import INDICES
from extremum.hdl.config import CoreConfig
from extremum.host import Accelerator
from extremum.host.errors import SimulationError
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.cocotb_block import CocotbBlock
from extremum.host.simulation.native_block import NativeBlock
from extremum.model import DataType

CONFIG, _ = CORES["row"]

FAULTS = ("none", "changed", "fell", "hole", "keep", "last", "fatal")
"""The faults, by the element that is sent."""

_CASES = "\n".join(f"  wire {name}_ = fault == {code};" for code, name in enumerate(FAULTS))

VERILOG = f"""
module extremum_axi (
    input aclk, input aresetn,
    input [7:0] s_axis_tdata, input s_axis_tkeep, input s_axis_tlast, input s_axis_tvalid,
    output s_axis_tready,
    output [31:0] m_axis_index_tdata, output [3:0] m_axis_index_tkeep, output m_axis_index_tlast,
    output m_axis_index_tvalid, input m_axis_index_tready
);
  reg full = 0;
  reg odd = 0;
  reg last = 0;
  reg [7:0] fault = 0;
{_CASES}
  assign s_axis_tready = ~full;
  assign m_axis_index_tvalid = full & ~(fell_ & odd);
  assign m_axis_index_tdata = {{31'd7, changed_ & odd}};
  assign m_axis_index_tkeep = hole_ ? 4'b1011 : keep_ & odd ? 4'b0011 : 4'b1111;
  assign m_axis_index_tlast = last ^ (last_ & odd);

  always @(posedge aclk) begin
    odd <= ~odd;
    if (s_axis_tvalid & s_axis_tready) begin
      full <= 1;
      fault <= s_axis_tdata;
      last <= s_axis_tlast;
    end else if (m_axis_index_tvalid & m_axis_index_tready) full <= 0;
    if (fatal_ & full) $fatal(1, "enough");
  end
endmodule
"""


def received(fault):
    """Send a packet of two beats through a block with a fault; return what comes."""
    block = NativeBlock(CONFIG, verilog=VERILOG)
    block.begin(StreamSettings(watchdog=50, output_stalls=80, seed=1))
    parts = []
    block.receive(INDICES, 8, lambda part, last: parts.append((part.tobytes(), last)))
    block.send([np.array([FAULTS.index(fault)] * 2, np.uint8)], 2)
    try:
        block.wait()
    finally:
        block.close()
    return parts


def test_without_a_fault():
    assert received("none") == [(np.array([14, 14], "<u4").tobytes(), True)]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("changed", "m_axis_index: the beat changed before it was taken"),
        ("keep", "m_axis_index: the beat changed before it was taken"),
        ("last", "m_axis_index: the beat changed before it was taken"),
        ("fell", "m_axis_index: valid fell before the beat was taken"),
        ("hole", "m_axis_index: TKEEP marks bytes behind one that it leaves out"),
        ("fatal", "the core stopped"),
    ],
)
def test_a_broken_rule_names_the_clock(fault, message):
    with pytest.raises(SimulationError, match=rf"^native: clock \d+ .*: {message}; \d+ beats wait"):
        received(fault)


WIDE_CONFIG = replace(CORES["rows"][0], operators=("argmax",))  # which gives positions alone
LANES = WIDE_CONFIG.lanes

WIDE = f"""
module extremum_axi (
    input aclk, input aresetn,
    input [{8 * LANES - 1}:0] s_axis_tdata, input [{LANES - 1}:0] s_axis_tkeep, input s_axis_tlast,
    input s_axis_tvalid, output s_axis_tready,
    output [{32 * LANES - 1}:0] m_axis_index_tdata, output [{4 * LANES - 1}:0] m_axis_index_tkeep,
    output m_axis_index_tlast, output m_axis_index_tvalid, input m_axis_index_tready
);
  reg full = 0;
  reg [7:0] kept = 0, hole = 0;
  assign s_axis_tready = ~full;
  assign m_axis_index_tvalid = full;
  assign m_axis_index_tdata = {{{LANES}{{32'h01020304}}}};
  assign m_axis_index_tkeep = ((1 << kept) - 1) & ~(1 << hole);
  assign m_axis_index_tlast = 1;
  always @(posedge aclk)
    if (s_axis_tvalid & s_axis_tready) begin
      full <= 1;
      kept <= s_axis_tdata[7:0];
      hole <= s_axis_tdata[15:8];
    end else if (m_axis_index_tready) full <= 0;
endmodule
"""
"""Gives a beat that marks as many bytes as the first element says, but for that of the second."""


def marked(kept, hole):
    """Return what comes of a beat that marks so many bytes, all but one."""
    block, parts = NativeBlock(WIDE_CONFIG, verilog=WIDE), []
    block.begin(StreamSettings(watchdog=50))
    block.receive(INDICES, 4 * LANES, lambda part, last: parts.append(part.tobytes()))
    block.send([np.array([kept, hole, 0, 0], np.uint8)], LANES)
    try:
        block.wait()
    finally:
        block.close()
    return b"".join(parts)


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 9, 15, 16])
def test_the_bytes_that_a_wide_beat_marks_are_kept(kept):
    assert marked(kept, 31) == (np.full(LANES, 0x01020304, "<u4").tobytes())[:kept]
    if kept:
        assert marked(kept, kept - 1) == marked(kept - 1, 31)


@pytest.mark.parametrize(
    ("kept", "hole"), [(16, 0), (16, 6), (16, 7), (16, 8), (16, 14), (9, 0), (9, 7), (2, 0)]
)
def test_a_hole_among_the_bytes_of_a_wide_beat(kept, hole):
    with pytest.raises(SimulationError, match="TKEEP marks bytes behind one that it leaves out"):
        marked(kept, hole)


@pytest.mark.parametrize("backend", ONE_COCOTB)
def test_an_access_that_takes_longer_than_the_watchdog_is_told(backend):
    """No packet is missing: the driver still writes and reads registers."""
    options = {"max_window": (1, 1, 1), "backend": backend, "bus": "axi", "watchdog": 2}
    told = f"^{backend}: clock .*: nothing moved for 3 clocks; the access of a register has no answ"
    with (
        Accelerator("int8", **options) as accelerator,
        pytest.raises(SimulationError, match=told),
    ):
        accelerator.argmax(np.zeros(3, np.int8))


@pytest.mark.parametrize("backend", ONE_COCOTB[1:])
def test_a_hang_of_the_streams_blames_no_register(backend):
    """Registers were accessed before, and the streams rest longer than the watchdog allows."""
    options = {"max_window": (1, 1, 1), "backend": backend, "bus": "axi", "watchdog": 60}
    told = (
        r"nothing moved for 61 clocks; packets are missing: 1 on m_axis_value, 1 on m_axis_index$"
    )
    with (
        Accelerator("int8", **options, input_stalls=99, seed=3) as accelerator,
        pytest.raises(SimulationError, match=told),
    ):
        accelerator.argmax(np.zeros(50, np.int8))


@pytest.mark.parametrize("backend", ONE_COCOTB)
def test_writes_of_registers_are_no_hang(backend):
    """Each takes fewer clocks than the watchdog allows, all together many more."""
    config = CoreConfig((DataType.INT8,), max_window=(1, 1, 1))
    block = CocotbBlock(config, backend)
    block.begin(StreamSettings(watchdog=30))
    for _ in range(20):
        block.write(regs.IRQ_ENABLE, 0)
    assert block.read(regs.IRQ_ENABLE) == 0
    block.close()


@pytest.mark.parametrize("backend", ONE_COCOTB[1:])
def test_a_write_without_an_answer_is_told(backend):
    config = CoreConfig((DataType.INT8,), max_window=(1, 1, 1))
    block = CocotbBlock(config, backend)
    block.begin(StreamSettings(watchdog=1))
    with pytest.raises(SimulationError, match=r"the access of a register has no answer$"):
        block.write(regs.command_address(regs.START_COMMAND), 1)
    block.close()
