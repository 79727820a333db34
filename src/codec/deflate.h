/* SPDX-License-Identifier: MIT */
/* deflate.h: compresses a deflate stream in independent blocks. Threads compress blocks in
 * parallel, and the result does not depend on their number. */
#ifndef IMGSTAT_CODEC_DEFLATE_H
#define IMGSTAT_CODEC_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The compressor of one thread. */
typedef struct Deflater Deflater;

/* Creates a compressor. level: 0 stores; 1 to 12 searches for matches, and keeps what is smaller;
 * -1, the default, only where a sample says that they pay. fast: compresses less, and faster than
 * the default; `level` does not count. Returns NULL if memory runs out. */
Deflater *deflater_create(int level, bool fast);

/* Accepts NULL. */
void deflater_destroy(Deflater *deflater);

/* Deflaters that are kept from file to file. Threads may share them. */
typedef struct Deflaters Deflaters;

/* Returns NULL if memory runs out. */
Deflaters *deflaters_create(void);

/* Destroys the deflaters that are kept. Accepts NULL. */
void deflaters_trim(Deflaters *deflaters);

/* Call it after all deflaters have been released. Accepts NULL. */
void deflaters_destroy(Deflaters *deflaters);

/* Returns a kept deflater, or one of deflater_create. deflaters: NULL where none are kept. */
Deflater *deflaters_acquire(Deflaters *deflaters, int level, bool fast);

/* Keeps a deflater, or destroys it. deflaters: those that it was acquired from. */
void deflaters_release(Deflaters *deflaters, Deflater *deflater);

/* Returns how many bytes n bytes can become, as a block or as a whole stream. */
size_t deflate_bound(size_t n);

/* Compresses n bytes to a block that ends at a byte boundary. last: the block ends the stream; else
 * another block follows. Returns the block's size, or 0 if memory runs out. The result depends only
 * on the arguments and on the arguments of deflater_create. to: deflate_bound(n) bytes. */
size_t deflate_block(Deflater *deflater, const uint8_t *from, size_t n, bool last, uint8_t *to);

/* Says what the caller will read after the next deflate_block: as many bytes as it compresses are
 * fetched into the cache meanwhile. NULL: none. */
void deflate_fetch(Deflater *deflater, const void *next);

/* The bytes that begin a zlib stream. */
enum { DEFLATE_HEAD = 2 };
extern const uint8_t deflate_head[DEFLATE_HEAD];

/* Returns how many bytes a zlib stream of n bytes can take. */
size_t deflate_zlib_bound(size_t n);

/* Compresses n bytes to a whole zlib stream. Returns its size, or 0 if memory runs out. to:
 * deflate_zlib_bound(n) bytes. */
size_t deflate_zlib(Deflater *deflater, const uint8_t *from, size_t n, uint8_t *to);

/* Returns the Adler-32 checksum of n bytes. */
uint32_t deflate_adler(const uint8_t *from, size_t n);

/* Returns the checksum of bytes with the checksum `first`, followed by n bytes with the checksum
 * `second`. */
uint32_t deflate_adler_join(uint32_t first, uint32_t second, size_t n);

#endif
