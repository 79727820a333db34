/* SPDX-License-Identifier: MIT */
/* clahe_levels.h: pixels of a row between the tables of four tiles as OpenCV and scikit-image mix
 * them: the bits of clahe_opencv and clahe_skimage, many at a time. */
#ifndef IMGSTAT_CPU_CLAHE_LEVELS_H
#define IMGSTAT_CPU_CLAHE_LEVELS_H

#include "base/cpu_features.h"
#include "transfer/clahe_math.h"

/* What four tables have at one place, side by side: one load where there were four, of which each
 * may miss the cache. Levels are below 2^16; in the lower half of a member is the left tile's. */
typedef struct ClaheLevels {
    uint32_t upper, lower;
} ClaheLevels;

static inline ClaheLevels clahe_levels_at(const uint32_t *const table[4], size_t place)
{
    return (ClaheLevels){table[0][place] | table[1][place] << 16,
                         table[2][place] | table[3][place] << 16};
}

/* rintf of 0 <= x < 2^22, without a call: a sum with this one has no place for fractions. */
static inline float clahe_rounded(float x)
{
    const float whole = 0x1.8p23f;
    return x + whole - whole;
}

typedef struct ClaheLevelsLoops {
    /* Levels at places [begin, end) of the four tables: upper left, upper right, lower left, lower
     * right. */
    void (*join)(const uint32_t *const table[4], size_t begin, size_t end, ClaheLevels *levels);
    /* clahe_opencv of the levels at n places, one after another across. */
    void (*opencv)(const ClaheLevels *levels, const uint16_t *place, size_t n,
                   const float *x_weight, float y_weight, uint32_t bins, uint16_t *out);
    /* clahe_skimage of them: grays, which are below 2^16. */
    void (*skimage)(const ClaheLevels *levels, const uint16_t *place, size_t n,
                    const double *x_part, double y_part, uint16_t *out);
} ClaheLevelsLoops;

const ClaheLevelsLoops *clahe_levels_of(CpuLevel level);
/* Those for cpu_features_level(). */
const ClaheLevelsLoops *clahe_levels(void);

#endif
