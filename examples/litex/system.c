/* The system of `soc.py`, as the program sees it: LiteX's generated headers have the addresses. */

#include "system.h"

#include <generated/csr.h>
#include <generated/mem.h>

const struct extremum_bus SYSTEM_BLOCK = {.base = (volatile uint32_t *)BLOCK_BASE};

uint32_t system_clocks(void)
{
    return bench_clocks_read();
}

void system_put(char character)
{
    while (uart_txfull_read()) {
    }
    uart_rxtx_write((uint8_t)character);
}

void system_end(int status)
{
    (void)status;
    while (!uart_txempty_read()) {
    }
    bench_end_write(1);
    /* A write may wait in the processor until the next access. */
    (void)bench_end_read();
    for (;;) {
    }
}

/* The program polls, since the minimal VexRiscv would need an interrupt handler for anything else.
 */
bool system_sleep(void)
{
    return false;
}

/* LiteX's DMA begins with the rising edge of `enable`. */
void system_receive(void *values, uint32_t value_bytes, void *positions, uint32_t position_bytes)
{
    values_enable_write(0);
    values_base_write((uint32_t)values);
    values_length_write(value_bytes);
    values_enable_write(1);
    indices_enable_write(0);
    indices_base_write((uint32_t)positions);
    indices_length_write(position_bytes);
    indices_enable_write(1);
}

void system_send(const void *data, uint32_t bytes)
{
    __asm__ volatile("" : : : "memory");
    source_enable_write(0);
    source_base_write((uint32_t)data);
    source_length_write(bytes);
    source_enable_write(1);
}

/* LiteX's DMA can be disabled, but its buffer keeps the words that are in it. */
const bool SYSTEM_STOPS = false;

/* It writes whole words. */
const bool SYSTEM_KEEPS = false;

void system_stop_sending(void)
{
}

void system_stop_receiving(void)
{
}

bool system_is_sending(void)
{
    return !source_done_read();
}

bool system_is_moving(void)
{
    bool is_moving = !values_done_read() || !indices_done_read() || !source_done_read();
    __asm__ volatile("" : : : "memory");
    return is_moving;
}
