/* The system of `system.v`, as the program sees it. */

#include "system.h"

#define DMA ((volatile uint32_t *)0x90000000)
#define CONSOLE ((volatile uint32_t *)0xA0000000)

/* The channels of the DMA, in its word 12: reading tells which are busy, writing stops them. */
#define SOURCE 1u
#define SINKS 6u

const struct extremum_bus SYSTEM_BLOCK = {.base = (volatile uint32_t *)0x80000000};

uint32_t system_clocks(void)
{
    uint32_t clocks;
    __asm__ volatile("rdcycle %0" : "=r"(clocks));
    return clocks;
}

void system_put(char character)
{
    CONSOLE[0] = (uint8_t)character;
}

void system_end(int status)
{
    CONSOLE[1] = (uint32_t)status;
    for (;;) {
    }
}

/* PicoRV32's own instruction `waitirq` waits until an interrupt is pending, even a masked one. */
bool system_sleep(void)
{
    uint32_t pending;
    __asm__ volatile(".insn r 0x0b, 4, 4, %0, zero, zero" : "=r"(pending) : : "memory");
    return true;
}

/* The writers end by TLAST, so they do not need the lengths. */
void system_receive(void *values, uint32_t value_bytes, void *positions, uint32_t position_bytes)
{
    (void)value_bytes;
    (void)position_bytes;
    DMA[4] = (uint32_t)values;
    DMA[8] = (uint32_t)positions;
}

void system_send(const void *data, uint32_t bytes)
{
    /* What the program has written to memory must be there before the DMA starts. */
    __asm__ volatile("" : : : "memory");
    DMA[0] = (uint32_t)data;
    DMA[1] = bytes;
}

const bool SYSTEM_STOPS = true;
const bool SYSTEM_KEEPS = true;

void system_stop_sending(void)
{
    DMA[12] = SOURCE;
}

void system_stop_receiving(void)
{
    DMA[12] = SINKS;
}

bool system_is_sending(void)
{
    return (DMA[12] & SOURCE) != 0;
}

bool system_is_moving(void)
{
    bool is_moving = DMA[12] != 0;
    __asm__ volatile("" : : : "memory");
    return is_moving;
}
