/* SPDX-License-Identifier: MIT */
/* test_page_reader.c: pages measured band by band, once or again, give what the whole image gives.
 */
#include "codec/codec.h"
#include "helper_cpu.h"
#include "helper_measure.h"
#include "support.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A codec of memory that counts its calls. */
typedef struct MemoryDecoder {
    Decoder base;
    const unsigned char *pixels;
    size_t row_bytes;
    unsigned selects;
    uint32_t wider; /* columns that the page has more when it is selected again */
    uint32_t most_rows;
    uint64_t rows;
    uint32_t fail_at; /* row whose reading fails; UINT32_MAX: none */
    bool random_rows;
    uint32_t band_rows;
    uint32_t fetch_at; /* the same for read_at and tile_at */
    atomic_uint fetched;
    uint32_t tile_width, tile_height; /* 0: none */
    unsigned char *tile[4];           /* a thread each */
} MemoryDecoder;

static const char *const names[] = {"a", "b", "c", "d", "e"};

static PageEntry the_page = {.mask = IMGSTAT_NO_PAGE, .parent = IMGSTAT_NO_PAGE};

static ImgstatResult memory_select(Decoder *decoder, ImgstatError *err)
{
    (void)err;
    MemoryDecoder *const m = (MemoryDecoder *)decoder;
    decoder->channel_names = names;
    decoder->page.width += m->selects++ > 0 ? m->wider : 0;
    return IMGSTAT_OK;
}

static ImgstatResult memory_plan(Decoder *decoder, ImgstatError *err)
{
    const MemoryDecoder *const m = (const MemoryDecoder *)decoder;
    (void)err;
    decoder->caps = (DecodeCaps){.band_rows = m->band_rows,
                                 .random_rows = m->random_rows,
                                 .tile_width = m->tile_width,
                                 .tile_height = m->tile_height};
    return IMGSTAT_OK;
}

static ImgstatResult memory_read(Decoder *decoder, void *to, size_t pitch, uint32_t rows,
                                 ImgstatError *err)
{
    MemoryDecoder *const m = (MemoryDecoder *)decoder;
    for (uint32_t y = 0; y < rows; y++) {
        const uint32_t row = decoder->next_row + y;
        if (row == m->fail_at)
            return error_set(err, IMGSTAT_ERR_TRUNCATED, "the file ends");
        memcpy((unsigned char *)to + y * pitch, m->pixels + row * m->row_bytes, m->row_bytes);
    }
    m->rows += rows;
    m->most_rows = rows > m->most_rows ? rows : m->most_rows;
    return IMGSTAT_OK;
}

static bool memory_read_at(const Decoder *decoder, uint16_t plane, uint32_t row, void *to,
                           uint32_t rows)
{
    MemoryDecoder *const m = (MemoryDecoder *)(uintptr_t)decoder;
    cr_assert_eq(plane, 0);
    if (m->fetch_at >= row && m->fetch_at < row + rows)
        return false;
    memcpy(to, m->pixels + row * m->row_bytes, rows * m->row_bytes);
    atomic_fetch_add(&m->fetched, rows);
    return true;
}

static bool memory_tiles_begin(Decoder *decoder, unsigned threads)
{
    (void)decoder;
    return threads <= 4;
}

/* Pixels outside the image are there in part only: the rows are as long as the others. */
static const void *memory_tile_at(const Decoder *decoder, unsigned thread, uint16_t plane,
                                  uint32_t x, uint32_t y, size_t *pitch)
{
    MemoryDecoder *const m = (MemoryDecoder *)(uintptr_t)decoder;
    const size_t pixel = m->row_bytes / decoder->page.width;
    const uint32_t columns = decoder->page.width - x, rows = decoder->page.height - y;
    cr_assert(x % m->tile_width == 0 && y % m->tile_height == 0 && thread < 4 && plane == 0);
    *pitch = m->tile_width * pixel;
    free(m->tile[thread]);
    m->tile[thread] = malloc(m->tile_height * *pitch);
    memset(m->tile[thread], 0xFF, m->tile_height * *pitch);
    for (uint32_t i = 0; i < m->tile_height && i < rows; i++)
        memcpy(m->tile[thread] + i * *pitch, m->pixels + (y + i) * m->row_bytes + x * pixel,
               (columns < m->tile_width ? columns : m->tile_width) * pixel);
    atomic_fetch_add(&m->fetched, 1);
    return m->fetch_at >= y && m->fetch_at < y + m->tile_height ? NULL : m->tile[thread];
}

static const Codec memory_codec = {.name = "memory",
                                   .select = memory_select,
                                   .plan = memory_plan,
                                   .read_rows = memory_read,
                                   .read_at = memory_read_at,
                                   .tiles_begin = memory_tiles_begin,
                                   .tile_at = memory_tile_at};

/* A page in memory, and the whole of it as an image. */
static ImagePro make(MemoryDecoder *m, ImgstatSample sample, uint32_t width, uint32_t height,
                     uint16_t channels, uint32_t band_rows)
{
    static Source source = {.name = (char *)"memory"};
    ImagePro image;
    *m = (MemoryDecoder){.base = {.codec = &memory_codec,
                                  .source = &source,
                                  .list = {.entry = &the_page, .n = 1, .chain = 1},
                                  .page = {.pages = 1,
                                           .width = width,
                                           .height = height,
                                           .channels = channels,
                                           .sample = sample,
                                           .bits = (uint8_t)(8 * imgstat_sample_bytes(sample))}},
                         .band_rows = band_rows,
                         .row_bytes = width * channels * imgstat_sample_bytes(sample),
                         .fail_at = UINT32_MAX,
                         .fetch_at = UINT32_MAX};
    const size_t n = (size_t)width * height * channels;
    unsigned char *const pixels = malloc(n * imgstat_sample_bytes(sample));
    for (size_t i = 0; i < n; i++) {
        const double d = (double)(mix64(i) % 5000) / 8;
        const float f = (float)d;
        const uint16_t u = (uint16_t)mix64(i);
        const size_t bytes = imgstat_sample_bytes(sample);
        memcpy(pixels + i * bytes,
               bytes == 8   ? (const void *)&d
               : bytes == 4 ? (const void *)&f
                            : &u,
               bytes);
    }
    m->pixels = pixels;
    cr_assert_eq(imgstat_image_wrap(IMGSTAT_HOST, 0, pixels, 0, width, height, channels, sample, 0,
                                    free, pixels, &image, NULL),
                 IMGSTAT_OK);
    return image;
}

static const double percentiles[] = {1, 50, 99.5};

/* A page that is measured by its decoder, and the record of its pixels. */
typedef struct Page {
    MemoryDecoder m;
    ImagePro image;
    ImgstatFile file;
    ImgstatDevice *device;
    const ImgstatMeasure *how;
    ImgstatRecord *whole;
} Page;

static void page_init(Page *page, ImgstatSample sample, uint32_t width, uint32_t height,
                      uint16_t channels, uint32_t band_rows, const ImgstatMeasure *how,
                      unsigned threads)
{
    ImgstatError err = {0};
    page->image = make(&page->m, sample, width, height, channels, band_rows);
    page->file = (ImgstatFile){.decoder = &page->m.base};
    page->how = how;
    cr_assert_eq(imgstat_device_open("cpu", threads, &page->device, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_measure_image(page->device, &page->image, how, &page->whole, &err),
                 IMGSTAT_OK, "%s", err.message);
}

static void page_set_nodata(Page *page, uint64_t raw)
{
    ImgstatPage *const of = &page->m.base.page;
    of->has_nodata = true;
    of->nodata = sample_value(of->sample, sample_key(of->sample, raw));
    imgstat_image_set_nodata(&page->image, of->nodata);
    imgstat_record_destroy(page->whole);
    cr_assert_eq(imgstat_measure_image(page->device, &page->image, page->how, &page->whole, NULL),
                 IMGSTAT_OK);
}

static void page_release(Page *page)
{
    imgstat_record_destroy(page->whole);
    imgstat_device_close(page->device);
    imgstat_image_release(&page->image);
}

static void page_compare(Page *page)
{
    ImgstatRecord *record;
    ImgstatError err = {0};
    cr_assert_eq(imgstat_measure_file(page->device, &page->file, 0, page->how, &record, &err),
                 IMGSTAT_OK, "%s", err.message);
    cr_assert_gt(measure_compare(page->whole, record), 0);
    imgstat_record_destroy(record);
}

/* The decoder's sentence comes through. */
static void page_fails(Page *page)
{
    ImgstatRecord *record;
    ImgstatError err = {0};
    cr_assert_eq(imgstat_measure_file(page->device, &page->file, 0, page->how, &record, &err),
                 IMGSTAT_ERR_TRUNCATED);
    cr_assert_null(record);
    cr_assert_str_eq(err.message, "memory: the file ends");
}

typedef struct Reads {
    unsigned selects;
    uint32_t most_rows;
    uint64_t rows;
} Reads;

static Reads check(ImgstatSample sample, uint32_t width, uint32_t height, uint16_t channels,
                   uint32_t band_rows, const ImgstatMeasure *how)
{
    Page page;
    page_init(&page, sample, width, height, channels, band_rows, how, 3);
    page_compare(&page);
    page_release(&page);
    return (Reads){.selects = page.m.selects, .most_rows = page.m.most_rows, .rows = page.m.rows};
}

static const ImgstatMeasure all = {.percentiles = percentiles,
                                   .n_percentiles = 3,
                                   .median = true,
                                   .mode = true,
                                   .shape = true,
                                   .histogram = true};

Test(bands, narrow_pages_are_read_once)
{
    static const uint32_t unit[] = {1, 7, 64, 512, 3001};
    for (size_t i = 0; i < 5; i++) {
        const Reads reads = check(IMGSTAT_U16, 1000, 3001, 3, unit[i], &all);
        cr_assert(reads.selects == 1 && reads.rows == 3001);
        cr_assert(reads.most_rows % unit[i] == 0);
        cr_assert_leq(reads.most_rows * 6000ull, (4u << 20) + (i > 2 ? unit[i] * 6000ull : 0));
    }
}

Test(bands, small_wide_pages_are_decoded_once)
{
    const Reads reads = check(IMGSTAT_F32, 700, 900, 2, 16, &all);
    cr_assert(reads.selects == 1 && reads.rows == 900);
}

Test(bands, large_wide_pages_are_decoded_again)
{
    ImgstatMeasure how = all;
    how.mode = false;
    Reads reads = check(IMGSTAT_F32, 4200, 4100, 1, 16, &how); /* 69 MB */
    cr_assert_eq(reads.selects, 2); /* everything but the mode of 32-bit samples needs two reads */
    cr_assert_eq(reads.rows, 2 * 4100);
    cr_assert_leq(reads.most_rows * 4200ull * 4, 4u << 20);
    how = (ImgstatMeasure){.histogram = true, .percentiles = percentiles, .n_percentiles = 3};
    reads = check(IMGSTAT_F64, 3000, 3000, 1, 1, &how); /* 72 MB */
    cr_assert_eq(reads.selects, 3); /* the second counts 16 more bits, the last one gathers */
}

Test(bands, errors_of_the_decoder_come_through)
{
    Page page;
    ImgstatRecord *record;
    page_init(&page, IMGSTAT_U16, 3000, 2000, 1, 1, NULL, 2);
    page.m.fail_at = 1500;
    page_fails(&page);
    cr_assert_eq(imgstat_measure_file(page.device, &page.file, 1, NULL, &record, NULL),
                 IMGSTAT_ERR_ARG);
    page_release(&page);
}

/* Rows that the threads read for themselves give the same, in as many reads; where one cannot be
 * read, the bands do. */
static void check_fetched(ImgstatSample sample, uint32_t width, uint32_t height, uint16_t channels,
                          const ImgstatMeasure *how, uint32_t fetch_at, unsigned reads)
{
    for (unsigned threads = 1; threads <= 3; threads++) {
        Page page;
        page_init(&page, sample, width, height, channels, 1, how, threads);
        MemoryDecoder *const m = &page.m;
        m->random_rows = true;
        m->fetch_at = fetch_at;
        page_compare(&page);
        if (fetch_at == UINT32_MAX)
            cr_assert(m->rows == 0 && m->fetched == (uint64_t)reads * height, "%llu, %u",
                      (unsigned long long)m->rows, m->fetched);
        else
            cr_assert(m->rows == (uint64_t)reads * height && m->fetched < height);
        page_release(&page);
    }
}

/* Rows of a file that was overwritten were read into room for those of the one before. */
Test(bands, a_page_that_becomes_wider)
{
    const ImgstatMeasure how = {.median = true};
    Page page;
    ImgstatRecord *record;
    ImgstatError err = {0};
    page_init(&page, IMGSTAT_F32, 4200, 4100, 1, 16, &how, 2); /* 69 MB: decoded again */
    page.m.wider = 1;
    cr_assert_eq(imgstat_measure_file(page.device, &page.file, 0, &how, &record, &err),
                 IMGSTAT_ERR_IO);
    cr_assert_str_eq(err.message, "memory: changed while it was read");
    page_release(&page);
}

/* They were told without the file that needs them. */
Test(bands, too_many_counters_name_the_file)
{
    MemoryDecoder m;
    ImagePro image = make(&m, IMGSTAT_U16, 1, 1, UINT16_MAX, 1);
    ImgstatFile file = {.decoder = &m.base};
    ImgstatDevice *device;
    ImgstatRecord *record;
    ImgstatError err = {0};
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, &err), IMGSTAT_OK);
    cr_assert_eq(imgstat_measure_file(device, &file, 0, NULL, &record, &err), IMGSTAT_ERR_LIMIT);
    cr_assert_eq(strncmp(err.message, "memory: 65535 channels", 22), 0, "%s", err.message);
    imgstat_device_close(device);
    imgstat_image_release(&image);
}

Test(bands, rows_from_random_rows)
{
    check_fetched(IMGSTAT_U16, 1000, 3001, 3, &all, UINT32_MAX, 1);
    check_fetched(IMGSTAT_U16, 1000, 3001, 3, &all, 0, 1);
    check_fetched(IMGSTAT_U16, 1000, 3001, 3, &all, 3000, 1);
    check_fetched(IMGSTAT_U16, 300000, 7, 1, &all, UINT32_MAX, 2); /* two rectangles a row */
    check_fetched(IMGSTAT_U16, 900000, 7, 1, &all, 3, 1);          /* rows of more than 1 MiB */
}

/* Strips and tiles that the threads decode for themselves: each once, whatever their size; the
 * bands where one cannot be decoded so. */
static void check_chunks(ImgstatSample sample, uint32_t width, uint32_t height, uint16_t channels,
                         uint32_t tile_width, uint32_t tile_height, uint32_t fetch_at)
{
    const unsigned chunks = ((width - 1) / tile_width + 1) * ((height - 1) / tile_height + 1);
    for (unsigned threads = 1; threads <= 3; threads++) {
        if (!is_run(threads + channels, 3))
            continue;
        Page page;
        page_init(&page, sample, width, height, channels, tile_height, &all, threads);
        MemoryDecoder *const m = &page.m;
        m->tile_width = tile_width;
        m->tile_height = tile_height;
        m->fetch_at = fetch_at;
        if (threads == 2)
            page_set_nodata(&page, 17);
        page_compare(&page);
        if (fetch_at == UINT32_MAX && sample_is_narrow(sample))
            cr_assert(m->rows == 0 && m->fetched == chunks, "%u of %u", m->fetched, chunks);
        else
            cr_assert(m->rows >= height && m->fetched <= chunks);
        for (size_t i = 0; i < sizeof m->tile / sizeof *m->tile; i++)
            free(m->tile[i]);
        page_release(&page);
    }
}

Test(bands, chunks_apart)
{
    static const ImgstatSample samples[] = {IMGSTAT_U8, IMGSTAT_I16, IMGSTAT_U16, IMGSTAT_F16};
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        for (uint16_t channels = 1; channels <= 5; channels++) {
            if (!is_run(s + channels, 2))
                continue;
            check_chunks(samples[s], 1000, 301, channels, 128, 64, UINT32_MAX);
            check_chunks(samples[s], 1024, 256, channels, 256, 256, UINT32_MAX);
            check_chunks(samples[s], 333, 70, channels, 333, 16, UINT32_MAX); /* strips */
            check_chunks(samples[s], 50, 60, channels, 16, 16, UINT32_MAX);
            check_chunks(samples[s], 37, 5, channels, 64, 16, UINT32_MAX); /* one, too large */
        }
    }
    check_chunks(IMGSTAT_U16, 3000, 700, 1, 1024, 512, UINT32_MAX); /* in several steps each */
    check_chunks(IMGSTAT_U8, 3000, 700, 3, 1024, 512, UINT32_MAX);
    check_chunks(IMGSTAT_U16, 1000, 301, 3, 128, 64, 0);
    check_chunks(IMGSTAT_U16, 1000, 301, 3, 128, 64, 300);
    check_chunks(IMGSTAT_F32, 1000, 301, 3, 128, 64, UINT32_MAX); /* wide: their pieces are rows */
}

static void check_fetched_again(const ImgstatMeasure *how, uint64_t rows)
{
    Page page;
    page_init(&page, IMGSTAT_F32, 4200, 4100, 1, 16, how, 2); /* 69 MB: not kept */
    MemoryDecoder *const m = &page.m;
    m->random_rows = true;
    for (int damaged = 0; damaged < 2; damaged++) {
        m->fetch_at = damaged ? 4099 : UINT32_MAX;
        page_compare(&page);
        cr_assert(damaged ? m->rows == 2 * 4100 : m->rows == 0 && m->fetched == rows);
    }
    page_release(&page);
}

Test(bands, rows_from_random_rows_again)
{
    ImgstatMeasure all_but_mode = all;
    all_but_mode.mode = false;
    const ImgstatMeasure ranks = {
        .percentiles = percentiles, .n_percentiles = 3, .median = true, .histogram = false};
    if (all_run()) /* what follows wants them, too */
        check_fetched_again(&ranks, 2 * 4100);
    check_fetched_again(&all_but_mode, 2 * 4100); /* everything rides along */
}

/* The bands have the sentence. */
Test(bands, errors_of_rows_from_random_rows)
{
    Page page;
    page_init(&page, IMGSTAT_U16, 3000, 2000, 1, 1, NULL, 2);
    page.m.random_rows = true;
    page.m.fail_at = page.m.fetch_at = 1500;
    page_fails(&page);
    page_release(&page);
}
