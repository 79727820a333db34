/* SPDX-License-Identifier: MIT */
/* tile_bands.c: while the device decodes a band, the compressed bytes of the next one are read. */
#include "decode/tile_bands.h"

#include "base/thread_pool.h"
#include "codec/decode_work.h"
#include "codec/page_mask.h"
#include "decode/deflated_place.h"
#include "decode/tile_place.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_BYTES = 64 << 20,  /* the processor decodes smaller ones while the device begins */
    TILES_LEAST = 128,      /* one keeps a warp busy at 30 MB/s */
    BAND_BYTES = 256 << 20, /* about half of what decodes at a time on a large GPU */
    STAGING_BYTES = 16 << 20,
    READ_BYTES = 1 << 20, /* of a task */
    MEMORY_SHARE = 3,     /* of the device's memory, at most */
    SLOTS = 2,
    BAND_ROW_ALIGN = 16
};

/* The per-thread default stream (imgstat_async.h): uploads do not wait for what it decodes. */
static void *const decode_stream = (void *)(uintptr_t)2;

/* A band on its way. */
typedef struct Slot {
    uint64_t in, pixels; /* places in the memory */
    DecodeWork work;     /* lists in host_alloc's memory */
    DevMem list_there, check_there;
    bool ready;
} Slot;

struct TileBands {
    Device *device;
    Decoder *decoder;
    ThreadPool *pool;
    TiledPage page;
    CodedTile *tiles;
    uint32_t rows, down; /* of a band; rows of its tiles */
    uint32_t n, next;    /* bands; the first that was not returned */
    size_t pitch;
    DevMem memory;
    uint64_t out; /* room for the tiles of a band, decompressed: bands are decoded in turn */
    void *lists, *staging;
    Slot slot[SLOTS];
};

/* ---- Geometry ---- */

/* Returns the tiles of a band, *n of them. */
static CodedTile *tiles_at(const TileBands *b, uint32_t band, size_t *n)
{
    const uint32_t first = band * b->down, left = b->page.down - first;
    *n = (size_t)(left < b->down ? left : b->down) * b->page.across;
    return b->tiles + (size_t)first * b->page.across;
}

static uint32_t rows_at(const TileBands *b, uint32_t band)
{
    const uint32_t left = b->page.height - band * b->rows;
    return left < b->rows ? left : b->rows;
}

/* Whether the device is to decode the page, which is described. unit: rows of a band are a multiple
 * of it. */
static bool choose_bands(TileBands *b, uint32_t unit)
{
    const ImgstatPage *const page = &b->decoder->page;
    const bool always = b->decoder->mode == DECODE_THREADS;
    const uint64_t row =
        (uint64_t)page->width * page->channels * imgstat_sample_bytes(page->sample);
    const uint32_t height = b->page.tile_height, step = (unit - 1) / height + 1; /* rows of tiles */
    if (b->page.planes > 1 || row == 0 || row > BAND_BYTES / step / height ||
        (unit % height > 0 && unit < page->height))
        return false;
    if (!always && (b->page.coding == TILE_PLAIN || row * page->height < PAGE_BYTES ||
                    b->page.n_tiles < TILES_LEAST))
        return false;
    const uint64_t most = always ? step : BAND_BYTES / (row * height) / step * step;
    b->down = most < b->page.down ? (uint32_t)most : b->page.down;
    b->rows = b->down * height;
    b->n = (b->page.down - 1) / b->down + 1;
    b->pitch = padded((size_t)row, BAND_ROW_ALIGN);
    return true;
}

/* ---- Memory ---- */

/* Places all that the device needs. Returns the bytes. */
static size_t place_slots(TileBands *b)
{
    size_t at = 0, compressed = 0, room = 0, n;
    for (uint32_t i = 0; i < b->n; i++) {
        const CodedTile *const tiles = tiles_at(b, i, &n);
        FileSpan span;
        const size_t bytes = tiles_room(&b->page, tiles, n);
        if (tiles_span(tiles, n, &span) && span.bytes > compressed)
            compressed = (size_t)span.bytes;
        room = bytes > room ? bytes : room;
    }
    b->out = place(&at, room);
    (void)tiles_at(b, 0, &n);
    const DecodeWork most = {.n_pages = 1, .n_tiles = n};
    for (size_t i = 0; i < SLOTS; i++) {
        Slot *const slot = &b->slot[i];
        slot->in = place(&at, compressed);
        slot->pixels = place(&at, b->pitch * b->rows);
        slot->list_there = (DevMem){place(&at, decode_work_bytes(&most)), decode_work_bytes(&most)};
        slot->check_there = (DevMem){place(&at, sizeof(DeflatedCheck)), sizeof(DeflatedCheck)};
        slot->work = most;
    }
    return at;
}

static ImgstatResult allocate(TileBands *b, size_t bytes, ImgstatError *err)
{
    Device *const device = b->device;
    const DeviceOps *const ops = device->ops;
    const size_t list = padded(decode_work_bytes(&b->slot[0].work), PLACE_ALIGN);
    IMGSTAT_TRY(thread_pool_create(device->threads, &b->pool, err));
    IMGSTAT_TRY(ops->host_alloc(device, SLOTS * list, &b->lists, err));
    IMGSTAT_TRY(ops->host_alloc(device, STAGING_BYTES, &b->staging, err));
    IMGSTAT_TRY(ops->alloc(device, bytes, &b->memory, err));
    b->out += b->memory.address;
    for (size_t i = 0; i < SLOTS; i++) {
        Slot *const slot = &b->slot[i];
        slot->in += b->memory.address;
        slot->pixels += b->memory.address;
        slot->list_there.address += b->memory.address;
        slot->check_there.address += b->memory.address;
        slot->work = decode_work_at(&slot->work, (uint8_t *)b->lists + i * list);
    }
    return device_wait(device, err); /* another stream uses it */
}

/* ---- Reading ---- */

typedef struct Reading {
    const Source *source;
    uint64_t first;
    size_t bytes;
    uint8_t *to;
    atomic_bool failed;
} Reading;

static void read_part(void *context, size_t task, unsigned thread)
{
    Reading *const r = context;
    const size_t at = task * READ_BYTES, left = r->bytes - at;
    const size_t bytes = left < READ_BYTES ? left : READ_BYTES;
    size_t got;
    (void)thread;
    if (source_read(r->source, r->first + at, r->to + at, bytes, &got, NULL) != IMGSTAT_OK ||
        got < bytes)
        atomic_store(&r->failed, true);
}

/* Moves a part of the file to the device. *read becomes false if the file lacks it. */
static ImgstatResult bring(TileBands *b, const FileSpan *span, uint64_t to, bool *read,
                           ImgstatError *err)
{
    *read = true;
    for (uint64_t done = 0; done < span->bytes && *read; done += STAGING_BYTES) {
        const uint64_t left = span->bytes - done;
        Reading reading = {.source = b->decoder->source,
                           .first = span->first + done,
                           .bytes = left < STAGING_BYTES ? (size_t)left : STAGING_BYTES,
                           .to = b->staging};
        atomic_init(&reading.failed, false);
        thread_pool_run(b->pool, (reading.bytes - 1) / READ_BYTES + 1, read_part, &reading);
        *read = !atomic_load(&reading.failed);
        if (*read)
            IMGSTAT_TRY(b->device->ops->upload(b->device, b->memory, to + done - b->memory.address,
                                               b->staging, reading.bytes, err));
    }
    return IMGSTAT_OK;
}

/* Brings the compressed bytes of a band to its slot, which stays unready if the processor must
 * decode them. */
static ImgstatResult prepare(TileBands *b, uint32_t band, ImgstatError *err)
{
    Slot *const slot = &b->slot[band % SLOTS];
    TiledPage *const page = slot->work.pages;
    FileSpan span;
    size_t n;
    const CodedTile *const tiles = tiles_at(b, band, &n);
    slot->ready = false;
    if (!tiles_span(tiles, n, &span))
        return IMGSTAT_OK;
    IMGSTAT_TRY(bring(b, &span, slot->in, &slot->ready, err));
    *page = b->page;
    page->height = rows_at(b, band);
    page->n_tiles = (uint32_t)n;
    page->down = (uint32_t)(n / page->across);
    page->pixels = slot->pixels;
    page->pitch = b->pitch;
    slot->work.n_tiles = n;
    memcpy(slot->work.tiles, tiles, n * sizeof *tiles);
    tiles_move(page, slot->work.tiles, n, &span, slot->in, b->out, 0);
    for (size_t t = 0; t < n; t++)
        slot->work.tiles[t].number = (uint32_t)t;
    return IMGSTAT_OK;
}

/* Begins to decode a band. The uploads of the next one wait for the kernels of this device's
 * stream: those that use a band are there before, or they would wait for this one. */
static ImgstatResult decode(TileBands *b, uint32_t band, ImgstatError *err)
{
    const Slot *const slot = &b->slot[band % SLOTS];
    return slot->ready ? b->device->ops->decode_async(b->device, decode_stream, &slot->work,
                                                      slot->list_there, slot->check_there, err)
                       : IMGSTAT_OK;
}

/* ---- Bands ---- */

void tile_bands_close(TileBands *b)
{
    if (!b)
        return;
    const DeviceOps *const ops = b->device->ops;
    if (b->memory.bytes > 0)
        (void)(ops->wait(b->device, decode_stream, NULL) == IMGSTAT_OK);
    ops->release(b->device, &b->memory);
    if (b->staging)
        ops->host_release(b->device, b->staging);
    if (b->lists)
        ops->host_release(b->device, b->lists);
    thread_pool_destroy(b->pool);
    free(b->tiles);
    free(b);
}

/* Whether that much of the device's memory may be used. */
static bool has_memory(const Device *device, size_t bytes)
{
    ImgstatDeviceInfo info;
    imgstat_device_describe(device, &info);
    return bytes <= info.memory_bytes / MEMORY_SHARE;
}

bool tile_bands_possible(Decoder *decoder, uint32_t unit)
{
    const Codec *const codec = decoder->codec;
    TileBands b = {.decoder = decoder};
    return codec->coded_tiles && !page_is_masked(decoder) && !decoder->how.salvage &&
           decoder->caps.unit_rows > 0 && codec->coded_tiles(decoder, &b.page, NULL) &&
           choose_bands(&b, unit);
}

ImgstatResult tile_bands_open(Device *device, Decoder *decoder, uint32_t unit, TileBands **out,
                              ImgstatError *err)
{
    *out = NULL;
    if (device->ops->fetches || !tile_bands_possible(decoder, unit))
        return IMGSTAT_OK;
    TileBands *const b = calloc(1, sizeof *b);
    if (!b)
        return error_memory(err, sizeof *b, "bands of tiles");
    *b = (TileBands){.device = device, .decoder = decoder};
    size_t bytes;
    ImgstatResult res = IMGSTAT_OK;
    const bool fits = decoder->codec->coded_tiles(decoder, &b->page, &b->tiles) &&
                      choose_bands(b, unit) && has_memory(device, bytes = place_slots(b));
    if (fits)
        res = allocate(b, bytes, err);
    const bool lacks = res == IMGSTAT_ERR_MEMORY; /* others use the device's memory as well */
    if (fits && res == IMGSTAT_OK)
        res = prepare(b, 0, err);
    if (fits && res == IMGSTAT_OK)
        *out = b;
    else
        tile_bands_close(b);
    return lacks ? IMGSTAT_OK : res;
}

ImgstatResult tile_bands_next(TileBands *b, ImagePro *band, bool *decoded, ImgstatError *err)
{
    const DeviceOps *const ops = b->device->ops;
    const ImgstatPage *const page = &b->decoder->page;
    const uint32_t i = b->next;
    Slot *const slot = &b->slot[i % SLOTS];
    *band = (ImagePro){0};
    if (i == b->n)
        return IMGSTAT_OK;
    b->next++;
    IMGSTAT_TRY(decode(b, i, err));
    if (i + 1 < b->n)
        IMGSTAT_TRY(prepare(b, i + 1, err));
    DeflatedCheck check = {.doubt = DOUBT_STREAM};
    if (slot->ready) {
        IMGSTAT_TRY(ops->wait(b->device, decode_stream, err));
        IMGSTAT_TRY(ops->download(b->device, &check, slot->check_there, 0, sizeof check, err));
    }
    *decoded = check.doubt == 0;
    IMGSTAT_TRY(imgstat_image_wrap(IMGSTAT_CUDA, b->device->index, (void *)(uintptr_t)slot->pixels,
                                   b->pitch, page->width, rows_at(b, i), page->channels,
                                   page->sample, page->bits, NULL, NULL, band, err));
    band->first_row = i * b->rows;
    if (page->has_nodata)
        imgstat_image_set_nodata(band, page->nodata);
    return IMGSTAT_OK;
}
