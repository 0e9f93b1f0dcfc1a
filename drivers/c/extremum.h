/* The driver of the extremum core: from an operator to the jobs that compute it.
 *
 * An operator is described as the golden model describes it, is checked by the same rules, and
 * is planned as the Python package plans it. A plan yields jobs one by one. A job is the values
 * of the core's job registers, and where the elements of its input and output beats lie in
 * memory.
 *
 * The driver is freestanding C99. It allocates nothing, needs no library, and has no state of
 * its own, so every function may be called from any thread. On 32-bit processors the compiler
 * brings the 64-bit division.
 *
 *     struct extremum_plan plan;
 *     struct extremum_job job;
 *     enum extremum_error error = extremum_plan_pooling(&plan, &core, &pooling);
 *     while (error == EXTREMUM_OK && extremum_next_job(&plan, &job)) {
 *         ... write the words of job.registers, stream job.input, take job.output ...
 *     }
 */

#ifndef EXTREMUM_H
#define EXTREMUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EXTREMUM_MAX_RANK 8
#define EXTREMUM_MAX_SPATIAL 3
#define EXTREMUM_MAX_LANES 64
#define EXTREMUM_MAX_DATA_TYPES 10

/* Element types, in the order of the golden model's DataType. */
enum extremum_data_type {
    EXTREMUM_FLOAT32,
    EXTREMUM_FLOAT16,
    EXTREMUM_INT64,
    EXTREMUM_INT32,
    EXTREMUM_INT16,
    EXTREMUM_INT8,
    EXTREMUM_UINT64,
    EXTREMUM_UINT32,
    EXTREMUM_UINT16,
    EXTREMUM_UINT8
};

/* What a reduction finds: the position of an extreme element, or its value. */
enum extremum_function {
    EXTREMUM_ARGMAX,
    EXTREMUM_ARGMIN,
    EXTREMUM_MAX,
    EXTREMUM_MIN
};

/* Which of several equal elements an argmin or argmax names: the first or the last. */
enum extremum_axis_direction {
    EXTREMUM_INCREASING,
    EXTREMUM_DECREASING
};

/* Whether a NaN beats every number or loses to every number. */
enum extremum_nan {
    EXTREMUM_PROPAGATE,
    EXTREMUM_IGNORE
};

/* Type of a position. A pooling has no int32. */
enum extremum_index_type {
    EXTREMUM_INDEX_UINT32,
    EXTREMUM_INDEX_UINT64,
    EXTREMUM_INDEX_INT32,
    EXTREMUM_INDEX_INT64
};

/* What a position of a pooling counts: the whole tensor in row-major order; each plane from 0; or
 * the whole tensor, and within each plane the first spatial dimension fastest. */
enum extremum_index_layout {
    EXTREMUM_LAYOUT_TENSOR,
    EXTREMUM_LAYOUT_PLANE,
    EXTREMUM_LAYOUT_COLUMN_MAJOR
};

/* The operators that a core can be built for, as bits of a mask. The reductions MIN and MAX need
 * EXTREMUM_BUILT_MAX_POOL beside that for ARGMIN or ARGMAX. */
enum extremum_built {
    EXTREMUM_BUILT_ARGMIN = 1,
    EXTREMUM_BUILT_ARGMAX = 2,
    EXTREMUM_BUILT_MAX_POOL = 4
};

/* The job registers, in the order of the core's job port. */
enum extremum_register {
    EXTREMUM_REGISTER_DATA_TYPE,
    EXTREMUM_REGISTER_MINIMUM,
    EXTREMUM_REGISTER_DECREASING,
    EXTREMUM_REGISTER_IGNORE_NAN,
    EXTREMUM_REGISTER_FOLD,
    EXTREMUM_REGISTER_SLOTS,
    EXTREMUM_REGISTER_VOLUMES,
    EXTREMUM_REGISTER_LENGTH,
    EXTREMUM_REGISTER_GROUPS,
    EXTREMUM_REGISTER_TAIL,
    EXTREMUM_REGISTER_ORIGIN,
    EXTREMUM_REGISTER_GROUP_STEP,
    EXTREMUM_REGISTER_LANE_STEP,
    EXTREMUM_REGISTER_DEPTH_WINDOW,
    EXTREMUM_REGISTER_DEPTH_STRIDE,
    EXTREMUM_REGISTER_DEPTH_DILATION,
    EXTREMUM_REGISTER_DEPTH_SIZE,
    EXTREMUM_REGISTER_DEPTH_HEAD,
    EXTREMUM_REGISTER_DEPTH_PERIOD,
    EXTREMUM_REGISTER_DEPTH_REGULAR,
    EXTREMUM_REGISTER_DEPTH_FINAL,
    EXTREMUM_REGISTER_DEPTH_SHIFT,
    EXTREMUM_REGISTER_DEPTH_SPACING,
    EXTREMUM_REGISTER_DEPTH_POSITION_STEP,
    EXTREMUM_REGISTER_DEPTH_TAP_STEP,
    EXTREMUM_REGISTER_HEIGHT_WINDOW,
    EXTREMUM_REGISTER_HEIGHT_STRIDE,
    EXTREMUM_REGISTER_HEIGHT_DILATION,
    EXTREMUM_REGISTER_HEIGHT_SIZE,
    EXTREMUM_REGISTER_HEIGHT_HEAD,
    EXTREMUM_REGISTER_HEIGHT_PERIOD,
    EXTREMUM_REGISTER_HEIGHT_REGULAR,
    EXTREMUM_REGISTER_HEIGHT_FINAL,
    EXTREMUM_REGISTER_HEIGHT_SHIFT,
    EXTREMUM_REGISTER_HEIGHT_SPACING,
    EXTREMUM_REGISTER_HEIGHT_POSITION_STEP,
    EXTREMUM_REGISTER_HEIGHT_TAP_STEP,
    EXTREMUM_REGISTER_WIDTH_WINDOW,
    EXTREMUM_REGISTER_WIDTH_STRIDE,
    EXTREMUM_REGISTER_WIDTH_DILATION,
    EXTREMUM_REGISTER_WIDTH_SIZE,
    EXTREMUM_REGISTER_WIDTH_HEAD,
    EXTREMUM_REGISTER_WIDTH_PERIOD,
    EXTREMUM_REGISTER_WIDTH_REGULAR,
    EXTREMUM_REGISTER_WIDTH_FINAL,
    EXTREMUM_REGISTER_WIDTH_SHIFT,
    EXTREMUM_REGISTER_WIDTH_SPACING,
    EXTREMUM_REGISTER_WIDTH_POSITION_STEP,
    EXTREMUM_REGISTER_WIDTH_TAP_STEP,
    EXTREMUM_REGISTERS
};

/* Why an operator is refused. extremum_error_text gives the rule in words. */
enum extremum_error {
    EXTREMUM_OK,

    /* The description of the core is impossible. */
    EXTREMUM_BAD_CORE,

    /* The operator breaks a rule of the golden model. */
    EXTREMUM_BAD_RANK,
    EXTREMUM_BAD_SIZE,
    EXTREMUM_TOO_MANY_ELEMENTS,
    EXTREMUM_BAD_DATA_TYPE,
    EXTREMUM_BAD_INDEX_TYPE,
    EXTREMUM_BAD_NAN,
    EXTREMUM_BAD_FUNCTION,
    EXTREMUM_NO_AXES,
    EXTREMUM_AXIS_OUT_OF_RANGE,
    EXTREMUM_AXIS_REPEATED,
    EXTREMUM_BAD_AXIS_DIRECTION,
    EXTREMUM_DIRECTION_OF_VALUES,
    EXTREMUM_INDEX_TYPE_OF_VALUES,
    EXTREMUM_INDEX_TOO_NARROW,
    EXTREMUM_BAD_POOLING_RANK,
    EXTREMUM_BAD_WINDOW,
    EXTREMUM_BAD_STRIDES,
    EXTREMUM_BAD_DILATIONS,
    EXTREMUM_BAD_INDEX_LAYOUT,
    EXTREMUM_WINDOW_TOO_LARGE,
    EXTREMUM_TOO_MUCH_PADDING,

    /* The strides of a tensor lead to offsets that this driver does not count. */
    EXTREMUM_STRIDES_TOO_LARGE,

    /* The operator is right, and the core was not built for it. */
    EXTREMUM_DATA_TYPE_NOT_BUILT,
    EXTREMUM_OPERATOR_NOT_BUILT,
    EXTREMUM_VALUES_NOT_BUILT,
    EXTREMUM_POSITIONS_NOT_BUILT,
    EXTREMUM_POSITIONS_TOO_LARGE,

    /* The core cannot slide these windows. The host would have to gather their elements, which this
     * driver does not do. */
    EXTREMUM_NEEDS_GATHERING,

    /* A job needs another value of a register than the core has. */
    EXTREMUM_REGISTER_FIXED
};

/* What a core was built for: the same names as the parameters of CoreConfig. Triples are (depth,
 * height, width). */
struct extremum_core {
    /* The types in the order of their codes. */
    enum extremum_data_type data_types[EXTREMUM_MAX_DATA_TYPES];
    uint32_t data_type_count;
    uint32_t lanes;
    uint32_t max_window[3];
    uint32_t max_dilation[3];
    uint32_t max_line;
    uint32_t max_plane;
    uint32_t coordinate_width;
    uint32_t index_width;
    /* A mask of enum extremum_built. */
    uint32_t operators;
    bool padding;
    /* A bit for each job register that CoreConfig.fixed names, and the values of these registers.
     * Those that the core lacks for another reason, such as the fold of a core with one lane, have
     * no bit here: a fixed window makes the plan keep taps that it could leave out. */
    uint64_t fixed;
    int64_t fixed_values[EXTREMUM_REGISTERS];
};

/* A reduction: what to find, in a tensor of which sizes and type, over which axes. */
struct extremum_reduction {
    enum extremum_function function;
    uint32_t rank;
    uint32_t sizes[EXTREMUM_MAX_RANK];
    enum extremum_data_type data_type;
    /* The axes to reduce, in any order; negative ones count from the end. */
    uint32_t axis_count;
    int32_t axes[EXTREMUM_MAX_RANK];
    enum extremum_axis_direction axis_direction;
    enum extremum_index_type index_type;
    enum extremum_nan nan;
    /* Bytes from one element of the input to the next along each axis, and elements from one
     * result to the next along each axis of the output. NULL stands for a packed row-major
     * tensor. A stride may be negative, and zero on the input: element (0, 0, ...) has the
     * offset 0. Whether output strides give two results the same place is not checked. */
    const int64_t *input_strides;
    const int64_t *output_strides;
};

/* A max pooling of a tensor (N, C, H, W) or (N, C, D, H, W). The arrays have a number for each
 * spatial dimension, so two or three are used. */
struct extremum_pooling {
    uint32_t rank;
    uint32_t sizes[EXTREMUM_MAX_RANK];
    enum extremum_data_type data_type;
    uint32_t window[EXTREMUM_MAX_SPATIAL];
    uint32_t strides[EXTREMUM_MAX_SPATIAL];
    uint32_t start_padding[EXTREMUM_MAX_SPATIAL];
    uint32_t end_padding[EXTREMUM_MAX_SPATIAL];
    uint32_t dilations[EXTREMUM_MAX_SPATIAL];
    bool return_indices;
    enum extremum_index_type index_type;
    enum extremum_index_layout index_layout;
    enum extremum_nan nan;
    /* As those of a reduction. */
    const int64_t *input_strides;
    const int64_t *output_strides;
};

/* Nested loops over a tensor, outermost first. The numbers 0, 1, ... are given to the steps of the
 * innermost loop first. Without a loop there is a single step. */
struct extremum_loops {
    uint32_t depth;
    uint32_t counts[EXTREMUM_MAX_RANK];
    int64_t strides[EXTREMUM_MAX_RANK];
};

/* Which elements the beats of a stream carry. The element `e` of slice `s` has the offset
 *
 *     base + (step s of the loop over slices) + (step e of the loop over elements)
 *
 * in bytes for an input, and in elements for an output, because values and positions have
 * different sizes but lie alike. The stream has the slices `first_slice` to `first_slice +
 * slices - 1`.
 *
 * Without `fold`, each lane carries a slice of its own: beat `b`, lane `l` has element `b %
 * elements` of the slice `first_slice + b / elements * lanes + l`, and the last `elements` beats
 * carry only `tail` slices. With `fold`, each slice takes `ceil(elements / lanes)` beats of
 * consecutive elements, and the last of these beats carries only `tail` elements. The lanes
 * from `tail` on carry zeros on the input, and nothing on the output. */
struct extremum_stream {
    int64_t base;
    uint32_t first_slice;
    uint32_t slices;
    uint32_t elements;
    uint32_t lanes;
    uint32_t tail;
    uint32_t beats;
    bool fold;
    struct extremum_loops over_slices;
    struct extremum_loops over_elements;
};

/* One run of the core. The registers have the values that the Python class JobRegisters gives them,
 * with positions modulo 2^32; extremum_register_word makes of them what the core is given. */
struct extremum_job {
    int64_t registers[EXTREMUM_REGISTERS];
    struct extremum_stream input;
    struct extremum_stream output;
};

/* One pooled dimension: its size, and how windows lie on it. */
struct extremum_dimension {
    int64_t size;
    int64_t window;
    int64_t stride;
    int64_t dilation;
    int64_t start_padding;
    int64_t end_padding;
};

/* One dimension cut into tiles of nearly equal numbers of windows. The tiles `first_seen` to
 * `first_seen + seen - 1` see an element; there is nothing to compute in the others. */
struct extremum_cuts {
    struct extremum_dimension dimension;
    int64_t outputs;
    int64_t tiles;
    int64_t first_seen;
    int64_t seen;
};

/* The jobs that compute an operator. A plan refers to its core, which must stay as it is, and no
 * longer to its operator. `jobs` is the number of jobs, and `next` that of the job which
 * extremum_next_job gives next; the caller may set it. All other members are for the driver alone.
 *
 * No job writes the windows of a pooling that lie wholly in padding, unless they share a tile with
 * others. The caller fills the output before the first job: with the lowest value of the type, and
 * with positions of all ones. */
struct extremum_plan {
    const struct extremum_core *core;
    uint64_t jobs;
    uint64_t next;
    bool is_pooling;
    int64_t registers[EXTREMUM_REGISTERS];
    struct extremum_stream input;
    struct extremum_stream output;
    struct extremum_cuts cuts[3];
    uint32_t weights[3];
    uint32_t slice_weight;
    uint32_t slices;
    uint32_t slices_at_once;
    int64_t input_strides[3];
    int64_t output_strides[3];
};

/* Check an operator by the rules of the golden model. The first broken rule is returned. */
enum extremum_error extremum_check_reduction(const struct extremum_reduction *reduction);
enum extremum_error extremum_check_pooling(const struct extremum_pooling *pooling);

/* Check an operator and plan it. Unless EXTREMUM_OK is returned, the plan must not be used.
 *
 * Tiles are chosen in a few thousand steps as a rule. There are more if windows are so dilated that
 * thousands of tiles reach into padding. */
enum extremum_error extremum_plan_reduction(
    struct extremum_plan *plan,
    const struct extremum_core *core,
    const struct extremum_reduction *reduction
);
enum extremum_error extremum_plan_pooling(
    struct extremum_plan *plan,
    const struct extremum_core *core,
    const struct extremum_pooling *pooling
);

/* Give the next job, and return whether there was one. A pooling whose windows are all empty has
 * none. The jobs of a plan are independent of each other and may run in any order. */
bool extremum_next_job(struct extremum_plan *plan, struct extremum_job *job);

/* Check that a job needs no other value of a register than the core has fixed. A core without fixed
 * registers takes every job of its plans. */
enum extremum_error extremum_check_job(
    const struct extremum_core *core, const struct extremum_job *job
);

/* Return what the core is given for a register of a job: the value, less one if it can never be
 * zero, a position modulo 2^index_width, and a negative place in two's complement of 32 bits. The
 * core takes as many of the low bits as its register has. */
uint32_t extremum_register_word(
    const struct extremum_core *core,
    const struct extremum_job *job,
    enum extremum_register name
);

/* Tell where the element that a beat carries in a lane lies. Return false if it carries none. This
 * divides for every element, so it is for tests and for small jobs; a loop nest is faster. */
bool extremum_find_element(
    const struct extremum_stream *stream, uint32_t beat, uint32_t lane, int64_t *offset
);

/* The rule that an operator breaks, or what the core lacks, in words. */
const char *extremum_error_text(enum extremum_error error);

#ifdef __cplusplus
}
#endif

#endif
