/* SPDX-License-Identifier: MIT */
/* shared_text.h: a text that many records refer to, such as the name of a file. */
#ifndef IMGSTAT_RECORD_SHARED_TEXT_H
#define IMGSTAT_RECORD_SHARED_TEXT_H

#include <stdatomic.h>
#include <stddef.h>

/* A text that does not change. Any thread may retain and release it. */
typedef struct SharedText {
    atomic_size_t users;
    char text[];
} SharedText;

/* Returns a copy of n bytes of text that has one user; NULL if memory runs out. */
SharedText *shared_text_create(const char *text, size_t n);

/* Adds a user. Accepts NULL. */
SharedText *shared_text_retain(SharedText *shared);

/* Removes a user; the last one frees the text. Accepts NULL. */
void shared_text_release(SharedText *shared);

/* Returns the text; "" of NULL. */
static inline const char *shared_text_of(const SharedText *shared)
{
    return shared ? shared->text : "";
}

#endif
