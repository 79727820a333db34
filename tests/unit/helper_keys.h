/* SPDX-License-Identifier: MIT */
/* helper_keys.h: order keys in plain arrays, read the slow and obvious way; random numbers. */
#ifndef HELPER_KEYS_H
#define HELPER_KEYS_H

#include "device/read_request.h"
#include "helper_cpu.h" /* Random, random_next */

double random_unit(Random *random);   /* [0, 1) */
double random_normal(Random *random); /* mean 0, deviation 1, about */

typedef struct Keys {
    ImgstatSample sample;
    uint16_t channels;
    size_t n;             /* a channel */
    const uint64_t *keys; /* channel c's begin at c * n */
    size_t reads, gathered_most, ranges_most;
} Keys;

/* A FurtherReads over keys, that counts one by one. */
FurtherReads keys_reader(Keys *keys);
/* The record that a first read of these, all valid, gives; not their sums. */
Record *keys_record(const Keys *keys);
int keys_compare(const void *a, const void *b); /* for qsort */

/* The key of a value in plain C. */
uint64_t key_of_double(double value);
uint64_t key_of_float(float value);

#endif
