/* SPDX-License-Identifier: MIT */
/* histogram/3_vector.cuh: the loop over samples of rungs 3 to 5. */
#ifndef IMGSTAT_LADDER_HISTOGRAM_3_VECTOR_CUH
#define IMGSTAT_LADDER_HISTOGRAM_3_VECTOR_CUH

#include "ladder/histogram/tables.cuh"

enum { VECTOR = 16 };

template <unsigned STRIDE> static __device__ void count_word(unsigned word, unsigned *mine)
{
    for (unsigned k = 0; k < 4; k++)
        atomicAdd(&mine[(word >> (8 * k) & 0xFF) * STRIDE], 1u);
}

/* Counts this thread's samples: value v in mine[v * STRIDE]. in is aligned to 16 bytes. */
template <unsigned STRIDE>
static __device__ void count_samples(const uint8_t *__restrict__ in, size_t n, unsigned *mine)
{
    const size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    const uint4 *const body = (const uint4 *)in;
    const size_t vectors = n / VECTOR, tail = vectors * VECTOR;

    uint4 next = thread < vectors ? body[thread] : uint4();
    for (size_t i = thread; i < vectors; i += threads) {
        const uint4 v = next;
        if (i + threads < vectors)
            next = body[i + threads]; /* on its way while this one is counted */
        count_word<STRIDE>(v.x, mine);
        count_word<STRIDE>(v.y, mine);
        count_word<STRIDE>(v.z, mine);
        count_word<STRIDE>(v.w, mine);
    }
    if (tail + thread < n)
        atomicAdd(&mine[in[tail + thread] * STRIDE], 1u);
}

#endif
