/* SPDX-License-Identifier: MIT */
/* test_chunks.c: chunks are written one behind the other, small and large ones, with the checksums
 * of zlib, and found until one is not whole. */
#include "png/chunks.h"

#include "helper_cpu.h"

#include <criterion/criterion.h>
#include <string.h>
#include <zlib.h>

enum { MOST = 1 << 18 };

static uint8_t written[MOST], expected[MOST], data[1 << 17];

/* Appends a chunk to what is expected; returns where it ends. */
static size_t append(size_t at, const char *type, size_t bytes)
{
    uint8_t *const to = expected + at;
    png_put32(to, (uint32_t)bytes);
    memcpy(to + 4, type, 4);
    memcpy(to + 8, data, bytes);
    const uLong crc = crc32(0, to + 4, (uInt)(4 + bytes));
    png_put32(to + 8 + bytes, (uint32_t)crc);
    return at + 12 + bytes;
}

Test(chunks, come_one_behind_the_other)
{
    static const size_t sizes[] = {0, 1, 13, 1023, 1024, 1025, 1026, 40000, 7, 1 << 17, 0};
    Random random = {5};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)random_next(&random);
    PngSink sink = {.at = 8};
    ImgstatError error = {0};
    size_t end = 8;
    cr_assert_eq(atomic_file_open_memory("memory", written, MOST, &sink.output, &error),
                 IMGSTAT_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char type[5] = {'t', 'E', 'S', (char)('a' + i), '\0'};
        end = append(end, type, sizes[i]);
        cr_assert_eq(png_chunk_write(&sink, type, data, sizes[i], &error), IMGSTAT_OK, "%s",
                     error.message);
        cr_expect_eq(sink.at, end, "%zu bytes", sizes[i]);
    }
    atomic_file_discard(sink.output);
    cr_expect(memcmp(written + 8, expected + 8, end - 8) == 0);
}

static ImgstatResult read_expected(void *context, uint64_t offset, void *to, size_t n, size_t *got,
                                   ImgstatError *err)
{
    const size_t end = *(const size_t *)context, left = offset < end ? end - (size_t)offset : 0;
    (void)err;
    *got = n < left ? n : left;
    memcpy(to, expected + offset, *got);
    return IMGSTAT_OK;
}

/* Chunks that are found in the first `bytes` bytes of what is expected. */
static size_t found_in(size_t bytes)
{
    const ImgstatInput input = {.bytes = bytes, .read_at = read_expected, .context = &bytes};
    Source *source;
    cr_assert_eq(source_open_input("memory", &input, &source, NULL), IMGSTAT_OK);
    uint64_t at = 8;
    PngChunk chunk;
    size_t n = 0;
    while (n < 100 && png_chunk_next(source, &at, &chunk))
        n++;
    source_close(source);
    return n;
}

/* Wherever a file is cut, those are found that end before; none behind a type that is no name. */
Test(chunks, are_found_while_they_are_whole)
{
    static const size_t sizes[] = {13, 0, 100, 1};
    size_t end[5] = {8};
    memcpy(expected, "\x89PNG\r\n\x1a\n", 8);
    for (size_t i = 0; i < 4; i++)
        end[i + 1] = append(end[i], "tESt", sizes[i]);
    for (size_t cut = 8, whole = 0; cut <= end[4]; cut++) {
        whole += whole < 4 && cut == end[whole + 1];
        cr_expect_eq(found_in(cut), whole, "cut at %zu", cut);
    }
    append(end[2], "IEND", 0);
    cr_expect_eq(found_in(end[4]), 2);
    for (int c = 0; c < 256; c++) {
        const char type[5] = {'t', 'E', (char)c, 't'};
        const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        append(end[2], type, 100);
        cr_expect_eq(found_in(end[4]), letter ? 4 : 2, "character %d", c);
    }
}
