/* SPDX-License-Identifier: MIT */
/* inflate.h: a zlib stream decompressed part by part, as fast as the libraries here can. */
#ifndef IMGSTAT_CODEC_INFLATE_H
#define IMGSTAT_CODEC_INFLATE_H

#include "base/buffer_cache.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of one stream. */
typedef struct Inflater Inflater;

/* total: bytes that the stream must hold. buffers: of its memory; NULL: it is not kept. Returns
 * NULL if memory runs out. */
Inflater *inflater_create(uint64_t total, BufferCache *buffers);

/* Accepts NULL. */
void inflater_destroy(Inflater *inflater);

typedef enum InflateState {
    INFLATE_MORE,   /* all input is used or all room is filled */
    INFLATE_END,    /* the stream has ended and its checksum holds */
    INFLATE_DAMAGED /* or out of the ordinary */
} InflateState;

/* Uses bytes of *in, writes to *out, and moves both on. Input that is left after INFLATE_END lies
 * behind the stream. */
InflateState inflater_run(Inflater *inflater, const uint8_t **in, size_t *n_in, uint8_t **out,
                          size_t *room);

/* Returns the checksum of n more bytes, as zlib's crc32. */
uint32_t inflate_crc(uint32_t crc, const uint8_t *bytes, size_t n);

#endif
