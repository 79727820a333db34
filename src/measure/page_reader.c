/* SPDX-License-Identifier: MIT */
/* page_reader.c: reads a page band by band, or lets the threads that use its pixels read them. */
#include "measure/page_reader.h"

#include "base/pixel.h"
#include "codec/bands.h"
#include "codec/salvage.h"
#include "codec/work.h"
#include "decode/tile_bands.h"
#include "measure/read_ahead.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    AHEAD_BYTES = 32 << 20 /* most bytes of two bands: the next is decoded meanwhile */
};

ImgstatResult band_memory_reserve(Device *device, BandMemory *memory, size_t bytes,
                                  ImgstatError *err)
{
    if (memory->memory && memory->bytes >= bytes)
        return IMGSTAT_OK;
    band_memory_release(device, memory);
    IMGSTAT_TRY(device->ops->host_alloc(device, bytes ? bytes : 1, &memory->memory, err));
    memory->bytes = bytes;
    return IMGSTAT_OK;
}

void band_memory_release(Device *device, BandMemory *memory)
{
    if (memory->memory)
        device->ops->host_release(device, memory->memory);
    *memory = (BandMemory){0};
}

static bool row_bytes_of(const Decoder *decoder, size_t *out)
{
    const ImgstatPage *const page = &decoder->page;
    return size_product(page->width, decoder_channels(decoder) * imgstat_sample_bytes(page->sample),
                        out);
}

static uint16_t planes_of(const Decoder *decoder)
{
    return decoder->caps.planes ? decoder->caps.planes : 1;
}

/* Returns the bytes of all masks of a row. */
static size_t mask_bytes_of(const Decoder *decoder)
{
    const size_t width = decoder->page.width;
    return (page_is_masked(decoder) ? width : 0) + (decoder->how.salvage ? width : 0);
}

size_t page_reader_band_bytes(const Decoder *decoder)
{
    size_t row, bytes;
    const size_t mask = mask_bytes_of(decoder);
    if (!row_bytes_of(decoder, &row) || row > SIZE_MAX - mask ||
        !size_product(row + mask, bands_rows(decoder, row), &bytes))
        return SIZE_MAX;
    return bytes;
}

size_t page_reader_whole_bytes(const Decoder *decoder)
{
    size_t row, bytes;
    if (!row_bytes_of(decoder, &row) || !size_product(row, decoder->page.height, &bytes) ||
        !size_product(bytes, planes_of(decoder), &bytes))
        return SIZE_MAX;
    const size_t mask = mask_bytes_of(decoder) * (size_t)decoder->page.height; /* both 32 bits */
    return bytes < SIZE_MAX - mask ? bytes + mask : SIZE_MAX;
}

/* Returns the rows of the buffer: those of the page if it is kept, else of two bands or of one. */
static uint32_t buffer_height(const PageReader *reader, size_t row_bytes)
{
    const uint32_t height = reader->decoder->page.height;
    if (reader->kept)
        return height;
    const bool two = reader->decoder->options.threads > 1 && row_bytes > 0 &&
                     reader->rows <= AHEAD_BYTES / 2 / row_bytes;
    const uint64_t rows = (uint64_t)reader->rows * (two ? 2 : 1);
    return rows < height ? (uint32_t)rows : height;
}

ImgstatResult page_reader_open(Device *device, Decoder *decoder, bool keep, BandMemory *memory,
                               PageReader *out, ImgstatError *err)
{
    DecodeOptions options = decoder->options;
    if (options.threads == 0 || options.threads > device->threads)
        options.threads = device->threads;
    options.buffers = device->cache;
    IMGSTAT_TRY(decoder_reselect(decoder, &options, err));
    IMGSTAT_TRY(work_spend(decoder, err));
    *out = (PageReader){
        .device = device, .decoder = decoder, .planes = planes_of(decoder), .kept = keep};
    const ImgstatPage *const page = &decoder->page;
    size_t row = 0, bytes;
    const bool fits = row_bytes_of(decoder, &row);
    out->rows = fits ? bands_rows(decoder, row) : 0;
    const uint32_t rows = buffer_height(out, row);
    if (!fits || !size_product(row, rows, &bytes) ||
        !size_product(bytes, keep ? out->planes : 1, &bytes))
        return error_file(err, IMGSTAT_ERR_LIMIT, decoder->source->name, "rows are too large");
    const bool masked = page_is_masked(decoder);
    const size_t mask_bytes = (size_t)page->width * rows;
    IMGSTAT_TRY(
        band_memory_reserve(device, memory, bytes + mask_bytes_of(decoder) * (size_t)rows, err));
    IMGSTAT_TRY(imgstat_image_wrap(IMGSTAT_HOST, 0, memory->memory, 0, page->width, rows,
                                   decoder_channels(decoder), page->sample, page->bits, NULL, NULL,
                                   &out->page, err));
    out->pixels = memory->memory;
    if (masked) {
        out->page.mask = (unsigned char *)memory->memory + bytes;
        out->page.mask_pitch = page->width;
    }
    if (decoder->how.salvage)
        out->lost_mask = (unsigned char *)memory->memory + bytes + (masked ? mask_bytes : 0);
    if (page->has_nodata)
        imgstat_image_set_nodata(&out->page, page->nodata);
    return IMGSTAT_OK;
}

bool page_reader_tiles_there(Decoder *decoder)
{
    size_t row;
    return row_bytes_of(decoder, &row) && tile_bands_possible(decoder, bands_rows(decoder, row));
}

void page_reader_of_image(Device *device, const ImagePro *image, PageReader *out)
{
    *out = (PageReader){.device = device,
                        .planes = 1,
                        .page = *image,
                        .pixels = image->host,
                        .kept = true,
                        .filled = 1,
                        .rows = image->height};
    out->page.release = NULL;
}

void page_reader_set_plane(PageReader *reader, uint16_t plane)
{
    reader->plane = plane;
    if (reader->kept && plane > 0)
        reader->page.host = (unsigned char *)reader->pixels +
                            plane * (size_t)reader->page.height * reader->page.pitch;
    else
        reader->page.host = reader->pixels;
}

ImgstatResult page_reader_set_region(PageReader *reader, const ImgstatRegion *region,
                                     ImgstatError *err)
{
    const uint32_t width = reader->page.width;
    const uint32_t height = reader->decoder ? reader->decoder->page.height : reader->page.height;
    reader->region = (ImgstatRegion){0};
    if (region->width == 0 && region->height == 0)
        return IMGSTAT_OK;
    if (region->width == 0 || region->height == 0)
        return error_set(err, IMGSTAT_ERR_ARG, "a region of %ux%u pixels is empty", region->width,
                         region->height);
    if (!region_is_within(region, width, height))
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the region of %ux%u pixels at %u,%u is not within the page of %ux%u",
                         region->width, region->height, region->x, region->y, width, height);
    reader->region = *region;
    return IMGSTAT_OK;
}

/* Cuts the region out of a band. Returns false if the band has no row of it. */
static bool cut_region(const PageReader *reader, ImagePro *band)
{
    const ImgstatRegion *const region = &reader->region;
    if (region->width == 0)
        return true;
    const uint64_t end = (uint64_t)band->first_row + band->height;
    const uint64_t region_end = (uint64_t)region->y + region->height;
    const uint64_t from = band->first_row > region->y ? band->first_row : region->y;
    const uint64_t to = end < region_end ? end : region_end;
    if (from >= to)
        return false;
    const ImgstatRegion part = {.x = region->x,
                                .y = (uint32_t)from - band->first_row,
                                .width = region->width,
                                .height = (uint32_t)(to - from)};
    *band = image_part(band, &part);
    band->first_row = (uint32_t)from - region->y;
    return true;
}

static ImgstatResult use_region(const PageReader *reader, const ImagePro *band, UseBand use,
                                void *context, ImgstatError *err)
{
    ImagePro part = *band;
    return cut_region(reader, &part) ? use(context, &part, err) : IMGSTAT_OK;
}

/* Uses a band, with lost samples masked if it is measured. The device may still be reading that
 * mask for the plane before. */
static ImgstatResult use_rows(const PageReader *reader, const ImagePro *band, UseBand use,
                              void *context, ImgstatError *err)
{
    if (!reader->measures || !reader->lost_mask || !salvage_lost(reader->decoder, band))
        return use_region(reader, band, use, context, err);
    const size_t slot = (size_t)((unsigned char *)band->host - (unsigned char *)reader->page.host);
    uint8_t *const mask = reader->lost_mask + slot / band->pitch * band->width;
    IMGSTAT_TRY(device_wait(reader->device, err));
    const ImagePro masked = salvage_masked(reader->decoder, band, mask);
    return use_region(reader, &masked, use, context, err);
}

/* Decodes rows of the page by the processor, and uses them. */
static ImgstatResult each_decoded(PageReader *reader, uint32_t first, uint32_t last, UseBand use,
                                  void *context, ImgstatError *err)
{
    Decoder *const decoder = reader->decoder;
    ReadAhead *ahead = NULL;
    decoder->next_row = first;
    ImgstatResult res = read_ahead_start(decoder, &reader->page, first, last, reader->rows,
                                         decoder->options.threads > 1, &ahead, err);
    for (uint64_t row = first; res == IMGSTAT_OK && row < last; row += reader->rows) {
        ImagePro band;
        if (row > first && !reader->kept) /* the device may still be reading the band before */
            res = device_wait(reader->device, err);
        if (res == IMGSTAT_OK)
            res = cancel_check(&reader->device->cancel, err);
        if (res == IMGSTAT_OK)
            res = read_ahead_next(ahead, &band, err);
        if (res == IMGSTAT_OK)
            res = use_rows(reader, &band, use, context, err);
    }
    read_ahead_stop(ahead);
    return res;
}

/* Uses bands that the device decodes, and rows that the processor decodes in place of it. */
static ImgstatResult each_there(PageReader *reader, TileBands *bands, UseBand use, void *context,
                                ImgstatError *err)
{
    ImgstatResult res = IMGSTAT_OK;
    for (bool more = true; res == IMGSTAT_OK && more;) {
        ImagePro band;
        bool decoded;
        res = cancel_check(&reader->device->cancel, err);
        if (res == IMGSTAT_OK)
            res = tile_bands_next(bands, &band, &decoded, err);
        more = res == IMGSTAT_OK && band.height > 0;
        if (more && decoded)
            res = use(context, &band, err);
        else if (more)
            res = each_decoded(reader, band.first_row, band.first_row + band.height, use, context,
                               err);
    }
    tile_bands_close(bands);
    return res;
}

ImgstatResult page_reader_each(PageReader *reader, UseBand use, void *context, ImgstatError *err)
{
    IMGSTAT_TRY(cancel_check(&reader->device->cancel, err));
    if (reader->plane < reader->filled)
        return use_rows(reader, &reader->page, use, context, err);
    Decoder *const decoder = reader->decoder;
    const RowRange rows = reader->region.width > 0 && !reader->kept
                              ? bands_of_region(decoder, &reader->region, reader->rows)
                              : (RowRange){0, decoder->page.height};
    const uint32_t last = rows.first + rows.n;
    TileBands *bands = NULL;
    IMGSTAT_TRY(decoder_rewind(decoder, reader->plane, err));
    if (reader->tiles_there && !reader->kept && !reader->extras && reader->region.width == 0)
        IMGSTAT_TRY(tile_bands_open(reader->device, decoder, reader->rows, &bands, err));
    if (bands)
        return each_there(reader, bands, use, context, err);
    if (reader->page.mask)
        IMGSTAT_TRY(page_mask_begin(decoder, err));
    IMGSTAT_TRY(each_decoded(reader, rows.first, last, use, context, err));
    if (last < decoder->page.height)
        salvage_warn(decoder);
    if (reader->kept)
        reader->filled = (uint16_t)(reader->plane + 1);
    return IMGSTAT_OK;
}

/* ---- Direct reads ----
 * The threads that use rows read them, or decode strips and tiles. So their bytes are in the cache
 * of one core, and no band waits for another. */

enum {
    ROW_BYTES = 1 << 20,  /* longer rows would be read again for each of their rectangles */
    TILE_PIXELS = 1 << 24 /* counters of 32 bits hold many times as many */
};

typedef struct Fetching {
    const Decoder *decoder;
    uint16_t plane;
    size_t row_bytes;
    BandMemory *memory; /* a thread each */
    unsigned threads;
    atomic_bool failed;
} Fetching;

static bool reserve(BufferCache *cache, BandMemory *memory, size_t bytes)
{
    if (memory->bytes >= bytes)
        return true;
    buffer_cache_release(memory->memory);
    memory->memory = buffer_cache_acquire(cache, bytes);
    memory->bytes = memory->memory ? bytes : 0;
    return memory->memory != NULL;
}

static const void *fetch_rows(void *context, unsigned thread, uint32_t row, uint32_t rows)
{
    Fetching *const f = context;
    if (!atomic_load(&f->failed) && thread < f->threads &&
        reserve(f->decoder->options.buffers, &f->memory[thread], rows * f->row_bytes) &&
        f->decoder->codec->read_at(f->decoder, f->plane, row, f->memory[thread].memory, rows))
        return f->memory[thread].memory;
    atomic_store(&f->failed, true); /* the other threads stop */
    return NULL;
}

static const void *fetch_tile(void *context, unsigned thread, uint32_t x, uint32_t y, size_t *pitch)
{
    Fetching *const f = context;
    const void *pixels = NULL;
    if (!atomic_load(&f->failed) && thread < f->threads)
        pixels = f->decoder->codec->tile_at(f->decoder, thread, f->plane, x, y, pitch);
    if (!pixels)
        atomic_store(&f->failed, true);
    return pixels;
}

bool page_reader_direct_rows(const Device *device, const Decoder *decoder)
{
    size_t row;
    return decoder->caps.random_rows && device->ops->fetches && !page_is_masked(decoder) &&
           row_bytes_of(decoder, &row) && row <= ROW_BYTES;
}

/* Prepares the decoder for threads that decode its tiles. Returns false if it has none for them. */
static bool begin_tiles(const Device *device, Decoder *decoder)
{
    return device->ops->fetches && decoder->caps.tile_width > 0 &&
           sample_is_narrow(decoder->page.sample) &&
           (uint64_t)decoder->caps.tile_width * decoder->caps.tile_height <= TILE_PIXELS &&
           decoder->codec->tiles_begin(decoder, device->threads);
}

ImgstatResult page_reader_direct(PageReader *reader, bool tiles, UseSource use, void *context,
                                 DirectRead *done, ImgstatError *err)
{
    Device *const device = reader->device;
    Decoder *const decoder = reader->decoder;
    *done = DIRECT_NONE;
    if (!reader->direct || (decoder && decoder->how.salvage) || reader->region.width > 0 ||
        reader->kept || reader->page.mask)
        return IMGSTAT_OK;
    const bool rows = page_reader_direct_rows(device, decoder);
    if (!rows && !(tiles && begin_tiles(device, decoder)))
        return IMGSTAT_OK;
    ImagePro page = reader->page;
    page.host = NULL;
    page.height = decoder->page.height;
    Fetching fetching = {.decoder = decoder,
                         .plane = reader->plane,
                         .row_bytes = page.pitch,
                         .memory = calloc(device->threads, sizeof *fetching.memory),
                         .threads = device->threads};
    if (!fetching.memory)
        return error_memory(err, device->threads * sizeof *fetching.memory, "buffers");
    PixelSource source = {.images = &page, .n = 1, .context = &fetching};
    if (rows) {
        source.rows = fetch_rows;
    } else {
        source.tile = fetch_tile;
        source.tile_width = decoder->caps.tile_width;
        source.tile_height = decoder->caps.tile_height;
    }
    const ImgstatResult res = use(context, &source, err);
    for (unsigned i = 0; i < fetching.threads; i++)
        buffer_cache_release(fetching.memory[i].memory);
    free(fetching.memory);
    *done = atomic_load(&fetching.failed) ? DIRECT_FAILED : DIRECT_COMPLETE;
    if (*done == DIRECT_FAILED)
        reader->direct = false;
    return res;
}
