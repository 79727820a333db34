/* SPDX-License-Identifier: MIT */
/* scratch.h: large memory that the work on one image takes and gives back, kept for the next: no
 * pages go back to the system and come again, zeroed, between the two. */
#ifndef IMGSTAT_SCRATCH_H
#define IMGSTAT_SCRATCH_H

#include <stddef.h>

/* What a device keeps for itself and for those that read and write files beside it. Threads may
 * share it. */
typedef struct Scratch Scratch;

Scratch *scratch_create(void); /* NULL: out of memory */
/* Frees what is kept; blocks that are out go when they are given back. Accepts NULL. */
void scratch_destroy(Scratch *scratch);

/* As malloc, on a 64-byte boundary; scratch: NULL for memory that nobody keeps. */
void *scratch_take(Scratch *scratch, size_t bytes);
void *scratch_zeroed(Scratch *scratch, size_t n, size_t bytes); /* as calloc: n items */
/* As free: to the scratch that it was taken from. */
void scratch_give(void *memory);

/* Keeps of the blocks given back, the last ones first, what fits so many bytes; frees the others.
 */
void scratch_trim(Scratch *scratch, size_t bytes);

/* Blocks that were asked of the system so far. */
size_t scratch_made(Scratch *scratch);

#endif
