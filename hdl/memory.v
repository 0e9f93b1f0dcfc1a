// The memory that stores elements, lines and planes: one port writes, one port reads.
//
// A word can be read in the clock after it was written. Its data come two clocks after its address:
// one for the memory, and one for the register at its output, unless that is left out. The form is
// one that synthesis tools recognise as a block memory. Replace this module to use a memory of your
// own: what is read of a word that is written in the same clock does not matter.

module extremum_memory #(
    parameter WIDTH = 1,
    parameter DEPTH = 1,
    parameter ADDRESS_BITS = 1,
    parameter OUTPUT_REGISTER = 1
) (
    input clk,
    input [ADDRESS_BITS-1:0] read_address,
    input read_enable,
    input output_enable,
    output [WIDTH-1:0] read_data,
    input [ADDRESS_BITS-1:0] write_address,
    input [WIDTH-1:0] write_data,
    input write_enable
);
  reg [WIDTH-1:0] rows[0:DEPTH-1];
  reg [WIDTH-1:0] row;
  reg [WIDTH-1:0] late_row;
  integer number;

  assign read_data = OUTPUT_REGISTER ? late_row : row;

  initial begin
    for (number = 0; number < DEPTH; number = number + 1) rows[number] = 0;
    row = 0;
    late_row = 0;
  end

  always @(posedge clk) begin
    if (write_enable) rows[write_address] <= write_data;
    if (read_enable) row <= rows[read_address];
    if (output_enable) late_row <= row;
  end
endmodule
