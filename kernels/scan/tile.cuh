/* SPDX-License-Identifier: MIT */
/* scan/tile.cuh: what the two scanning kernels share: what tiles publish, how far a tile looks
 * back, and the scan of what a warp holds. */
#ifndef IMGSTAT_KERNELS_SCAN_TILE_CUH
#define IMGSTAT_KERNELS_SCAN_TILE_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "common/warp.cuh"

/* What a tile has published: nothing yet, its own sum, or the sum of everything up to its end.
 * 31 or 32 bits of value a word, so that one 8-byte store publishes flag and value together; 64-bit
 * sums take two words, each with the flag. */
enum { EMPTY = 0, AGGREGATE = 1, PREFIX = 2 };

struct Published {
    unsigned flag;
    uint64_t value;
};

DEVICE void publish(unsigned long long *status, uint64_t tile, unsigned flag, uint32_t value)
{
    *(volatile unsigned long long *)&status[tile] = (unsigned long long)flag << 32 | value;
}

DEVICE void publish(unsigned long long *status, uint64_t tile, unsigned flag,
                    unsigned long long value)
{
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(&status[2 * tile]),
                 "l"((unsigned long long)flag << 32 | (value & 0xFFFFFFFFu)),
                 "l"((unsigned long long)flag << 32 | value >> 32)
                 : "memory");
}

/* Both words must have the same flag; a tile goes from AGGREGATE to PREFIX word by word. */
template <typename T> DEVICE Published read_status(const unsigned long long *status, uint64_t tile)
{
    if constexpr (sizeof(T) == 4) {
        const unsigned long long word = *(const volatile unsigned long long *)&status[tile];
        return Published{(unsigned)(word >> 32), word & 0xFFFFFFFFu};
    } else {
        unsigned long long low, high;
        asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(low), "=l"(high)
                     : "l"(&status[2 * tile])
                     : "memory");
        const unsigned flag = (unsigned)(low >> 32);
        return Published{flag == (unsigned)(high >> 32) ? flag : (unsigned)EMPTY,
                         (high & 0xFFFFFFFFu) << 32 | (low & 0xFFFFFFFFu)};
    }
}

/* The sum of all tiles before this one: one warp looks at 32 DEEP predecessors at a time. Spins
 * until they have published; tiles are handed out in order, so every predecessor runs or has run.
 */
template <typename T, int DEEP> DEVICE T look_back(const unsigned long long *status, uint64_t tile)
{
    const unsigned lane = threadIdx.x % 32;
    T sum = 0;
    for (uint64_t end = tile;; end -= 32 * DEEP) { /* tiles below end are still to be added */
        Published seen[DEEP];
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            seen[k] = Published{PREFIX, 0};
            if (32 * k + lane < end)
                seen[k] = read_status<T>(status, end - 1 - 32 * k - lane);
        }
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            while (seen[k].flag == EMPTY)
                seen[k] = read_status<T>(status, end - 1 - 32 * k - lane);
            const unsigned all = __ballot_sync(0xFFFFFFFFu, seen[k].flag == PREFIX);
            const unsigned last = all ? __ffs((int)all) - 1 : 31; /* no need to look further */
            sum += warp_sum(lane <= last ? (T)seen[k].value : (T)0);
            if (all)
                return sum;
        }
    }
}

template <typename T> struct alignas(16) Vector {
    T item[16 / sizeof(T)];
};

/* ROWS vectors a lane, a row being one vector of each lane: each vector is scanned in place, and
 * offset[r] is the sum of what comes before the lane's vector of row r. Returns the sum of all. */
template <typename T, int ROWS> DEVICE T scan_rows(Vector<T> (&v)[ROWS], T (&offset)[ROWS])
{
    enum { VECTOR = 16 / sizeof(T) };
    T before = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int e = 1; e < VECTOR; e++)
            v[r].item[e] += v[r].item[e - 1];
        const T own = v[r].item[VECTOR - 1];
        const T sum = warp_inclusive(own);
        offset[r] = before + sum - own;
        before += __shfl_sync(0xFFFFFFFFu, sum, 31);
    }
    return before;
}

/* Turns a vector that scan_rows has scanned into results: add comes before it. */
template <typename T> DEVICE void finish_vector(Vector<T> &v, T add, bool inclusive)
{
    T previous = add;
#pragma unroll
    for (int e = 0; e < (int)(16 / sizeof(T)); e++) {
        const T sum = v.item[e] + add;
        v.item[e] = inclusive ? sum : previous;
        previous = sum;
    }
}

#endif
