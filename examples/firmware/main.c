/* Runs operators on the block through the C driver, and compares the results with those of the
 * golden model, which `cases.py` wrote into cases.h when the program was built. */

#include "cases.h"
#include "console.h"
#include "system.h"
#include "walk.h"

/* Bytes of a beat. The block has CASES_LANES lanes of a byte each, and positions of four bytes. */
#define VALUE_BYTES CASES_LANES
#define POSITION_BYTES (4 * CASES_LANES)

#define POLLS 20000

static struct extremum_block block;
static struct extremum_plan plan;
static struct extremum_job job;

/* Packets whose beats do not lie in memory as the stream wants them are put together here. */
static uint32_t staged_input[CASES_MOST_BEATS * VALUE_BYTES / 4];
static uint32_t staged_values[CASES_MOST_BEATS * VALUE_BYTES / 4];
static uint32_t staged_positions[CASES_MOST_BEATS * POSITION_BYTES / 4];

static uint32_t values[(CASES_MOST_RESULTS + 3) / 4];
static uint32_t positions[CASES_MOST_RESULTS];

static const uint8_t *input;

/* What is in the staged results before a job. */
#define UNTOUCHED 0xA5u
#define UNTOUCHED_WORD 0xA5A5A5A5u

/* Lanes behind the last result of a job into which something was written. */
static uint32_t overwritten;

static void stage(uint32_t place, int32_t offset)
{
    ((uint8_t *)staged_input)[place] = input[offset];
}

static void unstage(uint32_t place, int32_t offset)
{
    ((uint8_t *)values)[offset] = ((const uint8_t *)staged_values)[place];
    positions[offset] = staged_positions[place];
}

/* The place behind the last result of a job among those of its last beat. */
static uint32_t tail_of(const struct extremum_stream *output)
{
    return (output->beats - 1) * output->lanes + output->tail;
}

/* Mark the lanes behind the last result of a job. */
static void mark_tail(const struct extremum_stream *output)
{
    for (uint32_t i = tail_of(output); i < output->beats * output->lanes; i++) {
        ((uint8_t *)staged_values)[i] = UNTOUCHED;
        staged_positions[i] = UNTOUCHED_WORD;
    }
}

/* Count the lanes behind the last result of a job that are no longer marked. */
static void check_tail(const struct extremum_stream *output)
{
    for (uint32_t i = tail_of(output); i < output->beats * output->lanes; i++) {
        overwritten += ((const uint8_t *)staged_values)[i] != UNTOUCHED
            || staged_positions[i] != UNTOUCHED_WORD;
    }
}

/* Wait until the block has nothing left to do; return why the job failed. The event lasts, so it is
 * enabled behind the start of the job, and no longer than until it has come. */
static enum extremum_error await_end(void)
{
    bool is_told;
    extremum_enable_interrupts(&block, EXTREMUM_EVENT_IDLE);
    is_told = system_sleep();
    extremum_enable_interrupts(&block, 0);
    return extremum_wait(&block, is_told ? 1 : POLLS);
}

/* Run one job: registers, packets, and the wait for the end. */
static enum extremum_error run_job(uint32_t missing_bytes)
{
    const struct extremum_stream *output = &job.output;
    const bool is_direct = is_packed(output);
    const void *packet = staged_input;
    enum extremum_error error;
    if (is_packed(&job.input)) {
        packet = input + first_of(&job.input);
    } else {
        for_each_element(&job.input, stage);
    }
    if (is_direct) {
        system_receive(
            (uint8_t *)values + first_of(output),
            output->beats * VALUE_BYTES,
            positions + first_of(output),
            output->beats * POSITION_BYTES
        );
    } else {
        mark_tail(output);
        system_receive(
            staged_values,
            output->beats * VALUE_BYTES,
            staged_positions,
            output->beats * POSITION_BYTES
        );
    }
    do {
        error = extremum_start(&block, &job);
    } while (error == EXTREMUM_QUEUE_FULL);
    if (error) {
        return error;
    }
    system_send(packet, job.input.beats * VALUE_BYTES - missing_bytes);
    error = await_end();
    if (error && error != EXTREMUM_JOB_TLAST_EARLY && error != EXTREMUM_JOB_TLAST_LATE) {
        return error; /* No results come of a job that was refused. */
    }
    for (uint32_t polls = POLLS; system_is_moving(); polls--) {
        if (polls == 0) {
            return EXTREMUM_TIMED_OUT; /* The packets do not reach the memory. */
        }
    }
    if (!is_direct) {
        for_each_element(output, unstage);
        if (SYSTEM_KEEPS) {
            check_tail(output);
        }
    }
    return error;
}

static enum extremum_error plan_case(const struct test_case *test)
{
    input = test->input;
    return test->pooling ? extremum_plan_pooling(&plan, &block.core, test->pooling)
                         : extremum_plan_reduction(&plan, &block.core, test->reduction);
}

/* Write into memory what stays where no job writes, and no result of an earlier case. */
static void clear_results(void)
{
    for (uint32_t i = 0; i < sizeof(staged_values) / 4; i++) {
        staged_values[i] = UNTOUCHED_WORD;
    }
    for (uint32_t i = 0; i < sizeof(staged_positions) / 4; i++) {
        staged_positions[i] = UNTOUCHED_WORD;
    }
    /* Of windows that see padding alone. */
    for (uint32_t i = 0; i < CASES_MOST_RESULTS; i++) {
        ((uint8_t *)values)[i] = 0x80;
        positions[i] = UINT32_MAX;
    }
}

/* Run an operator and compare its results. The console gets a line with the clocks. */
static bool run_case(const struct test_case *test)
{
    struct extremum_counters counters;
    uint32_t begun, planned, ended, wrong = 0;
    enum extremum_error error;
    clear_results();
    overwritten = 0;
    extremum_clear_counters(&block);
    begun = system_clocks();
    error = plan_case(test);
    planned = system_clocks();
    while (!error && extremum_next_job(&plan, &job)) {
        error = run_job(0);
    }
    ended = system_clocks();
    wrong += overwritten;
    extremum_read_counters(&block, &counters);
    for (uint32_t i = 0; i < test->results; i++) {
        wrong += positions[i] != test->positions[i];
        wrong += ((const uint8_t *)values)[i] != test->values[i];
    }
    for (uint32_t i = test->results; i < CASES_MOST_RESULTS; i++) {
        wrong += ((const uint8_t *)values)[i] != 0x80 || positions[i] != UINT32_MAX;
    }
    print_name(test->name, 30);
    print_number(counters.jobs, 6);
    print_number(planned - begun, 10);
    print_number(ended - planned, 10);
    print_number(counters.cycles, 10);
    print_number(counters.beats_in, 10);
    print_number(counters.beats_out, 10);
    print("  ");
    print(error ? extremum_error_text(error) : wrong ? "wrong results" : "right");
    print("\n");
    return !error && !wrong;
}

/* End the job that has been started by a soft reset, while the DMA sends its packet. The order is
 * that of docs/integration.md. Interrupts are disabled. */
static bool reset_while_sending(void)
{
    struct extremum_counters counters;
    bool is_within;
    extremum_clear_counters(&block);
    system_receive(
        staged_values,
        job.output.beats * VALUE_BYTES,
        staged_positions,
        job.output.beats * POSITION_BYTES
    );
    system_send(staged_input, job.input.beats * VALUE_BYTES);
    is_within = system_is_sending();
    system_stop_sending();
    extremum_read_counters(&block, &counters);
    is_within = is_within && counters.beats_in > 0 && counters.beats_in < job.input.beats;
    extremum_reset(&block);
    /* What the block has offered leaves while the receivers are there. */
    if (extremum_wait(&block, POLLS) != EXTREMUM_OK) {
        return false;
    }
    system_stop_receiving();
    return is_within && !system_is_moving();
}

/* End a job by a soft reset while nobody receives. The beat that it offers must not become the first
 * one of the next job's packet. */
static bool reset_while_offering(void)
{
    bool is_offering;
    system_send(staged_input, job.input.beats * VALUE_BYTES);
    is_offering = extremum_wait(&block, 100) == EXTREMUM_TIMED_OUT && !system_is_sending();
    system_stop_sending();
    extremum_reset(&block);
    is_offering = is_offering && extremum_is_busy(&block);
    system_receive(staged_values, VALUE_BYTES, staged_positions, POSITION_BYTES);
    is_offering = is_offering && extremum_wait(&block, POLLS) == EXTREMUM_OK;
    system_stop_receiving();
    return is_offering;
}

/* A packet that is too short is told, and the block is ready for the next job. So it is after a
 * soft reset in the middle of a job, before its packet, within it, and while nobody receives. */
static bool recovers(const struct test_case *test)
{
    bool is_right = plan_case(test) == EXTREMUM_OK && extremum_next_job(&plan, &job);
    is_right = is_right && run_job(VALUE_BYTES) == EXTREMUM_JOB_TLAST_EARLY;
    is_right = is_right && extremum_start(&block, &job) == EXTREMUM_OK;
    extremum_reset(&block);
    is_right = is_right && extremum_wait(&block, POLLS) == EXTREMUM_OK;
    if (SYSTEM_STOPS) {
        is_right = is_right && extremum_start(&block, &job) == EXTREMUM_OK;
        is_right = is_right && reset_while_sending();
        is_right = is_right && extremum_start(&block, &job) == EXTREMUM_OK;
        is_right = is_right && reset_while_offering();
    }
    print(is_right ? "A short packet and a soft reset: told, and carried out\n" : "No recovery\n");
    return is_right;
}

int main(void)
{
    bool is_right;
    enum extremum_error error = extremum_open(&block, &SYSTEM_BLOCK);
    if (error || block.core.lanes != CASES_LANES) {
        print(error ? extremum_error_text(error) : "the block has another number of lanes");
        print("\nFAIL\n");
        return 1;
    }
    is_right = recovers(&CASES[0]);
    print("                                          processor's clocks     block's\n");
    print("operator                        jobs   to plan    to run    clocks  beats in beats out\n");
    for (uint32_t i = 0; i < CASES_COUNT; i++) {
        is_right = run_case(&CASES[i]) && is_right;
    }
    print(is_right ? "PASS\n" : "FAIL\n");
    return !is_right;
}
