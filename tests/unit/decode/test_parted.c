/* SPDX-License-Identifier: MIT */
/* test_parted: long streams of PNG and TIFF files, listed for a device whose memory is the
 * processor's: what the lists say decompresses to what the files' checksums are of. */
#include "decode/decode.h"
#include "decode/page_batch.h"

#include "parted_inflate.h"
#include "png_files.h"
#include "tiff_files.h"
#include "tiles_in_c.h"

#include <criterion/criterion.h>

enum { FILES = 12 };

/* A PNG of many rows, or a TIFF of strips: one, several long ones, or short ones. */
static size_t make_file(size_t i, uint64_t *state, uint8_t **out)
{
    if (i % 2 == 0) {
        PngSpec png = {.width = i % 4 ? 31 : 900, .height = 300, .color = 2, .depth = 8};
        png.filter = 5;
        png.content = 1;
        png.chunk = i % 4 ? 300 : 1 << 20;
        png.kind = (StreamKind){6, Z_DEFAULT_STRATEGY, 15, 8, Z_NO_FLUSH};
        return png_file(&png, state, out);
    }
    static const uint32_t rows[] = {300, 100, 20};
    const TiffSpec tiff = {.width = 701,
                           .height = 300,
                           .tile_height = rows[i / 2 % 3],
                           .samples = 3,
                           .bits = 8,
                           .format = TIFF_UNSIGNED,
                           .compression = i == 11 ? TIFF_PACKBITS : TIFF_DEFLATE,
                           .predictor = 1};
    TiffBytes file;
    tiff_file(&tiff, state, &file);
    *out = file.at;
    return file.n;
}

static uint32_t adler_of(uint64_t at, size_t n)
{
    return (uint32_t)adler32(adler32(0, NULL, 0), (const uint8_t *)(uintptr_t)at, (uInt)n);
}

/* Decompresses what is listed to be decompressed in parts, and nothing else. */
static void check_lists(const DecodeWork *work)
{
    size_t parted = 0;
    for (size_t i = 0; i < work->n_parted; i++) {
        const PartedStream *const p = &work->parted[i];
        size_t used;
        cr_assert(p->n_in >= PARTED_BYTES_LEAST && p->in % 4 == 0 && p->out % 16 == 0);
        cr_assert_eq(parted_run(p, &used), INFLATE_RIGHT);
        cr_assert(used > 2);
    }
    for (size_t i = 0; i < work->n_rows; i++) {
        const DeflatedRows *const rows = &work->rows[i];
        parted += rows->parted;
        cr_assert_eq(rows->parted, rows->n_in >= PARTED_BYTES_LEAST);
        if (rows->parted)
            cr_assert_eq(adler_of(rows->filtered, rows->n_out), rows->adler);
    }
    for (size_t i = 0; i < work->n_tiles; i++) {
        const CodedTile *const tile = &work->tiles[i];
        parted += tile->parted;
        if (tile->parted)
            cr_assert_eq(adler_of(tile->out, tile->n_out), tile->adler);
    }
    cr_assert_eq(parted, work->n_parted);
}

Test(parted, lists_of_long_streams)
{
    uint64_t state = 1;
    ImgstatDevice *device;
    ImgstatDecode *decode;
    ImgstatEncoded files[FILES];
    uint8_t *bytes[FILES];
    ImgstatError err;
    cr_assert_eq(imgstat_device_open("cpu", 2, &device, &err), IMGSTAT_OK);
    const DeviceOps *const usual = device->ops;
    DeviceOps ops = *usual;
    ops.fetches = false; /* so it has files decoded */
    device->ops = &ops;
    for (size_t i = 0; i < FILES; i++)
        files[i] = (ImgstatEncoded){"some file", NULL, make_file(i, &state, &bytes[i])};
    for (size_t i = 0; i < FILES; i++)
        files[i].bytes = bytes[i];
    cr_assert_eq(imgstat_decode_create(device, files, FILES, NULL, &decode, &err), IMGSTAT_OK, "%s",
                 err.message);
    cr_assert_eq(decode->work.n_rows + decode->work.n_pages, FILES);
    cr_assert_eq(decode->work.n_parted, 3 + 2 + 2 * 3, "%zu", decode->work.n_parted);
    tiles_upload(&decode->work);
    check_lists(&decode->work);
    imgstat_decode_destroy(decode);
    device->ops = usual;
    imgstat_device_close(device);
    for (size_t i = 0; i < FILES; i++)
        free(bytes[i]);
}

/* Where there are many, none is. */
Test(parted, many_streams)
{
    DecodeFile files[PARTED_STREAMS_MOST + 1];
    ImgstatDecode decode = {.file = files};
    memset(files, 0, sizeof files);
    for (size_t i = 0; i <= PARTED_STREAMS_MOST; i++) {
        files[i].on_device = true;
        files[i].rows.n_in = PARTED_BYTES_LEAST;
        files[i].rows.n_out = 1001000;
        size_t at = 0;
        decode.n = i + 1;
        decode.work.n_parted = 0;
        decode_plan_parts(&decode, &at);
        cr_assert_eq(decode.work.n_parted, i < PARTED_STREAMS_MOST ? i + 1 : 0);
        cr_assert(i == PARTED_STREAMS_MOST || (at >= 2000000 && at <= PARTED_ROUND_BYTES + 256));
    }
}

/* ---- Batches ---- */

static ImgstatResult read_file(void *context, uint64_t offset, void *to, size_t bytes, size_t *got,
                               ImgstatError *err)
{
    (void)err;
    const ImgstatEncoded *const file = context;
    *got = bytes < file->n_bytes - offset ? bytes : (size_t)(file->n_bytes - offset);
    memcpy(to, (const uint8_t *)file->bytes + offset, *got);
    return IMGSTAT_OK;
}

static size_t n_parted, n_decoded;

static ImgstatResult check_work(Device *device, void *stream, const DecodeWork *work, DevMem there,
                                DevMem checks, ImgstatError *err)
{
    (void)device, (void)stream, (void)there, (void)checks, (void)err;
    if (work->n_parted == 3) /* which takes a moment */
        check_lists(work);
    for (size_t i = 0; i < work->n_rows; i++)
        cr_assert(work->rows[i].parted == (work->n_parted > 0));
    n_parted = work->n_parted;
    n_decoded = work->n_rows;
    return IMGSTAT_OK;
}

/* Long streams of a batch are decoded in parts if they are few. */
Test(parted, batches)
{
    static const struct {
        size_t pages, mib, parted;
    } cases[] = {{3, 64, 3}, {40, 256, 40}, {41, 256, 0}};
    uint64_t state = 1;
    uint8_t *bytes;
    ImgstatDevice *device;
    ImgstatError err;
    ImgstatEncoded encoded = {.n_bytes = make_file(0, &state, &bytes)};
    encoded.bytes = bytes;
    const ImgstatInput input = {
        .bytes = encoded.n_bytes, .read_at = read_file, .context = &encoded};
    cr_assert_eq(imgstat_device_open("cpu", 1, &device, &err), IMGSTAT_OK);
    const DeviceOps *const usual = device->ops;
    DeviceOps ops = *usual;
    ops.fetches = false; /* so it has files decoded */
    ops.decode_async = check_work;
    device->ops = &ops;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        PageBatch *batch;
        cr_assert_eq(page_batch_create(device, cases[c].mib << 20, &batch, &err), IMGSTAT_OK);
        page_batch_begin(batch);
        for (size_t i = 0; i < cases[c].pages; i++) {
            ImgstatFile *file;
            PageAdded added;
            FedPages pages;
            const bool unusual = false;
            cr_assert_eq(imgstat_file_open_input("some file", &input, NULL, &file, &err),
                         IMGSTAT_OK);
            cr_assert_eq(file_choose(file, NULL, 0, &err), IMGSTAT_OK);
            cr_assert_eq(imgstat_file_page(file, 0, NULL, &err), IMGSTAT_OK);
            cr_assert_eq(page_batch_add(batch, file, NULL, &unusual, &added, &pages, &err),
                         IMGSTAT_OK);
            cr_assert_eq(added, PAGE_ADDED, "%zu", i);
            imgstat_file_close(file);
        }
        cr_assert_eq(page_batch_send(batch, &err), IMGSTAT_OK);
        cr_expect(n_decoded == cases[c].pages && n_parted == cases[c].parted, "%zu of %zu in parts",
                  n_parted, n_decoded);
        page_batch_destroy(batch);
    }
    device->ops = usual;
    imgstat_device_close(device);
    free(bytes);
}
