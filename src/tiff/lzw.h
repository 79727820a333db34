/* SPDX-License-Identifier: MIT */
/* lzw.h: TIFF's LZW codes, highest bit first, decoded by whole strings. */
#ifndef IMGSTAT_TIFF_LZW_H
#define IMGSTAT_TIFF_LZW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes behind the input that must be readable; what they hold does not matter. */
enum { LZW_SPARE = 8 };

typedef struct Lzw Lzw;

Lzw *lzw_create(void); /* NULL: out of memory */
void lzw_destroy(Lzw *lzw);

/* Fills `to` with the first `bytes` bytes of what the n bytes at `from` stand for. False, with
 * anything in `to`: they end early or are not what every encoder writes (old codes with the lowest
 * bit first, a table that overflows, no clear code at the start). */
bool lzw_decode(Lzw *lzw, const uint8_t *from, size_t n, uint8_t *to, size_t bytes);

/* The same piece by piece, with the codes since the last clear code held decoded. */
typedef struct LzwStream LzwStream;

LzwStream *lzw_stream_create(void);         /* NULL: out of memory */
void lzw_stream_destroy(LzwStream *stream); /* accepts NULL */
void lzw_stream_begin(LzwStream *stream);   /* a new input */

/* Uses bytes of *in, writes to *out, and moves both on: until there is no room, or no whole code in
 * the input, of which up to three bytes are left then, to be given again before those that follow.
 * False: as lzw_decode, or out of memory. */
bool lzw_stream_run(LzwStream *stream, const uint8_t **in, size_t *n_in, uint8_t **out,
                    size_t *room);

#endif
