/* SPDX-License-Identifier: MIT */
/* deflate_coder.h: our own coder of deflate streams: runs of one byte or matches, and Huffman codes
 * of each block. docs/deflate-coder.md defines every bit of what it writes. */
#ifndef IMGSTAT_CODEC_DEFLATE_CODER_H
#define IMGSTAT_CODEC_DEFLATE_CODER_H

#include "base/cpu_features.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that share a code. */
enum { DEFLATE_CODER_BLOCK = 1 << 16 };

typedef enum DeflateCoding {
    DEFLATE_STORED,     /* the bytes as they are */
    DEFLATE_RUNS,       /* runs of 8 bytes and more; codes made for all bytes of a block */
    DEFLATE_RUNS_FAST,  /* runs of 16 bytes and more; codes made for an eighth of a block's bytes */
    DEFLATE_SEARCH,     /* matches at any distance, the first; codes made for all bytes */
    DEFLATE_SEARCH_FAST /* long matches at any distance, the first; codes made for all bytes */
} DeflateCoding;

/* What a thread needs. */
typedef struct DeflateCoder DeflateCoder;

/* Returns NULL if memory runs out. */
DeflateCoder *deflate_coder_create(void);

/* The same with the loops of a level that the processor supports, for tests. */
DeflateCoder *deflate_coder_create_for(CpuLevel level);

/* Accepts NULL. */
void deflate_coder_destroy(DeflateCoder *coder);

/* Returns how many bytes `to` of deflate_coder_write must have for n bytes. */
size_t deflate_coder_bound(size_t n);

/* Compresses n bytes. last: they end the deflate stream; else an empty stored block follows them,
 * so that what comes next begins with a byte of its own. Returns the number of bytes. They depend
 * on the arguments alone. */
size_t deflate_coder_write(DeflateCoder *coder, DeflateCoding coding, const uint8_t *from, size_t n,
                           bool last, uint8_t *to);

/* Says what the caller will read after the next deflate_coder_write: where writing leaves memory
 * idle, as many bytes as it compresses are fetched into the cache. NULL: none. */
void deflate_coder_fetch(DeflateCoder *coder, const void *next);

/* Computes what DEFLATE_RUNS takes for n <= DEFLATE_CODER_BLOCK bytes as a block: bits[i] for the
 * first i of them, without the block's head. A match counts at its first byte. bits: n + 1. */
void deflate_coder_bits(DeflateCoder *coder, const uint8_t *from, size_t n, uint32_t *bits);

#endif
