/* SPDX-License-Identifier: MIT */
/* partition.h: divides keys at a pivot. */
#ifndef IMGSTAT_RECORD_PARTITION_H
#define IMGSTAT_RECORD_PARTITION_H

#include "base/cpu_features.h"
#include "base/isa.h"

#include <stddef.h>
#include <stdint.h>

/* Copies n keys, those below the pivot first. Returns how many are below it. */
typedef size_t KeySplit(const void *from, size_t n, uint64_t pivot, void *to);

typedef KeySplit *KeySplitOf(unsigned bytes);
extern KeySplitOf key_split_portable, key_split_avx2, key_split_avx512;

/* Returns the function for keys of 4 or 8 bytes. NULL: this instruction set has none that is faster
 * than distributing keys by digits. */
static inline KeySplit *key_split(unsigned bytes)
{
    static KeySplitOf *const of[] = ISA_TABLE(key_split);
    return of[cpu_features_level()](bytes);
}

#endif
