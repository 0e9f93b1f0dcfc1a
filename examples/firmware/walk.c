#include "walk.h"

/* Nested loops in progress: the step of each, and the offset that they add up to. */
struct loop_walk {
    const struct extremum_loops *loops;
    uint32_t steps[EXTREMUM_MAX_RANK];
    int32_t offset;
};

static void begin_loops(struct loop_walk *walk, const struct extremum_loops *loops)
{
    walk->loops = loops;
    walk->offset = 0;
    for (uint32_t i = 0; i < loops->depth; i++) {
        walk->steps[i] = 0;
    }
}

/* Make a step of the innermost loop, and of those around it where it is over. */
static void step_loops(struct loop_walk *walk)
{
    const struct extremum_loops *loops = walk->loops;
    for (uint32_t i = loops->depth; i-- > 0;) {
        int32_t stride = (int32_t)loops->strides[i];
        walk->offset += stride;
        if (++walk->steps[i] < loops->counts[i]) {
            return;
        }
        walk->offset -= stride * (int32_t)loops->counts[i];
        walk->steps[i] = 0;
    }
}

void for_each_element(
    const struct extremum_stream *stream, void (*visit)(uint32_t place, int32_t offset)
)
{
    int32_t starts[EXTREMUM_MAX_LANES];
    uint32_t place = 0, lanes = stream->lanes, at_once = stream->fold ? 1 : lanes, here;
    struct loop_walk slice, element;
    begin_loops(&slice, &stream->over_slices);
    for (uint32_t i = 0; i < stream->first_slice; i++) {
        step_loops(&slice);
    }
    /* The slices that stream together: one in each lane, or a single one that is folded. */
    for (uint32_t left = stream->slices; left > 0; left -= here) {
        here = left < at_once ? left : at_once;
        for (uint32_t i = 0; i < here; i++) {
            starts[i] = (int32_t)stream->base + slice.offset;
            step_loops(&slice);
        }
        begin_loops(&element, &stream->over_elements);
        for (uint32_t number = 0; number < stream->elements; number++) {
            for (uint32_t i = 0; i < here; i++) {
                visit(place + i, starts[i] + element.offset);
            }
            place += at_once;
            step_loops(&element);
        }
        if (stream->fold) {
            place += lanes - stream->tail; /* The next slice begins with a beat. */
        }
    }
}

uint32_t first_of(const struct extremum_stream *stream)
{
    return (uint32_t)stream->base + (stream->fold ? 0 : stream->first_slice);
}

bool is_packed(const struct extremum_stream *stream)
{
    const struct extremum_loops *slices = &stream->over_slices, *elements = &stream->over_elements;
    uint32_t side_by_side = stream->fold ? stream->elements : stream->slices;
    if (first_of(stream) % 4 != 0 || side_by_side % stream->lanes != 0) {
        return false;
    }
    if (stream->fold) {
        return elements->depth == 1 && elements->strides[0] == 1
            && (stream->slices == 1
                || (slices->depth == 1 && slices->strides[0] == (int64_t)stream->elements));
    }
    /* One group of slices that lie side by side, or one element of each slice. */
    if (slices->depth != 1 || slices->strides[0] != 1) {
        return false;
    }
    return stream->elements == 1
        || (stream->slices == stream->lanes && elements->depth == 1
            && elements->strides[0] == (int64_t)stream->lanes);
}
