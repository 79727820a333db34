/* SPDX-License-Identifier: MIT */
/* page_batch.c: compressed bytes fill the memory of a batch from below, rows, tiles and pixels from
 * above. */
#include "decode/batch.h"

#include "decode/deflated_place.h"
#include "decode/parted.h"

#include <stdlib.h>
#include <string.h>

enum {
    TILES = 1 << 15,     /* most of a batch */
    PARTED_STREAMS = 40, /* a dozen batches are decoded at a time; more streams go in order */
    /* What all but tiles take in the list of what is decoded. */
    PAGES_BYTES = BATCH_PAGES * (sizeof(DeflatedRows) + sizeof(TiledPage)) +
                  PARTED_STREAMS * sizeof(PartedStream)
};

/* ---- Filling ---- */

ImgstatResult batch_wrap(const Device *device, uint64_t address, size_t pitch,
                         const ImgstatPage *page, ImagePro *out, ImgstatError *err)
{
    IMGSTAT_TRY(imgstat_image_wrap(IMGSTAT_CUDA, device->index, (void *)(uintptr_t)address, pitch,
                                   page->width, page->height, page->channels, page->sample,
                                   page->bits, NULL, NULL, out, err));
    if (page->has_nodata)
        imgstat_image_set_nodata(out, page->nodata);
    return IMGSTAT_OK;
}

ImgstatResult page_batch_create(Device *device, size_t bytes, PageBatch **out, ImgstatError *err)
{
    const DeviceOps *const ops = device->ops;
    PageBatch *const batch = calloc(1, sizeof *batch);
    *out = NULL;
    if (!batch)
        return error_memory(err, sizeof *batch, "a batch of pages");
    batch->device = device;
    ImgstatResult res = ops->alloc(device, bytes, &batch->memory, err);
    if (res == IMGSTAT_OK)
        res =
            ops->host_alloc(device, PAGES_BYTES + TILES * sizeof *batch->tiles, &batch->list, err);
    batch->tiles = malloc(TILES * sizeof *batch->tiles);
    if (res == IMGSTAT_OK && !batch->tiles)
        res = error_memory(err, TILES * sizeof *batch->tiles, "tiles");
    if (res != IMGSTAT_OK) {
        page_batch_destroy(batch);
        return res;
    }
    *out = batch;
    return IMGSTAT_OK;
}

void page_batch_destroy(PageBatch *batch)
{
    if (!batch)
        return;
    const DeviceOps *const ops = batch->device->ops;
    if (batch->staging)
        ops->host_release(batch->device, batch->staging);
    if (batch->list)
        ops->host_release(batch->device, batch->list);
    ops->release(batch->device, &batch->memory);
    free(batch->tiles);
    free(batch->counts);
    free(batch);
}

void page_batch_begin(PageBatch *batch)
{
    batch->n = batch->n_tiled = batch->n_tiles = batch->bottom = batch->staged = 0;
    const size_t at = place(&batch->bottom, sizeof batch->check);
    batch->checks_there = (DevMem){batch->memory.address + at, sizeof batch->check};
    batch->top = batch->memory.bytes / PLACE_ALIGN * PLACE_ALIGN;
}

/* Returns the bytes for another page beside the list of what is decoded. */
static size_t free_bytes(const PageBatch *batch)
{
    const size_t all = batch->top - batch->bottom;
    const size_t list = PAGES_BYTES + batch->n_tiles * sizeof *batch->tiles + PLACE_ALIGN;
    return all > list ? all - list : 0;
}

/* Stages the compressed bytes of a page. Returns false if the device cannot decode it. */
static bool stage(PageBatch *batch, Decoder *decoder, BatchPage *page, size_t *bytes)
{
    uint8_t colors[DEFLATED_COLORS][4];
    uint8_t *const to = (uint8_t *)batch->staging + batch->staged;
    DeflatedRows *const rows = &page->rows;
    const size_t room = batch->staging_bytes - batch->staged - DEFLATED_COLOR_BYTES;
    if (!decoder->codec->deflated(decoder, to, room, rows, colors))
        return false;
    const size_t stream = padded(2 * DEFLATED_ALIGN + rows->n_in, DEFLATED_ALIGN);
    rows->in = batch->bottom + DEFLATED_ALIGN;
    rows->colors = batch->bottom + stream;
    *bytes = stream + (rows->form == ROWS_COLORS ? DEFLATED_COLOR_BYTES : 0);
    if (rows->form == ROWS_COLORS)
        memcpy(to + stream, colors, sizeof colors);
    return true;
}

/* Places the rows of a page that is staged, and `pixels` bytes of pixels. Returns false if they do
 * not fit. */
static bool place_page(PageBatch *batch, BatchPage *page, size_t pixels, size_t stream)
{
    const uint64_t base = batch->memory.address;
    DeflatedRows *const rows = &page->rows;
    const uint64_t colors = rows->colors;
    size_t bytes = 0;
    deflated_place(rows, &bytes);
    rows->pixels = place(&bytes, pixels);
    if (free_bytes(batch) < bytes + stream)
        return false;
    batch->top -= bytes;
    batch->bottom += stream;
    batch->staged += stream;
    deflated_move(rows, base + batch->top);
    rows->pixels += base + batch->top;
    rows->in += base;
    rows->colors = colors + base;
    return true;
}

/* Adds a page that is one stream. no_room: what to say if there is none. */
static ImgstatResult add_rows(PageBatch *batch, Decoder *decoder, size_t pitch, PageAdded no_room,
                              PageAdded *added, ImgstatError *err)
{
    BatchPage *const page = &batch->page[batch->n];
    const size_t all = free_bytes(batch), pixels = pitch * decoder->page.height;
    const uint64_t file = decoder->source->bytes + 2 * PLACE_ALIGN + DEFLATED_COLOR_BYTES;
    size_t stream;
    *added = no_room;
    if (file > all || pixels > (all - file) / 2)
        return IMGSTAT_OK;
    IMGSTAT_TRY(batch_reserve_staging(batch, (size_t)file, err));
    *added = PAGE_REFUSED;
    if (!stage(batch, decoder, page, &stream))
        return IMGSTAT_OK;
    page->tiled.n_tiles = 0;
    page->rows.pitch = pitch;
    *added = place_page(batch, page, pixels, stream) ? PAGE_ADDED : no_room;
    return IMGSTAT_OK;
}

/* Adds a page of tiles, as it was described. rows: that these hold. */
static ImgstatResult add_described(PageBatch *batch, const Source *source, const CodedTile *tiles,
                                   RowRange rows, size_t pitch, PageAdded no_room, PageAdded *added,
                                   ImgstatError *err)
{
    BatchPage *const page = &batch->page[batch->n];
    TiledPage *const tiled = &page->tiled;
    const size_t n = tiled->n_tiles, list = n * sizeof *tiles;
    FileSpan span;
    if (!tiles_span(tiles, n, &span))
        return IMGSTAT_OK;
    *added = no_room;
    if (pitch * rows.n > batch->memory.bytes)
        return IMGSTAT_OK;
    size_t bytes = 0;
    const size_t room_at = place(&bytes, tiles_room(tiled, tiles, n));
    const size_t pixels_at = place(&bytes, pitch * rows.n);
    if (n > TILES - batch->n_tiles ||
        free_bytes(batch) < bytes + list + padded(span.bytes, PLACE_ALIGN))
        return IMGSTAT_OK;
    const uint64_t in = batch->memory.address + batch->bottom;
    bool read;
    IMGSTAT_TRY(batch_stage_file(batch, source, &span, &read, err));
    *added = read ? PAGE_ADDED : PAGE_REFUSED;
    if (!read)
        return IMGSTAT_OK;
    batch->top -= bytes;
    const uint64_t there = batch->memory.address + batch->top;
    CodedTile *const own = batch->tiles + batch->n_tiles;
    memcpy(own, tiles, list);
    tiles_move(tiled, own, n, &span, in, there + room_at, (uint32_t)batch->n_tiled);
    batch->n_tiles += n;
    batch->n_tiled++;
    tiled->pixels = there + pixels_at - pitch * rows.first; /* which are not touched */
    tiled->pitch = pitch;
    return IMGSTAT_OK;
}

/* rows: that are needed. */
static ImgstatResult add_tiles(PageBatch *batch, Decoder *decoder, RowRange rows, size_t pitch,
                               PageAdded no_room, PageAdded *added, ImgstatError *err)
{
    TiledPage *const tiled = &batch->page[batch->n].tiled;
    CodedTile *tiles;
    *added = PAGE_REFUSED;
    if (!decoder->codec->coded_tiles(decoder, tiled, &tiles))
        return IMGSTAT_OK;
    const RowRange held = tiles_keep_rows(tiled, tiles, rows);
    const ImgstatResult res =
        add_described(batch, decoder->source, tiles, held, pitch, no_room, added, err);
    free(tiles);
    return res;
}

/* Adds the page that is selected. region: NULL, or all of it that is needed. */
static ImgstatResult add_page(PageBatch *batch, Decoder *decoder, const ImgstatRegion *region,
                              PageAdded *added, ImgstatError *err)
{
    const ImgstatPage *const from = &decoder->page;
    const Codec *const codec = decoder->codec;
    const PageAdded no_room = batch->n > 0 ? PAGE_FULL : PAGE_REFUSED;
    size_t row, pixels;
    *added = PAGE_REFUSED;
    if (page_is_masked(decoder) || decoder->how.salvage ||
        (region && !region_is_within(region, from->width, from->height)) ||
        !size_product(from->width, from->channels * imgstat_sample_bytes(from->sample), &row) ||
        row > SIZE_MAX - BATCH_ROW_ALIGN)
        return IMGSTAT_OK;
    const RowRange rows = region && !codec->deflated
                              ? bands_of_region(decoder, region, bands_rows(decoder, row))
                              : (RowRange){0, from->height};
    const size_t pitch = padded(row, BATCH_ROW_ALIGN);
    if (!size_product(pitch, from->height, &pixels))
        return IMGSTAT_OK;
    *added = no_room;
    if (batch->n == BATCH_PAGES || pitch * rows.n > batch->memory.bytes)
        return IMGSTAT_OK;
    *added = PAGE_REFUSED;
    if (codec->deflated)
        IMGSTAT_TRY(add_rows(batch, decoder, pitch, no_room, added, err));
    else if (codec->coded_tiles)
        IMGSTAT_TRY(add_tiles(batch, decoder, rows, pitch, no_room, added, err));
    if (*added != PAGE_ADDED)
        return IMGSTAT_OK;
    BatchPage *const page = &batch->page[batch->n++];
    page->page = *from;
    IMGSTAT_TRY(batch_wrap(batch->device,
                           page->tiled.n_tiles > 0 ? page->tiled.pixels : page->rows.pixels, pitch,
                           from, &page->image, err));
    if (region)
        page->image = image_part(&page->image, region);
    return IMGSTAT_OK;
}

ImgstatResult page_batch_add(PageBatch *batch, ImgstatFile *file, const PageCount *count,
                             const bool *unusual, PageAdded *added, FedPages *pages,
                             ImgstatError *err)
{
    const ImgstatRegion *const region =
        count && (count->region.width > 0 || count->region.height > 0) ? &count->region : NULL;
    const size_t n = batch->n, n_tiled = batch->n_tiled, n_tiles = batch->n_tiles;
    const size_t top = batch->top, bottom = batch->bottom;
    const ImgstatPage *const page = &file->decoder->page;
    *added = PAGE_ADDED;
    for (uint32_t i = 0; i < file->n_chosen && *added == PAGE_ADDED; i++) {
        const bool selected =
            i == 0 || imgstat_file_page(file, file->chosen[i].page, NULL, NULL) == IMGSTAT_OK;
        *added = PAGE_REFUSED;
        if (selected && (!count || sample_is_narrow(page->sample)))
            IMGSTAT_TRY(add_page(batch, file->decoder, region, added, err));
        *added = *unusual ? PAGE_REFUSED : *added;
    }
    *pages = (FedPages){.batch = batch, .first = n, .n = batch->n - n};
    if (*added != PAGE_ADDED) {
        const size_t undone = batch->bottom - bottom; /* a part of it may have been uploaded */
        batch->staged -= undone < batch->staged ? undone : batch->staged;
        batch->bottom = bottom;
        batch->n = n;
        batch->n_tiled = n_tiled;
        batch->n_tiles = n_tiles;
        batch->top = top;
    }
    if (*added == PAGE_FULL && n == 0)
        *added = PAGE_REFUSED;
    return IMGSTAT_OK;
}

/* ---- Decoding ---- */

ImgstatResult batch_read_checks(PageBatch *batch, ImgstatError *err)
{
    return batch->device->ops->download(batch->device, batch->check, batch->checks_there, 0,
                                        batch->n * sizeof *batch->check, err);
}

/* Lists what the device decodes, and finds a place for the list there. */
static DecodeWork list_work(PageBatch *batch, size_t *at)
{
    const DecodeWork counts = {.n_rows = batch->n - batch->n_tiled,
                               .n_pages = batch->n_tiled,
                               .n_tiles = batch->n_tiles,
                               .n_parted = PARTED_STREAMS};
    DecodeWork work = decode_work_at(&counts, batch->list);
    size_t rows = 0, pages = 0;
    for (size_t i = 0; i < batch->n; i++) {
        BatchPage *const page = &batch->page[i];
        const bool tiled = page->tiled.n_tiles > 0;
        page->check = tiled ? counts.n_rows + pages : rows;
        if (tiled)
            work.pages[pages++] = page->tiled;
        else
            work.rows[rows++] = page->rows;
    }
    memcpy(work.tiles, batch->tiles, batch->n_tiles * sizeof *batch->tiles);
    *at = place(&batch->bottom, decode_work_bytes(&work));
    parted_list(&work, PARTED_STREAMS, batch->memory.address + batch->bottom,
                batch->top - batch->bottom);
    return work;
}

ImgstatResult page_batch_send(PageBatch *batch, ImgstatError *err)
{
    IMGSTAT_TRY(batch_upload_staged(batch, err));
    if (batch->n == 0)
        return IMGSTAT_OK;
    size_t at;
    const DecodeWork work = list_work(batch, &at);
    const DevMem there = {batch->memory.address + at, decode_work_bytes(&work)};
    return batch->device->ops->decode_async(batch->device, batch->device->stream, &work, there,
                                            batch->checks_there, err);
}

ImgstatResult page_batch_wait(PageBatch *batch, ImgstatError *err)
{
    IMGSTAT_TRY(device_wait(batch->device, err));
    return batch_read_checks(batch, err);
}

const BatchPage *batch_page(const FedPages *fed, const ImgstatPage *page)
{
    const BatchPage *from = fed->batch->page + fed->first;
    const BatchPage *const end = from + fed->n;
    while (from < end && from->page.page != page->page)
        from++;
    return from == end || fed->batch->check[from->check].doubt || !page_has_shape(page, &from->page)
               ? NULL
               : from;
}

const ImagePro *fed_page_image(const FedPages *fed, const ImgstatPage *page)
{
    const BatchPage *const from = batch_page(fed, page);
    return from ? &from->image : NULL;
}

void feeder_release(Feeder *feeder)
{
    page_batch_destroy(feeder->pages);
    if (feeder->owned)
        imgstat_device_close(feeder->device);
    *feeder = (Feeder){0};
}
