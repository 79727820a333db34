/* SPDX-License-Identifier: MIT */
/* shared_text.c: texts that count their users. */
#include "record/shared_text.h"

#include <stdlib.h>
#include <string.h>

SharedText *shared_text_create(const char *text, size_t n)
{
    SharedText *const made = malloc(sizeof *made + n + 1);
    if (!made)
        return NULL;
    atomic_init(&made->users, 1);
    memcpy(made->text, text, n);
    made->text[n] = '\0';
    return made;
}

SharedText *shared_text_retain(SharedText *shared)
{
    if (shared)
        atomic_fetch_add_explicit(&shared->users, 1, memory_order_relaxed);
    return shared;
}

void shared_text_release(SharedText *shared)
{
    if (shared && atomic_fetch_sub_explicit(&shared->users, 1, memory_order_acq_rel) == 1)
        free(shared);
}
