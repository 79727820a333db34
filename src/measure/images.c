/* SPDX-License-Identifier: MIT */
/* images.c: statistics of many images in memory, which a device counts together. */
#include "base/thread_pool.h"
#include "measure/deviation.h"
#include "measure/measure.h"
#include "measure/result.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROUND_BYTES = 64 << 20, /* of records on the device at a time, but for one image at least */
    TASK_BYTES = 128 << 10  /* whose statistics a thread computes at a time: about 0.3 ms */
};

/* Images whose records are on the device at a time. */
typedef struct Round {
    Device *device;
    const ImagePro *images;
    size_t n;
    const ImgstatMeasure *how;
    DeviceRecord *records; /* n; their memory is one piece of `bytes` bytes, in that order */
    size_t bytes;
} Round;

static size_t bytes_of(const ImagePro *image, const ImgstatMeasure *how)
{
    return record_bytes(image->sample, image->channels, result_parts(how));
}

/* Takes the images that fit from `left` on. */
static void take_images(Round *round, size_t left)
{
    round->n = 0;
    round->bytes = 0;
    while (round->n < left) {
        const size_t bytes = bytes_of(&round->images[round->n], round->how);
        if (round->n > 0 && bytes > ROUND_BYTES - round->bytes)
            return;
        round->bytes += bytes;
        round->n++;
        if (round->bytes >= ROUND_BYTES)
            return;
    }
}

/* Counts the images of a round into host memory. */
static ImgstatResult count(const Round *round, void *to, ImgstatError *err)
{
    const DeviceOps *const ops = round->device->ops;
    const PixelSource source = {.images = round->images, .n = round->n};
    const PixelView view = {.channels = VIEW_EACH};
    DevMem all;
    IMGSTAT_TRY(ops->alloc(round->device, round->bytes, &all, err));
    uint64_t address = all.address;
    for (size_t i = 0; i < round->n; i++) {
        const ImagePro *const image = &round->images[i];
        const size_t bytes = bytes_of(image, round->how);
        round->records[i] = (DeviceRecord){.mem = {address, bytes},
                                           .sample = image->sample,
                                           .channels = image->channels,
                                           .parts = result_parts(round->how)};
        address += bytes;
    }
    ImgstatResult res = ops->measure(round->device, &source, view, round->records, err);
    if (res == IMGSTAT_OK)
        res = ops->download(round->device, to, all, 0, round->bytes, err);
    if (res != IMGSTAT_OK)
        (void)(device_wait(round->device, NULL) == IMGSTAT_OK);
    ops->release(round->device, &all);
    return res;
}

/* Makes the record of an image of what was counted. */
static ImgstatResult finish(const Round *round, size_t i, const unsigned char *counted,
                            ImgstatRecord **out, ImgstatError *err)
{
    const ImagePro *const image = &round->images[i];
    const DeviceRecord *const from = &round->records[i];
    Record *record = NULL;
    IMGSTAT_TRY(record_reserve(round->device->cache, from->sample, from->channels, from->parts,
                               &record, err));
    memcpy(record->tally, counted, from->mem.bytes);
    record_finalize(record, image->has_nodata, image->nodata_key);
    if (!deviation_needs_bins(record) || (from->parts & RECORD_BINS))
        return measure_finish_image(round->device, image, round->how, record, out, err);
    record_destroy(record);
    return imgstat_measure_image(round->device, image, round->how, out, err);
}

/* What the threads compute statistics of. */
typedef struct Finishing {
    const Round *round;
    const unsigned char *counted;
    ImgstatRecord **out;
    size_t images; /* of a task */
} Finishing;

static const unsigned char *counted_of(const Finishing *f, size_t i)
{
    return f->counted + (f->round->records[i].mem.address - f->round->records[0].mem.address);
}

/* Images that fail stay without a record. */
static void finish_task(void *context, size_t task, unsigned thread)
{
    const Finishing *const f = context;
    const size_t first = task * f->images, left = f->round->n - first;
    (void)thread;
    for (size_t i = first; i < first + (left < f->images ? left : f->images); i++)
        if (sample_is_narrow(f->round->images[i].sample) &&
            finish(f->round, i, counted_of(f, i), &f->out[i], NULL) != IMGSTAT_OK)
            f->out[i] = NULL;
}

/* Statistics of narrow samples, which never need a further read by the device, are computed by all
 * threads. */
static void finish_together(Finishing *f)
{
    const size_t average = f->round->bytes / f->round->n;
    f->images = average < TASK_BYTES ? TASK_BYTES / average : 1;
    const size_t tasks = (f->round->n + f->images - 1) / f->images;
    const unsigned threads = f->round->device->threads;
    ThreadPool *pool = NULL;
    if (tasks < 2 || threads < 2 ||
        thread_pool_create(threads < tasks ? threads : (unsigned)tasks, &pool, NULL) != IMGSTAT_OK)
        return;
    thread_pool_run(pool, tasks, finish_task, f);
    thread_pool_destroy(pool);
}

static ImgstatResult measure_round(const Round *round, ImgstatRecord **out, ImgstatError *err)
{
    unsigned char *const counted = buffer_cache_acquire(round->device->cache, round->bytes);
    if (!counted)
        return error_memory(err, round->bytes, "records");
    Finishing finishing = {.round = round, .counted = counted, .out = out};
    ImgstatResult res = count(round, counted, err);
    if (res == IMGSTAT_OK)
        finish_together(&finishing);
    for (size_t i = 0; i < round->n && res == IMGSTAT_OK; i++)
        if (!out[i])
            res = finish(round, i, counted_of(&finishing, i), &out[i], err);
    buffer_cache_release(counted);
    return res;
}

static ImgstatResult check(const ImagePro *images, size_t n, const ImgstatMeasure *how,
                           ImgstatError *err)
{
    for (size_t i = 0; i < n; i++) {
        IMGSTAT_TRY(image_check(&images[i], err));
        IMGSTAT_TRY(
            record_check_bytes(images[i].sample, images[i].channels, result_parts(how), err));
    }
    return IMGSTAT_OK;
}

static ImgstatResult measure_rounds(Device *device, const ImagePro *images, size_t n,
                                    const ImgstatMeasure *how, ImgstatRecord **out,
                                    ImgstatError *err)
{
    Round round = {.device = device, .images = images, .how = how};
    IMGSTAT_TRY(check(images, n, how, err));
    round.records = calloc(n + 1, sizeof *round.records);
    if (!round.records)
        return error_memory(err, n * sizeof *round.records, "records");
    ImgstatResult res = IMGSTAT_OK;
    for (size_t i = 0; i < n && res == IMGSTAT_OK; i += round.n) {
        round.images = images + i;
        take_images(&round, n - i);
        res = measure_round(&round, out + i, err);
    }
    free(round.records);
    return res;
}

ImgstatResult imgstat_measure_images(ImgstatDevice *device, const ImagePro *images, size_t n,
                                     const ImgstatMeasure *how, ImgstatRecord **records,
                                     ImgstatError *err)
{
    for (size_t i = 0; records && i < n; i++)
        records[i] = NULL;
    IMGSTAT_TRY(error_if_null(device && (images || n == 0) && records, __func__, err));
    how = how ? how : &result_least;
    ImgstatResult res = result_check(how, err);
    if (how->region.width == 0 && how->region.height == 0 && res == IMGSTAT_OK)
        res = measure_rounds(device, images, n, how, records, err);
    else
        for (size_t i = 0; i < n && res == IMGSTAT_OK; i++)
            res = imgstat_measure_image(device, &images[i], how, &records[i], err);
    for (size_t i = 0; i < n && res != IMGSTAT_OK; i++) {
        imgstat_record_destroy(records[i]);
        records[i] = NULL;
    }
    return res;
}
