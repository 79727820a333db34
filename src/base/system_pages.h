/* SPDX-License-Identifier: MIT */
/* system_pages.h: advice to the system on the pages of a piece of memory. */
#ifndef IMGSTAT_BASE_SYSTEM_PAGES_H
#define IMGSTAT_BASE_SYSTEM_PAGES_H

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Gives an advice of madvise for the whole pages of a range. The system may not take it, which does
 * no harm. */
static inline void system_pages_advise(void *memory, size_t bytes, int advice)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)memory;
    const uintptr_t first = (at + page - 1) / page * page, end = (at + bytes) / page * page;
    if (end > first)
        (void)madvise((void *)first, end - first, advice);
}

#endif
