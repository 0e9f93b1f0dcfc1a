// One job on a core in plain Verilog: a 3x3 max pooling, stride 1, padding 1 on every side, of a
// tensor of int8 with 2 planes of 4 x 6 elements. docs/verilog.md explains each register.
//
// The core is written by
//
//   extremum verilog --operators max-pool --types int8 --max-window 3,3 --max-dilation 1 \
//     --max-line 32 --coordinate-width 8 --bus none --output core
//
// and this bench is run by
//
//   iverilog -g2012 -o bench pool3x3_tb.v core/extremum_core.v && vvp bench
//
// It ends with $fatal, so with a status other than 0, if anything is wrong.

module pool3x3_tb;

  localparam PLANES = 2, HEIGHT = 4, WIDTH = 6, WINDOW = 3, PADDING = 1;
  localparam ELEMENTS = PLANES * HEIGHT * WIDTH;

  // Where each register lies on the job port: its "lowest" bit in extremum_core.json. A register
  // that is "less_one" there is written as one less than its value.
  localparam JOB_BITS = 417;
  localparam SLOTS = 0, VOLUMES = 32, GROUPS = 64, ORIGIN = 96, GROUP_STEP = 128;
  localparam H_WINDOW = 160, H_STRIDE = 168, H_SIZE = 176, H_HEAD = 184, H_PERIOD = 193;
  localparam H_REGULAR = 201, H_FINAL = 210, H_SHIFT = 219, H_SPACING = 221;
  localparam H_POSITION_STEP = 227, H_TAP_STEP = 259;
  localparam W_WINDOW = 291, W_STRIDE = 299, W_SIZE = 307, W_HEAD = 315, W_PERIOD = 324;
  localparam W_REGULAR = 332, W_FINAL = 341, W_SHIFT = 350, W_SPACING = 352;
  localparam W_POSITION_STEP = 353, W_TAP_STEP = 385;

  reg clk, rst;
  reg [JOB_BITS-1:0] job = 0;
  reg job_valid = 0, i_valid = 0, o_ready = 0;
  reg signed [7:0] i_payload = 0;
  wire job_ready, i_ready, o_valid;
  wire [40:0] o_payload;  // the value below, then 32 bits of index, then last
  wire [5:0] status;      // busy, refused, three bits of error, empty
  wire signed [7:0] value = o_payload[7:0];
  wire [31:0] index = o_payload[39:8];
  wire last = o_payload[40];
  wire refused = status[1];
  wire [2:0] error = status[4:2];

  extremum_core core (
    .clk(clk), .rst(rst),
    .job__payload(job), .job__valid(job_valid), .job__ready(job_ready),
    .i__payload(i_payload), .i__valid(i_valid), .i__ready(i_ready),
    .o__payload(o_payload), .o__valid(o_valid), .o__ready(o_ready),
    .status(status)
  );

  always #5 clk = !clk;

  // The tensor. Few different values, so that windows have ties.
  reg signed [7:0] tensor [0:ELEMENTS-1];
  integer n;
  initial for (n = 0; n < ELEMENTS; n = n + 1) tensor[n] = (n * 37) % 11 - 5;

  // What the contract says: the greatest element of the window, and of equal ones the first.
  reg signed [7:0] best;
  reg [31:0] where;
  task expected(input integer result);
    integer plane, row, column, y, x, at;
    begin
      plane = result / (HEIGHT * WIDTH);
      row = result / WIDTH % HEIGHT;
      column = result % WIDTH;
      where = 32'hffffffff;
      for (y = row - PADDING; y < row - PADDING + WINDOW; y = y + 1)
        for (x = column - PADDING; x < column - PADDING + WINDOW; x = x + 1)
          if (y >= 0 && y < HEIGHT && x >= 0 && x < WIDTH) begin
            at = (plane * HEIGHT + y) * WIDTH + x;
            if (where == 32'hffffffff || tensor[at] > best) begin
              best = tensor[at];
              where = at;
            end
          end
    end
  endtask

  task write_job;
    begin
      job[SLOTS +: 32] = 55 - 1;
      job[VOLUMES +: 32] = 2 - 1;
      job[GROUPS +: 32] = 2 - 1;
      job[ORIGIN +: 32] = 7;
      job[GROUP_STEP +: 32] = 1;

      job[H_WINDOW +: 8] = 3;
      job[H_STRIDE +: 8] = 1 - 1;
      job[H_SIZE +: 8] = 4 - 1;
      job[H_HEAD +: 9] = 1;
      job[H_PERIOD +: 8] = 4 - 1;
      job[H_REGULAR +: 9] = 4;
      job[H_FINAL +: 9] = 4;
      job[H_SHIFT +: 2] = 0;
      job[H_SPACING +: 6] = 6 - 1;
      job[H_POSITION_STEP +: 32] = 1;
      job[H_TAP_STEP +: 32] = -6;

      job[W_WINDOW +: 8] = 3;
      job[W_STRIDE +: 8] = 1 - 1;
      job[W_SIZE +: 8] = 6 - 1;
      job[W_HEAD +: 9] = 1;
      job[W_PERIOD +: 8] = 6 - 1;
      job[W_REGULAR +: 9] = 6;
      job[W_FINAL +: 9] = 6;
      job[W_SHIFT +: 2] = 0;
      job[W_SPACING +: 1] = 1 - 1;
      job[W_POSITION_STEP +: 32] = 1;
      job[W_TAP_STEP +: 32] = -1;
    end
  endtask

  // No output of the core depends on an input in the same clock. So at the falling edge, between
  // two rising ones, it is known which transfers the next rising edge makes.
  integer clocks = 0, sent = 0, seen = 0, done_at = 0;
  reg job_taken = 0, is_waiting = 0;

  always @(negedge clk) if (!rst) begin
    clocks = clocks + 1;
    if (clocks > 1000) $fatal(1, "only %0d results of %0d came", seen, ELEMENTS);
    if (refused !== 0 || error !== 0) $fatal(1, "the job was refused with error %0d", error);

    // The job stays on its port until the core has taken it.
    if (job_taken) job_valid = 0;
    job_taken = job_valid && job_ready;

    // The source rests in every third clock, but never takes an offer back; the sink rests in every
    // fifth.
    i_valid = sent < ELEMENTS && (is_waiting || clocks % 3 != 0);
    i_payload = i_valid ? tensor[sent] : 8'hxx;
    o_ready = clocks % 5 != 0;
    is_waiting = i_valid && !i_ready;
    if (i_valid && i_ready) sent = sent + 1;
    if (o_valid && o_ready) begin
      if (seen == ELEMENTS) $fatal(1, "a result too many came");
      expected(seen);
      if (value !== best || index !== where)
        $fatal(1, "result %0d is %0d at %0d, not %0d at %0d", seen, value, index, best, where);
      if (last !== (seen == ELEMENTS - 1)) $fatal(1, "result %0d has last = %b", seen, last);
      seen = seen + 1;
      done_at = clocks;
    end

    // Nothing more may come after the last result.
    if (seen == ELEMENTS && clocks == done_at + 100) begin
      if (sent != ELEMENTS || job_valid || status[0] !== 0) $fatal(1, "the core is not at rest");
      $display("%0d results are right", seen);
      $finish;
    end
  end

  // Clock and reset get their first values here, and not in their declarations: those would be no
  // event to a simulator of SystemVerilog, and the logic that waits for one would stay unknown.
  initial begin
    clk = 0;
    rst = 1;
    repeat (2) @(negedge clk);
    rst = 0;
    write_job;
    job_valid = 1;
  end

endmodule
