/* SPDX-License-Identifier: MIT */
/* deflate_streams.h: raw deflate streams of every kind that zlib writes, damaged ones, and what
 * zlib makes of them. */
#ifndef IMGSTAT_TESTS_DEFLATE_STREAMS_H
#define IMGSTAT_TESTS_DEFLATE_STREAMS_H

#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { STREAM_CONTENTS = 8, STREAM_FLUSH_BYTES = 3000 };

/* Fills bytes with content number `kind`: noise, few values, steps of a slope, runs, text that
 * repeats from far away, a constant, rare symbols, and 4-bit noise. */
static inline void stream_content(uint8_t *to, size_t n, unsigned kind, uint64_t *state)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = splitmix64(state);
        switch (kind % STREAM_CONTENTS) {
        case 0:
            to[i] = (uint8_t)r;
            break;
        case 1:
            to[i] = (uint8_t)((r & 7) + (r >> 3 & 7) + (r >> 6 & 3) - 8);
            break;
        case 2:
            to[i] = (uint8_t)(i / 7 + (r & 1));
            break;
        case 3:
            to[i] = i > 0 && r % 64 ? to[i - 1] : (uint8_t)(r >> 8);
            break;
        case 4:
            to[i] = i >= 5000 && r % 16 ? to[i - 5000] : (uint8_t)(r >> 8);
            break;
        case 5:
            to[i] = 77;
            break;
        case 6:
            to[i] = (uint8_t)__builtin_ctzll(r | 1ull << 40) * 3;
            break;
        default:
            to[i] = (uint8_t)(r & 15);
            break;
        }
    }
}

typedef struct StreamKind {
    int level, strategy, window, memory, flush; /* of zlib; flush: after STREAM_FLUSH_BYTES */
} StreamKind;

static inline StreamKind stream_kind(uint64_t *state)
{
    static const int flushes[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_PARTIAL_FLUSH, Z_BLOCK};
    const uint64_t r = splitmix64(state);
    return (StreamKind){(int)(r % 10), (int)(r / 16 % 5), 9 + (int)(r / 128 % 7),
                        1 + (int)(r / 1024 % 9), flushes[r / 65536 % 5]};
}

/* Compresses n bytes; returns the bytes of the stream, which is allocated. */
static inline size_t stream_deflate(const uint8_t *from, size_t n, StreamKind kind, uint8_t **out)
{
    z_stream z = {0};
    const size_t room = n + n / 8 + 64 * (n / STREAM_FLUSH_BYTES + 16);
    *out = (uint8_t *)malloc(room);
    if (!*out ||
        deflateInit2(&z, kind.level, Z_DEFLATED, -kind.window, kind.memory, kind.strategy) != Z_OK)
        abort();
    z.next_out = *out;
    z.avail_out = (uInt)room;
    for (size_t at = 0; at < n || at == 0;) {
        const size_t step = n - at < STREAM_FLUSH_BYTES ? n - at : STREAM_FLUSH_BYTES;
        z.next_in = (Bytef *)(uintptr_t)(from + at);
        z.avail_in = (uInt)step;
        at += step;
        if (deflate(&z, at < n ? kind.flush : Z_FINISH) == Z_STREAM_ERROR || z.avail_in > 0)
            abort();
        if (n == 0)
            break;
    }
    const size_t bytes = z.total_out;
    if (deflateEnd(&z) != Z_OK)
        abort();
    return bytes;
}

/* Changes a stream in one of several ways; returns its new length, at most n. */
static inline size_t stream_damage(uint8_t *stream, size_t n, uint64_t *state)
{
    const uint64_t r = splitmix64(state);
    const size_t at = n ? (size_t)(splitmix64(state) % n) : 0;
    if (n == 0)
        return 0;
    switch (r % 6) {
    case 0:
        stream[at] ^= (uint8_t)(1u << (r >> 8 & 7));
        return n;
    case 1:
        stream[at % (n < 80 ? n : 80)] ^= (uint8_t)(1u << (r >> 8 & 7));
        return n;
    case 2:
        stream[at] = (uint8_t)(r >> 8);
        return n;
    case 3:
        return at;
    case 4:
        memmove(stream + at, stream + at + 1, n - at - 1);
        return n - 1;
    default:
        for (size_t i = at; i < n && i < at + 8; i++)
            stream[i] = (uint8_t)splitmix64(state);
        return n;
    }
}

/* Returns whether zlib decompresses the stream to exactly n bytes and uses all of it. */
static inline bool stream_inflate(const uint8_t *stream, size_t bytes, uint8_t *to, size_t n)
{
    z_stream z = {0};
    uint8_t none;
    if (inflateInit2(&z, -15) != Z_OK)
        abort();
    z.next_in = (Bytef *)(uintptr_t)stream;
    z.avail_in = (uInt)bytes;
    z.next_out = n ? to : &none;
    z.avail_out = (uInt)n;
    int status = inflate(&z, Z_FINISH);
    if (status == Z_BUF_ERROR && z.avail_out == 0 && z.avail_in > 0) { /* nothing more to write? */
        z.next_out = &none;
        z.avail_out = 1;
        status = inflate(&z, Z_FINISH);
        if (z.avail_out == 0)
            status = Z_DATA_ERROR;
    }
    const bool right = status == Z_STREAM_END && z.total_out == n && z.avail_in == 0;
    if (inflateEnd(&z) != Z_OK)
        abort();
    return right;
}

/* Returns whether zlib decompresses the stream to these n bytes and uses all of it. */
static inline bool stream_inflates_to(const uint8_t *stream, size_t bytes, const uint8_t *expected,
                                      size_t n)
{
    uint8_t *const got = (uint8_t *)malloc(n + 1);
    const bool same = got && stream_inflate(stream, bytes, got, n) && memcmp(got, expected, n) == 0;
    free(got);
    return same;
}

#endif
