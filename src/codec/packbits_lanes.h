/* SPDX-License-Identifier: MIT */
/* packbits_lanes.h: decompresses PackBits by 32 lanes: what a kernel does, and the same in C. */
#ifndef IMGSTAT_CODEC_PACKBITS_LANES_H
#define IMGSTAT_CODEC_PACKBITS_LANES_H

#include "codec/lanes.h"

/* Decompresses rows of `row` bytes, n_out bytes in all; what follows does not count. Returns false
 * if the input ends early or a run does not end with its row, which libtiff treats in more than one
 * way; and for bytes that stand for nothing, so that each step gives a byte. */
LANES_INLINE bool packbits_by_lanes(const uint8_t *in, uint32_t n_in, uint8_t *out, uint32_t n_out,
                                    uint32_t row)
{
    enum { NOTHING = 128 };
    for (uint32_t at = 0, done = 0, left = row; done < n_out;) {
        const unsigned head = at < n_in ? in[at++] : NOTHING;
        const bool repeats = head > NOTHING;
        const uint32_t n = repeats ? 257 - head : head + 1, used = repeats ? 1 : n;
        if (head == NOTHING || n > left || n > n_out - done || used > n_in - at)
            return false;
        for (unsigned lane = lanes_first(); lane < LANES; lane += LANES_STEP)
            for (uint32_t i = lane; i < n; i += LANES)
                out[done + i] = in[at + (repeats ? 0 : i)];
        at += used;
        done += n;
        left = left == n ? row : left - n;
    }
    return true;
}

#endif
