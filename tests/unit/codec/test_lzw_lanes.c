/* SPDX-License-Identifier: MIT */
/* test_lzw_lanes: the arithmetic of the kernels of LZW and PackBits, compiled as C, against the
 * processor's: the same bytes, no verdict that it is right where the processor has another, and
 * nothing outside input and output. */
#include "codec/lzw_lanes.h"
#include "codec/packbits_lanes.h"
#include "tiff/lzw.h"

#include "deflate_streams.h"
#include "lzw_streams.h"

#include <criterion/criterion.h>

static size_t n_right, n_wrong;

static void check(Lzw *lzw, const uint8_t *stream, size_t bytes, size_t n)
{
    static LzwLanes lanes;
    uint8_t *const in = malloc(bytes + !bytes), *const out = malloc(n);
    uint8_t *const padded = calloc(1, bytes + LZW_SPARE), *const expected = malloc(n);
    cr_assert(in && out && padded && expected);
    memcpy(in, stream, bytes);
    memcpy(padded, stream, bytes);
    memset(&lanes, 0xA5, sizeof lanes);
    memset(out, 0xEE, n);
    const LzwCall call = {in, (uint32_t)bytes, out, (uint32_t)n};
    const bool right = lzw_by_lanes(&lanes, &call) == LZW_RIGHT;
    const bool decodes = lzw_decode(lzw, padded, bytes, expected, n);
    cr_assert(decodes || !right);
    if (right)
        cr_assert(memcmp(out, expected, n) == 0, "other bytes");
    n_right += right;
    n_wrong += !right;
    free(in);
    free(out);
    free(padded);
    free(expected);
}

/* A stream for content number i; returns its bytes. */
static size_t make_stream(size_t i, uint8_t *content, size_t n, uint64_t *state, uint8_t *stream)
{
    stream_content(content, n, (unsigned)i, state);
    return lzw_stream(i, content, n, state, stream);
}

Test(lzw_lanes, all_kinds_of_streams)
{
    static const size_t sizes[] = {1, 2, 3, 31, 32, 33, 257, 4000, 20000, 70000};
    static uint8_t content[70000], stream[6 * sizeof content + 16];
    uint64_t state = 1;
    Lzw *const lzw = lzw_create();
    const size_t n = all_run() ? 2000 : 200;
    n_right = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t size = sizes[splitmix64(&state) % (sizeof sizes / sizeof *sizes)];
        const size_t bytes = make_stream(i, content, size, &state, stream);
        check(lzw, stream, bytes, size);
    }
    lzw_destroy(lzw);
    cr_assert_eq(n_right, n);
}

Test(lzw_lanes, damaged_streams)
{
    static uint8_t content[20000], stream[6 * sizeof content + 16], damaged[sizeof stream];
    uint64_t state = 2;
    Lzw *const lzw = lzw_create();
    const size_t n = all_run() ? 2000 : 200;
    n_right = n_wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t size = 1 + splitmix64(&state) % (i % 8 ? 2000 : sizeof content);
        const size_t bytes = make_stream(i, content, size, &state, stream);
        for (unsigned j = 0; j < 10; j++) {
            memcpy(damaged, stream, bytes);
            const size_t left = stream_damage(damaged, bytes, &state);
            check(lzw, damaged, left, j % 5 == 4 ? size + j % 3 - 1 + !(size - 1) : size);
        }
    }
    lzw_destroy(lzw);
    cr_assert(n_right > n && n_wrong > n);
}

Test(lzw_lanes, too_many_clear_codes)
{
    static uint8_t content[20000], stream[6 * sizeof content + 16], out[sizeof content];
    static LzwLanes lanes;
    uint64_t state = 5;
    stream_content(content, sizeof content, 0, &state);
    const size_t bytes = lzw_strings(content, sizeof content, 4, stream);
    LzwCall call = {stream, (uint32_t)bytes, out, sizeof out};
    cr_assert_eq(lzw_by_lanes(&lanes, &call), LZW_BAD_CLEAR);
    call.n_out = 80; /* too few to matter */
    cr_assert_eq(lzw_by_lanes(&lanes, &call), LZW_RIGHT);
    cr_assert(memcmp(out, content, call.n_out) == 0);
}

Test(lzw_lanes, codes_behind_the_table)
{
    static uint8_t content[8000], stream[6 * sizeof content + 16], out[sizeof content];
    static LzwLanes lanes;
    uint64_t state = 3;
    stream_content(content, sizeof content, 0, &state);
    const size_t bytes = lzw_strings(content, sizeof content, LZW_CODES_MOST, stream);
    LzwCall call = {stream, (uint32_t)bytes, out, sizeof out};
    cr_assert_eq(lzw_by_lanes(&lanes, &call), LZW_RIGHT);
    memset(stream, 0, sizeof stream);
    LzwBits bits = {stream, 0, 0};
    lzw_put(&bits, LZW_CLEAR);
    for (unsigned i = 0; i <= LZW_CODES_MOST; i++)
        lzw_put(&bits, i % 256);
    call.n_in = (uint32_t)(bits.bit + 7) / 8;
    call.n_out = LZW_CODES_MOST;
    cr_assert_eq(lzw_by_lanes(&lanes, &call), LZW_RIGHT);
    call.n_out = LZW_CODES_MOST + 1;
    cr_assert_eq(lzw_by_lanes(&lanes, &call), LZW_BAD_CODE);
}

Test(lzw_lanes, runs)
{
    static uint8_t content[9000], stream[2 * sizeof content], out[sizeof content];
    uint64_t state = 4;
    const uint8_t over[] = {0xFD, 7}; /* a run of 4 in rows of 2 */
    cr_assert(packbits_by_lanes(over, 2, out, 4, 4) && !packbits_by_lanes(over, 2, out, 4, 2));
    for (unsigned i = 0; i < 400; i++) {
        const uint32_t row = 1 + (uint32_t)(splitmix64(&state) % 300), n = row * (1 + i % 30);
        stream_content(content, n, i, &state);
        const uint32_t bytes = (uint32_t)packbits(content, n, row, stream);
        uint8_t *const in = malloc(bytes), *const to = malloc(n);
        memcpy(in, stream, bytes);
        cr_assert(packbits_by_lanes(in, bytes, to, n, row));
        cr_assert(memcmp(to, content, n) == 0);
        cr_assert(!packbits_by_lanes(in, bytes - 1, to, n, row));
        (void)stream_damage(in, bytes, &state);
        (void)packbits_by_lanes(in, bytes, out, n, row);
        free(in);
        free(to);
    }
}
