/* SPDX-License-Identifier: MIT */
/* ladder/read_all.cuh: the read ceiling of this machine, for the ladder and for imgstat-bench. */
#ifndef IMGSTAT_LADDER_READ_ALL_CUH
#define IMGSTAT_LADDER_READ_ALL_CUH

#include <cuda_runtime.h>
#include <stddef.h>

enum { READ_BLOCK = 512, READ_UNROLL = 8 };

/*
 * read_all: reads and keeps almost nothing.
 *
 *   Idea      16-byte loads, READ_UNROLL in flight a thread, a grid that fills the machine; the words
 *             are combined by exclusive or, so that no load can be left out.
 *   Memory    reads n vectors once, one atomic a warp.
 *   Launch    <<<multiprocessors * resident blocks, READ_BLOCK>>>.
 *   Requires  in aligned to 16 bytes; *out zeroed.
 *   Result    *out ^= all 32-bit words.
 */
static __global__ void __launch_bounds__(READ_BLOCK)
    read_all(const uint4 *__restrict__ in, size_t n, unsigned *__restrict__ out)
{
    const size_t threads = (size_t)gridDim.x * READ_BLOCK;
    size_t i = (size_t)blockIdx.x * READ_BLOCK + threadIdx.x;
    unsigned all = 0;
    for (; i + (READ_UNROLL - 1) * threads < n; i += READ_UNROLL * threads) {
        uint4 v[READ_UNROLL];
#pragma unroll
        for (int k = 0; k < READ_UNROLL; k++)
            v[k] = __ldg(&in[i + k * threads]);
#pragma unroll
        for (int k = 0; k < READ_UNROLL; k++)
            all ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    for (; i < n; i += threads)
        all ^= in[i].x ^ in[i].y ^ in[i].z ^ in[i].w;
    for (int offset = 16; offset > 0; offset /= 2)
        all ^= __shfl_xor_sync(0xFFFFFFFFu, all, offset);
    if (threadIdx.x % 32 == 0)
        atomicXor(out, all);
}

#endif
