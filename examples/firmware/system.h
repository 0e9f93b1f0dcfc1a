/* What the program asks of the system that it runs in. Each system has a source file of its own
 * for these, a linker script, and a start of a few instructions. */

#ifndef SYSTEM_H
#define SYSTEM_H

#include "extremum.h"

/* Where the registers of the block are. */
extern const struct extremum_bus SYSTEM_BLOCK;

/* Clocks since the start, modulo 2^32. */
uint32_t system_clocks(void);

/* Write a character to the console. */
void system_put(char character);

/* End the simulation; 0 says that all went well. On a board, stay here. */
void system_end(int status);

/* Wait until the block interrupts, and return true. A system without interrupts returns false. */
bool system_sleep(void);

/* Let the DMA take the next packets of the output streams, of so many bytes, to memory. The
 * addresses are multiples of four. */
void system_receive(void *values, uint32_t value_bytes, void *positions, uint32_t position_bytes);

/* Let the DMA send a packet from memory. The address is a multiple of four. */
void system_send(const void *data, uint32_t bytes);

/* Whether the DMA can be stopped in the midst of a packet. */
extern const bool SYSTEM_STOPS;

/* Whether the DMA leaves alone those bytes of its last word that TKEEP does not mark. */
extern const bool SYSTEM_KEEPS;

/* Stop and reset the channel that sends. It may have offered a word that the block has not taken, so
 * the block must be reset behind it. */
void system_stop_sending(void);

/* Stop and reset the channels that receive. */
void system_stop_receiving(void);

/* Whether the DMA still sends a packet. */
bool system_is_sending(void);

/* Whether the DMA still moves any packet, to the block or from it. */
bool system_is_moving(void);

#endif
