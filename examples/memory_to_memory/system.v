`timescale 1ns/1ps

// The extremum block, and beside it an AXI bus that leads nowhere: cocotbext-axi is the DMA on one
// end of the bus, the memory on the other, and whoever the block's ports are connected to. All
// signals of the bus are inputs, since both of its ends are outside.
module system (
    input         aclk,
    input         aresetn,
    input [7:0]   axi_awid, axi_arid, axi_bid, axi_rid,
    input [19:0]  axi_awaddr, axi_araddr,
    input [7:0]   axi_awlen, axi_arlen,
    input [2:0]   axi_awsize, axi_arsize, axi_awprot, axi_arprot,
    input [1:0]   axi_awburst, axi_arburst, axi_bresp, axi_rresp,
    input         axi_awlock, axi_arlock,
    input [3:0]   axi_awcache, axi_arcache,
    input         axi_awvalid, axi_awready, axi_wvalid, axi_wready, axi_bvalid, axi_bready,
    input         axi_arvalid, axi_arready, axi_rvalid, axi_rready, axi_wlast, axi_rlast,
    input [127:0] axi_wdata, axi_rdata,
    input [15:0]  axi_wstrb
);
    reg [9:0]    s_axil_awaddr, s_axil_araddr;
    reg [2:0]    s_axil_awprot, s_axil_arprot;
    reg          s_axil_awvalid, s_axil_wvalid, s_axil_bready, s_axil_arvalid, s_axil_rready;
    reg [31:0]   s_axil_wdata;
    reg [3:0]    s_axil_wstrb;
    wire         s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid;
    wire [1:0]   s_axil_bresp, s_axil_rresp;
    wire [31:0]  s_axil_rdata;
    reg [31:0]   s_axis_tdata;
    reg [3:0]    s_axis_tkeep;
    reg          s_axis_tlast, s_axis_tvalid, m_axis_value_tready, m_axis_index_tready;
    wire         s_axis_tready, m_axis_value_tlast, m_axis_value_tvalid;
    wire [31:0]  m_axis_value_tdata;
    wire [3:0]   m_axis_value_tkeep;
    wire [127:0] m_axis_index_tdata;
    wire [15:0]  m_axis_index_tkeep;
    wire         m_axis_index_tlast, m_axis_index_tvalid, irq;

    extremum_axi block (
        .aclk(aclk), .aresetn(aresetn), .irq(irq),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awprot(s_axil_awprot),
        .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready),
        .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid),
        .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arprot(s_axil_arprot),
        .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
        .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast),
        .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready),
        .m_axis_value_tdata(m_axis_value_tdata), .m_axis_value_tkeep(m_axis_value_tkeep),
        .m_axis_value_tlast(m_axis_value_tlast), .m_axis_value_tvalid(m_axis_value_tvalid),
        .m_axis_value_tready(m_axis_value_tready),
        .m_axis_index_tdata(m_axis_index_tdata), .m_axis_index_tkeep(m_axis_index_tkeep),
        .m_axis_index_tlast(m_axis_index_tlast), .m_axis_index_tvalid(m_axis_index_tvalid),
        .m_axis_index_tready(m_axis_index_tready)
    );
endmodule
