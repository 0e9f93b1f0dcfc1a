# The processor begins here, with its stack pointer set. The memory image has no zeros for what is
# zero at the start, so they are written first.
    .section .start, "ax"
    .globl start
start:
    la   t0, zeros_begin
    la   t1, zeros_end
1:  bgeu t0, t1, 2f
    sw   zero, 0(t0)
    addi t0, t0, 4
    j    1b
2:  call main
    call system_end
