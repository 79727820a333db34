/* SPDX-License-Identifier: MIT */
/* deflate.h: a deflate stream compressed in blocks that do not depend on each other, so that
 * threads share the work and the result does not depend on who did what. */
#ifndef IMGSTAT_CODEC_DEFLATE_H
#define IMGSTAT_CODEC_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The compressor of one thread. */
typedef struct Deflater Deflater;

/* level: 0 stores, 1 to 12, -1 for the default. fast: larger output, faster than any level but 0.
 * Returns NULL if memory runs out. */
Deflater *deflater_create(int level, bool fast);

/* Accepts NULL. */
void deflater_destroy(Deflater *deflater);

/* Deflaters that are not in use, kept from file to file. Threads may share them. */
typedef struct Deflaters Deflaters;

/* Returns NULL if memory runs out. */
Deflaters *deflaters_create(void);

/* Destroys the deflaters that are kept. Accepts NULL. */
void deflaters_trim(Deflaters *deflaters);

/* All deflaters have been released. Accepts NULL. */
void deflaters_destroy(Deflaters *deflaters);

/* Returns a kept deflater, or a new one as deflater_create makes it. deflaters: NULL where none are
 * kept. */
Deflater *deflaters_acquire(Deflaters *deflaters, int level, bool fast);

/* Keeps a deflater, or destroys it. deflaters: as it was acquired from. */
void deflaters_release(Deflaters *deflaters, Deflater *deflater);

/* Returns the room that n bytes may take, as a block or as a whole stream. */
size_t deflate_bound(size_t n);

/* Compresses n bytes to whole bytes of a deflate stream: its end where `last`, else a part that
 * another may follow. Returns their number, 0 if memory runs out. Depends on nothing but its
 * arguments and how the deflater was created. to: deflate_bound(n) bytes. */
size_t deflate_block(Deflater *deflater, const uint8_t *from, size_t n, bool last, uint8_t *to);

/* Bytes that begin a zlib stream. */
enum { DEFLATE_HEAD = 2 };
extern const uint8_t deflate_head[DEFLATE_HEAD];

/* Returns the room that a zlib stream of n bytes may take. */
size_t deflate_zlib_bound(size_t n);

/* Compresses n bytes to a whole zlib stream. Returns its size, 0 if memory runs out. to:
 * deflate_zlib_bound(n) bytes. */
size_t deflate_zlib(Deflater *deflater, const uint8_t *from, size_t n, uint8_t *to);

/* Returns the check of a zlib stream of n bytes. */
uint32_t deflate_adler(const uint8_t *from, size_t n);

/* Returns the check of bytes whose check is `first`, followed by n bytes whose check is `second`.
 */
uint32_t deflate_adler_join(uint32_t first, uint32_t second, size_t n);

#endif
