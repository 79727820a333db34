/* SPDX-License-Identifier: MIT */
/* deflate.h: compresses a deflate stream in pieces that know nothing of each other, so that threads
 * share them out and the result does not depend on who did what. */
#ifndef IMGSTAT_CODEC_DEFLATE_H
#define IMGSTAT_CODEC_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One thread's means. */
typedef struct Deflater Deflater;

/* level: 0 stores, 1 to 12, -1 for the default; fast: larger and faster than any level but 0. NULL
 * where memory runs out. */
Deflater *deflater_create(int level, bool fast);
void deflater_destroy(Deflater *deflater); /* accepts NULL */

/* Deflaters that are not in use, kept from file to file. Threads may share them. */
typedef struct Deflaters Deflaters;

Deflaters *deflaters_create(void);            /* NULL: out of memory */
void deflaters_trim(Deflaters *deflaters);    /* destroys those that are kept; accepts NULL */
void deflaters_destroy(Deflaters *deflaters); /* accepts NULL; all have been given back */
/* As deflater_create and deflater_destroy; deflaters: NULL where none are kept. */
Deflater *deflaters_take(Deflaters *deflaters, int level, bool fast);
void deflaters_give(Deflaters *deflaters, Deflater *deflater);

/* Room that n bytes may take, as a piece or as a whole stream. */
size_t deflate_bound(size_t n);

/* Compresses n bytes to whole bytes of a deflate stream: its end where `last`, else a part that
 * another may follow. Returns their number; 0 where memory runs out. Depends on nothing but its
 * arguments and how the deflater was created. to: deflate_bound(n) bytes. */
size_t deflate_piece(Deflater *deflater, const uint8_t *from, size_t n, bool last, uint8_t *to);

/* Bytes that begin a zlib stream. */
enum { DEFLATE_HEAD = 2 };
extern const uint8_t deflate_head[DEFLATE_HEAD];

/* A whole zlib stream of n bytes. As deflate_piece; to: deflate_zlib_bound(n) bytes. */
size_t deflate_zlib_bound(size_t n);
size_t deflate_zlib(Deflater *deflater, const uint8_t *from, size_t n, uint8_t *to);

/* The check of a zlib stream: of some bytes, and of bytes followed by n more. */
uint32_t deflate_adler(const uint8_t *from, size_t n);
uint32_t deflate_adler_join(uint32_t first, uint32_t second, size_t n);

#endif
