/* SPDX-License-Identifier: MIT */
/* 08_scan_hillis_steele.cu: prefix sums of what one block holds, by doubling the distance. */
#include "ladder.h"

/*
 * scan_1_hillis_steele: each element adds the one `distance` before it; the distance doubles.
 *
 *   Idea      After the step of distance d, element i holds the sum of the 2d elements that end at
 *             i. Two buffers take turns, because a thread must read what its neighbour had before
 *             the step, not after.
 *   Work      about n log2(n) additions, ceil(log2 n) steps, where a serial loop has n-1 additions.
 *   Memory    reads n, writes n; 2 BLOCK elements shared.
 *   Launch    <<<1, BLOCK>>>.
 *   Requires  1 <= n <= BLOCK.
 *   Result    out[i] = in[0] + ... + in[i] (inclusive); floats in an order of the algorithm.
 *
 * The rung below, a reduction, throws the sums of the beginnings away.
 */
enum { BLOCK = 1024 };

template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    scan_1_hillis_steele(const T *__restrict__ in, unsigned n, T *__restrict__ out)
{
    __shared__ T buffer[2][BLOCK];
    const unsigned t = threadIdx.x;
    unsigned from = 0;

    buffer[from][t] = t < n ? in[t] : T(0);
    for (unsigned distance = 1; distance < n; distance *= 2) {
        __syncthreads(); /* `from` is complete, and nobody still reads the other */
        buffer[1 - from][t] =
            t >= distance ? buffer[from][t - distance] + buffer[from][t] : buffer[from][t];
        from = 1 - from;
    }
    if (t < n)
        out[t] = buffer[from][t]; /* its own element: no barrier */
}

template <typename T> static cudaError_t launch_hillis_steele(const LadderCall *call)
{
    if (call->n > BLOCK)
        return cudaErrorInvalidValue;
    if (call->n == 0)
        return cudaSuccess;
    scan_1_hillis_steele<T>
        <<<1, BLOCK, 0, call->stream>>>((const T *)call->in, (unsigned)call->n, (T *)call->out);
    return cudaGetLastError();
}

static size_t scratch_bytes(size_t)
{
    return 0;
}

const LadderScan ladder_scan_hillis_steele = {
    "scan_1_hillis_steele",
    "distance doubles; two buffers take turns; one block",
    "n log2 n",
    "log2 n",
    BLOCK,
    true,
    false,
    scratch_bytes,
    {launch_hillis_steele<uint32_t>, launch_hillis_steele<uint64_t>, launch_hillis_steele<float>},
};
