/* SPDX-License-Identifier: MIT */
/* heap.c: sets how much memory malloc keeps. */
#include "imgstat.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

void imgstat_heap_keep(uint64_t memory)
{
#ifdef __GLIBC__
    /* In single blocks, and at the end of each thread's heap, where malloc_trim does not reach. */
    enum { BLOCK = 8 << 20, TOP = 2 << 20, LEAST = 128 << 10, SHARE = 512 };
    const uint64_t share = memory / SHARE > LEAST ? memory / SHARE : LEAST;
    mallopt(M_MMAP_THRESHOLD, memory > 0 && share < BLOCK ? (int)share : BLOCK);
    mallopt(M_TRIM_THRESHOLD, memory > 0 && share < TOP ? (int)share : TOP);
#else
    (void)memory;
#endif
}
