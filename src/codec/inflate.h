/* SPDX-License-Identifier: MIT */
/* inflate.h: decompresses a zlib stream step by step. */
#ifndef IMGSTAT_CODEC_INFLATE_H
#define IMGSTAT_CODEC_INFLATE_H

#include "base/buffer_cache.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of one stream. */
typedef struct Inflater Inflater;

/* Begins a stream. total: decompressed bytes of the stream. buffers: for its memory; NULL: memory
 * is not kept. Returns NULL if memory runs out. */
Inflater *inflater_create(uint64_t total, BufferCache *buffers);

/* Accepts NULL. */
void inflater_destroy(Inflater *inflater);

typedef enum InflateState {
    INFLATE_MORE,   /* all input is used or the output is full */
    INFLATE_END,    /* the stream has ended and its checksum is right */
    INFLATE_DAMAGED /* the stream is damaged or unusual */
} InflateState;

/* Decompresses from *in to *out and advances both. Input that is left after INFLATE_END does not
 * belong to the stream. room: bytes left at *out. */
InflateState inflater_run(Inflater *inflater, const uint8_t **in, size_t *n_in, uint8_t **out,
                          size_t *room);

/* Bytes of a zlib stream before and behind its deflate data. */
enum { ZLIB_HEAD = 2, ZLIB_TAIL = 4, ZLIB_FRAME = ZLIB_HEAD + ZLIB_TAIL };

/* Reads what is around the deflate data of a zlib stream of `bytes` bytes: the largest distance and
 * the Adler-32. Returns false if it is no such stream, or needs a dictionary. */
bool inflate_read_frame(const uint8_t *stream, size_t bytes, uint32_t *window, uint32_t *adler);

/* Returns whether a stream of `total` bytes may begin like this: deflate, without a dictionary,
 * with a window that holds every possible distance. */
bool inflate_head_is_usual(const uint8_t head[2], uint64_t total);

/* Returns the checksum of n more bytes, as zlib's crc32. */
uint32_t inflate_crc(uint32_t crc, const uint8_t *bytes, size_t n);

#endif
