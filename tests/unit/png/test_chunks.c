/* SPDX-License-Identifier: MIT */
/* test_chunks.c: chunks are written one behind the other, small and large ones, with the checksums
 * of zlib. */
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
