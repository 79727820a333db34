/* SPDX-License-Identifier: MIT */
/* test_inflate_lanes: the arithmetic of the inflating kernel, compiled as C, against zlib: the same
 * bytes, the same verdict on damaged streams, and nothing outside input and output. */
#include "codec/inflate_lanes.h"

#include "deflate_streams.h"

#include <criterion/criterion.h>

/* Decompresses from and to memory of exactly that size. */
static InflateVerdict lanes_inflate(const uint8_t *stream, size_t bytes, uint8_t *to, size_t n,
                                    uint32_t window)
{
    static InflateLanes shared;
    memset(&shared, 0xA5, sizeof shared);
    const InflateCall call = inflate_call(stream, (uint32_t)bytes, 0, to, (uint32_t)n, window);
    return inflate_by_lanes(&shared, &call);
}

static size_t n_right, n_wrong;

static void check(const uint8_t *stream, size_t bytes, size_t n)
{
    uint8_t *const in = malloc(bytes + !bytes), *const out = malloc(n + !n);
    uint8_t *const expected = malloc(n + !n);
    cr_assert(in && out && expected);
    memcpy(in, stream, bytes);
    memset(out, 0xEE, n);
    const bool right = stream_inflate(in, bytes, expected, n);
    const InflateVerdict verdict = lanes_inflate(in, bytes, out, n, 1 << 15);
    cr_assert(right == (verdict == INFLATE_RIGHT), "zlib: %d, lanes: %d", right, (int)verdict);
    if (right)
        cr_assert(memcmp(out, expected, n) == 0, "other bytes than zlib");
    n_right += right;
    n_wrong += !right;
    free(in);
    free(out);
    free(expected);
}

Test(inflate_lanes, all_kinds_of_streams)
{
    uint64_t state = 1;
    static uint8_t content[100000];
    static const size_t sizes[] = {0, 1, 2, 3, 100, 258, 259, 5000, 40000, 100000};
    const unsigned kinds = all_run() ? 20 : 4;
    n_right = 0;
    for (unsigned kind = 0; kind < STREAM_CONTENTS; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            stream_content(content, sizes[i], kind, &state);
            for (unsigned k = 0; k < kinds; k++) {
                uint8_t *stream;
                const size_t bytes =
                    stream_deflate(content, sizes[i], stream_kind(&state), &stream);
                check(stream, bytes, sizes[i]);
                free(stream);
            }
        }
    cr_assert_eq(n_right, STREAM_CONTENTS * (sizeof sizes / sizeof *sizes) * kinds);
}

Test(inflate_lanes, damaged_streams)
{
    uint64_t state = 2;
    static uint8_t content[20000];
    const unsigned streams = all_run() ? 2000 : 200;
    n_right = n_wrong = 0;
    for (unsigned k = 0; k < streams; k++) {
        const size_t n = splitmix64(&state) % (k % 4 ? 2000 : sizeof content);
        uint8_t *stream;
        stream_content(content, n, k, &state);
        const size_t bytes = stream_deflate(content, n, stream_kind(&state), &stream);
        uint8_t *const damaged = malloc(bytes);
        cr_assert(damaged);
        for (unsigned j = 0; j < 20; j++) {
            memcpy(damaged, stream, bytes);
            size_t left = stream_damage(damaged, bytes, &state);
            if (j % 4 == 3)
                left = stream_damage(damaged, left, &state);
            check(damaged, left, j % 5 == 4 ? n + j % 3 - 1 + !n : n);
        }
        free(damaged);
        free(stream);
    }
    cr_assert(n_right > streams / 4 && n_wrong > streams);
}

Test(inflate_lanes, too_many_blocks)
{
    static uint8_t stream[1000], out[1];
    size_t bit = 0;
    for (; bit + 10 < 8 * sizeof stream; bit += 10) /* fixed codes and nothing but their end */
        stream[(bit + 1) / 8] |= (uint8_t)(1 << (bit + 1) % 8);
    stream[bit / 8] |= (uint8_t)(3 << bit % 8);
    if (bit % 8 == 7)
        stream[bit / 8 + 1] |= 1;
    const size_t bytes = (bit + 10 + 7) / 8;
    cr_assert(stream_inflate(stream, bytes, out, 0));
    cr_assert_eq(lanes_inflate(stream, bytes, out, 0, 1 << 15), INFLATE_BAD_BLOCKS);
}

Test(inflate_lanes, distances_beyond_the_window)
{
    uint64_t state = 3;
    static uint8_t content[20000], out[20000];
    stream_content(content, sizeof content, 4, &state); /* repeats after 5,000 bytes */
    uint8_t *stream;
    const StreamKind kind = {9, Z_DEFAULT_STRATEGY, 15, 8, Z_NO_FLUSH};
    const size_t bytes = stream_deflate(content, sizeof content, kind, &stream);
    cr_assert_eq(lanes_inflate(stream, bytes, out, sizeof out, 8192), INFLATE_RIGHT);
    cr_assert(memcmp(out, content, sizeof out) == 0);
    cr_assert_eq(lanes_inflate(stream, bytes, out, sizeof out, 4096), INFLATE_BAD_DISTANCE);
    free(stream);
}
