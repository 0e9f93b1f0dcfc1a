/* Plans poolings with the C driver: reads descriptions, and writes the registers of their jobs.
 *
 * The input is words of 32 bits: first the core, then the poolings. Of each pooling the output has
 * words of 64 bits: the number of the error, the number of jobs, and the registers of each job. If
 * the host must gather its windows, this is no error, and the output has -1 alone. */

#include "extremum.h"

#include <stdio.h>

enum { CORE_WORDS = 13, POOLING_WORDS = 21 };

static struct extremum_core core_of(const uint32_t *words)
{
    struct extremum_core core = {.data_types = {EXTREMUM_UINT8}, .data_type_count = 1};
    core.lanes = words[0];
    for (int i = 0; i < 3; i++) {
        core.max_window[i] = words[1 + i];
        core.max_dilation[i] = words[4 + i];
    }
    core.max_line = words[7];
    core.max_plane = words[8];
    core.coordinate_width = words[9];
    core.index_width = words[10];
    core.operators = words[11];
    core.padding = words[12];
    return core;
}

static struct extremum_pooling pooling_of(const uint32_t *words)
{
    struct extremum_pooling pooling = {.data_type = EXTREMUM_UINT8, .return_indices = true};
    pooling.rank = words[0];
    for (int i = 0; i < 5; i++) {
        pooling.sizes[i] = words[1 + i];
    }
    for (int i = 0; i < 3; i++) {
        pooling.window[i] = words[6 + i];
        pooling.strides[i] = words[9 + i];
        pooling.dilations[i] = words[12 + i];
        pooling.start_padding[i] = words[15 + i];
        pooling.end_padding[i] = words[18 + i];
    }
    return pooling;
}

static void put(int64_t value)
{
    fwrite(&value, sizeof value, 1, stdout);
}

int main(void)
{
    uint32_t words[CORE_WORDS > POOLING_WORDS ? CORE_WORDS : POOLING_WORDS];
    struct extremum_core core;
    if (fread(words, sizeof words[0], CORE_WORDS, stdin) != CORE_WORDS) {
        return 1;
    }
    core = core_of(words);
    while (fread(words, sizeof words[0], POOLING_WORDS, stdin) == POOLING_WORDS) {
        struct extremum_pooling pooling = pooling_of(words);
        struct extremum_plan plan;
        struct extremum_job job;
        enum extremum_error error = extremum_plan_pooling(&plan, &core, &pooling);
        if (error == EXTREMUM_NEEDS_GATHERING) {
            put(-1);
            continue;
        }
        put(error);
        if (error) {
            continue;
        }
        put((int64_t)plan.jobs);
        while (extremum_next_job(&plan, &job)) {
            fwrite(job.registers, sizeof job.registers[0], EXTREMUM_REGISTERS, stdout);
        }
    }
    return 0;
}
