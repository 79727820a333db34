/* SPDX-License-Identifier: MIT */
/* page.c: a page through a row encoder into the file of the encoder that has begun it. */
#include "encode/page.h"

#include "encode/rows.h"
#include "tiff/encoder.h"

#include <stdlib.h>

struct PageRows {
    RowEncoder *encoder;
    Device *device;
    unsigned threads;
    bool fast;
};

void page_rows_destroy(PageRows *rows)
{
    if (!rows)
        return;
    row_encoder_destroy(rows->encoder);
    free(rows);
}

/* Describes rows of the page that was begun. Returns how many; 0: none are possible. */
static uint32_t describe(Encoder *encoder, uint32_t rows, RowImage *out)
{
    const PngRows *const png = png_encoder_rows(encoder);
    *out = (RowImage){.result = IMGSTAT_OK};
    if (tiff_encoder_tiles(encoder, rows, &out->tiles, &out->tile_bytes, &out->tile_at))
        return out->tiles.page.height;
    if (!png || rows != png->n)
        return 0;
    out->rows = *png;
    return rows;
}

uint32_t encode_page_rows(Encoder *encoder, uint32_t rows)
{
    RowImage page;
    return describe(encoder, rows, &page);
}

/* Has a row encoder for the device, the setting and the threads of an encoder. */
static ImgstatResult have_rows(Device *device, PageRows **rows, const EncodeOptions *how,
                               ImgstatError *err)
{
    const unsigned threads = encode_threads(how);
    PageRows *const before = *rows;
    if (before && before->device == device && before->fast == how->fast &&
        before->threads >= threads)
        return IMGSTAT_OK;
    page_rows_destroy(before);
    *rows = calloc(1, sizeof **rows);
    if (!*rows)
        return error_memory(err, sizeof **rows, "an encoder");
    **rows = (PageRows){.device = device, .threads = threads, .fast = how->fast};
    return row_encoder_create(device, how->fast, threads, &(*rows)->encoder, err);
}

ImgstatResult encode_page(Device *device, PageRows **rows, Encoder *encoder, const ImagePro *image,
                          ImgstatError *err)
{
    const char *const name = encoder->output->name;
    RowImage page;
    if (image->height == 0 || describe(encoder, image->height, &page) != image->height ||
        image->width != encoder->page.width)
        return error_file(err, IMGSTAT_ERR_ARG, name, "these are not the rows of its page");
    page.image = *image;
    void *const stream = device->stream;
    ImgstatResult res = have_rows(device, rows, &encoder->how, err);
    if (res != IMGSTAT_OK) {
        page_rows_destroy(*rows);
        *rows = NULL;
        return res;
    }
    RowEncoder *const e = (*rows)->encoder;
    IMGSTAT_TRY(row_encoder_reserve(e, &page, 1, row_encoder_bound(&page, 1), err));
    IMGSTAT_TRY(row_encoder_async(e, &page, 1, stream, err));
    IMGSTAT_TRY(row_encoder_finish(e, encoder->how.pool, stream, err));
    if (page.result != IMGSTAT_OK)
        return error_file(err, page.result, name, "out of memory for compressing");
    return page.tile_bytes
               ? tiff_encoder_write(encoder, &page.tiles, page.tile_at, page.at, page.bytes, err)
               : png_encoder_write(encoder, page.at, page.bytes, err);
}
