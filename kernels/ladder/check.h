/* SPDX-License-Identifier: MIT */
/* ladder/check.h: the rungs in order, inputs for them, and the serial loops that judge them. */
#ifndef IMGSTAT_LADDER_CHECK_H
#define IMGSTAT_LADDER_CHECK_H

#include "ladder/ladder.h"

typedef struct LadderGroup {
    const char *name;
    const LadderRung *const *rungs; /* bottom to top, ended by NULL */
} LadderGroup;

extern const LadderGroup ladder_groups[]; /* ended by a name that is NULL */

typedef struct LadderKindInfo {
    const char *name;
    size_t sample_bytes, result_bytes;
    bool writes; /* as many bytes as it reads */
} LadderKindInfo;

extern const LadderKindInfo ladder_kinds[LADDER_KINDS];

/* RAMP has a prime period, SAME is one value: the worst for counters, and negative where samples
 * can be, so that padding with 0 shows. All sums are exact in double. */
typedef enum LadderPattern {
    LADDER_NOISE,
    LADDER_RAMP,
    LADDER_SAME,
    LADDER_PATTERNS
} LadderPattern;

/* An input on host and device, and what the serial loop makes of it. */
typedef struct LadderCase {
    LadderKind kind;
    size_t n;
    void *host, *device;
    uint8_t host_table[256], *device_table;
    unsigned char *expected; /* for the rung of the last trial */
    size_t expected_bytes, tile;
    bool exclusive;
    double serial_ms; /* of the loop that made `expected` */
} LadderCase;

cudaError_t ladder_case_create(LadderKind kind, LadderPattern pattern, size_t n, uint64_t seed,
                               LadderCase *c);
void ladder_case_release(LadderCase *c);

/* A rung about to run on a case: its outputs between guards, poisoned. */
typedef struct LadderTrial {
    const LadderRung *rung;
    LadderCall call;
    unsigned char *out, *scratch; /* with their guards */
    size_t out_bytes, scratch_bytes;
} LadderTrial;

cudaError_t ladder_trial_create(LadderCase *c, const LadderRung *rung, unsigned block,
                                LadderTrial *trial);
void ladder_trial_release(LadderTrial *trial);
cudaError_t ladder_trial_run(const LadderCase *c, const LadderTrial *trial);
/* Whether the output is equal to the serial loop's, byte for byte, and the guards are whole. */
cudaError_t ladder_trial_right(const LadderCase *c, const LadderTrial *trial, bool *right);

#endif
