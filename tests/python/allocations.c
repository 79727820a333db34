/* SPDX-License-Identifier: MIT */
/* allocations.c: preloaded into a Python by test_allocations.py, lets one allocation of the process
 * fail. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_long counted, failing; /* failing: which one does, from 1; 0: none, nothing counts */

/* Both are called by the test. allocation_end returns how many allocations there were. */
void allocation_fail(long which);
long allocation_end(void);

void allocation_fail(long which)
{
    atomic_store(&counted, 0);
    atomic_store(&failing, which);
}

long allocation_end(void)
{
    atomic_store(&failing, 0);
    return atomic_load(&counted);
}

static int refused(void)
{
    const long which = atomic_load(&failing);
    if (which == 0 || atomic_fetch_add(&counted, 1) + 1 != which)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return refused() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return refused() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return refused() ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return refused() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *const memory = aligned_alloc(alignment, bytes);
    if (memory)
        *out = memory;
    return memory ? 0 : ENOMEM;
}
