#include "console.h"

#include "system.h"

void print(const char *text)
{
    print_name(text, 0);
}

void print_name(const char *text, uint32_t width)
{
    uint32_t length = 0;
    for (; text[length]; length++) {
        system_put(text[length]);
    }
    for (; length < width; length++) {
        system_put(' ');
    }
}

void print_number(uint32_t number, uint32_t width)
{
    char digits[11];
    uint32_t first = sizeof digits - 1;
    digits[first] = '\0';
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    while (first > sizeof digits - 1 - width) {
        digits[--first] = ' ';
    }
    print(digits + first);
}
