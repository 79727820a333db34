/* SPDX-License-Identifier: MIT */
/* scan/1_hillis_steele.cuh: prefix sums of tiles, by doubling the distance. */
#ifndef IMGSTAT_LADDER_SCAN_1_HILLIS_STEELE_CUH
#define IMGSTAT_LADDER_SCAN_1_HILLIS_STEELE_CUH

#include "ladder/ladder.h"

/*
 * scan_1_hillis_steele: each element adds the one `distance` before it; the distance doubles.
 *
 *   Idea      After the step of distance d, element i holds the sum of the 2d elements that end at
 *             i. Two buffers take turns, because a thread must read what its neighbour had before
 *             the step, not after.
 *   Work      about n log2(BLOCK) additions, log2(BLOCK) steps, where a serial loop has n-1
 *             additions.
 *   Memory    reads n, writes n; 2 BLOCK elements shared.
 *   Launch    <<<ceil(n / BLOCK), BLOCK>>>.
 *   Requires  in and out are the same or do not overlap: a thread reads its element before it
 *             writes it.
 *   Result    of each tile: out[i] = its elements up to and with in[i] (inclusive), and total[b],
 *             unless total is NULL; floats would be added in an order of the algorithm.
 *
 * The rung below, a reduction, throws the sums of the beginnings away.
 */
template <typename T, unsigned BLOCK>
static __global__ void __launch_bounds__(BLOCK)
    scan_1_hillis_steele(const T *in, size_t n, T *out, T *__restrict__ total)
{
    __shared__ T buffer[2][BLOCK];
    const unsigned t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * BLOCK + t;
    unsigned from = 0;

    buffer[from][t] = i < n ? in[i] : T(0);
    for (unsigned distance = 1; distance < BLOCK; distance *= 2) {
        __syncthreads(); /* `from` is complete, and nobody still reads the other */
        buffer[1 - from][t] =
            t >= distance ? buffer[from][t - distance] + buffer[from][t] : buffer[from][t];
        from = 1 - from;
    }
    if (i < n)
        out[i] = buffer[from][t]; /* its own element: no barrier */
    if (total && t == BLOCK - 1)
        total[blockIdx.x] = buffer[from][t];
}

#endif
