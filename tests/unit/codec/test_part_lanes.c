/* SPDX-License-Identifier: MIT */
/* test_part_lanes: streams decompressed in parts, as the kernels do it, against zlib: the same
 * bytes, the same verdict on damaged streams, and nothing outside input and output. */
#include "codec/part_lanes.h"

#include "deflate_streams.h"
#include "parted_inflate.h"

#include <criterion/criterion.h>

enum { BYTES = 400000 };

static size_t n_right, n_wrong, n_parts;

static void check(const uint8_t *stream, size_t bytes, size_t n, uint32_t before)
{
    uint8_t *const in = malloc(before + bytes + !bytes), *const out = malloc(n + !n);
    uint8_t *const expected = malloc(n + !n);
    size_t used;
    cr_assert(in && out && expected);
    memset(in, 0xFF, before);
    memcpy(in + before, stream, bytes);
    memset(out, POISON, n);
    const bool right = stream_inflate(stream, bytes, expected, n);
    const InflateCall call =
        inflate_call(in, (uint32_t)bytes + before, before, out, (uint32_t)n, 1 << 15);
    const InflateVerdict verdict = parted_inflate(&call, &used);
    cr_assert(right == (verdict == INFLATE_RIGHT), "zlib: %d, parts: %d", right, (int)verdict);
    if (right)
        cr_assert(memcmp(out, expected, n) == 0, "other bytes than zlib");
    n_right += right;
    n_wrong += !right;
    n_parts += used;
    free(in);
    free(out);
    free(expected);
}

/* A stream of several contents, one behind the other. */
static size_t make_stream(uint8_t *content, size_t n, unsigned kind, StreamKind how, uint8_t **out,
                          uint64_t *state)
{
    const size_t half = n / 2;
    stream_content(content, half, kind, state);
    stream_content(content + half, n - half, kind + kind / STREAM_CONTENTS, state);
    return stream_deflate(content, n, how, out);
}

Test(part_lanes, all_kinds_of_streams)
{
    uint64_t state = 1;
    static uint8_t content[BYTES];
    static const size_t sizes[] = {0, 1, 100, 4095, 4096, 8193, 60000, BYTES};
    const unsigned kinds = all_run() ? 2 : 1;
    n_right = n_parts = 0;
    for (unsigned kind = 0; kind < STREAM_CONTENTS * 2; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (unsigned k = 0; k < kinds; k++) {
                uint8_t *stream;
                const size_t bytes =
                    make_stream(content, sizes[i], kind, stream_kind(&state), &stream, &state);
                check(stream, bytes, sizes[i], k % 4);
                free(stream);
            }
    cr_assert_eq(n_right, 2 * STREAM_CONTENTS * (sizeof sizes / sizeof *sizes) * kinds);
    cr_assert(n_parts > 3 * n_right, "%zu parts", n_parts);
}

/* zlib's own blocks: all are found. */
Test(part_lanes, parts_are_blocks)
{
    uint64_t state = 2;
    static uint8_t content[BYTES];
    uint8_t *stream;
    const StreamKind how = {6, Z_DEFAULT_STRATEGY, 15, 6, Z_NO_FLUSH}; /* 4,096 symbols a block */
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)(splitmix64(&state) % (2 + i / 4096 % 100));
    const size_t bytes = stream_deflate(content, sizeof content, how, &stream);
    n_parts = 0;
    check(stream, bytes, sizeof content, 0);
    cr_assert(n_parts >= BYTES / 4096 * 3 / 4 && n_parts <= BYTES / 4096 + 2, "%zu parts", n_parts);
    free(stream);
}

Test(part_lanes, damaged_streams)
{
    uint64_t state = 3;
    static uint8_t content[60000];
    const unsigned streams = all_run() ? 300 : 60;
    n_right = n_wrong = n_parts = 0;
    for (unsigned k = 0; k < streams; k++) {
        const size_t n = splitmix64(&state) % sizeof content;
        uint8_t *stream;
        const size_t bytes = make_stream(content, n, k, stream_kind(&state), &stream, &state);
        uint8_t *const damaged = malloc(bytes);
        cr_assert(damaged);
        for (unsigned j = 0; j < 10; j++) {
            memcpy(damaged, stream, bytes);
            size_t left = stream_damage(damaged, bytes, &state);
            if (j % 4 == 3)
                left = stream_damage(damaged, left, &state);
            check(damaged, left, j % 5 == 4 ? n + j % 3 - 1 + !n : n, j % 4);
        }
        free(damaged);
        free(stream);
    }
    cr_assert(n_right > streams / 4 && n_wrong > streams && n_parts > streams);
}

/* Bytes of every part are those of the first one: in small blocks, between flush points, in blocks
 * of one megabyte of runs, and in damaged streams. */
Test(part_lanes, words_that_name_words)
{
    enum { LARGE = 5 * PART_GROUP * PART_OUTPUT_LEAST + 5000 };
    static uint8_t content[LARGE];
    static const StreamKind kinds[] = {{9, Z_DEFAULT_STRATEGY, 15, 2, Z_NO_FLUSH},
                                       {9, Z_DEFAULT_STRATEGY, 15, 9, Z_SYNC_FLUSH},
                                       {1, Z_DEFAULT_STRATEGY, 15, 9, Z_NO_FLUSH}};
    static const unsigned repeats[] = {29, 29, 5000};
    uint64_t state = 4;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        uint8_t *stream;
        for (size_t i = 0; i < sizeof content; i++)
            content[i] =
                i < 20000 || i % repeats[k] == 0 ? (uint8_t)splitmix64(&state) : content[i - 20000];
        const size_t bytes = stream_deflate(content, sizeof content, kinds[k], &stream);
        n_parts = 0;
        check(stream, bytes, sizeof content, 0);
        cr_assert(n_parts > 20, "%zu parts", n_parts);
        for (unsigned i = all_run() ? 0 : 4; i < 5; i++)
            check(stream, stream_damage(stream, bytes, &state), sizeof content, i % 4);
        free(stream);
    }
}

/* Blocks that are longer than what is between marks, and fixed and stored ones, which nobody looks
 * for. */
Test(part_lanes, marks)
{
    uint64_t state = 6;
    static uint8_t content[BYTES];
    static const StreamKind kinds[] = {{6, Z_DEFAULT_STRATEGY, 15, 9, Z_NO_FLUSH},
                                       {6, Z_FIXED, 15, 9, Z_NO_FLUSH},
                                       {0, Z_DEFAULT_STRATEGY, 15, 8, Z_NO_FLUSH}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        uint8_t *stream;
        stream_content(content, sizeof content, 3, &state); /* runs */
        const size_t bytes = stream_deflate(content, sizeof content, kinds[k], &stream);
        n_parts = 0;
        check(stream, bytes, sizeof content, 0);
        cr_assert(n_parts >= 5, "%zu parts", n_parts);
        free(stream);
    }
}

/* A distance beyond the window is refused in a part as well. */
Test(part_lanes, distances_beyond_the_window)
{
    uint64_t state = 5;
    static uint8_t content[BYTES], out[BYTES];
    uint8_t *stream;
    size_t used;
    stream_content(content, sizeof content, 4, &state); /* repeats after 5,000 bytes */
    const StreamKind kind = {9, Z_DEFAULT_STRATEGY, 13, 5, Z_NO_FLUSH};
    const size_t bytes = stream_deflate(content, sizeof content, kind, &stream);
    InflateCall call = inflate_call(stream, (uint32_t)bytes, 0, out, sizeof out, 8192);
    cr_assert_eq(parted_inflate(&call, &used), INFLATE_RIGHT);
    cr_assert(used > 5 && memcmp(out, content, sizeof out) == 0);
    call.window = 4096;
    cr_assert_eq(parted_inflate(&call, &used), INFLATE_BAD_DISTANCE);
    free(stream);
}
