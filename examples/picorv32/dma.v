`timescale 1ns/1ps

// A stream DMA of two parts: a reader from memory to a stream, and a writer from a stream to memory.
//
// Both reach a memory of 32-bit words through a port that answers a granted read in the next clock.
// `request` stays until `grant`, and what is asked for does not change meanwhile.

// Reads a packet from memory. Whole words are read; bytes behind the packet's end are sent as well,
// and TLAST tells its last word.
module dma_reader (
    input             clk,
    input             resetn,
    // A write of `start` begins a packet of `bytes` bytes at `address`, a multiple of four. It must
    // not come while the packet before is `busy`. `stop` ends a packet at once; the word that is
    // offered is taken back, so the sink must be reset as well.
    input             start,
    input             stop,
    input      [31:0] address,
    input      [31:0] bytes,
    output            busy,
    // Memory.
    output            request,
    output     [31:0] request_address,
    input             grant,
    input      [31:0] read_data,
    // Stream.
    output     [31:0] tdata,
    output            tlast,
    output            tvalid,
    input             tready
);
    reg [31:0] next, left;
    assign request_address = next;

    // Words wait here while the stream stalls. A word that is still on its way counts as well.
    reg [32:0] waiting[0:1];
    reg [1:0]  count;
    reg        head, arrives, arrives_last;
    wire       taken = tvalid && tready;
    assign tvalid = count != 0;
    assign {tlast, tdata} = waiting[head];
    assign request = left != 0 && (count + arrives < 2 || taken);
    assign busy = left != 0 || arrives || tvalid;

    always @(posedge clk) begin
        arrives <= request && grant;
        arrives_last <= left == 1;
        if (request && grant) begin
            next <= next + 4;
            left <= left - 1;
        end
        if (start) begin
            next <= address;
            left <= (bytes + 3) >> 2;
        end
        if (arrives)
            waiting[head ^ count[0]] <= {arrives_last, read_data};
        head <= head ^ taken;
        count <= count + arrives - taken;
        if (!resetn || stop) begin
            left <= 0;
            arrives <= 0;
            count <= 0;
            head <= 0;
        end
    end
endmodule

// Writes a packet to memory, word by word, and only the bytes that TKEEP marks. It ends by TLAST.
module dma_writer #(
    parameter WORDS = 1 // 32-bit words of a beat
) (
    input                 clk,
    input                 resetn,
    // A write of `start` begins a packet at `address`, a multiple of four. `stop` ends it at once.
    input                 start,
    input                 stop,
    input  [31:0]         address,
    output reg            busy,
    // Memory.
    output                request,
    output [31:0]         request_address,
    output [31:0]         write_data,
    output [3:0]          write_strobes,
    input                 grant,
    // Stream.
    input  [32*WORDS-1:0] tdata,
    input  [4*WORDS-1:0]  tkeep,
    input                 tlast,
    input                 tvalid,
    output                tready
);
    reg [31:0] next;
    reg [7:0]  word; // of the beat
    wire       is_last_word = word == WORDS - 1;
    assign request = busy && tvalid;
    assign request_address = next;
    assign write_data = tdata[32*word +: 32];
    assign write_strobes = tkeep[4*word +: 4];
    assign tready = request && grant && is_last_word;

    always @(posedge clk) begin
        if (request && grant) begin
            next <= next + 4;
            word <= is_last_word ? 0 : word + 1;
            if (is_last_word && tlast)
                busy <= 0;
        end
        if (start) begin
            next <= address;
            word <= 0;
            busy <= 1;
        end
        if (!resetn || stop) begin
            busy <= 0;
            word <= 0;
        end
    end
endmodule
