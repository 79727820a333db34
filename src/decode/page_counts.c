/* SPDX-License-Identifier: MIT */
/* page_counts.c: pages of a batch, counted by the device that has decoded them. */
#include "decode/batch.h"

#include "base/padded.h"
#include "decode/deflated_place.h"

#include <stdlib.h>
#include <string.h>

enum { WARM_SIDE = 64 };

/* Counts images into zeroed memory of the device. */
static ImgstatResult measure_images(Device *device, const ImagePro *images, const size_t *record_at,
                                    size_t n, unsigned parts, DevMem counts, ImgstatError *err)
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
    return device->ops->measure(device, &source, view, record, err);
}

static ImgstatResult warm_measuring(Device *device, const ImgstatPage *page, unsigned parts,
                                    ImgstatError *err)
{
    const DeviceOps *const ops = device->ops;
    ImgstatPage small = *page;
    small.width = small.height = WARM_SIDE;
    const size_t pixel = page->channels * imgstat_sample_bytes(page->sample);
    const size_t pitch = padded(WARM_SIDE * pixel, BATCH_ROW_ALIGN);
    const size_t record = record_bytes(page->sample, page->channels, parts);
    ImagePro image[BATCH_PAGES];
    const size_t record_at[BATCH_PAGES] = {0}; /* they share it */
    DevMem pixels = {0}, counts = {0};
    ImgstatResult res = ops->alloc(device, pitch * WARM_SIDE, &pixels, err);
    if (res == IMGSTAT_OK)
        res = ops->alloc(device, record, &counts, err);
    for (size_t i = 0; res == IMGSTAT_OK && i < BATCH_PAGES; i++)
        res = batch_wrap(device, pixels.address, pitch, &small, &image[i], err);
    for (size_t n = 1; res == IMGSTAT_OK && n <= BATCH_PAGES; n *= BATCH_PAGES)
        res = measure_images(device, image, record_at, n, parts, counts, err);
    if (res == IMGSTAT_OK)
        res = device_wait(device, err);
    ops->release(device, &counts);
    ops->release(device, &pixels);
    return res;
}

ImgstatResult page_batch_warm(Device *device, const ImgstatPage *page, unsigned parts,
                              ImgstatError *err)
{
    const DecodeWork nothing = {0};
    const DevMem none = {0, 0};
    IMGSTAT_TRY(device->ops->decode_async(device, NULL, &nothing, none, none, err));
    return page ? warm_measuring(device, page, parts, err) : IMGSTAT_OK;
}

/* ---- Counting ---- */

/* Makes host memory for all records, and places them. */
static ImgstatResult place_records(PageBatch *batch, size_t *record_at, ImgstatError *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < batch->n; i++) {
        const ImagePro *const image = &batch->page[i].image;
        record_at[i] = batch->page[i].record_at =
            place(&bytes, record_bytes(image->sample, image->channels, batch->count.parts));
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

/* Counts pages that are decoded. */
static ImgstatResult count_decoded(PageBatch *batch, ImgstatError *err)
{
    Device *const device = batch->device;
    const DeviceOps *const ops = device->ops;
    ImagePro images[BATCH_PAGES];
    size_t record_at[BATCH_PAGES];
    DevMem counts = {0};
    IMGSTAT_TRY(place_records(batch, record_at, err));
    const size_t n = batch->n, last = n - 1;
    for (size_t i = 0; i < n; i++)
        images[i] = batch->page[i].image;
    const size_t bytes = record_at[last] + record_bytes(images[last].sample, images[last].channels,
                                                        batch->count.parts);
    IMGSTAT_TRY(ops->alloc(device, bytes, &counts, err));
    ImgstatResult res =
        measure_images(device, images, record_at, n, batch->count.parts, counts, err);
    if (res == IMGSTAT_OK)
        res = ops->download(device, batch->counts, counts, 0, bytes, err);
    if (res == IMGSTAT_OK)
        res = batch_read_checks(batch, err);
    ops->release(device, &counts);
    return res;
}

ImgstatResult page_batch_count(PageBatch *batch, const PageCount *count, ImgstatError *err)
{
    batch->count = *count;
    IMGSTAT_TRY(device_wait(batch->device, err));
    return count_decoded(batch, err);
}

ImgstatResult fed_page_record(const FedPages *fed, const ImgstatPage *page, BufferCache *cache,
                              Record **out, ImgstatError *err)
{
    const PageBatch *const batch = fed->batch;
    const BatchPage *const from = batch_page(fed, page);
    *out = NULL;
    if (!from)
        return IMGSTAT_OK;
    const ImagePro *const image = &from->image;
    IMGSTAT_TRY(
        record_reserve(cache, image->sample, image->channels, batch->count.parts, out, err));
    memcpy((*out)->tally, batch->counts + from->record_at,
           record_bytes(image->sample, image->channels, batch->count.parts));
    record_finalize(*out, image->has_nodata, image->nodata_key);
    record_place_extrema(*out, &batch->count.region, page->width);
    return IMGSTAT_OK;
}
