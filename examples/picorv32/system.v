`timescale 1ns/1ps

// A processor, a memory, a stream DMA and the extremum block.
//
//     0x00000000  memory: program, data and stack
//     0x80000000  the block's registers
//     0x90000000  DMA to s_axis:             address, then bytes, which starts it
//     0x90000010  DMA from m_axis_value:     address, which starts it
//     0x90000020  DMA from m_axis_index:     address, which starts it
//     0x90000030  which of the three are busy, as bits 0 to 2
//     0xA0000000  a byte for the console
//     0xA0000004  the end: 0 if all went well
//
// The registers of this system take whole words. `stray` tells of an access to anything else, of one
// that the block answers with an error, and of a DMA that leaves the memory.
//
// The processor makes one transaction at a time, so the four high bits of the address are all of
// the interconnect. The DMA has a port of the memory for itself, and its three parts take turns:
// whoever brings results comes first, so that the block never stalls for long.
module system #(
    parameter MEMORY_BYTES = 131072,
    parameter INDEX_WORDS = 4 // 32-bit words of a beat on m_axis_index
) (
    input             clk,
    input             resetn,
    output            trap,           // the processor met an instruction that it does not know
    output reg [7:0]  console,
    output reg        console_toggle, // changes with every byte for the console
    output reg        stray,          // an access to what nobody has, or that was refused
    output reg        done,
    output reg [31:0] status          // valid with `done`
);
    localparam WORDS = MEMORY_BYTES / 4;

    // ---- The processor ----

    wire        awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
    wire [31:0] awaddr, wdata, araddr, rdata;
    wire [3:0]  wstrb;
    wire        block_irq;

    // An interrupt of the block only ends the processor's waiting: it stays masked.
    picorv32_axi #(
        .STACKADDR(MEMORY_BYTES),
        .ENABLE_FAST_MUL(1),
        .ENABLE_DIV(1),
        .BARREL_SHIFTER(1),
        .ENABLE_IRQ(1),
        .ENABLE_IRQ_QREGS(0),
        .ENABLE_IRQ_TIMER(0),
        .LATCHED_IRQ(32'h0)
    ) processor (
        .clk(clk), .resetn(resetn), .trap(trap),
        .mem_axi_awvalid(awvalid), .mem_axi_awready(awready), .mem_axi_awaddr(awaddr),
        .mem_axi_awprot(),
        .mem_axi_wvalid(wvalid), .mem_axi_wready(wready), .mem_axi_wdata(wdata),
        .mem_axi_wstrb(wstrb),
        .mem_axi_bvalid(bvalid), .mem_axi_bready(bready),
        .mem_axi_arvalid(arvalid), .mem_axi_arready(arready), .mem_axi_araddr(araddr),
        .mem_axi_arprot(),
        .mem_axi_rvalid(rvalid), .mem_axi_rready(rready), .mem_axi_rdata(rdata),
        .pcpi_valid(), .pcpi_insn(), .pcpi_rs1(), .pcpi_rs2(),
        .pcpi_wr(1'b0), .pcpi_rd(32'b0), .pcpi_wait(1'b0), .pcpi_ready(1'b0),
        .irq({28'b0, block_irq, 3'b0}), .eoi(),
        .trace_valid(), .trace_data()
    );

    // ---- The interconnect ----

    wire reads_block = araddr[31:28] == 4'h8, writes_block = awaddr[31:28] == 4'h8;
    wire reads_dma = araddr[31:28] == 4'h9;
    wire writes_memory = awaddr[31:28] == 4'h0, writes_dma = awaddr[31:28] == 4'h9;
    wire writes_console = awaddr[31:28] == 4'hA;
    wire reads_memory = araddr[31:28] == 4'h0;

    wire        block_awready, block_wready, block_bvalid, block_arready, block_rvalid;
    wire [1:0]  block_bresp, block_rresp;
    wire [31:0] block_rdata;

    // The memory and the registers of this system answer in the clock after the request. The
    // processor asks for nothing else before it has taken an answer.
    reg  own_bvalid, own_rvalid, dma_answers;
    wire own_write = awvalid && wvalid && !writes_block && !own_bvalid;
    wire own_read = arvalid && !reads_block && !own_rvalid;
    assign awready = writes_block ? block_awready : own_write;
    assign wready = writes_block ? block_wready : own_write;
    assign bvalid = block_bvalid || own_bvalid;
    assign arready = reads_block ? block_arready : own_read;
    assign rvalid = block_rvalid || own_rvalid;

    always @(posedge clk) begin
        own_bvalid <= resetn && (own_write || (own_bvalid && !bready));
        own_rvalid <= resetn && (own_read || (own_rvalid && !rready));
    end

    // ---- The memory ----

    reg  [31:0] memory[0:WORDS-1];
    reg  [31:0] processor_data, dma_data;
    wire [31:0] processor_address = own_write ? awaddr : araddr;
    wire [31:0] dma_address, dma_write_data;
    wire [3:0]  dma_strobes;
    integer     lane;

    initial $readmemh("firmware.hex", memory);

    always @(posedge clk) begin
        if (own_read)
            processor_data <= memory[processor_address[$clog2(MEMORY_BYTES)-1:2]];
        dma_data <= memory[dma_address[$clog2(MEMORY_BYTES)-1:2]];
        for (lane = 0; lane < 4; lane = lane + 1) begin
            if (own_write && writes_memory && wstrb[lane])
                memory[processor_address[$clog2(MEMORY_BYTES)-1:2]][8*lane +: 8]
                    <= wdata[8*lane +: 8];
            if (dma_strobes[lane])
                memory[dma_address[$clog2(MEMORY_BYTES)-1:2]][8*lane +: 8]
                    <= dma_write_data[8*lane +: 8];
        end
    end

    assign rdata = block_rvalid ? block_rdata : dma_answers ? {29'b0, busy} : processor_data;

    // ---- The DMA ----

    wire [2:0]  request, busy;
    wire [31:0] source_address, value_address, index_address, value_data, index_data;
    wire [3:0]  value_strobes, index_strobes;
    reg  [31:0] packet_address;
    wire        writes_to_dma = own_write && writes_dma;
    wire [2:0]  stop = writes_to_dma && awaddr[7:0] == 8'h30 ? wdata[2:0] : 3'b0;

    // Bit 0 is the reader, bit 1 the writer of values, bit 2 that of positions.
    wire [2:0]  grant = request[2] ? 3'b100 : request[1] ? 3'b010 : request;
    assign dma_address =
        grant[2] ? index_address : grant[1] ? value_address : source_address;
    assign dma_write_data = grant[2] ? index_data : value_data;
    assign dma_strobes = grant[2] ? index_strobes : grant[1] ? value_strobes : 4'b0;

    always @(posedge clk) begin
        dma_answers <= reads_dma;
        if (writes_to_dma && awaddr[7:0] == 8'h00)
            packet_address <= wdata;
    end

    wire [31:0]               source_tdata, value_tdata;
    wire [32*INDEX_WORDS-1:0] index_tdata;
    wire [3:0]                value_tkeep;
    wire [4*INDEX_WORDS-1:0]  index_tkeep;
    wire source_tlast, source_tvalid, source_tready;
    wire value_tlast, value_tvalid, value_tready;
    wire index_tlast, index_tvalid, index_tready;

    dma_reader source (
        .clk(clk), .resetn(resetn),
        .start(writes_to_dma && awaddr[7:0] == 8'h04), .address(packet_address), .bytes(wdata),
        .stop(stop[0]), .busy(busy[0]),
        .request(request[0]), .request_address(source_address), .grant(grant[0]),
        .read_data(dma_data),
        .tdata(source_tdata), .tlast(source_tlast), .tvalid(source_tvalid), .tready(source_tready)
    );

    dma_writer values (
        .clk(clk), .resetn(resetn),
        .start(writes_to_dma && awaddr[7:0] == 8'h10), .address(wdata), .stop(stop[1]),
        .busy(busy[1]),
        .request(request[1]), .request_address(value_address), .write_data(value_data),
        .write_strobes(value_strobes), .grant(grant[1]),
        .tdata(value_tdata), .tkeep(value_tkeep), .tlast(value_tlast), .tvalid(value_tvalid),
        .tready(value_tready)
    );

    dma_writer #(.WORDS(INDEX_WORDS)) indices (
        .clk(clk), .resetn(resetn),
        .start(writes_to_dma && awaddr[7:0] == 8'h20), .address(wdata), .stop(stop[2]),
        .busy(busy[2]),
        .request(request[2]), .request_address(index_address), .write_data(index_data),
        .write_strobes(index_strobes), .grant(grant[2]),
        .tdata(index_tdata), .tkeep(index_tkeep), .tlast(index_tlast), .tvalid(index_tvalid),
        .tready(index_tready)
    );

    // ---- The block ----

    extremum_axi block (
        .aclk(clk), .aresetn(resetn), .irq(block_irq),
        .s_axil_awaddr(awaddr[9:0]), .s_axil_awprot(3'b0),
        .s_axil_awvalid(awvalid && writes_block), .s_axil_awready(block_awready),
        .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_wvalid(wvalid && writes_block), .s_axil_wready(block_wready),
        .s_axil_bresp(block_bresp), .s_axil_bvalid(block_bvalid), .s_axil_bready(bready),
        .s_axil_araddr(araddr[9:0]), .s_axil_arprot(3'b0),
        .s_axil_arvalid(arvalid && reads_block), .s_axil_arready(block_arready),
        .s_axil_rdata(block_rdata), .s_axil_rresp(block_rresp), .s_axil_rvalid(block_rvalid),
        .s_axil_rready(rready),
        .s_axis_tdata(source_tdata), .s_axis_tkeep(4'b1111), .s_axis_tlast(source_tlast),
        .s_axis_tvalid(source_tvalid), .s_axis_tready(source_tready),
        .m_axis_value_tdata(value_tdata), .m_axis_value_tkeep(value_tkeep),
        .m_axis_value_tlast(value_tlast), .m_axis_value_tvalid(value_tvalid),
        .m_axis_value_tready(value_tready),
        .m_axis_index_tdata(index_tdata), .m_axis_index_tkeep(index_tkeep),
        .m_axis_index_tlast(index_tlast), .m_axis_index_tvalid(index_tvalid),
        .m_axis_index_tready(index_tready)
    );

    // ---- What nobody has ----

    wire is_dma_register = awaddr[27:0] == 28'h00 || awaddr[27:0] == 28'h04
        || awaddr[27:0] == 28'h10 || awaddr[27:0] == 28'h20 || awaddr[27:0] == 28'h30;
    wire is_write_known = writes_memory ? awaddr < MEMORY_BYTES :
        wstrb == 4'b1111 && (writes_dma ? is_dma_register :
                             writes_console && awaddr[27:0] < 28'h8);
    wire is_read_known = reads_memory ? araddr < MEMORY_BYTES :
        reads_dma && araddr[27:0] == 28'h30;
    wire is_write_refused = block_bvalid && block_bresp != 0;
    wire is_read_refused = block_rvalid && block_rresp != 0;
    wire is_beyond_block = (awvalid && writes_block && awaddr[27:10] != 0)
        || (arvalid && reads_block && araddr[27:10] != 0);

    always @(posedge clk) begin
        if ((own_write && !is_write_known) || (own_read && !is_read_known))
            stray <= 1;
        if (is_write_refused || is_read_refused || is_beyond_block)
            stray <= 1;
        if (grant != 0 && dma_address >= MEMORY_BYTES)
            stray <= 1;
        if (!resetn)
            stray <= 0;
    end

    // ---- The console ----

    always @(posedge clk) begin
        if (own_write && writes_console && awaddr[7:0] == 8'h00) begin
            console <= wdata[7:0];
            console_toggle <= !console_toggle;
        end
        if (own_write && writes_console && awaddr[7:0] == 8'h04) begin
            status <= wdata;
            done <= 1;
        end
        if (!resetn) begin
            console_toggle <= 0;
            done <= 0;
        end
    end
endmodule
