"""A faulty core with the ports of the real one: its job tells which rule it breaks."""

from amaranth.hdl import Shape

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import input_layout, job_layout, output_layout, status_layout
from extremum.model import DataType

CONFIG = CoreConfig((DataType.INT8,), max_window=(1, 1, 1))

RESULTS = 4
"""Results of a job, one for each beat."""

FAULTS = ("hang", "none", "payload", "valid", "many", "early", "late", "fatal", "stop", "finish")
"""The faults, by the number in the low bits of the job's payload.

The core also hangs if that number is beyond the list: a real job has 12 there.
"""

_CASES = f"  wire hang_ = fault == 0 || fault >= {len(FAULTS)};\n" + "".join(
    f"  wire {name}_ = fault == {code};\n" for code, name in enumerate(FAULTS) if code
)

VERILOG = f"""
module extremum_core (
    input clk, input rst,
    input job__valid, input [{Shape.cast(job_layout(CONFIG)).width - 1}:0] job__payload,
    output job__ready,
    input i__valid, input [{input_layout(CONFIG).size - 1}:0] i__payload, output i__ready,
    output o__valid, output [{output_layout(CONFIG).size - 1}:0] o__payload, input o__ready,
    output [{status_layout().size - 1}:0] status
);
  reg [3:0] fault = 0;
  reg odd = 0;
  reg full = 0;
  reg again = 0;
  reg [7:0] value = 0;
  reg [31:0] count = 0;
{_CASES}
  assign job__ready = 1;
  assign status = 0;
  assign i__ready = ~full & ~hang_;
  assign o__valid = full & ~(valid_ & odd);
  wire last = count == (early_ ? {RESULTS - 2} : late_ ? {RESULTS} : {RESULTS - 1});
  assign o__payload = {{last, count, value ^ {{8{{payload_ & odd}}}}}};

  always @(posedge clk) begin
    odd <= ~odd;
    if (job__valid) fault <= job__payload[3:0];
    if (i__valid & i__ready) begin
      full <= 1;
      value <= i__payload;
    end
    if (o__valid & o__ready) begin
      full <= many_ & ~again;
      again <= ~again;
      count <= count + 1;
    end
    if (count == 2) begin
      if (fatal_) $fatal(1, "two results");
      if (stop_) $stop;
      if (finish_) $finish;
    end
    if (rst) begin
      full <= 0;
      again <= 0;
      count <= 0;
    end
  end
endmodule
"""
