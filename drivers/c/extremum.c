/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of the extremum core; extremum.h says what it does.
 *
 * The numbers of an operator are bounded by one rule of the golden model: a tensor has fewer
 * than 2^32 elements, its padding included. So no stride over padded elements, no slot and no
 * coordinate reaches 2^34, and signed 64-bit arithmetic is exact. Where a product may be larger,
 * a comment says what bounds it. Positions are modulo 2^32 and therefore unsigned.
 */

#include "extremum.h"

#define MAX_ELEMENTS UINT32_MAX

/* An offset may be as far from the first element as this, in either direction. */
#define MAX_REACH ((uint64_t)1 << 61)

/* Dimensions by their places in a triple. */
enum { DEPTH, HEIGHT, WIDTH, DIMENSIONS };

/* The registers of a dimension, counted from its first one. */
enum {
    WINDOW,
    STRIDE,
    DILATION,
    SIZE,
    HEAD,
    PERIOD,
    REGULAR,
    FINAL,
    SHIFT,
    SPACING,
    POSITION_STEP,
    TAP_STEP,
    REGISTERS_PER_DIMENSION
};

static const uint8_t ELEMENT_BYTES[EXTREMUM_MAX_DATA_TYPES] = {4, 2, 8, 4, 2, 1, 8, 4, 2, 1};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The quotient rounded up; the divisor is positive. C rounds towards zero, which is up for negative
 * dividends. */
static int64_t divide_up(int64_t dividend, int64_t divisor)
{
    return dividend > 0 ? (dividend - 1) / divisor + 1 : dividend / divisor;
}

static uint32_t modulo(int64_t position)
{
    return (uint32_t)(uint64_t)position;
}

/* ---- The rules of the golden model ---- */

/* Multiply the sizes; the result is 0 if it would exceed MAX_ELEMENTS. No size is 0. */
static uint32_t multiply(const uint32_t *sizes, uint32_t count)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < count; i++) {
        product *= sizes[i];
        if (product > MAX_ELEMENTS) {
            return 0;
        }
    }
    return (uint32_t)product;
}

static enum extremum_error check_sizes(uint32_t rank, const uint32_t *sizes)
{
    if (rank < 1 || rank > EXTREMUM_MAX_RANK) {
        return EXTREMUM_BAD_RANK;
    }
    for (uint32_t axis = 0; axis < rank; axis++) {
        if (sizes[axis] < 1) {
            return EXTREMUM_BAD_SIZE;
        }
    }
    return multiply(sizes, rank) ? EXTREMUM_OK : EXTREMUM_TOO_MANY_ELEMENTS;
}

/* Refuse strides by which the sum of an element's offset could leave 64 bits. */
static enum extremum_error check_strides(
    const int64_t *strides, uint32_t rank, const uint32_t *sizes
)
{
    uint64_t left = MAX_REACH;
    if (strides == NULL) {
        return EXTREMUM_OK;
    }
    for (uint32_t axis = 0; axis < rank; axis++) {
        uint64_t stride = strides[axis] < 0 ? -(uint64_t)strides[axis] : (uint64_t)strides[axis];
        uint64_t steps = sizes[axis] - 1;
        if (steps && stride > left / steps) {
            return EXTREMUM_STRIDES_TOO_LARGE;
        }
        left -= steps * stride;
    }
    return EXTREMUM_OK;
}

/* Return the reduced axes as a mask, or the rule that they break. */
static enum extremum_error read_axes(
    uint32_t rank, uint32_t axis_count, const int32_t *axes, uint32_t *reduced
)
{
    *reduced = 0;
    if (axis_count < 1) {
        return EXTREMUM_NO_AXES;
    }
    /* More axes than the array has room for cannot all be different. */
    for (uint32_t i = 0; i < axis_count && i < EXTREMUM_MAX_RANK; i++) {
        if (axes[i] < -(int32_t)rank || axes[i] >= (int32_t)rank) {
            return EXTREMUM_AXIS_OUT_OF_RANGE;
        }
    }
    for (uint32_t i = 0; i < axis_count; i++) {
        uint32_t axis;
        if (i == EXTREMUM_MAX_RANK) {
            return EXTREMUM_AXIS_REPEATED;
        }
        axis = (uint32_t)(axes[i] < 0 ? axes[i] + (int32_t)rank : axes[i]);
        if (*reduced >> axis & 1) {
            return EXTREMUM_AXIS_REPEATED;
        }
        *reduced |= (uint32_t)1 << axis;
    }
    return EXTREMUM_OK;
}

static bool gives_index(enum extremum_function function)
{
    return function == EXTREMUM_ARGMAX || function == EXTREMUM_ARGMIN;
}

static bool is_minimum(enum extremum_function function)
{
    return function == EXTREMUM_ARGMIN || function == EXTREMUM_MIN;
}

/* The number of elements that are reduced to one. */
static uint32_t count_reduced(const struct extremum_reduction *reduction, uint32_t reduced)
{
    uint32_t count = 1;
    for (uint32_t axis = 0; axis < reduction->rank; axis++) {
        if (reduced >> axis & 1) {
            count *= reduction->sizes[axis];
        }
    }
    return count;
}

/* The sizes of the output. */
static void keep_sizes(
    uint32_t *kept, const struct extremum_reduction *reduction, uint32_t reduced
)
{
    for (uint32_t axis = 0; axis < reduction->rank; axis++) {
        kept[axis] = reduced >> axis & 1 ? 1 : reduction->sizes[axis];
    }
}

enum extremum_error extremum_check_reduction(const struct extremum_reduction *reduction)
{
    uint32_t kept_sizes[EXTREMUM_MAX_RANK], reduced;
    enum extremum_error error = check_sizes(reduction->rank, reduction->sizes);
    if (error) {
        return error;
    }
    if ((uint32_t)reduction->function > EXTREMUM_MIN) {
        return EXTREMUM_BAD_FUNCTION;
    }
    if ((uint32_t)reduction->data_type > EXTREMUM_UINT8) {
        return EXTREMUM_BAD_DATA_TYPE;
    }
    error = read_axes(reduction->rank, reduction->axis_count, reduction->axes, &reduced);
    if (error) {
        return error;
    }
    if ((uint32_t)reduction->axis_direction > EXTREMUM_DECREASING) {
        return EXTREMUM_BAD_AXIS_DIRECTION;
    }
    if ((uint32_t)reduction->index_type > EXTREMUM_INDEX_INT64) {
        return EXTREMUM_BAD_INDEX_TYPE;
    }
    if ((uint32_t)reduction->nan > EXTREMUM_IGNORE) {
        return EXTREMUM_BAD_NAN;
    }
    if (!gives_index(reduction->function)) {
        if (reduction->axis_direction != EXTREMUM_INCREASING) {
            return EXTREMUM_DIRECTION_OF_VALUES;
        }
        if (reduction->index_type != EXTREMUM_INDEX_UINT32) {
            return EXTREMUM_INDEX_TYPE_OF_VALUES;
        }
    }
    if (reduction->index_type == EXTREMUM_INDEX_INT32
        && count_reduced(reduction, reduced) > (uint32_t)1 << 31) {
        return EXTREMUM_INDEX_TOO_NARROW;
    }
    error = check_strides(reduction->input_strides, reduction->rank, reduction->sizes);
    if (error) {
        return error;
    }
    keep_sizes(kept_sizes, reduction, reduced);
    return check_strides(reduction->output_strides, reduction->rank, kept_sizes);
}

/* A pooling's parameters for one of its spatial dimensions. */
static struct extremum_dimension dimension_of(
    const struct extremum_pooling *pooling, uint32_t spatial
)
{
    struct extremum_dimension dimension;
    dimension.size = pooling->sizes[2 + spatial];
    dimension.window = pooling->window[spatial];
    dimension.stride = pooling->strides[spatial];
    dimension.dilation = pooling->dilations[spatial];
    dimension.start_padding = pooling->start_padding[spatial];
    dimension.end_padding = pooling->end_padding[spatial];
    return dimension;
}

/* The number of elements from the first to the last tap of a window. */
static int64_t extent_of(const struct extremum_dimension *dimension)
{
    return 1 + (dimension->window - 1) * dimension->dilation;
}

static int64_t padded_size(const struct extremum_dimension *dimension)
{
    return dimension->size + dimension->start_padding + dimension->end_padding;
}

static int64_t count_windows(const struct extremum_dimension *dimension)
{
    return (padded_size(dimension) - extent_of(dimension)) / dimension->stride + 1;
}

/* Whether each of some values is at least 1. */
static bool all_positive(const uint32_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] < 1) {
            return false;
        }
    }
    return true;
}

/* Refuse windows that are larger than the padded tensor, and a padded tensor that is too large. */
static enum extremum_error check_padding(const struct extremum_pooling *pooling)
{
    uint64_t elements = (uint64_t)pooling->sizes[0] * pooling->sizes[1];
    for (uint32_t i = 0; i < pooling->rank - 2; i++) {
        struct extremum_dimension dimension = dimension_of(pooling, i);
        /* The product of two numbers of 32 bits can exceed the signed range, but not this one. */
        uint64_t way = (uint64_t)(pooling->window[i] - 1) * pooling->dilations[i];
        if (way >= (uint64_t)padded_size(&dimension)) {
            return EXTREMUM_WINDOW_TOO_LARGE;
        }
    }
    for (uint32_t i = 0; i < pooling->rank - 2; i++) {
        struct extremum_dimension dimension = dimension_of(pooling, i);
        uint64_t padded = (uint64_t)padded_size(&dimension);
        if (padded > MAX_ELEMENTS / elements) {
            return EXTREMUM_TOO_MUCH_PADDING;
        }
        elements *= padded;
    }
    return EXTREMUM_OK;
}

/* The sizes of a pooling's output: those of the input, but for the spatial dimensions. */
static void output_sizes(const struct extremum_pooling *pooling, uint32_t *sizes)
{
    sizes[0] = pooling->sizes[0];
    sizes[1] = pooling->sizes[1];
    for (uint32_t i = 0; i < pooling->rank - 2; i++) {
        struct extremum_dimension dimension = dimension_of(pooling, i);
        sizes[2 + i] = (uint32_t)count_windows(&dimension);
    }
}

enum extremum_error extremum_check_pooling(const struct extremum_pooling *pooling)
{
    uint32_t spatial;
    uint32_t outputs[EXTREMUM_MAX_RANK];
    enum extremum_error error = check_sizes(pooling->rank, pooling->sizes);
    if (error) {
        return error;
    }
    if (pooling->rank != 4 && pooling->rank != 5) {
        return EXTREMUM_BAD_POOLING_RANK;
    }
    spatial = pooling->rank - 2;
    if ((uint32_t)pooling->data_type > EXTREMUM_UINT8) {
        return EXTREMUM_BAD_DATA_TYPE;
    }
    if ((uint32_t)pooling->index_type > EXTREMUM_INDEX_INT64
        || pooling->index_type == EXTREMUM_INDEX_INT32) {
        return EXTREMUM_BAD_INDEX_TYPE;
    }
    if ((uint32_t)pooling->nan > EXTREMUM_IGNORE) {
        return EXTREMUM_BAD_NAN;
    }
    if (!all_positive(pooling->window, spatial)) {
        return EXTREMUM_BAD_WINDOW;
    }
    if (!all_positive(pooling->strides, spatial)) {
        return EXTREMUM_BAD_STRIDES;
    }
    if (!all_positive(pooling->dilations, spatial)) {
        return EXTREMUM_BAD_DILATIONS;
    }
    if ((uint32_t)pooling->index_layout > EXTREMUM_LAYOUT_COLUMN_MAJOR) {
        return EXTREMUM_BAD_INDEX_LAYOUT;
    }
    error = check_padding(pooling);
    if (error) {
        return error;
    }
    error = check_strides(pooling->input_strides, pooling->rank, pooling->sizes);
    if (error) {
        return error;
    }
    output_sizes(pooling, outputs);
    return check_strides(pooling->output_strides, pooling->rank, outputs);
}

/* ---- What the core was built for ---- */

static bool in_range(uint32_t value, uint32_t low, uint32_t high)
{
    return low <= value && value <= high;
}

static bool is_fixed(const struct extremum_core *core, uint32_t name)
{
    return core->fixed >> name & 1;
}

/* The register that holds the number of a window's taps in a dimension. */
static uint32_t window_register(uint32_t axis)
{
    return EXTREMUM_REGISTER_DEPTH_WINDOW + axis * REGISTERS_PER_DIMENSION;
}

/* Return the number of taps that the core has fixed in a dimension, or 0 if it has not. */
static int64_t fixed_window_of(const struct extremum_core *core, uint32_t axis)
{
    uint32_t name = window_register(axis);
    return is_fixed(core, name) ? core->fixed_values[name] : 0;
}

/* Return the register `ignore_nan` of a job. An integer is no NaN, so that jobs of integers take
 * whatever the core has fixed. */
static int64_t ignore_nan_of(
    const struct extremum_core *core, enum extremum_data_type type, enum extremum_nan nan
)
{
    if (type == EXTREMUM_FLOAT32 || type == EXTREMUM_FLOAT16) {
        return nan == EXTREMUM_IGNORE;
    }
    bool fixed = is_fixed(core, EXTREMUM_REGISTER_IGNORE_NAN);
    return fixed ? core->fixed_values[EXTREMUM_REGISTER_IGNORE_NAN] : 0;
}

static enum extremum_error check_core(const struct extremum_core *core)
{
    const int64_t groups = core->fixed_values[EXTREMUM_REGISTER_GROUPS];
    uint32_t all = EXTREMUM_BUILT_ARGMIN | EXTREMUM_BUILT_ARGMAX | EXTREMUM_BUILT_MAX_POOL;
    bool right = in_range(core->data_type_count, 1, EXTREMUM_MAX_DATA_TYPES)
        && in_range(core->lanes, 1, EXTREMUM_MAX_LANES)
        && in_range(core->max_line, 1, (uint32_t)1 << 16)
        && in_range(core->max_plane, 1, (uint32_t)1 << 24)
        && in_range(core->coordinate_width, 4, 24) && core->index_width <= 32
        && in_range(core->operators, 1, all);
    for (uint32_t i = 0; i < DIMENSIONS; i++) {
        right = right && in_range(core->max_window[i], 1, 255)
            && in_range(core->max_dilation[i], 1, 255);
        if (is_fixed(core, window_register(i))) {
            int64_t window = fixed_window_of(core, i);
            right = right && 1 <= window && window <= core->max_window[i];
        }
    }
    if (is_fixed(core, EXTREMUM_REGISTER_GROUPS)) {
        right = right && 1 <= groups && groups <= (int64_t)1 << 32;
    }
    return right ? EXTREMUM_OK : EXTREMUM_BAD_CORE;
}

static bool is_built(const struct extremum_core *core, enum extremum_built operator)
{
    return (core->operators & (uint32_t)operator) != 0;
}

/* Whether a window can slide. */
static bool has_windows(const struct extremum_core *core)
{
    return core->max_window[DEPTH] > 1 || core->max_window[HEIGHT] > 1
        || core->max_window[WIDTH] > 1;
}

/* Whether windows can slide over a dimension. Width and height have a stage if any window
 * slides. */
static bool has_stage(const struct extremum_core *core, uint32_t axis)
{
    return axis == DEPTH ? core->max_window[DEPTH] > 1 : has_windows(core);
}

/* Whether the lanes can carry consecutive elements of one reduction. */
static bool can_fold(const struct extremum_core *core)
{
    bool reduces = is_built(core, EXTREMUM_BUILT_ARGMIN) || is_built(core, EXTREMUM_BUILT_ARGMAX);
    return reduces && core->lanes > 1 && (core->lanes & (core->lanes - 1)) == 0;
}

/* Return the code of a type, or EXTREMUM_MAX_DATA_TYPES if the core lacks the type. */
static uint32_t data_type_code(const struct extremum_core *core, enum extremum_data_type data_type)
{
    for (uint32_t code = 0; code < core->data_type_count; code++) {
        if (core->data_types[code] == data_type) {
            return code;
        }
    }
    return EXTREMUM_MAX_DATA_TYPES;
}

/* Refuse a tensor whose last position would mark an empty window, or a core without positions. */
static enum extremum_error check_positions(const struct extremum_core *core, uint64_t last)
{
    if (core->index_width == 0) {
        return EXTREMUM_POSITIONS_NOT_BUILT;
    }
    return last < ((uint64_t)1 << core->index_width) - 1 ? EXTREMUM_OK
                                                         : EXTREMUM_POSITIONS_TOO_LARGE;
}

/* ---- How elements lie in beats ---- */

static void add_loop(struct extremum_loops *loops, uint32_t count, int64_t stride)
{
    if (count == 1) {
        return;
    }
    /* A loop whose step is as long as all of this one, is continued by it. */
    if (loops->depth && loops->strides[loops->depth - 1] == (int64_t)count * stride) {
        loops->counts[loops->depth - 1] *= count;
        loops->strides[loops->depth - 1] = stride;
        return;
    }
    loops->counts[loops->depth] = count;
    loops->strides[loops->depth] = stride;
    loops->depth++;
}

/* Copy the loops in use; what lies beyond them has no value. */
static void copy_loops(struct extremum_loops *to, const struct extremum_loops *from)
{
    to->depth = from->depth;
    for (uint32_t i = 0; i < from->depth; i++) {
        to->counts[i] = from->counts[i];
        to->strides[i] = from->strides[i];
    }
}

/* The offset of a step of a loop nest. */
static int64_t step_offset(const struct extremum_loops *loops, uint32_t step)
{
    int64_t offset = 0;
    for (uint32_t i = loops->depth; i-- > 0;) {
        offset += (int64_t)(step % loops->counts[i]) * loops->strides[i];
        step /= loops->counts[i];
    }
    return offset;
}

/* Write the strides of a packed row-major tensor whose elements are so many units long, or those
 * that were given. */
static void resolve_strides(
    int64_t *strides, const int64_t *given, uint32_t rank, const uint32_t *sizes, int64_t unit
)
{
    int64_t packed = unit;
    for (uint32_t axis = rank; axis-- > 0;) {
        strides[axis] = given ? given[axis] : packed;
        packed *= sizes[axis];
    }
}

/* Compute how many beats a stream has, and what its last ones carry. */
static void count_beats(struct extremum_stream *stream)
{
    uint32_t lanes = stream->lanes;
    uint32_t packed = stream->fold ? stream->elements : stream->slices;
    uint32_t alone = stream->fold ? stream->slices : stream->elements;
    stream->tail = (packed - 1) % lanes + 1;
    stream->beats = ((packed - 1) / lanes + 1) * alone;
}

bool extremum_find_element(
    const struct extremum_stream *stream, uint32_t beat, uint32_t lane, int64_t *offset
)
{
    uint64_t slice, element;
    if (beat >= stream->beats || lane >= stream->lanes) {
        return false;
    }
    if (stream->fold) {
        uint32_t beats_each = stream->beats / stream->slices;
        slice = beat / beats_each;
        element = (uint64_t)(beat % beats_each) * stream->lanes + lane;
    } else {
        slice = (uint64_t)(beat / stream->elements) * stream->lanes + lane;
        element = beat % stream->elements;
    }
    if (slice >= stream->slices || element >= stream->elements) {
        return false;
    }
    *offset = stream->base
        + step_offset(&stream->over_slices, stream->first_slice + (uint32_t)slice)
        + step_offset(&stream->over_elements, (uint32_t)element);
    return true;
}

/* ---- The registers of a job ---- */

/* Fill in the registers of a job that has nothing to do: those of a dimension of one element. */
static void clear_registers(int64_t *registers)
{
    static const uint8_t ONES[] = {WINDOW, STRIDE, DILATION, SIZE, PERIOD, SPACING};
    for (uint32_t i = 0; i < EXTREMUM_REGISTERS; i++) {
        registers[i] = 0;
    }
    for (uint32_t axis = 0; axis < DIMENSIONS; axis++) {
        int64_t *dimension = registers + EXTREMUM_REGISTER_DEPTH_WINDOW
            + axis * REGISTERS_PER_DIMENSION;
        for (uint32_t i = 0; i < sizeof ONES; i++) {
            dimension[ONES[i]] = 1;
        }
    }
    registers[EXTREMUM_REGISTER_LENGTH] = 1;
}

/* The place of a register among those of its dimension. Registers of no dimension have none. */
static uint32_t part_of(uint32_t name)
{
    return name < EXTREMUM_REGISTER_DEPTH_WINDOW
        ? REGISTERS_PER_DIMENSION
        : (name - EXTREMUM_REGISTER_DEPTH_WINDOW) % REGISTERS_PER_DIMENSION;
}

/* Whether the core holds a register's value less one, because it can never be zero. */
static bool is_less_one(uint32_t name)
{
    uint32_t part = part_of(name);
    return name == EXTREMUM_REGISTER_SLOTS || name == EXTREMUM_REGISTER_VOLUMES
        || name == EXTREMUM_REGISTER_LENGTH || name == EXTREMUM_REGISTER_GROUPS
        || part == STRIDE || part == SIZE || part == PERIOD || part == SPACING;
}

/* Whether a register holds a position or a part of one. */
static bool is_position(uint32_t name)
{
    uint32_t part = part_of(name);
    return name == EXTREMUM_REGISTER_ORIGIN || name == EXTREMUM_REGISTER_GROUP_STEP
        || name == EXTREMUM_REGISTER_LANE_STEP || part == POSITION_STEP || part == TAP_STEP;
}

/* A position as the core holds it. */
static uint32_t position_of(const struct extremum_core *core, int64_t position)
{
    return (uint32_t)(modulo(position) & (((uint64_t)1 << core->index_width) - 1));
}

uint32_t extremum_register_word(
    const struct extremum_core *core,
    const struct extremum_job *job,
    enum extremum_register name
)
{
    int64_t value = job->registers[name];
    return is_position((uint32_t)name) ? position_of(core, value)
                                       : modulo(value - is_less_one((uint32_t)name));
}

enum extremum_error extremum_check_job(
    const struct extremum_core *core, const struct extremum_job *job
)
{
    if (job->input.lanes != core->lanes) {
        return EXTREMUM_OTHER_LANES;
    }
    for (uint32_t name = 0; core->fixed && name < EXTREMUM_REGISTERS; name++) {
        int64_t value = job->registers[name], fixed = core->fixed_values[name];
        bool is_equal = is_position(name) ? position_of(core, value) == position_of(core, fixed)
                                          : value == fixed;
        if (is_fixed(core, name) && !is_equal) {
            return EXTREMUM_REGISTER_FIXED;
        }
    }
    return EXTREMUM_OK;
}

/* The registers of one line of windows that do not depend on other dimensions. */
struct line {
    int64_t window;
    int64_t dilation;
    int64_t head;
    int64_t regular;
    int64_t final;
    int64_t shift;
    int64_t period;
};

/* Lay out a line in which every window has the slot of its last tap. Taps that lie behind the
 * elements in every window are left out; but where the number of taps is fixed, no fewer are kept.
 * The last window may have an earlier slot: its last taps may lie in the end padding, and then
 * nothing is missing before them. That can make the line shorter. */
static struct line line_of(const struct extremum_dimension *dimension, int64_t fixed_window)
{
    struct line line;
    int64_t size = dimension->size, stride = dimension->stride;
    int64_t outputs = count_windows(dimension);
    /* A single tap has no neighbour, so its dilation means nothing. */
    int64_t dilation = dimension->window > 1 ? dimension->dilation : 1;
    int64_t head = (dimension->window - 1) * dilation - dimension->start_padding;
    /* The first tap of the first window is never behind the elements, so one tap is left. */
    int64_t beyond = larger(0, divide_up(head - size + 1, dilation));
    int64_t last, earliest;
    if (fixed_window > 0) {
        beyond = smaller(beyond, larger(0, dimension->window - fixed_window));
    }
    line.dilation = dilation;
    line.window = dimension->window - beyond;
    line.head = head - beyond * dilation;
    last = line.head + (outputs - 1) * stride;
    /* The last window comes neither before the last element nor before its predecessor. */
    earliest = outputs > 1 ? larger(size - 1, last - stride + 1) : last;
    line.shift = smaller(larger(0, last - earliest) / dilation, line.window - 1);
    line.regular = line.shift ? last - stride : last;
    line.final = last - line.shift * dilation;
    line.period = larger(larger(-line.head, 0) + size, line.final - line.head + 1);
    return line;
}

/* Whether the first or the last window of a line reaches beyond the elements. A window that is
 * given early always does: it does not wait for its last taps. So does the last one if another
 * would fit behind it: taps of it were left out, since they meet padding alone. A core without
 * padding gives every window that fits. */
static bool has_padding(const struct line *line, const struct extremum_dimension *dimension)
{
    int64_t size = dimension->size;
    bool starts_before = line->head < (line->window - 1) * line->dilation;
    bool reaches_behind = line->final >= size || line->shift > 0;
    return starts_before || reaches_behind || line->final + dimension->stride < size;
}

/* ---- How a pooling is cut into tiles ---- */

/* A run of windows along one dimension, and the elements that they see. */
struct tile {
    int64_t first;
    int64_t offset;
    struct extremum_dimension dimension;
};

/* Return the tile of `count` windows from `first` on. They see an element. A tile of all windows
 * has all elements, even those that no window sees: an uncut tensor streams as it lies in
 * memory. Others have the elements up to the last tap that meets one. */
static struct tile cut(
    const struct extremum_dimension *dimension, int64_t outputs, int64_t first, int64_t count
)
{
    struct tile tile;
    int64_t low, high, stop;
    tile.first = first;
    tile.offset = 0;
    tile.dimension = *dimension;
    if (count == outputs) {
        return tile;
    }
    low = first * dimension->stride - dimension->start_padding;
    high = low + (count - 1) * dimension->stride + extent_of(dimension);
    stop = smaller(dimension->size, high);
    tile.offset = larger(0, low);
    if (high > dimension->size) {
        /* Taps that lie behind the elements in the first window do so in every one. */
        int64_t met = (dimension->size - 1 - low) / dimension->dilation;
        int64_t idle = larger(0, dimension->window - 1 - met);
        stop = larger(tile.offset + 1, smaller(stop, high - idle * dimension->dilation));
    }
    tile.dimension.size = stop - tile.offset;
    tile.dimension.start_padding = tile.offset - low;
    tile.dimension.end_padding = high - stop;
    return tile;
}

/* The number of a tile's first window. The product fits 64 bits, but only without a sign. */
static int64_t edge_of(const struct extremum_cuts *cuts, int64_t tile)
{
    return (int64_t)((uint64_t)cuts->outputs * (uint64_t)tile / (uint64_t)cuts->tiles);
}

/* The coordinate of a tile's first tap, which may lie in the padding. */
static int64_t start_of(const struct extremum_cuts *cuts, int64_t tile)
{
    return edge_of(cuts, tile) * cuts->dimension.stride - cuts->dimension.start_padding;
}

/* The coordinate behind a tile's last tap. */
static int64_t stop_of(const struct extremum_cuts *cuts, int64_t tile)
{
    return start_of(cuts, tile + 1) - cuts->dimension.stride + extent_of(&cuts->dimension);
}

/* Return the first of some tiles that starts, or stops, at a coordinate of at least `least`. Both
 * grow from tile to tile. The result is `high` if there is no such tile. */
static int64_t find_tile(
    const struct extremum_cuts *cuts,
    int64_t (*coordinate)(const struct extremum_cuts *, int64_t),
    int64_t least,
    int64_t low,
    int64_t high
)
{
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (coordinate(cuts, middle) >= least) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Cut a dimension into tiles of at most `count` windows. */
static struct extremum_cuts cuts_of(const struct extremum_dimension *dimension, int64_t count)
{
    struct extremum_cuts cuts;
    cuts.dimension = *dimension;
    cuts.outputs = count_windows(dimension);
    cuts.tiles = divide_up(cuts.outputs, count);
    cuts.first_seen = 0;
    cuts.seen = 1;
    if (cuts.tiles > 1) {
        int64_t stop;
        cuts.first_seen = find_tile(&cuts, stop_of, 1, 0, cuts.tiles);
        stop = find_tile(&cuts, start_of, dimension->size, 0, cuts.tiles);
        /* A tile that starts behind the elements stops there as well, so this is not negative. */
        cuts.seen = stop - cuts.first_seen;
    }
    return cuts;
}

/* The tile of a number among those that see an element. */
static struct tile tile_of(const struct extremum_cuts *cuts, int64_t number)
{
    int64_t tile = cuts->first_seen + number;
    int64_t first = edge_of(cuts, tile);
    return cut(&cuts->dimension, cuts->outputs, first, edge_of(cuts, tile + 1) - first);
}

/* What the tiles of one dimension ask of the counters, and how many slots they take together. */
struct survey {
    int64_t fixed_window;
    int64_t most;
    uint64_t streamed;
};

static void survey_tile(struct survey *survey, const struct tile *tile, int64_t number)
{
    struct line line = line_of(&tile->dimension, survey->fixed_window);
    /* The period includes the size and the slots of a line that take no element. */
    int64_t counted = larger(line.head, 0) + line.period;
    survey->most = larger(survey->most, counted);
    survey->streamed += (uint64_t)line.period * (uint64_t)number;
}

/* Look at some tiles one by one. */
static void survey_each(
    struct survey *survey, const struct extremum_cuts *cuts, int64_t first, int64_t stop
)
{
    for (int64_t number = first; number < stop; number++) {
        struct tile tile = tile_of(cuts, number - cuts->first_seen);
        survey_tile(survey, &tile, 1);
    }
}

/* Look at a tile of every kind. Between the tiles that reach into padding, which are looked at one
 * by one, all are alike but for one window more or less. */
static struct survey survey_tiles(
    const struct extremum_dimension *dimension, int64_t count, int64_t fixed_window
)
{
    struct survey survey = {fixed_window, 0, 0};
    struct extremum_cuts cuts = cuts_of(dimension, count);
    int64_t stop = cuts.first_seen + cuts.seen;
    int64_t within = stop, beyond = stop;
    if (cuts.tiles > 1) {
        within = find_tile(&cuts, start_of, 0, cuts.first_seen, stop);
        beyond = find_tile(&cuts, stop_of, dimension->size + 1, cuts.first_seen, stop);
        beyond = larger(within, beyond);
    }
    survey_each(&survey, &cuts, cuts.first_seen, within);
    survey_each(&survey, &cuts, beyond, stop);
    if (within < beyond) {
        int64_t first = edge_of(&cuts, within);
        int64_t few = cuts.outputs / cuts.tiles;
        int64_t longer = edge_of(&cuts, beyond) - first - few * (beyond - within);
        struct tile tile = cut(dimension, cuts.outputs, first, few);
        if (longer < beyond - within) {
            survey_tile(&survey, &tile, beyond - within - longer);
        }
        if (longer > 0) {
            tile = cut(dimension, cuts.outputs, first, few + 1);
            survey_tile(&survey, &tile, longer);
        }
    }
    return survey;
}

/* How many cuts are tried beside the coarsest one. */
#define FURTHER_CUTS 64

/* Whether any tile of a dimension can be counted through, as a rule. The head of a line is less than
 * the extent of a window, and its period is at most the padded size. */
static bool is_small(const struct extremum_dimension *dimension, int64_t limit)
{
    return extent_of(dimension) + padded_size(dimension) <= limit && dimension->stride < limit;
}

/* Whether all tiles of a dimension can be counted through, if none has more than so many windows. A
 * cut need not be countable because a coarser one is: a dimension that is not cut may have a short
 * head, by the padding at its start, where a tile within the tensor has that of a whole window. */
static bool is_countable(
    const struct extremum_core *core,
    uint32_t axis,
    const struct extremum_dimension *dimension,
    int64_t count
)
{
    int64_t limit = (int64_t)1 << core->coordinate_width;
    if (is_small(dimension, limit)) {
        return true;
    }
    return larger(extent_of(dimension), dimension->stride) < limit
        && survey_tiles(dimension, count, fixed_window_of(core, axis)).most < limit;
}

/* Return a number of windows that can be counted through wherever a tile of them lies. Its head is
 * at most the last coordinate of a window's last tap that is kept, and in so many slots more it
 * passes its elements and gives its windows. */
static int64_t surely_countable(
    const struct extremum_core *core, uint32_t axis, const struct extremum_dimension *dimension
)
{
    int64_t extent = extent_of(dimension), size = dimension->size;
    int64_t limit = (int64_t)1 << core->coordinate_width;
    int64_t taps = larger(fixed_window_of(core, axis), 1) - 1;
    int64_t reach = smaller(extent, larger(size, taps * dimension->dilation + 1));
    int64_t room = limit - reach - (size + reach <= limit ? 1 : extent);
    if (room < 0 || larger(extent, dimension->stride) >= limit) {
        return 0;
    }
    /* A dimension that is not cut also has the elements that no window sees. */
    return smaller(count_windows(dimension) - 1, room / dimension->stride + 1);
}

/* Return the most windows of a tile, no more than `most`; 0 if no cut is countable. The coarsest
 * cuts are tried one by one. Where none of them is countable, a bound counts that holds for any
 * tile: there, the tiles within the tensor decide, for which it is exact. */
static int64_t largest_count(
    const struct extremum_core *core,
    uint32_t axis,
    const struct extremum_dimension *dimension,
    int64_t most
)
{
    int64_t outputs = count_windows(dimension);
    int64_t limit = (int64_t)1 << core->coordinate_width;
    int64_t sure, enough, bound, fewest;
    if (is_small(dimension, limit)) {
        return smaller(most, outputs);
    }
    sure = smaller(most, surely_countable(core, axis, dimension));
    enough = sure > 0 ? divide_up(outputs, sure) : outputs + 1;
    /* A tile of more windows than this has more slots than are counted. */
    bound = (limit - 3) / dimension->stride + 2;
    fewest = divide_up(outputs, smaller(bound, smaller(most, outputs)));
    for (int64_t tiles = fewest; tiles < smaller(enough, fewest + FURTHER_CUTS); tiles++) {
        int64_t count = divide_up(outputs, tiles);
        if (is_countable(core, axis, dimension, count)) {
            return count;
        }
    }
    return sure;
}

/* Largest distance of two neighbouring taps, in stored words. The stage of the height stores lines
 * and that of the depth planes. */
static int64_t max_spacing(const struct extremum_core *core, uint32_t axis)
{
    int64_t words = axis == DEPTH ? core->max_plane : axis == HEIGHT ? core->max_line : 1;
    return words * core->max_dilation[axis];
}

/* Return how many words of storage a tap of a dimension may have for itself. */
static int64_t storage_limit(
    const struct extremum_core *core, uint32_t axis, const struct extremum_dimension *dimension
)
{
    return dimension->window > 1 ? max_spacing(core, axis) / dimension->dilation : INT64_MAX;
}

/* Choose the most windows that a tile has along each dimension, so that the fewest elements are
 * streamed. Return false if no tile fits the core.
 *
 * Whole planes are not cut if they fit: one more job costs more than the padding that it saves.
 * Neighbouring tiles both stream the elements that windows of both see, so a grid of few and nearly
 * square tiles is best. */
static bool choose_grid(
    const struct extremum_core *core, const struct extremum_dimension *dimensions, int64_t *grid
)
{
    const struct extremum_dimension *height = &dimensions[HEIGHT], *width = &dimensions[WIDTH];
    int64_t heights = count_windows(height), widths = count_windows(width);
    int64_t line = storage_limit(core, HEIGHT, height);
    int64_t plane = storage_limit(core, DEPTH, &dimensions[DEPTH]);
    int64_t widest = smaller(line, plane), previous = 0, fewest, coarse;
    uint64_t best = UINT64_MAX;
    /* Without a depth stage, a job is a single plane. */
    int64_t depths = has_stage(core, DEPTH) ? count_windows(&dimensions[DEPTH]) : 1;
    grid[DEPTH] = largest_count(core, DEPTH, &dimensions[DEPTH], depths);
    if (grid[DEPTH] < 1 || widest < 1) {
        return false;
    }
    widest = largest_count(core, WIDTH, width, widest);
    if (widest < 1) {
        return false;
    }
    fewest = divide_up(widths, widest);
    coarse = smaller(widths, fewest + FURTHER_CUTS);
    for (int64_t tiles = fewest; tiles <= coarse; tiles++) {
        int64_t columns = divide_up(widths, tiles), rows;
        uint64_t streamed;
        if (columns == previous || !is_countable(core, WIDTH, width, columns)) {
            continue;
        }
        previous = columns;
        rows = largest_count(core, HEIGHT, height, plane / columns);
        if (rows < 1) {
            continue;
        }
        if (columns == widths && rows == heights) {
            grid[HEIGHT] = rows;
            grid[WIDTH] = columns;
            return true;
        }
        /* A dimension of P padded elements has at most P + 1 - E tiles of E or more slots, so it
         * streams at most (P + 1)^2 / 4, and the product has at most 63 bits. */
        streamed = survey_tiles(width, columns, fixed_window_of(core, WIDTH)).streamed
            * survey_tiles(height, rows, fixed_window_of(core, HEIGHT)).streamed;
        if (streamed < best) {
            best = streamed;
            grid[HEIGHT] = rows;
            grid[WIDTH] = columns;
        }
    }
    return best < UINT64_MAX;
}

/* Whether the core can slide these windows, if they are cut into tiles that fit its storage and its
 * counters, which choose_grid sees to. */
static bool can_slide(
    const struct extremum_core *core, const struct extremum_dimension *dimensions
)
{
    const struct extremum_dimension *width = &dimensions[WIDTH];
    if (!has_windows(core)) {
        return false;
    }
    for (uint32_t axis = 0; axis < DIMENSIONS; axis++) {
        const struct extremum_dimension *dimension = &dimensions[axis];
        struct line line = line_of(dimension, fixed_window_of(core, axis));
        bool passes = dimension->stride == 1 && padded_size(dimension) == dimension->size;
        if (dimension->window > core->max_window[axis]) {
            return false;
        }
        /* A dilation may exceed max_dilation if the storage suffices, which is seen later. But a
         * core whose max_dilation is 1 has no dilation logic. */
        if (core->max_dilation[axis] == 1 && dimension->dilation > 1 && dimension->window > 1) {
            return false;
        }
        /* A dimension without a stage has no schedule: its planes pass one by one, unpadded. */
        if (!has_stage(core, axis) && !passes) {
            return false;
        }
        if (has_padding(&line, dimension) && !core->padding) {
            return false;
        }
    }
    return width->window == 1 || width->dilation <= max_spacing(core, WIDTH);
}

/* ---- Plans ---- */

/* Write what all jobs of a plan have in common. */
static void begin_plan(struct extremum_plan *plan, const struct extremum_core *core, uint32_t code)
{
    plan->core = core;
    plan->jobs = 1;
    plan->next = 0;
    clear_registers(plan->registers);
    plan->registers[EXTREMUM_REGISTER_DATA_TYPE] = code;
    plan->input.base = plan->output.base = 0;
    plan->input.first_slice = plan->output.first_slice = 0;
    plan->input.lanes = plan->output.lanes = core->lanes;
    plan->input.fold = plan->output.fold = false;
    plan->input.over_slices.depth = plan->output.over_slices.depth = 0;
    plan->input.over_elements.depth = plan->output.over_elements.depth = 0;
}

/* Whether to fold the rows of a reduction over the lanes. Of two ways that take as many beats, they
 * are not folded. */
static bool is_folded(const struct extremum_core *core, uint32_t rows, uint32_t length)
{
    uint64_t apart = (uint64_t)((rows - 1) / core->lanes + 1) * length;
    uint64_t folded = (uint64_t)((length - 1) / core->lanes + 1) * rows;
    if (!can_fold(core)) {
        return false;
    }
    if (is_fixed(core, EXTREMUM_REGISTER_FOLD)) {
        return core->fixed_values[EXTREMUM_REGISTER_FOLD] != 0;
    }
    return folded < apart;
}

static enum extremum_error check_built_for_reduction(
    const struct extremum_core *core, const struct extremum_reduction *reduction, uint32_t count
)
{
    enum extremum_built operator =
        is_minimum(reduction->function) ? EXTREMUM_BUILT_ARGMIN : EXTREMUM_BUILT_ARGMAX;
    if (data_type_code(core, reduction->data_type) == EXTREMUM_MAX_DATA_TYPES) {
        return EXTREMUM_DATA_TYPE_NOT_BUILT;
    }
    if (!is_built(core, operator)) {
        return EXTREMUM_OPERATOR_NOT_BUILT;
    }
    if (gives_index(reduction->function)) {
        return check_positions(core, count - 1);
    }
    return is_built(core, EXTREMUM_BUILT_MAX_POOL) ? EXTREMUM_OK : EXTREMUM_VALUES_NOT_BUILT;
}

/* A reduction is always a single job: it has fewer than 2^32 elements, so it never has more beats
 * than the core counts. */
enum extremum_error extremum_plan_reduction(
    struct extremum_plan *plan,
    const struct extremum_core *core,
    const struct extremum_reduction *reduction
)
{
    int64_t *registers = plan->registers;
    struct extremum_stream *input = &plan->input, *output = &plan->output;
    int64_t input_strides[EXTREMUM_MAX_RANK], output_strides[EXTREMUM_MAX_RANK];
    uint32_t kept_sizes[EXTREMUM_MAX_RANK], reduced, count, results = 1;
    enum extremum_error error = check_core(core);
    if (error) {
        return error;
    }
    error = extremum_check_reduction(reduction);
    if (error) {
        return error;
    }
    (void)read_axes(reduction->rank, reduction->axis_count, reduction->axes, &reduced);
    count = count_reduced(reduction, reduced);
    error = check_built_for_reduction(core, reduction, count);
    if (error) {
        return error;
    }
    begin_plan(plan, core, data_type_code(core, reduction->data_type));
    keep_sizes(kept_sizes, reduction, reduced);
    for (uint32_t axis = 0; axis < reduction->rank; axis++) {
        results *= kept_sizes[axis];
    }
    resolve_strides(
        input_strides,
        reduction->input_strides,
        reduction->rank,
        reduction->sizes,
        ELEMENT_BYTES[reduction->data_type]
    );
    resolve_strides(
        output_strides, reduction->output_strides, reduction->rank, kept_sizes, 1
    );
    for (uint32_t axis = 0; axis < reduction->rank; axis++) {
        if (reduced >> axis & 1) {
            add_loop(&input->over_elements, reduction->sizes[axis], input_strides[axis]);
        } else {
            add_loop(&input->over_slices, reduction->sizes[axis], input_strides[axis]);
            add_loop(&output->over_slices, reduction->sizes[axis], output_strides[axis]);
        }
    }
    input->fold = is_folded(core, results, count);
    input->slices = output->slices = results;
    input->elements = count;
    output->elements = 1;
    count_beats(input);
    count_beats(output);
    plan->is_pooling = false;
    registers[EXTREMUM_REGISTER_MINIMUM] = is_minimum(reduction->function);
    registers[EXTREMUM_REGISTER_DECREASING] = reduction->axis_direction == EXTREMUM_DECREASING;
    registers[EXTREMUM_REGISTER_IGNORE_NAN] =
        ignore_nan_of(core, reduction->data_type, reduction->nan);
    registers[EXTREMUM_REGISTER_FOLD] = input->fold;
    registers[EXTREMUM_REGISTER_SLOTS] = input->beats;
    registers[EXTREMUM_REGISTER_VOLUMES] = input->beats;
    registers[EXTREMUM_REGISTER_GROUPS] =
        input->fold ? results : (results - 1) / core->lanes + 1;
    registers[EXTREMUM_REGISTER_LENGTH] =
        input->beats / registers[EXTREMUM_REGISTER_GROUPS];
    registers[EXTREMUM_REGISTER_TAIL] = input->tail;
    return EXTREMUM_OK;
}

/* Compute what a step along each axis of a pooling's input adds to a position. */
static void index_weights(const struct extremum_pooling *pooling, uint32_t *weights)
{
    uint32_t plane = 1;
    if (pooling->index_layout == EXTREMUM_LAYOUT_COLUMN_MAJOR) {
        for (uint32_t axis = 2; axis < pooling->rank; axis++) {
            weights[axis] = plane;
            plane *= pooling->sizes[axis];
        }
    } else {
        for (uint32_t axis = pooling->rank; axis-- > 2;) {
            weights[axis] = plane;
            plane *= pooling->sizes[axis];
        }
    }
    weights[0] = pooling->sizes[1] * plane;
    weights[1] = plane;
    if (pooling->index_layout == EXTREMUM_LAYOUT_PLANE) {
        weights[0] = weights[1] = 0;
    }
}

static enum extremum_error check_built_for_pooling(
    const struct extremum_core *core,
    const struct extremum_pooling *pooling,
    const uint32_t *weights
)
{
    uint64_t last = 0;
    if (data_type_code(core, pooling->data_type) == EXTREMUM_MAX_DATA_TYPES) {
        return EXTREMUM_DATA_TYPE_NOT_BUILT;
    }
    if (!is_built(core, EXTREMUM_BUILT_MAX_POOL)) {
        return EXTREMUM_OPERATOR_NOT_BUILT;
    }
    for (uint32_t axis = 0; axis < pooling->rank; axis++) {
        last += (uint64_t)(pooling->sizes[axis] - 1) * weights[axis];
    }
    return pooling->return_indices ? check_positions(core, last) : EXTREMUM_OK;
}

/* Cut a pooling into tiles, and its slices into as many as a job may have.
 *
 * A job has never more slots than the core counts: each dimension has at most as many slots as
 * padded elements, and the padded tensor has fewer than 2^32 of them. Only a core of a fixed number
 * of groups limits the slices of a job. */
static enum extremum_error cut_pooling(
    struct extremum_plan *plan,
    const struct extremum_core *core,
    const struct extremum_dimension *dimensions
)
{
    int64_t grid[DIMENSIONS];
    uint64_t slices_at_once = plan->slices;
    if (!can_slide(core, dimensions) || !choose_grid(core, dimensions, grid)) {
        return EXTREMUM_NEEDS_GATHERING;
    }
    if (is_fixed(core, EXTREMUM_REGISTER_GROUPS)) {
        uint64_t groups = (uint64_t)core->fixed_values[EXTREMUM_REGISTER_GROUPS];
        if (groups * core->lanes < slices_at_once) {
            slices_at_once = groups * core->lanes;
        }
    }
    plan->slices_at_once = (uint32_t)slices_at_once;
    plan->jobs = (plan->slices - 1) / plan->slices_at_once + 1;
    for (uint32_t axis = 0; axis < DIMENSIONS; axis++) {
        plan->cuts[axis] = cuts_of(&dimensions[axis], grid[axis]);
        plan->jobs *= (uint64_t)plan->cuts[axis].seen;
    }
    return EXTREMUM_OK;
}

enum extremum_error extremum_plan_pooling(
    struct extremum_plan *plan,
    const struct extremum_core *core,
    const struct extremum_pooling *pooling
)
{
    static const struct extremum_dimension SINGLE = {1, 1, 1, 1, 0, 0};
    struct extremum_dimension dimensions[DIMENSIONS];
    int64_t input_strides[EXTREMUM_MAX_RANK], output_strides[EXTREMUM_MAX_RANK];
    uint32_t weights[EXTREMUM_MAX_RANK], outputs[EXTREMUM_MAX_RANK], missing;
    enum extremum_error error = check_core(core);
    if (error) {
        return error;
    }
    error = extremum_check_pooling(pooling);
    if (error) {
        return error;
    }
    index_weights(pooling, weights);
    error = check_built_for_pooling(core, pooling, weights);
    if (error) {
        return error;
    }
    begin_plan(plan, core, data_type_code(core, pooling->data_type));
    plan->is_pooling = true;
    plan->registers[EXTREMUM_REGISTER_IGNORE_NAN] =
        ignore_nan_of(core, pooling->data_type, pooling->nan);
    plan->slices = pooling->sizes[0] * pooling->sizes[1];
    plan->slice_weight = weights[1];
    output_sizes(pooling, outputs);
    resolve_strides(
        input_strides,
        pooling->input_strides,
        pooling->rank,
        pooling->sizes,
        ELEMENT_BYTES[pooling->data_type]
    );
    resolve_strides(output_strides, pooling->output_strides, pooling->rank, outputs, 1);
    for (uint32_t axis = 0; axis < 2; axis++) {
        add_loop(&plan->input.over_slices, pooling->sizes[axis], input_strides[axis]);
        add_loop(&plan->output.over_slices, pooling->sizes[axis], output_strides[axis]);
    }
    /* A plane has a depth of one element. */
    missing = 5 - pooling->rank;
    for (uint32_t axis = 0; axis < DIMENSIONS; axis++) {
        if (axis < missing) {
            dimensions[axis] = SINGLE;
            plan->weights[axis] = 0;
            plan->input_strides[axis] = plan->output_strides[axis] = 0;
        } else {
            uint32_t from = 2 + axis - missing;
            dimensions[axis] = dimension_of(pooling, axis - missing);
            plan->weights[axis] = weights[from];
            plan->input_strides[axis] = input_strides[from];
            plan->output_strides[axis] = output_strides[from];
        }
    }
    return cut_pooling(plan, core, dimensions);
}

/* ---- Jobs ---- */

static void copy_stream(struct extremum_stream *to, const struct extremum_stream *from)
{
    to->base = from->base;
    to->first_slice = from->first_slice;
    to->slices = from->slices;
    to->elements = from->elements;
    to->lanes = from->lanes;
    to->tail = from->tail;
    to->beats = from->beats;
    to->fold = from->fold;
    copy_loops(&to->over_slices, &from->over_slices);
    copy_loops(&to->over_elements, &from->over_elements);
}

/* Let the streams of a job run over the elements and the windows of a tile. */
static void stream_tile(
    const struct extremum_plan *plan, struct extremum_job *job, const struct tile *tiles
)
{
    uint32_t elements = 1, outputs = 1;
    for (uint32_t axis = 0; axis < DIMENSIONS; axis++) {
        const struct tile *tile = &tiles[axis];
        uint32_t size = (uint32_t)tile->dimension.size;
        uint32_t windows = (uint32_t)count_windows(&tile->dimension);
        add_loop(&job->input.over_elements, size, plan->input_strides[axis]);
        add_loop(&job->output.over_elements, windows, plan->output_strides[axis]);
        job->input.base += tile->offset * plan->input_strides[axis];
        job->output.base += tile->first * plan->output_strides[axis];
        elements *= size;
        outputs *= windows;
    }
    job->input.elements = elements;
    job->output.elements = outputs;
    count_beats(&job->input);
    count_beats(&job->output);
}

/* Compute the registers of windows that slide over a tile, innermost dimension first. */
static void slide(
    const struct extremum_plan *plan, struct extremum_job *job, const struct tile *tiles
)
{
    int64_t *registers = job->registers;
    int64_t groups = (job->input.slices - 1) / plan->core->lanes + 1;
    int64_t words = 1, last_element = groups - 1, last_window = groups - 1;
    uint32_t origin = job->input.first_slice * plan->slice_weight, within = 0;
    for (uint32_t axis = DIMENSIONS; axis-- > 0;) {
        const struct extremum_dimension *dimension = &tiles[axis].dimension;
        struct line line = line_of(dimension, fixed_window_of(plan->core, axis));
        int64_t *own = registers + EXTREMUM_REGISTER_DEPTH_WINDOW + axis * REGISTERS_PER_DIMENSION;
        uint32_t weight = plan->weights[axis];
        uint32_t stride = (uint32_t)dimension->stride * weight;
        int64_t outputs = count_windows(dimension);
        own[WINDOW] = line.window;
        own[STRIDE] = dimension->stride;
        own[DILATION] = line.dilation;
        own[SIZE] = dimension->size;
        own[HEAD] = line.head;
        own[PERIOD] = line.period;
        own[REGULAR] = line.regular;
        own[FINAL] = line.final;
        own[SHIFT] = line.shift;
        own[SPACING] = line.window > 1 ? line.dilation * words : 1;
        own[POSITION_STEP] = stride - within;
        own[TAP_STEP] = modulo(-line.dilation) * weight;
        words *= outputs;
        within += (uint32_t)(outputs - 1) * stride;
        origin += modulo(tiles[axis].offset + line.head) * weight;
    }
    /* The slots of the last element and of the last window, outermost dimension first. */
    for (uint32_t axis = 0; axis < DIMENSIONS; axis++) {
        int64_t *own = registers + EXTREMUM_REGISTER_DEPTH_WINDOW + axis * REGISTERS_PER_DIMENSION;
        int64_t lead = larger(-own[HEAD], 0);
        last_element = last_element * own[PERIOD] + lead + own[SIZE] - 1;
        last_window = last_window * own[PERIOD] + lead + own[FINAL];
    }
    registers[EXTREMUM_REGISTER_SLOTS] = larger(last_element, last_window) + 1;
    registers[EXTREMUM_REGISTER_VOLUMES] = groups;
    registers[EXTREMUM_REGISTER_GROUPS] = groups;
    registers[EXTREMUM_REGISTER_TAIL] = job->input.tail;
    registers[EXTREMUM_REGISTER_ORIGIN] = origin;
    registers[EXTREMUM_REGISTER_GROUP_STEP] = plan->core->lanes * plan->slice_weight - within;
    registers[EXTREMUM_REGISTER_LANE_STEP] = plan->slice_weight;
}

bool extremum_next_job(struct extremum_plan *plan, struct extremum_job *job)
{
    struct tile tiles[DIMENSIONS];
    uint64_t rest = plan->next, steps;
    if (rest >= plan->jobs) {
        return false;
    }
    plan->next++;
    for (uint32_t i = 0; i < EXTREMUM_REGISTERS; i++) {
        job->registers[i] = plan->registers[i];
    }
    copy_stream(&job->input, &plan->input);
    copy_stream(&job->output, &plan->output);
    if (!plan->is_pooling) {
        return true;
    }
    /* The slices change fastest, then the tiles of the width. */
    steps = (plan->slices - 1) / plan->slices_at_once + 1;
    job->input.first_slice = (uint32_t)(rest % steps) * plan->slices_at_once;
    job->input.slices = (uint32_t)smaller(
        plan->slices_at_once, plan->slices - job->input.first_slice
    );
    job->output.first_slice = job->input.first_slice;
    job->output.slices = job->input.slices;
    rest /= steps;
    for (uint32_t axis = DIMENSIONS; axis-- > 0;) {
        uint64_t seen = (uint64_t)plan->cuts[axis].seen;
        tiles[axis] = tile_of(&plan->cuts[axis], (int64_t)(rest % seen));
        rest /= seen;
    }
    stream_tile(plan, job, tiles);
    slide(plan, job, tiles);
    return true;
}

/* ---- The block's registers ---- */

/* What the register ID holds: XTRM in ASCII. */
#define IDENTIFICATION UINT32_C(0x5854524D)

/* What the register VERSION holds at least. */
#define OLDEST_VERSION ((uint32_t)EXTREMUM_VERSION_MAJOR << 16 | (uint32_t)EXTREMUM_VERSION_MINOR)

#define SOFT_RESET UINT32_C(1)
#define CLEAR_COUNTERS UINT32_C(2)
#define BUSY UINT32_C(1)
#define ALL_EVENTS \
    ((uint32_t)EXTREMUM_EVENT_DONE | (uint32_t)EXTREMUM_EVENT_ERROR | (uint32_t)EXTREMUM_EVENT_IDLE)

static uint32_t read_word(const struct extremum_bus *bus, uint32_t address)
{
    return bus->read ? bus->read(bus->context, address) : bus->base[address / 4];
}

static void write_word(const struct extremum_bus *bus, uint32_t address, uint32_t word)
{
    if (bus->write) {
        bus->write(bus->context, address, word);
    } else {
        bus->base[address / 4] = word;
    }
}

/* The address of a register that is written for a job. */
static uint32_t command_address(uint32_t number)
{
    return (uint32_t)EXTREMUM_ADDRESS_DATA_TYPE + 4 * number;
}

/* Forget what the block's registers hold, and how much space its queue has. */
static void forget_commands(struct extremum_block *block)
{
    block->queue_free = 0;
    for (uint32_t i = 0; i < block->commands; i++) {
        block->is_known[i] = false;
    }
}

/* Write a command. */
static void write_command(struct extremum_block *block, uint32_t address, uint32_t word)
{
    write_word(&block->bus, address, word);
    if (block->queue_free > 0) {
        block->queue_free--;
    }
}

static void add_command(struct extremum_block *block, uint32_t number)
{
    block->numbers[block->commands++] = (uint8_t)number;
}

/* Read a parameter of which the low 32 bits come first. */
static uint64_t read_pair(const struct extremum_bus *bus, uint32_t address)
{
    return read_word(bus, address) | (uint64_t)read_word(bus, address + 4) << 32;
}

/* Some bits of a word. */
static uint32_t field_of(uint32_t word, uint32_t lowest, uint32_t width)
{
    return word >> lowest & (((uint32_t)1 << width) - 1);
}

/* Bring the element types into the order of their codes. Each has four bits in the order of the
 * golden model: 0 if it is not built in, else one more than its code. The codes are 0, 1, 2, ...
 * without a gap. If they are not, for example because the block has a type that this driver does not
 * know, the core is left without types, and so refused. */
static void read_data_types(struct extremum_core *core, uint64_t types)
{
    uint32_t seen = 0;
    core->data_type_count = 0;
    for (uint32_t type = 0; type < EXTREMUM_MAX_DATA_TYPES; type++) {
        uint32_t code = (uint32_t)(types >> 4 * type) & 0xF;
        if (code == 0) {
            continue;
        }
        if (code <= EXTREMUM_MAX_DATA_TYPES) {
            core->data_types[code - 1] = (enum extremum_data_type)type;
        }
        core->data_type_count++;
        seen |= (uint32_t)1 << (code - 1);
    }
    if (seen != ((uint32_t)1 << core->data_type_count) - 1) {
        core->data_type_count = 0;
    }
}

/* Whether a register may be negative: a coordinate, which may lie in the padding. */
static bool is_signed(uint32_t name)
{
    uint32_t part = part_of(name);
    return part == HEAD || part == REGULAR || part == FINAL;
}

/* The value for which a register has a word: the reverse of extremum_register_word. */
static int64_t value_of(uint32_t name, uint32_t word)
{
    int64_t value = (int64_t)word + is_less_one(name);
    return is_signed(name) && word >> 31 ? value - ((int64_t)1 << 32) : value;
}

/* Read what the core was built for, and which job registers the block has. */
static void read_core(struct extremum_block *block)
{
    const struct extremum_bus *bus = &block->bus;
    struct extremum_core *core = &block->core;
    uint64_t on_port = read_pair(bus, EXTREMUM_ADDRESS_JOB_REGISTERS_LOW);
    uint32_t built = read_word(bus, EXTREMUM_ADDRESS_CORE);
    uint32_t window = read_word(bus, EXTREMUM_ADDRESS_MAX_WINDOW);
    core->lanes = field_of(built, 0, 7);
    core->index_width = field_of(built, 16, 6);
    core->operators = field_of(built, 25, 3);
    core->padding = field_of(built, 28, 1) != 0;
    core->coordinate_width = field_of(read_word(bus, EXTREMUM_ADDRESS_CAPACITY), 0, 6);
    read_data_types(core, read_pair(bus, EXTREMUM_ADDRESS_DATA_TYPES_LOW));
    for (uint32_t axis = 0; axis < DIMENSIONS; axis++) {
        core->max_window[axis] = field_of(window, 10 * (WIDTH - axis), 10);
        core->max_dilation[axis] = read_word(
            bus, (uint32_t)EXTREMUM_ADDRESS_MAX_DILATION_DEPTH + 4 * axis
        );
    }
    core->max_line = read_word(bus, EXTREMUM_ADDRESS_MAX_LINE);
    core->max_plane = read_word(bus, EXTREMUM_ADDRESS_MAX_PLANE);
    core->fixed = read_pair(bus, EXTREMUM_ADDRESS_FIXED_REGISTERS_LOW);
    for (uint32_t name = 0; name < EXTREMUM_REGISTERS; name++) {
        core->fixed_values[name] = 0;
        if (is_fixed(core, name)) {
            core->fixed_values[name] = value_of(name, read_word(bus, command_address(name)));
        }
        if (on_port >> name & 1) {
            add_command(block, name);
        }
    }
}

enum extremum_error extremum_open(struct extremum_block *block, const struct extremum_bus *bus)
{
    enum extremum_error error;
    uint32_t version;
    block->bus = *bus;
    block->commands = 0;
    if (read_word(bus, EXTREMUM_ADDRESS_ID) != IDENTIFICATION) {
        return EXTREMUM_NO_BLOCK;
    }
    version = read_word(bus, EXTREMUM_ADDRESS_VERSION);
    if (version >> 16 != EXTREMUM_VERSION_MAJOR || version < OLDEST_VERSION) {
        return EXTREMUM_WRONG_VERSION;
    }
    read_core(block);
    forget_commands(block);
    error = check_core(&block->core);
    if (error == EXTREMUM_OK) {
        write_word(bus, EXTREMUM_ADDRESS_IRQ_STATUS, ALL_EVENTS);
    }
    return error;
}

/* The word that a register of the block gets for a job. */
static uint32_t word_for(
    const struct extremum_block *block, const struct extremum_job *job, uint32_t i
)
{
    return extremum_register_word(
        &block->core, job, (enum extremum_register)block->numbers[i]
    );
}

static uint32_t read_queue_free(const struct extremum_bus *bus)
{
    return field_of(read_word(bus, EXTREMUM_ADDRESS_STATUS), 8, 8);
}

/* Whether a register of the block may hold something else than a word. */
static bool has_changed(const struct extremum_block *block, uint32_t i, uint32_t word)
{
    return !block->is_known[i] || block->words[i] != word;
}

static uint32_t count_changed(const struct extremum_block *block, const struct extremum_job *job)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < block->commands; i++) {
        count += has_changed(block, i, word_for(block, job, i));
    }
    return count;
}

enum extremum_error extremum_start(struct extremum_block *block, const struct extremum_job *job)
{
    enum extremum_error error = extremum_check_job(&block->core, job);
    if (error) {
        return error;
    }
    /* Nobody else fills the queue, so the space that was seen last is still there. What has changed
     * is counted only if there is no space for all registers; the start needs space as well. */
    if (block->queue_free <= block->commands) {
        block->queue_free = read_queue_free(&block->bus);
    }
    if (block->queue_free <= block->commands && block->queue_free <= count_changed(block, job)) {
        return EXTREMUM_QUEUE_FULL;
    }
    for (uint32_t i = 0; i < block->commands; i++) {
        uint32_t word = word_for(block, job, i);
        if (has_changed(block, i, word)) {
            write_command(block, command_address(block->numbers[i]), word);
            block->words[i] = word;
            block->is_known[i] = true;
        }
    }
    write_command(block, EXTREMUM_ADDRESS_START, 1);
    return EXTREMUM_OK;
}

bool extremum_is_busy(const struct extremum_block *block)
{
    return (read_word(&block->bus, EXTREMUM_ADDRESS_STATUS) & BUSY) != 0;
}

/* The error for a code of the block, which are those of the enumeration BlockError in the register
 * map. */
static enum extremum_error error_of(uint32_t code)
{
    static const uint8_t ERRORS[] = {
        [1] = EXTREMUM_JOB_COUNT,
        [2] = EXTREMUM_JOB_WINDOW,
        [3] = EXTREMUM_JOB_SPACING,
        [4] = EXTREMUM_JOB_DATA_TYPE,
        [5] = EXTREMUM_JOB_TAIL,
        [8] = EXTREMUM_JOB_RANGE,
        [9] = EXTREMUM_JOB_TLAST_EARLY,
        [10] = EXTREMUM_JOB_TLAST_LATE,
        [11] = EXTREMUM_JOB_QUEUE_FULL,
    };
    return code < sizeof ERRORS && ERRORS[code] ? (enum extremum_error)ERRORS[code]
                                                : EXTREMUM_JOB_FAILED;
}

void extremum_take_events(struct extremum_block *block, struct extremum_events *events)
{
    const struct extremum_bus *bus = &block->bus;
    events->events = read_word(bus, EXTREMUM_ADDRESS_IRQ_STATUS) & ALL_EVENTS;
    events->error = EXTREMUM_OK;
    events->job = 0;
    events->command = 0;
    if (events->events & EXTREMUM_EVENT_ERROR) {
        uint32_t word = read_word(bus, EXTREMUM_ADDRESS_ERROR);
        events->error = error_of(field_of(word, 0, 8));
        events->command = field_of(word, 8, 8);
        events->job = field_of(word, 16, 8);
        /* A value that does not fit was not taken; nor was a command that found no space. Only the
         * first error is told, so that any other may hide one of these. */
        forget_commands(block);
    }
    write_word(bus, EXTREMUM_ADDRESS_IRQ_STATUS, events->events);
}

enum extremum_error extremum_wait(struct extremum_block *block, uint32_t polls)
{
    struct extremum_events events;
    for (; polls > 0; polls--) {
        if (!extremum_is_busy(block)) {
            extremum_take_events(block, &events);
            return events.error;
        }
    }
    return EXTREMUM_TIMED_OUT;
}

void extremum_enable_interrupts(struct extremum_block *block, uint32_t events)
{
    write_word(&block->bus, EXTREMUM_ADDRESS_IRQ_STATUS, EXTREMUM_EVENT_IDLE);
    write_word(&block->bus, EXTREMUM_ADDRESS_IRQ_ENABLE, events & ALL_EVENTS);
}

void extremum_read_counters(const struct extremum_block *block, struct extremum_counters *counters)
{
    uint32_t *const members[] = {
        &counters->cycles,
        &counters->beats_in,
        &counters->beats_out,
        &counters->stalls_in,
        &counters->stalls_out,
        &counters->jobs,
        &counters->empty_windows,
    };
    for (uint32_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        *members[i] = read_word(&block->bus, EXTREMUM_ADDRESS_CYCLES + 4 * i);
    }
}

void extremum_clear_counters(struct extremum_block *block)
{
    write_word(&block->bus, EXTREMUM_ADDRESS_CONTROL, CLEAR_COUNTERS);
}

void extremum_reset(struct extremum_block *block)
{
    write_word(&block->bus, EXTREMUM_ADDRESS_CONTROL, SOFT_RESET);
    /* What jobs before the reset have told says nothing of those behind it. */
    write_word(&block->bus, EXTREMUM_ADDRESS_IRQ_STATUS, ALL_EVENTS);
    forget_commands(block);
}

/* ---- Errors ---- */

const char *extremum_error_text(enum extremum_error error)
{
    switch (error) {
    case EXTREMUM_OK:
        return "no error";
    case EXTREMUM_BAD_CORE:
        return "a parameter of the core is out of range";
    case EXTREMUM_BAD_RANK:
        return "rank must be 1 to 8";
    case EXTREMUM_BAD_SIZE:
        return "sizes must be at least 1";
    case EXTREMUM_TOO_MANY_ELEMENTS:
        return "tensor must have fewer than 2^32 elements";
    case EXTREMUM_BAD_DATA_TYPE:
        return "data_type must be a member of extremum_data_type";
    case EXTREMUM_BAD_INDEX_TYPE:
        return "index_type must be uint32, uint64, int64, or for a reduction int32";
    case EXTREMUM_BAD_NAN:
        return "nan must be propagate or ignore";
    case EXTREMUM_BAD_FUNCTION:
        return "function must be one of ARGMAX, ARGMIN, MAX, MIN";
    case EXTREMUM_NO_AXES:
        return "axes must name at least one axis";
    case EXTREMUM_AXIS_OUT_OF_RANGE:
        return "axes must be in [-rank, rank - 1]";
    case EXTREMUM_AXIS_REPEATED:
        return "axes must not repeat";
    case EXTREMUM_BAD_AXIS_DIRECTION:
        return "axis_direction must be increasing or decreasing";
    case EXTREMUM_DIRECTION_OF_VALUES:
        return "axis_direction of MAX and MIN must be increasing";
    case EXTREMUM_INDEX_TYPE_OF_VALUES:
        return "index_type is for ARGMIN and ARGMAX, so that of MAX and MIN must be uint32";
    case EXTREMUM_INDEX_TOO_NARROW:
        return "an int32 index needs at most 2^31 reduced elements";
    case EXTREMUM_BAD_POOLING_RANK:
        return "rank for pooling must be 4 or 5";
    case EXTREMUM_BAD_WINDOW:
        return "window must be at least 1";
    case EXTREMUM_BAD_STRIDES:
        return "strides must be at least 1";
    case EXTREMUM_BAD_DILATIONS:
        return "dilations must be at least 1";
    case EXTREMUM_BAD_INDEX_LAYOUT:
        return "index_layout must be one of tensor, plane, column_major";
    case EXTREMUM_WINDOW_TOO_LARGE:
        return "window extent must not exceed the padded size";
    case EXTREMUM_TOO_MUCH_PADDING:
        return "padded tensor must have fewer than 2^32 elements";
    case EXTREMUM_STRIDES_TOO_LARGE:
        return "input_strides and output_strides must not lead further than 2^61";
    case EXTREMUM_DATA_TYPE_NOT_BUILT:
        return "the core was not built for this data_type";
    case EXTREMUM_OPERATOR_NOT_BUILT:
        return "the core was not built for this operator";
    case EXTREMUM_VALUES_NOT_BUILT:
        return "the core was built without max-pool, so it gives no values";
    case EXTREMUM_POSITIONS_NOT_BUILT:
        return "the core was built without positions";
    case EXTREMUM_POSITIONS_TOO_LARGE:
        return "the last position needs more bits than the core's index_width";
    case EXTREMUM_NEEDS_GATHERING:
        return "the core cannot slide this window: the host must gather the elements of each";
    case EXTREMUM_REGISTER_FIXED:
        return "the core was built with a job register fixed to another value";
    case EXTREMUM_OTHER_LANES:
        return "the job was planned for a core of another number of lanes";
    case EXTREMUM_NO_BLOCK:
        return "there is no extremum block at this address";
    case EXTREMUM_WRONG_VERSION:
        return "the block's register map has a version that this driver does not know";
    case EXTREMUM_QUEUE_FULL:
        return "the block has no space for the commands of a job now: try again";
    case EXTREMUM_TIMED_OUT:
        return "the block was still busy when the wait ended";
    case EXTREMUM_JOB_COUNT:
        return "the block refused a job: a window, a dilation or the tail is zero";
    case EXTREMUM_JOB_WINDOW:
        return "the block refused a job: its window is larger than the core was built for";
    case EXTREMUM_JOB_SPACING:
        return "the block refused a job: its taps lie further apart than the core stores";
    case EXTREMUM_JOB_DATA_TYPE:
        return "the block refused a job: the core has no type of this code";
    case EXTREMUM_JOB_TAIL:
        return "the block refused a job: its tail is larger than the number of lanes";
    case EXTREMUM_JOB_RANGE:
        return "the block refused a job: a value does not fit its register";
    case EXTREMUM_JOB_TLAST_EARLY:
        return "a job's packet was too short";
    case EXTREMUM_JOB_TLAST_LATE:
        return "a job's packet was too long";
    case EXTREMUM_JOB_QUEUE_FULL:
        return "a command was written while the block had no space for it";
    case EXTREMUM_JOB_FAILED:
        return "a job failed for a reason that this driver does not know";
    }
    return "unknown error";
}
