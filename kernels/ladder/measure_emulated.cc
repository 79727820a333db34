/* SPDX-License-Identifier: MIT */
/* measure_emulated.cc: what the emulator counted. Its times would say nothing of a GPU. */
#include "ladder/measure.h"

#include <inttypes.h>
#include <stdio.h>

const char *measure_open(void)
{
    return NULL;
}

cudaError_t measure_machine(char *text, size_t size)
{
    snprintf(text, size,
             "Emulated on the CPU: each rung is right for this input, and this is what it did");
    return cudaSuccess;
}

void measure_heads(MeasureCells heads)
{
    static const char *const texts[] = {"launches", "blocks",    "threads",
                                        "barriers", "exchanges", "atomics"};
    for (int k = 0; k < MEASURE_CELLS; k++)
        snprintf(heads[k], MEASURE_CELL, "%s", texts[k]);
}

cudaError_t measure_trial(const LadderCase *, const LadderTrial *, MeasureCells cells)
{
    const EmulateCounts *const e = &emulate_counts; /* of the run that was checked */
    const uint64_t counts[] = {e->launches, e->blocks,    e->threads,
                               e->barriers, e->exchanges, e->atomics};
    for (int k = 0; k < MEASURE_CELLS; k++)
        snprintf(cells[k], MEASURE_CELL, "%" PRIu64, counts[k]);
    emulate_counts = {};
    return cudaSuccess;
}

size_t measure_samples(LadderKind)
{
    return 10007; /* a prime: no tile divides it */
}
