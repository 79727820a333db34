/* SPDX-License-Identifier: MIT */
/* deflate.c: chooses the compressor of a block, and makes blocks that others can follow. */
#include "codec/deflate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#ifdef IMGSTAT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif
#ifdef IMGSTAT_WITH_ISAL
#include <isa-l/igzip_lib.h>
#endif

enum {
    DEFAULT_LEVEL = 6,
    BOTH_LEVEL = 8,        /* from this level on, blocks are compressed in both ways */
    SAMPLE_PART = 8,       /* below it, an eighth of a block decides for one way, */
    SAMPLE_MIN = 32 << 10, /* at least this many bytes */
    SAMPLE_MAX = 64 << 10, /* and at most this many */
    QUICK_LEVEL = 1        /* for --fast, and for the eighth that decides */
};

struct Deflater {
    int level;
    bool fast;
    Deflater *next; /* of Deflaters */
    uint8_t *spare; /* the other way's block, or libdeflate's block decompressed */
    size_t spare_bytes;
    z_stream in, runs, matches;
    bool in_ready, runs_ready, matches_ready;
#ifdef IMGSTAT_WITH_LIBDEFLATE
    struct libdeflate_compressor *whole, *sampler;
#endif
};

const uint8_t deflate_head[DEFLATE_HEAD] = {0x78, 0x9C}; /* a window of 32 KiB */

size_t deflate_bound(size_t n)
{
    return n + n / 8 + 1024; /* blocks of at least 4 KiB that are stored, and what frames them */
}

static int level_or_default(int level)
{
    return level < 0 ? DEFAULT_LEVEL : level;
}

Deflater *deflater_create(int level, bool fast)
{
    Deflater *const d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->level = level_or_default(level);
    d->fast = fast;
    return d;
}

void deflater_destroy(Deflater *d)
{
    if (!d)
        return;
    if (d->in_ready)
        inflateEnd(&d->in);
    if (d->runs_ready)
        deflateEnd(&d->runs);
    if (d->matches_ready)
        deflateEnd(&d->matches);
#ifdef IMGSTAT_WITH_LIBDEFLATE
    libdeflate_free_compressor(d->whole);
    libdeflate_free_compressor(d->sampler);
#endif
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
        while (*at && ((*at)->level != level_or_default(level) || (*at)->fast != fast))
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

/* ---- By zlib ---- */

static size_t by_zlib(z_stream *z, bool *ready, int level, int strategy, const uint8_t *from,
                      size_t n, bool last, uint8_t *to)
{
    if (*ready ? deflateReset(z) != Z_OK
               : deflateInit2(z, level, Z_DEFLATED, -15, 9, strategy) != Z_OK)
        return 0;
    *ready = true;
    z->next_in = (Bytef *)(uintptr_t)from;
    z->avail_in = (uInt)n;
    z->next_out = to;
    z->avail_out = (uInt)deflate_bound(n);
    const int result = deflate(z, last ? Z_FINISH : Z_FULL_FLUSH);
    if (result != (last ? Z_STREAM_END : Z_OK) || z->avail_in > 0 || z->avail_out == 0)
        return 0;
    return deflate_bound(n) - z->avail_out;
}

/* Compresses by Huffman codes and runs of one byte, without other matches. Level 0 stores. */
static size_t by_runs(Deflater *d, const uint8_t *from, size_t n, bool last, uint8_t *to)
{
    const int level = d->level == 0 ? Z_NO_COMPRESSION : Z_BEST_SPEED; /* the runs are the same */
    return by_zlib(&d->runs, &d->runs_ready, level, Z_RLE, from, n, last, to);
}

/* ---- By matches ---- */

#ifdef IMGSTAT_WITH_LIBDEFLATE

/* Makes a stream of libdeflate, which is always complete, one that more blocks may follow. Decoding
 * finds the head of its last block, whose final bit is cleared; an empty stored block then ends the
 * stream at a byte boundary. Returns the new length, or 0 on failure. */
static size_t open_end(Deflater *d, uint8_t *bytes, size_t n, size_t decoded)
{
    z_stream *const z = &d->in;
    if (!spare_room(d, decoded + 1))
        return 0;
    if (!d->in_ready ? inflateInit2(z, -15) != Z_OK : inflateReset(z) != Z_OK)
        return 0;
    d->in_ready = true;
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

static size_t by_libdeflate(Deflater *d, const uint8_t *from, size_t n, bool last, bool sample,
                            uint8_t *to)
{
    struct libdeflate_compressor **const c = sample ? &d->sampler : &d->whole;
    const int level = sample || d->fast ? QUICK_LEVEL : d->level > 12 ? 12 : d->level;
    if (!*c)
        *c = libdeflate_alloc_compressor(level);
    if (!*c)
        return 0;
    const size_t bytes = libdeflate_deflate_compress(*c, from, n, to, deflate_bound(n) - 8);
    return last || bytes == 0 || sample ? bytes : open_end(d, to, bytes, n);
}

#endif

#ifdef IMGSTAT_WITH_ISAL
static size_t by_isal(const uint8_t *from, size_t n, bool last, uint8_t *to)
{
    struct isal_zstream z = {0}; /* init leaves some of it as it is, and the bytes depend on that */
    isal_deflate_stateless_init(&z);
    z.next_in = (uint8_t *)(uintptr_t)from;
    z.avail_in = (uint32_t)n;
    z.next_out = to;
    z.avail_out = (uint32_t)deflate_bound(n);
    z.level = 0; /* what 1 and 2 make depends on addresses as well (isa-l issue 140) */
    z.flush = last ? NO_FLUSH : FULL_FLUSH;
    z.end_of_stream = last;
    const int result = isal_deflate_stateless(&z);
    return result == COMP_OK && z.avail_in == 0 ? z.total_out : 0;
}
#endif

static size_t by_matches(Deflater *d, const uint8_t *from, size_t n, bool last, bool sample,
                         uint8_t *to)
{
#ifdef IMGSTAT_WITH_LIBDEFLATE
    return by_libdeflate(d, from, n, last, sample, to);
#else
    (void)sample;
    const int level = d->fast ? QUICK_LEVEL : d->level > 9 ? 9 : d->level;
    return by_zlib(&d->matches, &d->matches_ready, level, Z_FILTERED, from, n, last, to);
#endif
}

/* ---- The choice ---- */

/* Returns whether runs alone compress better, judging by a part of the block. */
static bool runs_suffice(Deflater *d, const uint8_t *from, size_t n, uint8_t *room)
{
    size_t part = n / SAMPLE_PART;
    part = part < SAMPLE_MIN ? SAMPLE_MIN : part > SAMPLE_MAX ? SAMPLE_MAX : part;
    part = part < n ? part : n;
    const uint8_t *const sample = from + (n - part) / 2;
    const size_t runs = by_runs(d, sample, part, true, room);
    const size_t matches = by_matches(d, sample, part, true, true, room);
    return runs > 0 && (matches == 0 || runs <= matches);
}

/* Compresses in both ways. Keeps the smaller result. */
static size_t smaller(Deflater *d, const uint8_t *from, size_t n, bool last, uint8_t *to)
{
    const size_t matches = by_matches(d, from, n, last, false, to);
    if (!spare_room(d, deflate_bound(n)))
        return 0;
    const size_t runs = by_runs(d, from, n, last, d->spare);
    if (runs == 0 || (matches > 0 && matches <= runs))
        return matches;
    memcpy(to, d->spare, runs);
    return runs;
}

size_t deflate_block(Deflater *d, const uint8_t *from, size_t n, bool last, uint8_t *to)
{
    if (d->fast) {
#ifdef IMGSTAT_WITH_ISAL
        return by_isal(from, n, last, to);
#else
        return by_matches(d, from, n, last, false, to);
#endif
    }
    if (d->level == 0)
        return by_runs(d, from, n, last, to);
    if (d->level >= BOTH_LEVEL || n <= SAMPLE_MIN)
        return smaller(d, from, n, last, to);
    return runs_suffice(d, from, n, to) ? by_runs(d, from, n, last, to)
                                        : by_matches(d, from, n, last, false, to);
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
