/* SPDX-License-Identifier: MIT */
/* lzw.h: TIFF's LZW codes, highest bit first, decoded by whole strings. */
#ifndef IMGSTAT_TIFF_LZW_H
#define IMGSTAT_TIFF_LZW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes behind the input that must be readable; what they hold does not matter. */
enum { LZW_SPARE = 8 };

/* A decoder of whole inputs. */
typedef struct Lzw Lzw;

/* Returns NULL if memory runs out. */
Lzw *lzw_create(void);

/* Accepts NULL. */
void lzw_destroy(Lzw *lzw);

/* Fills `to` with the first `bytes` bytes that the n bytes at `from` stand for. Returns false, with
 * anything in `to`, where they end early or are not what every encoder writes: old codes with the
 * lowest bit first, a table that overflows, no clear code at the start. */
bool lzw_decode(Lzw *lzw, const uint8_t *from, size_t n, uint8_t *to, size_t bytes);

/* A decoder of inputs that come part by part. It holds what it decoded since the last clear code.
 */
typedef struct LzwStream LzwStream;

/* Returns NULL if memory runs out. */
LzwStream *lzw_stream_create(void);

/* Accepts NULL. */
void lzw_stream_destroy(LzwStream *stream);

/* Begins a new input. */
void lzw_stream_begin(LzwStream *stream);

/* Uses bytes of *in, writes to *out, and moves both on, until there is no room or no whole code in
 * the input. Up to three bytes are left then; they come again in front of those that follow.
 * Returns false as lzw_decode does, or if memory runs out. */
bool lzw_stream_run(LzwStream *stream, const uint8_t **in, size_t *n_in, uint8_t **out,
                    size_t *room);

#endif
