/* What gcc asks of every program without a library: it copies structures by these. */

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memset(void *to, int byte, size_t count);

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    unsigned char *written = to;
    const unsigned char *read = from;
    while (count--) {
        *written++ = *read++;
    }
    return to;
}

void *memset(void *to, int byte, size_t count)
{
    unsigned char *written = to;
    while (count--) {
        *written++ = (unsigned char)byte;
    }
    return to;
}
