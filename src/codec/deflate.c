/* SPDX-License-Identifier: MIT */
/* deflate.c: chooses the compressor of a block, and makes blocks that others can follow. */
#include "codec/deflate.h"

#include "codec/deflate_coder.h"
#include "codec/match_gain.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#ifdef IMGSTAT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

struct Deflater {
    int level; /* -1: the default */
    bool fast;
    Deflater *next; /* of Deflaters */
    DeflateCoder *coder;
    MatchGain gain;
    uint8_t *spare; /* the other way's block, or libdeflate's block decompressed */
    size_t spare_bytes;
    z_stream zlib; /* decompresses libdeflate's blocks; without libdeflate compresses */
    bool zlib_ready;
#ifdef IMGSTAT_WITH_LIBDEFLATE
    struct libdeflate_compressor *compressor;
#endif
};

const uint8_t deflate_head[DEFLATE_HEAD] = {0x78, 0x9C}; /* a window of 32 KiB */

size_t deflate_bound(size_t n)
{
    return deflate_coder_bound(n) + n / 16; /* libdeflate, zlib: stored blocks of 4 KiB at least */
}

Deflater *deflater_create(int level, bool fast)
{
    Deflater *const d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->level = level;
    d->fast = fast;
    d->coder = deflate_coder_create();
    if (d->coder)
        return d;
    free(d);
    return NULL;
}

void deflater_destroy(Deflater *d)
{
    if (!d)
        return;
#ifdef IMGSTAT_WITH_LIBDEFLATE
    if (d->zlib_ready)
        inflateEnd(&d->zlib);
    libdeflate_free_compressor(d->compressor);
#else
    if (d->zlib_ready)
        deflateEnd(&d->zlib);
#endif
    deflate_coder_destroy(d->coder);
    free(d->spare);
    free(d);
}

/* ---- Kept deflaters ---- */

struct Deflaters {
    pthread_mutex_t lock;
    Deflater *kept;
};

Deflaters *deflaters_create(void)
{
    Deflaters *const all = calloc(1, sizeof *all);
    if (all)
        pthread_mutex_init(&all->lock, NULL); /* cannot fail with default attributes on Linux */
    return all;
}

void deflaters_trim(Deflaters *all)
{
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    while (all->kept) {
        Deflater *const d = all->kept;
        all->kept = d->next;
        deflater_destroy(d);
    }
    pthread_mutex_unlock(&all->lock);
}

void deflaters_destroy(Deflaters *all)
{
    if (!all)
        return;
    deflaters_trim(all);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

Deflater *deflaters_acquire(Deflaters *all, int level, bool fast)
{
    Deflater *found = NULL;
    if (all) {
        pthread_mutex_lock(&all->lock);
        Deflater **at = &all->kept;
        while (*at && ((*at)->level != level || (*at)->fast != fast))
            at = &(*at)->next;
        found = *at;
        if (found)
            *at = found->next;
        pthread_mutex_unlock(&all->lock);
    }
    return found ? found : deflater_create(level, fast);
}

void deflaters_release(Deflaters *all, Deflater *d)
{
    if (!all || !d) {
        deflater_destroy(d);
        return;
    }
    pthread_mutex_lock(&all->lock);
    d->next = all->kept;
    all->kept = d;
    pthread_mutex_unlock(&all->lock);
}

static bool spare_room(Deflater *d, size_t bytes)
{
    if (bytes <= d->spare_bytes)
        return true;
    free(d->spare);
    d->spare = malloc(bytes);
    d->spare_bytes = d->spare ? bytes : 0;
    return d->spare != NULL;
}

/* ---- Matches ---- */

#ifdef IMGSTAT_WITH_LIBDEFLATE

/* Makes a stream of libdeflate, which is always complete, one that more blocks may follow. Decoding
 * finds the head of its last block, whose final bit is cleared; an empty stored block then ends the
 * stream at a byte boundary. Returns the new length, or 0 on failure. */
static size_t open_end(Deflater *d, uint8_t *bytes, size_t n, size_t decoded)
{
    z_stream *const z = &d->zlib;
    if (!spare_room(d, decoded + 1))
        return 0;
    if (!d->zlib_ready ? inflateInit2(z, -15) != Z_OK : inflateReset(z) != Z_OK)
        return 0;
    d->zlib_ready = true;
    z->next_in = bytes;
    z->avail_in = (uInt)n;
    z->next_out = d->spare;
    z->avail_out = (uInt)decoded + 1;
    for (uint64_t head = 0;;) {
        if (inflate(z, Z_BLOCK) != Z_OK || !(z->data_type & 128))
            return 0;
        const unsigned unused = (unsigned)z->data_type & 7;
        if (z->data_type & 64) {
            static const uint8_t empty[5] = {0, 0, 0, 0xFF, 0xFF};
            const size_t first = unused >= 3 ? 1 : 0; /* its head fits the last byte */
            bytes[head / 8] &= (uint8_t) ~(1u << head % 8);
            memcpy(bytes + n, empty + first, sizeof empty - first);
            return n + sizeof empty - first;
        }
        head = (uint64_t)z->total_in * 8 - unused;
    }
}

static size_t by_matches(Deflater *d, const uint8_t *from, size_t n, bool last, uint8_t *to)
{
    if (!d->compressor)
        d->compressor = libdeflate_alloc_compressor(d->level > 12 ? 12 : d->level);
    if (!d->compressor)
        return 0;
    const size_t bytes =
        libdeflate_deflate_compress(d->compressor, from, n, to, deflate_bound(n) - 8);
    return last || bytes == 0 ? bytes : open_end(d, to, bytes, n);
}

#else

static size_t by_matches(Deflater *d, const uint8_t *from, size_t n, bool last, uint8_t *to)
{
    z_stream *const z = &d->zlib;
    const int level = d->level > 9 ? 9 : d->level;
    if (d->zlib_ready ? deflateReset(z) != Z_OK
                      : deflateInit2(z, level, Z_DEFLATED, -15, 9, Z_FILTERED) != Z_OK)
        return 0;
    d->zlib_ready = true;
    z->next_in = (Bytef *)(uintptr_t)from;
    z->avail_in = (uInt)n;
    z->next_out = to;
    z->avail_out = (uInt)deflate_bound(n);
    const int result = deflate(z, last ? Z_FINISH : Z_FULL_FLUSH);
    if (result != (last ? Z_STREAM_END : Z_OK) || z->avail_in > 0 || z->avail_out == 0)
        return 0;
    return deflate_bound(n) - z->avail_out;
}

#endif

/* ---- The choice ---- */

/* Searches for matches by the level. Keeps what is smaller, that or runs. */
static size_t smaller(Deflater *d, const uint8_t *from, size_t n, bool last, uint8_t *to)
{
    if (!spare_room(d, deflate_bound(n)))
        return 0;
    const size_t matches = by_matches(d, from, n, last, to);
    if (matches == 0)
        return 0;
    const size_t runs = deflate_coder_write(d->coder, DEFLATE_RUNS, from, n, last, d->spare);
    if (matches <= runs)
        return matches;
    memcpy(to, d->spare, runs);
    return runs;
}

size_t deflate_block(Deflater *d, const uint8_t *from, size_t n, bool last, uint8_t *to)
{
    if (d->level == 0 && !d->fast)
        return deflate_coder_write(d->coder, DEFLATE_STORED, from, n, last, to);
    if (d->level > 0 && !d->fast)
        return smaller(d, from, n, last, to);
    const bool pays = match_gain_pays(&d->gain, d->coder, from, n, d->fast);
    const DeflateCoding coding = d->fast ? pays ? DEFLATE_SEARCH_FAST : DEFLATE_RUNS_FAST
                                 : pays  ? DEFLATE_SEARCH
                                         : DEFLATE_RUNS;
    return deflate_coder_write(d->coder, coding, from, n, last, to);
}

void deflate_fetch(Deflater *d, const void *next)
{
    deflate_coder_fetch(d->coder, next);
}

/* ---- zlib streams ---- */

uint32_t deflate_adler(const uint8_t *from, size_t n)
{
#ifdef IMGSTAT_WITH_LIBDEFLATE
    return libdeflate_adler32(1, from, n);
#else
    return (uint32_t)adler32_z(1, from, n);
#endif
}

uint32_t deflate_adler_join(uint32_t first, uint32_t second, size_t n)
{
    return (uint32_t)adler32_combine(first, second, (z_off_t)n);
}

size_t deflate_zlib_bound(size_t n)
{
    return DEFLATE_HEAD + deflate_bound(n) + 4;
}

size_t deflate_zlib(Deflater *d, const uint8_t *from, size_t n, uint8_t *to)
{
    const size_t bytes = deflate_block(d, from, n, true, to + DEFLATE_HEAD);
    const uint32_t check = deflate_adler(from, n);
    if (bytes == 0)
        return 0;
    memcpy(to, deflate_head, DEFLATE_HEAD);
    for (size_t i = 0; i < 4; i++)
        to[DEFLATE_HEAD + bytes + i] = (uint8_t)(check >> (24 - 8 * i));
    return DEFLATE_HEAD + bytes + 4;
}
