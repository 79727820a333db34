/* SPDX-License-Identifier: MIT */
/* digest.h: hashes of names and bytes. */
#ifndef IMGSTAT_RECORD_DIGEST_H
#define IMGSTAT_RECORD_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* A hash of many texts in any order: the sum of their hashes modulo 2^128. All zero: of no texts.
 */
typedef struct Digest {
    uint64_t low, high;
} Digest;

/* Adds a text, by its XXH3 hash of 128 bits. */
void digest_add_text(Digest *digest, const char *text);

/* Adds the texts of another digest. */
void digest_add(Digest *into, const Digest *from);

/* Returns the XXH3 hash of 64 bits of n bytes. */
uint64_t digest_checksum(const void *bytes, size_t n);

#endif
