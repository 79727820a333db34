/* SPDX-License-Identifier: MIT */
/* histogram/4_columns.cuh: a table of 256 rows, one a value, and 32 columns, one a lane, which
 * rungs 4 and 5 fill. */
#ifndef IMGSTAT_LADDER_HISTOGRAM_4_COLUMNS_CUH
#define IMGSTAT_LADDER_HISTOGRAM_4_COLUMNS_CUH

#include "ladder/histogram/tables.cuh"

enum { WARP = 32 };

/* By all threads of a block. */
static __device__ void columns_clear(unsigned (*table)[WARP])
{
    for (unsigned k = threadIdx.x; k < BINS * WARP; k += blockDim.x)
        table[k / WARP][k % WARP] = 0;
    __syncthreads(); /* the table is clear */
}

/* Adds each row to its bin; by all threads of a block. */
static __device__ void columns_add_up(const unsigned (*table)[WARP], LadderCount *bins)
{
    __syncthreads(); /* the block has counted */
    for (unsigned v = threadIdx.x; v < BINS; v += blockDim.x) {
        LadderCount count = 0;
        for (unsigned k = 0; k < WARP; k++)
            count += table[v][(k + v) % WARP]; /* each lane begins in its own bank */
        if (count > 0)
            atomicAdd(&bins[v], count);
    }
}

#endif
