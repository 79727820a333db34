/* SPDX-License-Identifier: MIT */
/* common/histogram_block.cuh: what the histogram kernels of 8 and 16 bits share: how blocks agree
 * on extrema, and how a record gets them. */
#ifndef IMGSTAT_KERNELS_COMMON_HISTOGRAM_BLOCK_CUH
#define IMGSTAT_KERNELS_COMMON_HISTOGRAM_BLOCK_CUH

#include "common/warp.cuh"
#include "common/work_queue.cuh"

enum { NARROW_CHANNELS = 4 }; /* a launch measures at most so many */

/* Of one image in one launch; all zero between launches. Extrema are rank and position in one word
 * (see extremum_word), 2 c for the minimum of channel c and 2 c + 1 for its maximum. lead is that
 * of the tile in which a block met the extremum: of 16-bit samples, only blocks that lead when they
 * lead, few, look for the position in it. */
struct NarrowState {
    unsigned long long masked;
    unsigned items_done; /* reported */
    unsigned long long lead[2 * NARROW_CHANNELS], found[2 * NARROW_CHANNELS];
};

enum { NONE = 0xFFFFFFFF };

/* Rank and position in one word, so that the largest is the extremum that comes first: 17 bits of
 * rank, never 0, and 47 of inverted position. */
DEVICE unsigned long long extremum_word(int key, uint64_t at, bool largest)
{
    const uint64_t rank = (uint64_t)(largest ? key : 65535 - key) + 1;
    return rank << 47 | (((1ull << 47) - 1) - at);
}

DEVICE uint64_t extremum_at(unsigned long long word)
{
    return ((1ull << 47) - 1) - (word & ((1ull << 47) - 1));
}

DEVICE uint64_t extremum_key(unsigned long long word, bool largest)
{
    const uint64_t rank = (word >> 47) - 1;
    return largest ? rank : 65535 - rank;
}

/* Adds one channel to its tally, whose record is locked. words: of the minimum and the maximum. */
DEVICE void narrow_merge(Tally *tally, uint64_t n, uint64_t masked, unsigned long long low,
                         unsigned long long high)
{
    const uint64_t n0 = __ldcg((const unsigned long long *)&tally->n);
    const uint64_t masked0 = __ldcg((const unsigned long long *)&tally->masked);
    FoundExtrema found = {1, 0, 0, 0};
    if (low) {
        found.min_key = extremum_key(low, false);
        found.min_at = extremum_at(low);
        found.max_key = extremum_key(high, true);
        found.max_at = extremum_at(high);
    }
    tally_merge_extrema(tally, n, found);
    tally->n = n0 + n;
    tally->masked = masked0 + masked;
}

#endif
