/* SPDX-License-Identifier: MIT */
/* test_page_memory.c: how much a page takes, of pages that exist as numbers only. What is expected
 * was added up by hand; only the peak of whole processes showed before what was left out. */
#include "codec/codec.h"
#include "record/record.h"
#include "transform/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FILE_AND_THREAD = 14 << 20,        /* 9 MiB for a file, 5 MiB for a thread */
    BYTE_RECORD = sizeof(Tally) + 2048 /* 256 counts of 8 bytes */
};

static const Codec stream = {.name = "stream"}; /* has bands of about 1 MiB */

/* A page of one channel and one thread, without a mask, that is not compressed. */
static Decoder page_of(uint32_t width, uint32_t height, ImgstatSample sample)
{
    return (Decoder){.codec = &stream,
                     .page = {.width = width,
                              .height = height,
                              .sample = sample,
                              .channels = 1,
                              .alpha = -1,
                              .mask = IMGSTAT_NO_PAGE,
                              .photometric = "gray"},
                     .options = {.threads = 1},
                     .caps = {.band_rows = 1}};
}

static PageMemory of(ImgstatTransform transform, const Decoder *decoder, uint64_t memory)
{
    const ImgstatMethod method = {.transform = transform};
    const Pipeline pipeline = {.method = &method, .memory = memory};
    return page_memory(&pipeline, decoder);
}

static uint64_t bytes_of(ImgstatTransform transform, const Decoder *decoder)
{
    return of(transform, decoder, 1 << 30).bytes;
}

Test(page_memory, band_and_records)
{
    Decoder decoder = page_of(1000, 700, IMGSTAT_U8);
    const uint64_t bytes = FILE_AND_THREAD + 1000 * 700 + 2 * BYTE_RECORD;
    cr_expect_eq(bytes_of(IMGSTAT_STRETCH, &decoder), bytes);
    decoder.caps.held_bytes = 123456;
    cr_expect_eq(bytes_of(IMGSTAT_STRETCH, &decoder), bytes + 123456);
    const ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
    const Transfer given = {.from = IMGSTAT_U8};
    const Pipeline pipeline = {.method = &method, .transfer = &given, .memory = 1 << 30};
    const PageMemory applied = page_memory(&pipeline, &decoder);
    cr_expect_eq(applied.bytes, FILE_AND_THREAD + 1000 * 700 + 123456, "nothing is counted");
    cr_expect_not(applied.keep);
}

/* Several threads decode a band beside the one that is used. */
Test(page_memory, threads)
{
    Decoder decoder = page_of(1000, 4000, IMGSTAT_U8);
    const uint64_t band = 1048 * 1000; /* the rows that 1 MiB has */
    decoder.caps.tile_bytes = 50000;
    cr_expect_eq(of(IMGSTAT_STRETCH, &decoder, 8 << 20).bytes,
                 FILE_AND_THREAD + band + 2 * BYTE_RECORD + 6 * 50000);
    decoder.options.threads = 4;
    cr_expect_eq(of(IMGSTAT_STRETCH, &decoder, 8 << 20).bytes, FILE_AND_THREAD + 3 * (5 << 20) +
                                                                   2 * band + 2 * BYTE_RECORD +
                                                                   (6 + 3 * 3) * 50000);
}

/* Strips are at most a 32th of the memory, tiles as large as those of the input. */
Test(page_memory, tiles)
{
    Decoder decoder = page_of(1000, 700, IMGSTAT_U8);
    const uint64_t memory = 32 << 20, none = of(IMGSTAT_STRETCH, &decoder, memory).bytes;
    decoder.caps.tile_bytes = 3 << 20;
    cr_expect_eq(of(IMGSTAT_STRETCH, &decoder, memory).bytes, none + (6 << 20));
    decoder.caps.tiled = true;
    cr_expect_eq(of(IMGSTAT_STRETCH, &decoder, memory).bytes, none + (18 << 20));
}

/* A page of at most a quarter of the memory is kept where that fits. */
Test(page_memory, kept)
{
    Decoder decoder = page_of(1000, 8000, IMGSTAT_U8);
    const uint64_t band = 1048 * 1000, bytes = FILE_AND_THREAD + band + 2 * BYTE_RECORD;
    PageMemory memory = of(IMGSTAT_STRETCH, &decoder, 31999999);
    cr_expect_not(memory.keep);
    cr_expect_eq(memory.bytes, bytes);
    memory = of(IMGSTAT_STRETCH, &decoder, 32000000);
    cr_expect(memory.keep);
    cr_expect_eq(memory.bytes, bytes + 8000000 - band);
    decoder.page.height = 4000;
    memory = of(IMGSTAT_STRETCH, &decoder, bytes + 4000000 - band - 1);
    cr_expect_not(memory.keep);
    cr_expect_eq(memory.bytes, bytes);
    memory = of(IMGSTAT_STRETCH, &decoder, bytes + 4000000 - band);
    cr_expect(memory.keep);
    cr_expect_eq(memory.bytes, bytes + 4000000 - band);
    decoder.options.threads = 2;
    memory = of(IMGSTAT_STRETCH, &decoder, 1 << 30);
    cr_expect_eq(memory.bytes, bytes + (5 << 20) + 4000000 - band, "its bands are part of it");
}

/* Wide samples are sorted, 16 bytes each, in at most a quarter of the memory; of percentiles
 * 65,536 counters are kept twice. */
Test(page_memory, wide_samples)
{
    Decoder decoder = page_of(1000, 1000, IMGSTAT_F32);
    const uint64_t record = sizeof(Tally) + 65536 * 8, whole = 4000000;
    const uint64_t bytes = FILE_AND_THREAD + whole + 2 * record;
    cr_expect_eq(of(IMGSTAT_EQUALIZE, &decoder, 80000000).bytes, bytes + 16000000);
    cr_expect_eq(of(IMGSTAT_EQUALIZE, &decoder, 40000000).bytes, bytes + 10000000);
    cr_expect_eq(bytes_of(IMGSTAT_PERCENTILE, &decoder), bytes + (1 << 20));
    cr_expect_eq(bytes_of(IMGSTAT_STRETCH, &decoder), bytes);
    decoder.page.channels = 2;
    cr_expect_eq(bytes_of(IMGSTAT_PERCENTILE, &decoder),
                 FILE_AND_THREAD + 2 * whole + 4 * record + (2 << 20));
}

Test(page_memory, mask)
{
    Decoder decoder = page_of(1000, 700, IMGSTAT_U8);
    const uint64_t bytes = bytes_of(IMGSTAT_STRETCH, &decoder);
    decoder.how.mask = "mask.png"; /* a decoder of 2 MiB, 512 rows twice, and with the band */
    cr_expect_eq(bytes_of(IMGSTAT_STRETCH, &decoder),
                 bytes + (2 << 20) + 2 * 512 * 1000 + 1000 * 700);
}

/* A page and what it is matched to are measured one after the other, in the same memory. */
Test(page_memory, matched)
{
    char path[1024];
    Reference *reference = NULL;
    snprintf(path, sizeof path, "%s/good-rgb.png", getenv("IMGSTAT_TESTDATA"));
    const ImgstatOpen how = {.mask = NULL};
    cr_assert_eq(reference_create(path, NULL, &how, 1 << 20, &reference, NULL), IMGSTAT_OK);
    const PageToMeasure *const colours = reference_page(reference, 1);
    cr_assert_eq(colours->shape.channels, 3);
    const ImgstatMethod method = {.transform = IMGSTAT_MATCH};
    const Pipeline pipeline = {.method = &method, .reference = reference, .memory = 1 << 20};
    Decoder decoder = page_of(1000, 4000, IMGSTAT_U8);
    decoder.caps.held_bytes = 100 << 20;
    cr_expect_eq(page_memory(&pipeline, &decoder).bytes,
                 FILE_AND_THREAD + 1048 * 1000 + (100 << 20) + 2 * BYTE_RECORD + 3 * BYTE_RECORD,
                 "the page is larger");
    decoder = page_of(1, 1, IMGSTAT_U8);
    cr_expect_eq(page_memory(&pipeline, &decoder).bytes,
                 FILE_AND_THREAD + 33 * 31 * 3 + colours->held_bytes + 6 * BYTE_RECORD +
                     3 * BYTE_RECORD,
                 "the reference is larger");
    reference_destroy(reference);
}

Test(page_memory, more_than_can_be_counted)
{
    Decoder decoder = page_of(UINT32_MAX, UINT32_MAX, IMGSTAT_F64);
    decoder.page.channels = UINT16_MAX;
    decoder.caps.band_rows = UINT32_MAX;
    const PageMemory memory = of(IMGSTAT_STRETCH, &decoder, UINT64_MAX);
    cr_expect_geq(memory.bytes, UINT64_MAX / 2);
    cr_expect_not(memory.keep);
}
