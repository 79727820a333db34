/* SPDX-License-Identifier: MIT */
/* page_batch.c: streams fill the memory of a batch from below, rows and pixels from above. */
#include "decode/page_batch.h"

#include "codec/decode_work.h"
#include "decode/deflated_place.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAGING_BYTES = 6 << 20, /* about two photographs, 100 us of the bus */
    ROW_ALIGN = 16,
    WARM_SIDE = 64
};

/* The per-thread default stream (imgstat_async.h): a thread waits for its own batch only. */
static void *const thread_stream = (void *)(uintptr_t)2;

/* Pinned memory. */
typedef struct Staging {
    void *memory;
    size_t bytes;
    bool taken;
} Staging;

typedef struct BatchPage {
    ImgstatPage page;
    ImagePro image; /* in the device's memory */
    DeflatedRows rows;
    size_t record_at; /* among all records */
} BatchPage;

struct PageBatch {
    SharedDevice *shared;
    DevMem memory;
    DevMem rows_there, checks_there; /* its beginning */
    DeflatedRows *rows;              /* host_alloc */
    size_t bottom, top;              /* what lies between is free */
    Staging *staging;                /* NULL: the batch is not being filled */
    size_t staged;                   /* bytes in it, which belong below `bottom` */
    BatchPage page[BATCH_PAGES];
    size_t n;
    unsigned parts;
    DeflatedCheck check[BATCH_PAGES];
    uint8_t *counts; /* records */
    size_t counts_bytes;
};

/* ---- The device ---- */

ImgstatResult shared_device_create(Device *device, unsigned staging, bool owned, SharedDevice **out,
                                   ImgstatError *err)
{
    SharedDevice *const shared = calloc(1, sizeof *shared);
    Staging *const all = calloc(staging, sizeof *all);
    *out = NULL;
    if (!shared || !all) {
        free(shared);
        free(all);
        if (owned)
            imgstat_device_close(device);
        return error_memory(err, staging * sizeof *all, "a device");
    }
    *shared =
        (SharedDevice){.device = device, .staging = all, .n_staging = staging, .owned = owned};
    shared->stream = owned ? thread_stream : device->ops->own_stream(device);
    pthread_mutex_init(&shared->lock, NULL);
    *out = shared;
    return IMGSTAT_OK;
}

void shared_device_destroy(SharedDevice *shared)
{
    if (!shared)
        return;
    Device *const device = shared->device;
    for (unsigned i = 0; i < shared->n_staging; i++)
        if (shared->staging[i].memory)
            device->ops->host_release(device, shared->staging[i].memory);
    if (shared->owned)
        imgstat_device_close(device);
    pthread_mutex_destroy(&shared->lock);
    free(shared->staging);
    free(shared);
}

static ImgstatResult wrap(const SharedDevice *shared, uint64_t address, size_t pitch,
                          const ImgstatPage *page, ImagePro *out, ImgstatError *err)
{
    IMGSTAT_TRY(imgstat_image_wrap(IMGSTAT_CUDA, shared->device->index, (void *)(uintptr_t)address,
                                   pitch, page->width, page->height, page->channels, page->sample,
                                   page->bits, NULL, NULL, out, err));
    if (page->has_nodata)
        imgstat_image_set_nodata(out, page->nodata);
    return IMGSTAT_OK;
}

/* Counts images into zeroed memory of the device. The lock is held. */
static ImgstatResult measure_images(SharedDevice *shared, const ImagePro *images,
                                    const size_t *record_at, size_t n, unsigned parts,
                                    DevMem counts, ImgstatError *err)
{
    DeviceRecord record[BATCH_PAGES];
    const PixelSource source = {.images = images, .n = n};
    const PixelView view = {.channels = VIEW_EACH};
    for (size_t i = 0; i < n; i++) {
        record[i] = (DeviceRecord){
            .sample = images[i].sample, .channels = images[i].channels, .parts = parts};
        record[i].mem = (DevMem){counts.address + record_at[i],
                                 record_bytes(images[i].sample, images[i].channels, parts)};
    }
    return shared->device->ops->measure(shared->device, &source, view, record, err);
}

static ImgstatResult warm_measuring(SharedDevice *shared, const ImgstatPage *page, unsigned parts,
                                    ImgstatError *err)
{
    Device *const device = shared->device;
    const DeviceOps *const ops = device->ops;
    ImgstatPage small = *page;
    small.width = small.height = WARM_SIDE;
    const size_t pixel = page->channels * imgstat_sample_bytes(page->sample);
    const size_t pitch = padded(WARM_SIDE * pixel, ROW_ALIGN);
    const size_t record = record_bytes(page->sample, page->channels, parts);
    ImagePro image[BATCH_PAGES];
    const size_t record_at[BATCH_PAGES] = {0}; /* they share it */
    DevMem pixels = {0}, counts = {0};
    ImgstatResult res = ops->alloc(device, pitch * WARM_SIDE, &pixels, err);
    if (res == IMGSTAT_OK)
        res = ops->alloc(device, record, &counts, err);
    for (size_t i = 0; res == IMGSTAT_OK && i < BATCH_PAGES; i++)
        res = wrap(shared, pixels.address, pitch, &small, &image[i], err);
    for (size_t n = 1; res == IMGSTAT_OK && n <= BATCH_PAGES; n *= BATCH_PAGES)
        res = measure_images(shared, image, record_at, n, parts, counts, err);
    if (res == IMGSTAT_OK)
        res = ops->wait(device, err);
    ops->release(device, &counts);
    ops->release(device, &pixels);
    return res;
}

ImgstatResult shared_device_warm(SharedDevice *shared, const ImgstatPage *page, unsigned parts,
                                 ImgstatError *err)
{
    const DecodeWork nothing = {0};
    const DevMem none = {0, 0};
    IMGSTAT_TRY(shared->device->ops->decode_async(shared->device, shared->stream, &nothing, none,
                                                  none, err));
    return page ? warm_measuring(shared, page, parts, err) : IMGSTAT_OK;
}

/* ---- Staging memory ---- */

static Staging *acquire_staging(SharedDevice *shared)
{
    Staging *found = NULL;
    pthread_mutex_lock(&shared->lock);
    for (unsigned i = 0; i < shared->n_staging && !found; i++)
        if (!shared->staging[i].taken)
            found = &shared->staging[i];
    assert(found); /* one for each thread that fills */
    found->taken = true;
    pthread_mutex_unlock(&shared->lock);
    return found;
}

static void release_staging(PageBatch *batch)
{
    if (!batch->staging)
        return;
    pthread_mutex_lock(&batch->shared->lock);
    batch->staging->taken = false;
    pthread_mutex_unlock(&batch->shared->lock);
    batch->staging = NULL;
}

/* Moves what is staged to the device. */
static ImgstatResult upload_staged(PageBatch *batch, ImgstatError *err)
{
    Device *const device = batch->shared->device;
    const size_t bytes = batch->staged;
    batch->staged = 0;
    if (bytes == 0)
        return IMGSTAT_OK;
    pthread_mutex_lock(&batch->shared->lock);
    const ImgstatResult res = device->ops->upload(device, batch->memory, batch->bottom - bytes,
                                                  batch->staging->memory, bytes, err);
    pthread_mutex_unlock(&batch->shared->lock);
    return res;
}

/* Makes room for so many bytes of a file behind what is staged. */
static ImgstatResult reserve_staging(PageBatch *batch, size_t bytes, ImgstatError *err)
{
    Device *const device = batch->shared->device;
    Staging *const staging = batch->staging;
    if (staging->memory && staging->bytes - batch->staged >= bytes)
        return IMGSTAT_OK;
    IMGSTAT_TRY(upload_staged(batch, err));
    if (staging->memory && staging->bytes >= bytes)
        return IMGSTAT_OK;
    const size_t wanted = bytes > STAGING_BYTES ? bytes + bytes / 4 : (size_t)STAGING_BYTES;
    pthread_mutex_lock(&batch->shared->lock);
    if (staging->memory)
        device->ops->host_release(device, staging->memory);
    staging->memory = NULL;
    const ImgstatResult res = device->ops->host_alloc(device, wanted, &staging->memory, err);
    pthread_mutex_unlock(&batch->shared->lock);
    staging->bytes = wanted;
    return res;
}

/* ---- Filling ---- */

ImgstatResult page_batch_create(SharedDevice *shared, size_t bytes, PageBatch **out,
                                ImgstatError *err)
{
    Device *const device = shared->device;
    void *rows = NULL;
    PageBatch *batch = calloc(1, sizeof *batch);
    *out = NULL;
    if (!batch)
        return error_memory(err, sizeof *batch, "a batch of pages");
    batch->shared = shared;
    pthread_mutex_lock(&shared->lock);
    ImgstatResult res = device->ops->alloc(device, bytes, &batch->memory, err);
    if (res == IMGSTAT_OK)
        res = device->ops->host_alloc(device, BATCH_PAGES * sizeof *batch->rows, &rows, err);
    pthread_mutex_unlock(&shared->lock);
    batch->rows = rows;
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
    Device *const device = batch->shared->device;
    release_staging(batch);
    pthread_mutex_lock(&batch->shared->lock);
    if (batch->rows)
        device->ops->host_release(device, batch->rows);
    device->ops->release(device, &batch->memory);
    pthread_mutex_unlock(&batch->shared->lock);
    free(batch->counts);
    free(batch);
}

void page_batch_begin(PageBatch *batch)
{
    const uint64_t base = batch->memory.address;
    batch->n = batch->bottom = batch->staged = 0;
    size_t at = place(&batch->bottom, BATCH_PAGES * sizeof(DeflatedRows));
    batch->rows_there = (DevMem){base + at, BATCH_PAGES * sizeof(DeflatedRows)};
    at = place(&batch->bottom, sizeof batch->check);
    batch->checks_there = (DevMem){base + at, sizeof batch->check};
    batch->top = batch->memory.bytes / PLACE_ALIGN * PLACE_ALIGN;
    if (!batch->staging)
        batch->staging = acquire_staging(batch->shared);
}

/* Stages the compressed bytes of a page. Returns false if the device cannot decode it. */
static bool stage(PageBatch *batch, Decoder *decoder, BatchPage *page, size_t *bytes)
{
    uint8_t colors[DEFLATED_COLORS][4];
    uint8_t *const to = (uint8_t *)batch->staging->memory + batch->staged;
    DeflatedRows *const rows = &page->rows;
    const size_t room = batch->staging->bytes - batch->staged - DEFLATED_COLOR_BYTES;
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

/* Places the rows and the pixels of a page that is staged. Returns false if they do not fit. */
static bool place_page(PageBatch *batch, BatchPage *page, size_t pitch, size_t stream)
{
    const uint64_t base = batch->memory.address;
    DeflatedRows *const rows = &page->rows;
    const uint64_t colors = rows->colors;
    size_t bytes = 0;
    deflated_place(rows, &bytes);
    rows->pixels = place(&bytes, pitch * rows->height);
    if (batch->top < bytes || batch->top - bytes < batch->bottom + stream)
        return false;
    batch->top -= bytes;
    batch->bottom += stream;
    batch->staged += stream;
    deflated_move(rows, base + batch->top);
    rows->pixels += base + batch->top;
    rows->in += base;
    rows->colors = colors + base;
    rows->pitch = pitch;
    return true;
}

ImgstatResult page_batch_add(PageBatch *batch, Decoder *decoder, PageAdded *added,
                             ImgstatError *err)
{
    const ImgstatPage *const from = &decoder->page;
    const uint64_t file = decoder->source->bytes + 2 * PLACE_ALIGN + DEFLATED_COLOR_BYTES;
    const PageAdded no_room = batch->n > 0 ? PAGE_FULL : PAGE_REFUSED;
    size_t row, pixels, stream;
    *added = PAGE_REFUSED;
    if (!decoder->codec->deflated || page_is_masked(decoder) || decoder->how.salvage ||
        !size_product(from->width, from->channels * imgstat_sample_bytes(from->sample), &row) ||
        row > SIZE_MAX - ROW_ALIGN || !size_product(padded(row, ROW_ALIGN), from->height, &pixels))
        return IMGSTAT_OK;
    const size_t free_bytes = batch->top - batch->bottom;
    *added = no_room;
    if (batch->n == BATCH_PAGES || file > free_bytes || pixels > (free_bytes - file) / 2)
        return IMGSTAT_OK;
    IMGSTAT_TRY(reserve_staging(batch, (size_t)file, err));
    BatchPage *const page = &batch->page[batch->n];
    *added = PAGE_REFUSED;
    if (!stage(batch, decoder, page, &stream))
        return IMGSTAT_OK;
    *added = no_room;
    if (!place_page(batch, page, padded(row, ROW_ALIGN), stream))
        return IMGSTAT_OK;
    page->page = *from;
    IMGSTAT_TRY(wrap(batch->shared, page->rows.pixels, page->rows.pitch, from, &page->image, err));
    batch->rows[batch->n++] = page->rows;
    *added = PAGE_ADDED;
    return IMGSTAT_OK;
}

/* ---- Counting ---- */

/* Makes host memory for all records, and places them. */
static ImgstatResult place_records(PageBatch *batch, size_t *record_at, ImgstatError *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < batch->n; i++) {
        const ImagePro *const image = &batch->page[i].image;
        record_at[i] = batch->page[i].record_at =
            place(&bytes, record_bytes(image->sample, image->channels, batch->parts));
    }
    if (batch->counts_bytes < bytes) {
        free(batch->counts);
        batch->counts = malloc(bytes);
        batch->counts_bytes = bytes;
        if (!batch->counts) {
            batch->counts_bytes = 0;
            return error_memory(err, bytes, "records");
        }
    }
    return IMGSTAT_OK;
}

/* The lock is held. */
static ImgstatResult read_checks(PageBatch *batch, ImgstatError *err)
{
    Device *const device = batch->shared->device;
    return device->ops->download(device, batch->check, batch->checks_there, 0,
                                 batch->n * sizeof *batch->check, err);
}

/* Counts pages that are decoded. The lock is held. */
static ImgstatResult count_decoded(PageBatch *batch, ImgstatError *err)
{
    Device *const device = batch->shared->device;
    const DeviceOps *const ops = device->ops;
    ImagePro images[BATCH_PAGES];
    size_t record_at[BATCH_PAGES];
    DevMem counts = {0};
    IMGSTAT_TRY(place_records(batch, record_at, err));
    const size_t n = batch->n, last = n - 1;
    for (size_t i = 0; i < n; i++)
        images[i] = batch->page[i].image;
    const size_t bytes =
        record_at[last] + record_bytes(images[last].sample, images[last].channels, batch->parts);
    IMGSTAT_TRY(ops->alloc(device, bytes, &counts, err));
    ImgstatResult res =
        measure_images(batch->shared, images, record_at, n, batch->parts, counts, err);
    if (res == IMGSTAT_OK)
        res = ops->download(device, batch->counts, counts, 0, bytes, err);
    if (res == IMGSTAT_OK)
        res = read_checks(batch, err);
    ops->release(device, &counts);
    return res;
}

ImgstatResult page_batch_send(PageBatch *batch, ImgstatError *err)
{
    Device *const device = batch->shared->device;
    ImgstatResult res = upload_staged(batch, err);
    release_staging(batch);
    if (res != IMGSTAT_OK || batch->n == 0)
        return res;
    pthread_mutex_lock(&batch->shared->lock);
    const DecodeWork work = {.rows = batch->rows, .n_rows = batch->n};
    res = device->ops->decode_async(device, batch->shared->stream, &work, batch->rows_there,
                                    batch->checks_there, err);
    pthread_mutex_unlock(&batch->shared->lock);
    return res;
}

ImgstatResult page_batch_wait(PageBatch *batch, ImgstatError *err)
{
    Device *const device = batch->shared->device;
    IMGSTAT_TRY(device->ops->wait_async(device, batch->shared->stream, err));
    pthread_mutex_lock(&batch->shared->lock);
    const ImgstatResult res = read_checks(batch, err);
    pthread_mutex_unlock(&batch->shared->lock);
    return res;
}

ImgstatResult page_batch_count(PageBatch *batch, unsigned parts, ImgstatError *err)
{
    Device *const device = batch->shared->device;
    batch->parts = parts;
    IMGSTAT_TRY(device->ops->wait_async(device, batch->shared->stream, err));
    pthread_mutex_lock(&batch->shared->lock);
    const ImgstatResult res = count_decoded(batch, err);
    pthread_mutex_unlock(&batch->shared->lock);
    return res;
}

const ImagePro *page_batch_image(const PageBatch *batch, size_t i, const ImgstatPage *page)
{
    const BatchPage *const from = &batch->page[i];
    return batch->check[i].doubt || !page_has_shape(page, &from->page) ? NULL : &from->image;
}

ImgstatResult page_batch_record(const PageBatch *batch, size_t i, const ImgstatPage *page,
                                BufferCache *cache, Record **out, ImgstatError *err)
{
    const ImagePro *const image = page_batch_image(batch, i, page);
    *out = NULL;
    if (!image)
        return IMGSTAT_OK;
    IMGSTAT_TRY(record_create(cache, image->sample, image->channels, batch->parts, out, err));
    memcpy((*out)->tally, batch->counts + batch->page[i].record_at,
           record_bytes(image->sample, image->channels, batch->parts));
    record_finalize(*out, image->has_nodata, image->nodata_key);
    return IMGSTAT_OK;
}

ImgstatResult feeder_use(Feeder *feeder, Device *device, ImgstatError *err)
{
    IMGSTAT_TRY(shared_device_create(device, 1, false, &feeder->own, err));
    feeder->shared = feeder->own;
    return IMGSTAT_OK;
}

void feeder_release(Feeder *feeder)
{
    page_batch_destroy(feeder->pages);
    shared_device_destroy(feeder->own);
    *feeder = (Feeder){0};
}
