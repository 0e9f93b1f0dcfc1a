// What the native simulation compiles: the core, and a register before each of its inputs.
//
// The registers load in the clock edge at which the core moves. So nothing depends on a port
// within a clock, and the compiled model computes every signal once per clock, not three times.
// Reset is tied low: every register of the core powers up in its reset state.

module extremum_native #(
    parameter JOB_BITS = 1,
    parameter I_BITS = 1,
    parameter O_BITS = 1,
    parameter STATUS_BITS = 1
) (
    input clk,
    input job_valid,
    input [JOB_BITS-1:0] job_payload,
    output job_ready,
    input i_valid,
    input [I_BITS-1:0] i_payload,
    output i_ready,
    output o_valid,
    output [O_BITS-1:0] o_payload,
    input o_ready,
    output [STATUS_BITS-1:0] status
);
  reg job_valid_now = 0;
  reg i_valid_now = 0;
  reg o_ready_now = 0;
  reg [JOB_BITS-1:0] job_payload_now = 0;
  reg [I_BITS-1:0] i_payload_now = 0;

  always @(posedge clk) begin
    job_valid_now <= job_valid;
    job_payload_now <= job_payload;
    i_valid_now <= i_valid;
    i_payload_now <= i_payload;
    o_ready_now <= o_ready;
  end

  extremum_core core (
      .clk(clk),
      .rst(1'b0),
      .job__valid(job_valid_now),
      .job__payload(job_payload_now),
      .job__ready(job_ready),
      .i__valid(i_valid_now),
      .i__payload(i_payload_now),
      .i__ready(i_ready),
      .o__valid(o_valid),
      .o__payload(o_payload),
      .o__ready(o_ready_now),
      .status(status)
  );
endmodule
