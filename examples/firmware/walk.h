/* Where the elements of a packet lie in memory. */

#ifndef WALK_H
#define WALK_H

#include "extremum.h"

/* Visit the elements of a packet, in its order. `place` counts the elements of the packet, lane by
 * lane and beat by beat, and `offset` tells where the element lies, in the units of the stream's
 * strides. */
void for_each_element(
    const struct extremum_stream *stream, void (*visit)(uint32_t place, int32_t offset)
);

/* Whether the beats of a stream follow each other in memory, and fill all lanes: then a DMA takes
 * them from where they are, or puts them there. For streams of elements of one byte. */
bool is_packed(const struct extremum_stream *stream);

/* Where the first element of a packed stream lies. */
uint32_t first_of(const struct extremum_stream *stream);

#endif
