/* SPDX-License-Identifier: MIT */
/* worker.c: what a worker keeps from file to file. */
#include "transform/worker.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdlib.h>

enum {
    CODEC_BYTES = 5 << 20 /* what decoder and encoder keep allocated between files */
};

/* Frees the texts of a page. */
static void mapped_release(const ImgstatMapped *item)
{
    free((void *)(uintptr_t)item->name);
    free((void *)(uintptr_t)item->transfer);
}

ImgstatResult mapped_pages_add(MappedPages *pages, const ImgstatMapped *item, ImgstatError *err)
{
    ImgstatResult res = IMGSTAT_OK;
    if (!item->name || !item->transfer)
        res = error_memory(err, 0, "the text of a transfer");
    if (res == IMGSTAT_OK && pages->n == pages->room) {
        const size_t room = pages->room ? 2 * pages->room : 1;
        ImgstatMapped *const items = realloc(pages->items, room * sizeof *items);
        if (items) {
            pages->items = items;
            pages->room = room;
        } else {
            res = error_memory(err, room * sizeof *items, "the pages of a file");
        }
    }
    if (res == IMGSTAT_OK)
        pages->items[pages->n++] = *item;
    else
        mapped_release(item);
    return res;
}

void mapped_pages_release(MappedPages *pages)
{
    for (size_t i = 0; i < pages->n; i++)
        mapped_release(&pages->items[i]);
    free(pages->items);
    *pages = (MappedPages){0};
}

ImgstatResult worker_open(Device *device, const char *name, unsigned threads, Cancel cancel,
                          TransformWorker *out, ImgstatError *err)
{
    *out = (TransformWorker){.device = device, .name = name};
    device->cancel = cancel;
    const ImgstatResult res = thread_pool_create(threads, &out->pool, err);
    out->deflaters = deflaters_create(); /* without it each file makes its own */
    if (res != IMGSTAT_OK)
        worker_close(out);
    return res;
}

static void release_bands(TransformWorker *worker)
{
    band_memory_release(worker->device, &worker->in);
    band_memory_release(worker->device, &worker->indices);
    band_memory_release(worker->device, &worker->out);
}

void worker_forget_nodata(TransformWorker *worker)
{
    transfer_destroy(worker->with_nodata);
    transfer_id_release(worker->given);
    worker->with_nodata = NULL;
    worker->given = NULL;
}

/* Each thread's heap would keep what it had at most. Where the program has another malloc, the
 * first call sets glibc's up, which two threads must not do at once. */
static void trim_heaps(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void worker_use_threads(TransformWorker *worker, unsigned threads)
{
    worker->device->threads = threads;
    worker->device->ops->use_threads(worker->device, threads);
}

void worker_trim(TransformWorker *worker, uint64_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (bytes == 0) {
        worker_forget_nodata(worker);
        deflaters_trim(worker->deflaters);
        worker->device->ops->use_threads(worker->device, 0);
    }
    const uint64_t codec = bytes < CODEC_BYTES ? bytes : CODEC_BYTES;
    uint64_t held = worker->in.bytes + worker->indices.bytes + worker->out.bytes;
    if (held > bytes - codec) {
        release_bands(worker);
        held = 0;
    }
    if (worker->device->cache)
        buffer_cache_trim(worker->device->cache, (size_t)(bytes - held));
    if (bytes < CODEC_BYTES) {
        pthread_once(&once, trim_heaps);
        trim_heaps();
    }
}

void worker_close(TransformWorker *worker)
{
    if (worker->device)
        release_bands(worker);
    feeder_release(&worker->feeder);
    page_rows_destroy(worker->rows);
    if (worker->device)
        worker->device->ops->release(worker->device, &worker->mapped_there);
    worker_forget_nodata(worker);
    thread_pool_destroy(worker->pool);
    deflaters_destroy(worker->deflaters);
    imgstat_device_close(worker->device);
    *worker = (TransformWorker){0};
}
