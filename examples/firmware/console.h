/* Text and numbers on the console. */

#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdint.h>

void print(const char *text);

/* Print a text, filled up with spaces to a width. */
void print_name(const char *text, uint32_t width);

/* Print a number in decimal digits, with spaces before it up to a width of at most 10. */
void print_number(uint32_t number, uint32_t width);

#endif
