"""AXI blocks that break the rules of their streams: what the native simulation says of them."""

import numpy as np
import pytest
from test_dataflow import CORES

from extremum.hdl.axi.streams import INDICES
from extremum.host.errors import SimulationError
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.native_block import NativeBlock

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
