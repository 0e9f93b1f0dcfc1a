/* What gcc asks of every program without a library: it copies, clears and compares by these. */

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int byte, size_t count);
int memcmp(const void *one, const void *other, size_t count);

/* The places may overlap, if `to` is in front of `from`. */
static void *copy_upwards(void *to, const void *from, size_t count)
{
    unsigned char *written = to;
    const unsigned char *read = from;
    while (count--) {
        *written++ = *read++;
    }
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    return copy_upwards(to, from, count);
}

void *memmove(void *to, const void *from, size_t count)
{
    unsigned char *written = to;
    const unsigned char *read = from;
    if (written <= read) {
        return copy_upwards(to, from, count);
    }
    while (count--) {
        written[count] = read[count];
    }
    return to;
}

int memcmp(const void *one, const void *other, size_t count)
{
    const unsigned char *left = one, *right = other;
    for (size_t i = 0; i < count; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

void *memset(void *to, int byte, size_t count)
{
    unsigned char *written = to;
    while (count--) {
        *written++ = (unsigned char)byte;
    }
    return to;
}
