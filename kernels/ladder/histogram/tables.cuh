/* SPDX-License-Identifier: MIT */
/* histogram/tables.cuh: the launch of rungs 2 to 5. */
#ifndef IMGSTAT_LADDER_HISTOGRAM_TABLES_CUH
#define IMGSTAT_LADDER_HISTOGRAM_TABLES_CUH

#include "ladder/ladder.h"

enum { BINS = 256 };

/* Clears the result; as many blocks as fill the machine, none with less than `tile` samples. */
static cudaError_t count_bytes(void (*kernel)(const uint8_t *, size_t, LadderCount *),
                               unsigned block, size_t tile, const LadderCall *call)
{
    const cudaError_t status = cudaMemset(call->out, 0, BINS * sizeof(LadderCount));
    if (status != cudaSuccess)
        return status;
    const size_t grid = ladder_grid(kernel, block, 0, ladder_tiles(call->n, tile));
    return ladder_launch(kernel, grid, block, call->in, call->n, call->out);
}

#endif
