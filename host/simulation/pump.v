// The top module of the native simulation: the core, with a register before each of its inputs.
//
// The registers load at the same clock edge as those of the core. So no signal changes with a port
// within a clock, and the compiled model computes every signal once per clock, not three times.
// Every register of the core powers up in its reset state, so a run may begin without a reset.
//
// Results have the same form for every core: a value of each lane, an index of 32 bits of each
// lane, and `last`. Fields that the core does not give are 0. An index of all ones, which marks an
// empty window, is all ones here too.

module extremum_native #(
    parameter JOB_BITS = 1,
    parameter STATUS_BITS = 1,
    parameter LANES = 1,
    parameter LANE_BITS = 8,
    parameter VALUE_BITS = 8,
    parameter INDEX_BITS = 32
) (
    input clk,
    input rst,
    input job_valid,
    input [JOB_BITS-1:0] job_payload,
    output job_ready,
    input i_valid,
    input [LANES*LANE_BITS-1:0] i_payload,
    output i_ready,
    output o_valid,
    output [LANES*(LANE_BITS+32):0] o_payload,
    input o_ready,
    output [STATUS_BITS-1:0] status
);
  reg rst_now = 0;
  reg job_valid_now = 0;
  reg i_valid_now = 0;
  reg o_ready_now = 0;
  reg [JOB_BITS-1:0] job_payload_now = 0;
  reg [LANES*LANE_BITS-1:0] i_payload_now = 0;

  always @(posedge clk) begin
    rst_now <= rst;
    job_valid_now <= job_valid;
    job_payload_now <= job_payload;
    i_valid_now <= i_valid;
    i_payload_now <= i_payload;
    o_ready_now <= o_ready;
  end

  wire [LANES*(VALUE_BITS+INDEX_BITS):0] o_core;
  genvar lane;
  generate
    if (VALUE_BITS != 0) begin : gen_values
      assign o_payload[LANES*LANE_BITS-1:0] = o_core[LANES*VALUE_BITS-1:0];
    end else begin : gen_no_values
      assign o_payload[LANES*LANE_BITS-1:0] = 0;
    end
    for (lane = 0; lane < LANES; lane = lane + 1) begin : gen_index
      wire [31:0] index;
      if (INDEX_BITS == 0) begin : gen_none
        assign index = 0;
      end else if (INDEX_BITS == 32) begin : gen_whole
        assign index = o_core[LANES*VALUE_BITS+lane*32+:32];
      end else begin : gen_part
        wire [INDEX_BITS-1:0] own = o_core[LANES*VALUE_BITS+lane*INDEX_BITS+:INDEX_BITS];
        assign index = {{(32 - INDEX_BITS) {&own}}, own};
      end
      assign o_payload[LANES*LANE_BITS+lane*32+:32] = index;
    end
  endgenerate
  assign o_payload[LANES*(LANE_BITS+32)] = o_core[LANES*(VALUE_BITS+INDEX_BITS)];

  extremum_core core (
      .clk(clk),
      .rst(rst_now),
`ifdef EXTREMUM_NO_JOB
`else
      .job__valid(job_valid_now),
      .job__payload(job_payload_now),
      .job__ready(job_ready),
      .status(status),
`endif
      .i__valid(i_valid_now),
      .i__payload(i_payload_now),
      .i__ready(i_ready),
      .o__valid(o_valid),
      .o__payload(o_core),
      .o__ready(o_ready_now)
  );
`ifdef EXTREMUM_NO_JOB
  assign job_ready = 1'b1;
  assign status = 0;
`endif
endmodule
