# The processor begins here. The linker script of the system says where the stack is, what is copied
# before the start, and what is zero at the start.
    .section .start, "ax"
    .globl start
start:
    la   sp, stack_top
    la   t0, data_begin
    la   t1, data_end
    la   t2, data_image
1:  bgeu t0, t1, 2f
    lw   t3, 0(t2)
    sw   t3, 0(t0)
    addi t0, t0, 4
    addi t2, t2, 4
    j    1b
2:  la   t0, zeros_begin
    la   t1, zeros_end
3:  bgeu t0, t1, 4f
    sw   zero, 0(t0)
    addi t0, t0, 4
    j    3b
4:  call main
    call system_end
