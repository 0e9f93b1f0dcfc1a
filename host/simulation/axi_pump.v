// The top module of the native simulation of the AXI block: the block, with a register before each
// of its inputs, for the same reason as in pump.v. A port that the block does not have does nothing.

module extremum_native #(
    parameter ADDRESS_BITS = 10,
    parameter INPUT_BITS = 8,
    parameter VALUE_BITS = 8,
    parameter INDEX_BITS = 8
) (
    input clk,
    input resetn,
    input [ADDRESS_BITS-1:0] awaddr,
    input awvalid,
    output awready,
    input [31:0] wdata,
    input [3:0] wstrb,
    input wvalid,
    output wready,
    output [1:0] bresp,
    output bvalid,
    input bready,
    input [ADDRESS_BITS-1:0] araddr,
    input arvalid,
    output arready,
    output [31:0] rdata,
    output [1:0] rresp,
    output rvalid,
    input rready,
    output irq,
    input [INPUT_BITS-1:0] i_data,
    input i_last,
    input i_valid,
    output i_ready,
    output [VALUE_BITS-1:0] value_data,
    output [VALUE_BITS/8-1:0] value_keep,
    output value_last,
    output value_valid,
    input value_ready,
    output [INDEX_BITS-1:0] index_data,
    output [INDEX_BITS/8-1:0] index_keep,
    output index_last,
    output index_valid,
    input index_ready
);
  reg resetn_now = 1;
  reg awvalid_now = 0;
  reg wvalid_now = 0;
  reg arvalid_now = 0;
  reg i_valid_now = 0;
  reg i_last_now = 0;
  reg value_ready_now = 0;
  reg index_ready_now = 0;
  reg [ADDRESS_BITS-1:0] awaddr_now = 0;
  reg [ADDRESS_BITS-1:0] araddr_now = 0;
  reg bready_now = 0;
  reg rready_now = 0;
  reg [31:0] wdata_now = 0;
  reg [3:0] wstrb_now = 0;
  reg [INPUT_BITS-1:0] i_data_now = 0;

  always @(posedge clk) begin
    resetn_now <= resetn;
    awvalid_now <= awvalid;
    awaddr_now <= awaddr;
    wvalid_now <= wvalid;
    wdata_now <= wdata;
    wstrb_now <= wstrb;
    bready_now <= bready;
    rready_now <= rready;
    arvalid_now <= arvalid;
    araddr_now <= araddr;
    i_valid_now <= i_valid;
    i_data_now <= i_data;
    i_last_now <= i_last;
    value_ready_now <= value_ready;
    index_ready_now <= index_ready;
  end

  extremum_axi axi_block (
      .aclk(clk),
      .aresetn(resetn_now),
`ifdef EXTREMUM_NO_LITE
`else
      .s_axil_awaddr(awaddr_now),
      .s_axil_awprot(3'b0),
      .s_axil_awvalid(awvalid_now),
      .s_axil_awready(awready),
      .s_axil_wdata(wdata_now),
      .s_axil_wstrb(wstrb_now),
      .s_axil_wvalid(wvalid_now),
      .s_axil_wready(wready),
      .s_axil_bresp(bresp),
      .s_axil_bvalid(bvalid),
      .s_axil_bready(bready_now),
      .s_axil_araddr(araddr_now),
      .s_axil_arprot(3'b0),
      .s_axil_arvalid(arvalid_now),
      .s_axil_arready(arready),
      .s_axil_rdata(rdata),
      .s_axil_rresp(rresp),
      .s_axil_rvalid(rvalid),
      .s_axil_rready(rready_now),
      .irq(irq),
`endif
`ifdef EXTREMUM_NO_VALUE
`else
      .m_axis_value_tdata(value_data),
      .m_axis_value_tkeep(value_keep),
      .m_axis_value_tlast(value_last),
      .m_axis_value_tvalid(value_valid),
      .m_axis_value_tready(value_ready_now),
`endif
`ifdef EXTREMUM_NO_INDEX
`else
      .m_axis_index_tdata(index_data),
      .m_axis_index_tkeep(index_keep),
      .m_axis_index_tlast(index_last),
      .m_axis_index_tvalid(index_valid),
      .m_axis_index_tready(index_ready_now),
`endif
      .s_axis_tdata(i_data_now),
      .s_axis_tkeep({INPUT_BITS / 8{1'b1}}),
      .s_axis_tlast(i_last_now),
      .s_axis_tvalid(i_valid_now),
      .s_axis_tready(i_ready)
  );
`ifdef EXTREMUM_NO_LITE
  assign {awready, wready, bresp, bvalid, arready, rdata, rresp, rvalid, irq} = 0;
`endif
`ifdef EXTREMUM_NO_VALUE
  assign value_data = 0;
  assign value_keep = 0;
  assign value_last = 0;
  assign value_valid = 0;
`endif
`ifdef EXTREMUM_NO_INDEX
  assign index_data = 0;
  assign index_keep = 0;
  assign index_last = 0;
  assign index_valid = 0;
`endif
endmodule
