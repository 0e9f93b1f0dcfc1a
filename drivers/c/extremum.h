/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of the extremum core: from an operator to the jobs that compute it.
 *
 * An operator is described as the golden model describes it, is checked by the same rules, and
 * is planned as the Python package plans it. A plan yields jobs one by one. A job is the values
 * of the core's job registers, and where the elements of its input and output beats lie in
 * memory.
 *
 * The driver is freestanding C99. It allocates nothing, calls no library, and has no state of
 * its own, so the planning may be done in any thread. It computes with 64 bits: on smaller
 * processors the compiler calls its own support library to divide, and on some of them also to
 * multiply and to shift (libgcc, compiler-rt).
 *
 *     struct extremum_plan plan;
 *     struct extremum_job job;
 *     enum extremum_error error = extremum_plan_pooling(&plan, &core, &pooling);
 *     while (error == EXTREMUM_OK && extremum_next_job(&plan, &job)) {
 *         ... write the words of job.registers, stream job.input, take job.output ...
 *     }
 *
 * If the core sits in the AXI block, the second half of the driver does the writing. It reads from
 * the block what core it is, writes only the job registers that have changed, starts jobs, waits
 * for them, and tells what went wrong:
 *
 *     struct extremum_block block;
 *     struct extremum_bus bus = {.base = (volatile uint32_t *)0x80000000};
 *     error = extremum_open(&block, &bus);
 *     ... plan with &block.core as above, and for each job:
 *     error = extremum_start(&block, &job);
 *     ... let a DMA send job.input and take job.output ...
 *     error = extremum_wait(&block, 100000);
 *     ... wait for the DMA: the results have left the block, and may not be in memory yet ...
 *
 * That half keeps what it has written in `struct extremum_block`, so only one thread may use a
 * block at a time. An interrupt handler is a thread too: it may call these functions if the program
 * is within none of them.
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

/* What a function of this driver answers: why it refuses an operator, why it cannot use a block, or
 * how a job failed. extremum_error_text gives the rule in words. */
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
    EXTREMUM_REGISTER_FIXED,

    /* A job was planned for a core of another number of lanes. */
    EXTREMUM_OTHER_LANES,

    /* There is no block that this driver knows. */
    EXTREMUM_NO_BLOCK,
    EXTREMUM_WRONG_VERSION,

    /* The block has no space for the commands of a job now, and none of them was written. */
    EXTREMUM_QUEUE_FULL,

    /* The block was still busy when the wait ended. */
    EXTREMUM_TIMED_OUT,

    /* A job failed, and the block is ready for the next one. The core refuses a job whose window,
     * dilation or tail is zero (COUNT); whose window is larger than the core was built for, or whose
     * taps lie further apart than its storage reaches (WINDOW, SPACING); whose type it does not have
     * (DATA_TYPE); and whose tail is more than its lanes (TAIL). */
    EXTREMUM_JOB_COUNT,
    EXTREMUM_JOB_WINDOW,
    EXTREMUM_JOB_SPACING,
    EXTREMUM_JOB_DATA_TYPE,
    EXTREMUM_JOB_TAIL,

    /* A word did not fit its register, which still holds the value before it, and the job that was
     * started next is refused: write the word again before the next start. */
    EXTREMUM_JOB_RANGE,

    /* The packet ended before the job had all its elements: its results mean nothing. Or it went on
     * behind them: that was dropped, and the results are right. */
    EXTREMUM_JOB_TLAST_EARLY,
    EXTREMUM_JOB_TLAST_LATE,

    /* A register was written while the block had no space for it. This belongs to no job. */
    EXTREMUM_JOB_QUEUE_FULL,

    /* The block gives a reason that this driver does not know. */
    EXTREMUM_JOB_FAILED
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
 * slices - 1`. A lane is as wide as the widest element type of the core, and has an element of a
 * narrower type in its low bits.
 *
 * Without `fold`, each lane carries a slice of its own: beat `b`, lane `l` has element `b %
 * elements` of the slice `first_slice + b / elements * lanes + l`, and the last `elements` beats
 * carry only `tail` slices. With `fold`, each slice takes `ceil(elements / lanes)` beats of
 * consecutive elements, and the last of these beats carries only `tail` elements. The lanes
 * from `tail` on carry anything on the input, which is ignored, and no result on the output. */
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

/* Check a reduction by the rules of the golden model. The first broken rule is returned. */
enum extremum_error extremum_check_reduction(const struct extremum_reduction *reduction);

/* Check a pooling by the rules of the golden model. The first broken rule is returned. */
enum extremum_error extremum_check_pooling(const struct extremum_pooling *pooling);

/* Check a reduction and plan it. Unless EXTREMUM_OK is returned, the plan must not be used. */
enum extremum_error extremum_plan_reduction(
    struct extremum_plan *plan,
    const struct extremum_core *core,
    const struct extremum_reduction *reduction
);

/* Check a pooling and plan it. Unless EXTREMUM_OK is returned, the plan must not be used.
 *
 * Tiles are chosen in a few thousand steps as a rule. There are more if windows are so dilated that
 * thousands of tiles reach into padding. */
enum extremum_error extremum_plan_pooling(
    struct extremum_plan *plan,
    const struct extremum_core *core,
    const struct extremum_pooling *pooling
);

/* Give the next job, and return whether there was one. A pooling whose windows are all empty has
 * none. The jobs of a plan are independent of each other and may run in any order. */
bool extremum_next_job(struct extremum_plan *plan, struct extremum_job *job);

/* Check that a job was planned for as many lanes as the core has, and that it needs no other value
 * of a register than the core has fixed. A plan follows the fixed windows, `fold` and `groups` of its
 * core, and with integers `ignore_nan`. It leaves all other fixed values to this function: where a
 * core has some, check each job of a plan before the first one is started, and set `next` of the plan
 * to 0 again. A core without fixed registers takes every job of its plans.
 *
 * Nothing else is checked. Of a job for another core of as many lanes the block refuses windows that
 * it cannot slide, but the code of an element type may stand for another type. */
enum extremum_error extremum_check_job(
    const struct extremum_core *core, const struct extremum_job *job
);

/* Return what the core is given for a register of a job: slots, volumes, length, groups, and of each
 * dimension size, stride, period and spacing less one; a position modulo 2^index_width; a negative
 * coordinate in two's complement of 32 bits; all others as they are. The core takes as many of the
 * low bits as its register has. */
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

/* The rule that an operator breaks, what the core lacks, or why a job failed, in words. */
const char *extremum_error_text(enum extremum_error error);

/* ---- The block's registers ---- */

/* The version of the register map that this driver needs: the same first number, and a second one
 * of at least this. */
#define EXTREMUM_VERSION_MAJOR 2
#define EXTREMUM_VERSION_MINOR 1

/* The addresses of the registers, in bytes from the block's first one. */
enum extremum_address {
    EXTREMUM_ADDRESS_ID = 0x000,
    EXTREMUM_ADDRESS_VERSION = 0x004,
    EXTREMUM_ADDRESS_CONTROL = 0x00C,
    EXTREMUM_ADDRESS_ERROR = 0x010,
    EXTREMUM_ADDRESS_STATUS = 0x014,
    EXTREMUM_ADDRESS_IRQ_ENABLE = 0x018,
    EXTREMUM_ADDRESS_IRQ_STATUS = 0x01C,
    EXTREMUM_ADDRESS_CORE = 0x040,
    EXTREMUM_ADDRESS_CAPACITY = 0x044,
    EXTREMUM_ADDRESS_DATA_TYPES_LOW = 0x048,
    EXTREMUM_ADDRESS_MAX_WINDOW = 0x050,
    EXTREMUM_ADDRESS_MAX_DILATION_DEPTH = 0x054,
    EXTREMUM_ADDRESS_MAX_LINE = 0x060,
    EXTREMUM_ADDRESS_MAX_PLANE = 0x064,
    EXTREMUM_ADDRESS_JOB_REGISTERS_LOW = 0x068,
    EXTREMUM_ADDRESS_FIXED_REGISTERS_LOW = 0x070,
    EXTREMUM_ADDRESS_CYCLES = 0x0C0,
    EXTREMUM_ADDRESS_DATA_TYPE = 0x200,
    EXTREMUM_ADDRESS_START = 0x2FC
};

/* How the driver reaches the registers. If `read` and `write` are NULL, they are memory from `base`
 * on, in the processor's byte order, and every access is one of 32 bits. Otherwise these two
 * functions are called with `context` and an address in bytes, for buses that need more than that:
 * a barrier, a system call, a debug port. */
struct extremum_bus {
    volatile uint32_t *base;
    uint32_t (*read)(void *context, uint32_t address);
    void (*write)(void *context, uint32_t address, uint32_t word);
    void *context;
};

/* A block that was opened. `core` is what extremum_open has read from it; the other members are for
 * the driver alone. */
struct extremum_block {
    struct extremum_core core;
    struct extremum_bus bus;
    /* The registers that this block has for a job: their numbers, counted on in words from
     * EXTREMUM_ADDRESS_DATA_TYPE, what was written there last, and whether the block is known to
     * hold it. */
    uint32_t commands;
    uint8_t numbers[EXTREMUM_REGISTERS];
    uint32_t words[EXTREMUM_REGISTERS];
    bool is_known[EXTREMUM_REGISTERS];
    /* Commands that the queue has space for, at least. */
    uint32_t queue_free;
};

/* What may raise the block's interrupt, as bits of a mask. */
enum extremum_event {
    EXTREMUM_EVENT_DONE = 1,
    EXTREMUM_EVENT_ERROR = 2,
    EXTREMUM_EVENT_IDLE = 4
};

/* What has happened in the block: a mask of enum extremum_event, and about the first error, if
 * there was one: its code, the number of its job (jobs started before it since the block was reset,
 * modulo 256; without a meaning for EXTREMUM_JOB_QUEUE_FULL), and for EXTREMUM_JOB_RANGE the register
 * whose value did not fit, by its number: words behind EXTREMUM_ADDRESS_DATA_TYPE. */
struct extremum_events {
    uint32_t events;
    enum extremum_error error;
    uint32_t job;
    uint32_t command;
};

/* What the block has counted since it was cleared, modulo 2^32: clocks in which it was busy; beats
 * of input and of results; clocks in which the core waited for input, and in which an output stream
 * held it up; jobs whose last results have left, or that were refused; results whose position is
 * that of an empty window, which are none in a block without positions. */
struct extremum_counters {
    uint32_t cycles;
    uint32_t beats_in;
    uint32_t beats_out;
    uint32_t stalls_in;
    uint32_t stalls_out;
    uint32_t jobs;
    uint32_t empty_windows;
};

/* Identify a block, read what core it has, and clear the events that an earlier program has left.
 * Nothing else is written, and to what is no block nothing at all. Unless EXTREMUM_OK is returned,
 * the block must not be used. Jobs that another program has started may still run: extremum_reset
 * ends them. Interrupts that it has enabled stay enabled: extremum_enable_interrupts with 0 disables
 * them. */
enum extremum_error extremum_open(struct extremum_block *block, const struct extremum_bus *bus);

/* Write the registers of a job that have changed, and start it. The job is one of a plan for
 * `block->core`, or for a description that equals it, and nothing is written if extremum_check_job
 * refuses it. This function may be called while other jobs run. EXTREMUM_QUEUE_FULL says that there
 * is no space for all commands of the job yet, and that nothing was written: try again. Each job
 * owns the next packet of the input stream, and one of each output stream, which must be received
 * at the same time: a stream that nobody takes holds the other. If a job fails with
 * EXTREMUM_JOB_RANGE, which no job of a plan for this core does, start those again that were started
 * behind it: they may have relied on the refused word. */
enum extremum_error extremum_start(struct extremum_block *block, const struct extremum_job *job);

/* Whether a job is under way, or waits to be carried out. Behind extremum_reset the block is busy as
 * long as it still offers a beat. */
bool extremum_is_busy(const struct extremum_block *block);

/* Poll until no job is under way any more, at most so many times. Then take the events, and return
 * why the first job failed, or EXTREMUM_OK if none did: the results have left the block then. The DMA
 * tells when they are in memory. After EXTREMUM_TIMED_OUT nothing is taken. */
enum extremum_error extremum_wait(struct extremum_block *block, uint32_t polls);

/* Let these events, a mask of enum extremum_event, raise the interrupt, and no others.
 * EXTREMUM_EVENT_IDLE lasts as long as the block has nothing to do. So enable it when all jobs have
 * been started, and no longer when it has come: that the block was idle before this call does not
 * count. */
void extremum_enable_interrupts(struct extremum_block *block, uint32_t events);

/* Take what has happened since the last call: it is read, and cleared in the block, so that the
 * interrupt ends. EXTREMUM_EVENT_DONE says that the last results of some jobs have left, or that
 * the packets of refused ones were dropped: the counter of jobs, read afterwards, tells of how many.
 * The block may still take the elements behind the last window, and an error of their packet comes
 * behind that. EXTREMUM_EVENT_IDLE says that there was nothing left to do: all jobs had ended, with
 * their packets and their results, and what was wrong with them has been told. That may have been
 * before the last start, unless extremum_enable_interrupts was called behind it. It lasts, so it is
 * among the events of every block without work, and its interrupt ends only when it is no longer
 * enabled. After an error the next job writes all registers, since the block may not have taken all
 * that was written. */
void extremum_take_events(struct extremum_block *block, struct extremum_events *events);

/* Read the counters, one after the other. */
void extremum_read_counters(const struct extremum_block *block, struct extremum_counters *counters);

/* Set all counters to zero. */
void extremum_clear_counters(struct extremum_block *block);

/* End all jobs at once, and forget what they have told. Stop the channel of the DMA that sends
 * before the call. A beat that an output stream offers stays offered, also if nobody receives, and
 * would be the first of the next job's packet. So let the channels that receive take it, start them
 * if they are not under way, and stop them when extremum_is_busy is false. The next job writes all
 * registers. Enabled interrupts stay so, and counters keep their numbers. EXTREMUM_EVENT_IDLE comes
 * when nothing is offered any more.
 *
 * Call this function, or extremum_open, also when somebody else has pulled `aresetn` low: the block
 * has lost its registers then, and the driver would still count on them. */
void extremum_reset(struct extremum_block *block);

#ifdef __cplusplus
}
#endif

#endif
