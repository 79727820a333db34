/* SPDX-License-Identifier: MIT */
/* test_deflate.c: pieces of a deflate stream, put together and read back by zlib; that they depend
 * on nothing but their bytes; that the smaller of both ways is taken. */
#include "codec/deflate.h"
#include "deflate_streams.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(deflate);

enum { MOST = 600000, GUARD = 64 };

typedef enum Pattern {
    RANDOM,
    CONSTANT,
    RAMP,
    TWO_VALUES,  /* in runs of all lengths */
    DIFFERENCES, /* small numbers of both signs, as rows of a photograph give */
    WORDS,       /* long matches, no runs */
    FIBONACCI,   /* counts that want codes longer than allowed */
    PATTERNS
} Pattern;

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(Pattern pattern, uint8_t *to, size_t n)
{
    static const char words[] = "the quick brown fox jumps over the lazy dog and on ";
    uint32_t state = 1;
    for (size_t i = 0, run = 0, length = 1; i < n; i++) {
        switch (pattern) {
        case RANDOM:
            to[i] = (uint8_t)next_random(&state);
            break;
        case CONSTANT:
            to[i] = 200;
            break;
        case RAMP:
            to[i] = (uint8_t)(i % 251);
            break;
        case TWO_VALUES:
            to[i] = length % 2 ? 3 : 250;
            if (++run == length % 600 + 1) {
                run = 0;
                length++;
            }
            break;
        case DIFFERENCES:
            to[i] = (uint8_t)(next_random(&state) % 9 + next_random(&state) % 9 - 8);
            break;
        case WORDS:
            to[i] = (uint8_t)words[(i + i / 1000) % (sizeof words - 1)];
            break;
        default: /* value k with a share of about 0.618^k */
            for (to[i] = 0; to[i] < 40 && next_random(&state) % 1000 < 618; to[i]++) {
            }
        }
    }
}

/* Compresses n bytes in pieces; returns the length of the stream. */
static size_t compress_all(Deflater *deflater, const uint8_t *from, size_t n, size_t piece,
                           uint8_t *stream)
{
    size_t bytes = 0;
    for (size_t at = 0; at < n; at += piece) {
        const size_t part = n - at < piece ? n - at : piece, room = deflate_bound(part);
        uint8_t *const to = stream + bytes;
        guard_fill(to + room, GUARD);
        const size_t made = deflate_block(deflater, from + at, part, at + part == n, to);
        cr_assert_gt(made, 0);
        cr_assert_leq(made, room);
        cr_assert(guard_holds(to + room, GUARD));
        bytes += made;
    }
    return bytes;
}

Test(deflate, pieces_make_a_stream)
{
    static const size_t sizes[] = {1, 2, 7, 8, 9, 255, 4097, 32767, 32768, 32769, 100003, MOST};
    static const size_t pieces[] = {MOST, 1000, 70001};
    static const int levels[] = {-1, 0, 1, 9, 12, 99}; /* the last: fast */
    uint8_t *const from = malloc(MOST), *const stream = malloc(4 * MOST);
    unsigned n = 0;
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        fill((Pattern)pattern, from, MOST);
        for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
            Deflater *const deflater =
                deflater_create(levels[l] == 99 ? -1 : levels[l], levels[l] == 99);
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++, n++) {
                const size_t piece = pieces[s % 3];
                const size_t bytes = compress_all(deflater, from, sizes[s], piece, stream);
                cr_assert(stream_inflates_to(stream, bytes, from, sizes[s]));
            }
            deflater_destroy(deflater);
        }
    }
    cr_log_info("%u streams", n);
    cr_assert_eq(n, PATTERNS * 6 * 12);
    free(from);
    free(stream);
}

Test(deflate, depends_on_nothing_but_its_bytes)
{
    uint8_t *const from = malloc(MOST), *const first = malloc(2 * MOST),
                   *const second = malloc(2 * MOST);
    for (int fast = 0; fast < 2; fast++) {
        Deflater *const fresh = deflater_create(-1, fast), *const used = deflater_create(-1, fast);
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            fill((Pattern)pattern, from, MOST);
            (void)compress_all(used, from, 5000, 900, second);
            const size_t a = compress_all(fresh, from, 100000, 100000, first);
            const size_t b = compress_all(used, from, 100000, 100000, second);
            cr_assert_eq(a, b);
            cr_assert_arr_eq(first, second, a);
        }
        deflater_destroy(fresh);
        deflater_destroy(used);
    }
    free(from);
    free(first);
    free(second);
}

Test(deflate, those_that_are_kept_may_go)
{
    Deflaters *const all = deflaters_create();
    uint8_t *const from = malloc(MOST), *const first = malloc(2 * MOST),
                   *const second = malloc(2 * MOST);
    size_t bytes[2];
    fill(DIFFERENCES, from, MOST);
    for (int i = 0; i < 2; i++) {
        Deflater *const d = deflaters_acquire(all, -1, false), *const e =
                                                                   deflaters_acquire(all, 9, false);
        bytes[i] = compress_all(d, from, MOST, 50000, i ? second : first);
        deflaters_release(all, d);
        deflaters_release(all, e);
        deflaters_trim(all);
    }
    cr_assert_eq(bytes[0], bytes[1]);
    cr_assert_arr_eq(first, second, bytes[0]);
    deflaters_trim(all);
    deflaters_trim(NULL);
    deflaters_destroy(all);
    free(from);
    free(first);
    free(second);
}

/* Sizes as they must be: about the entropy of differences, a fraction of repeated words. */
Test(deflate, takes_the_smaller_way)
{
    uint8_t *const from = malloc(MOST), *const to = malloc(2 * MOST);
    Deflater *const deflater = deflater_create(-1, false);
    fill(DIFFERENCES, from, MOST); /* 17 values of a triangle: 3.88 bits */
    const size_t differences = compress_all(deflater, from, MOST, MOST, to);
    cr_expect_lt((double)differences, MOST * 3.95 / 8, "%zu", differences);
    fill(WORDS, from, MOST);
    const size_t words = compress_all(deflater, from, MOST, MOST, to);
    cr_expect_lt(words, MOST / 50, "%zu", words);
    fill(RANDOM, from, MOST);
    cr_expect_lt(compress_all(deflater, from, MOST, MOST, to), MOST + MOST / 500);
    fill(CONSTANT, from, MOST);
    cr_expect_lt(compress_all(deflater, from, MOST, MOST, to), MOST / 250);
    deflater_destroy(deflater);
    free(from);
    free(to);
}

Test(deflate, zlib_streams)
{
    uint8_t *const from = malloc(MOST), *const to = malloc(2 * MOST), *const got = malloc(MOST);
    Deflater *const deflater = deflater_create(3, false);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        fill((Pattern)pattern, from, MOST);
        uLongf n = MOST;
        const size_t bytes = deflate_zlib(deflater, from, 123457, to);
        cr_assert_eq(uncompress(got, &n, to, bytes), Z_OK);
        cr_assert_eq(n, 123457);
        cr_assert_arr_eq(got, from, n);
        const uint32_t whole = (uint32_t)adler32(1, from, MOST);
        cr_assert_eq(deflate_adler_join(deflate_adler(from, 1001),
                                        deflate_adler(from + 1001, MOST - 1001), MOST - 1001),
                     whole);
    }
    deflater_destroy(deflater);
    free(from);
    free(to);
    free(got);
}
