/* SPDX-License-Identifier: MIT */
/* tile_threads.c: rows of strips or tiles decoded by several threads. The page's own handle is the
 * decoder of record: a tile that a thread does not decode without a word is decoded again by it,
 * in order, so that samples, warnings and errors are those of one handle alone. */
#include "tiff/decoder.h"

#include <stdlib.h>

/* Pages that decode to less are not worth a thread's start. */
enum { THREADS_BYTES = 1 << 20 };

/* What a thread decodes with: a decoder that shares the page with the one it helps. */
typedef struct Helper {
    TiffDecoder td;
    bool ready, failed;
    bool had_warning; /* libtiff had something to say */
} Helper;

struct TiffHelpers {
    ThreadPool *pool; /* NULL: no threads */
    unsigned n;
    bool decompressor; /* tiles are decompressed without libtiff */
    Helper helper[];
};

static void on_warning(void *context, const char *sentence)
{
    Helper *const helper = context;
    (void)sentence;
    helper->had_warning = true;
}

static void release_helper(Helper *helper)
{
    TiffDecoder *const td = &helper->td;
    if (!helper->ready)
        return;
    if (td->decompressor)
        tiff_decompressor_destroy(td->decompressor);
    else
        tiff_handle_close(&td->handle);
    warnings_release(&td->base.warnings);
    buffer_cache_release(td->tile);
    buffer_cache_release(td->row);
    helper->ready = false;
}

void tiff_helpers_destroy(TiffHelpers *helpers)
{
    if (!helpers)
        return;
    for (unsigned i = 0; i < helpers->n; i++)
        release_helper(&helpers->helper[i]);
    thread_pool_destroy(helpers->pool);
    free(helpers);
}

/* Begins with the description of the page and none of the memory that `of` decodes into. */
static bool make_ready(Helper *helper, const TiffDecoder *of, bool decompressor)
{
    TiffDecoder *const td = &helper->td;
    if (helper->ready || helper->failed)
        return helper->ready;
    *td = *of;
    td->base.warnings =
        (Warnings){.warn = on_warning, .context = helper, .name = of->base.source->name};
    td->tile = td->row = td->band = NULL;
    td->tile_room = 0;
    td->planes = NULL;
    td->helpers = NULL;
    td->handle.strip = NULL;
    td->decompressor = NULL;
    td->primed = false;
    td->base.how.salvage = false; /* damage is for the decoder of record */
    helper->failed = true;
    helper->ready = true;
    if (decompressor) { /* the handle is asked where tiles lie, which changes nothing in it */
        td->decompressor = tiff_decompressor_create(td);
        helper->failed = td->decompressor == NULL;
        if (helper->failed)
            helper->ready = false;
    } else if (tiff_handle_open(td, &td->handle, NULL) == IMGSTAT_OK &&
               tiff_handle_read_directory(td, &td->handle)) {
        tiff_page_prepare(td);
        helper->failed = false;
    }
    if (helper->failed)
        release_helper(helper);
    return !helper->failed;
}

static bool needs_helpers(TiffDecoder *td)
{
    const ImgstatPage *const page = &td->base.page;
    const TiffLayout *const layout = &td->layout;
    const uint64_t bytes = page_bytes(page);
    if (td->base.mode == DECODE_PLAIN || layout->mode == TIFF_READ_RGBA)
        return false;
    const bool decompressor = tiff_decompressor_suits(td);
    const bool threads = (bytes >= THREADS_BYTES || td->base.mode == DECODE_THREADS) &&
                         td->base.options.threads != 1 &&
                         (uint64_t)layout->across * layout->down * layout->planes > 1;
    if (!decompressor && !threads)
        return false;
    if (td->helpers)
        return true;
    ThreadPool *pool = NULL;
    const unsigned most = decompressor ? td->base.options.threads : tiff_handle_threads(td);
    if (threads && thread_pool_create(most, &pool, NULL) != IMGSTAT_OK)
        return false;
    const unsigned n = pool ? thread_pool_threads(pool) : 1;
    td->helpers = calloc(1, sizeof *td->helpers + n * sizeof(Helper));
    if (!td->helpers || (n == 1 && !decompressor)) {
        thread_pool_destroy(pool);
        free(td->helpers);
        td->helpers = NULL;
        return false;
    }
    td->helpers->pool = pool;
    td->helpers->n = n;
    td->helpers->decompressor = decompressor;
    return true;
}

bool tiff_tiles_begin(Decoder *base, unsigned threads)
{
    TiffDecoder *const td = (TiffDecoder *)base;
    return needs_helpers(td) && td->helpers->decompressor && td->helpers->n >= threads;
}

const void *tiff_tile_at(const Decoder *base, unsigned thread, uint16_t plane, uint32_t x,
                         uint32_t y, size_t *pitch)
{
    const TiffDecoder *const td = (const TiffDecoder *)base;
    const TiffLayout *const layout = &td->layout;
    Helper *const helper = &td->helpers->helper[thread];
    const uint32_t down = y / layout->tile_height, left = td->base.page.height - y;
    const uint32_t rows = left < layout->tile_height ? left : layout->tile_height;
    const uint32_t row = plane * layout->down + down;
    *pitch = layout->row_bytes;
    if (!make_ready(helper, td, true))
        return NULL;
    helper->td.base.options.buffers = td->base.options.buffers;
    return tiff_tile_decompress(&helper->td, row * layout->across + x / layout->tile_width, rows);
}

/* One call: rows of tiles from `down` on, in the order of one thread: row, plane, column. */
typedef struct Job {
    TiffDecoder *td;
    uint32_t down;
    uint8_t *to;
    size_t pitch;
    bool *done; /* a tile each */
} Job;

static ImgstatResult read_task(TiffDecoder *td, const Job *job, size_t task, ImgstatError *err)
{
    const TiffLayout *const layout = &td->layout;
    const uint32_t across = (uint32_t)(task % layout->across);
    const uint16_t planes = tiff_planes_together(job->td);
    const uint16_t plane = (uint16_t)(tiff_first_plane(job->td) + task / layout->across % planes);
    const uint32_t more = (uint32_t)(task / layout->across / planes);
    const uint32_t down = job->down + more;
    const uint32_t to_end = td->base.page.height - down * layout->tile_height;
    const uint32_t rows = to_end < layout->tile_height ? to_end : layout->tile_height;
    const uint32_t index = (plane * layout->down + down) * layout->across + across;
    return tiff_tile_read(td, index, across, plane,
                          job->to + (size_t)more * layout->tile_height * job->pitch, job->pitch,
                          rows, err);
}

static void help(void *context, size_t task, unsigned thread)
{
    const Job *const job = context;
    TiffHelpers *const helpers = job->td->helpers;
    Helper *const helper = &helpers->helper[thread];
    if (!make_ready(helper, job->td, helpers->decompressor))
        return;
    helper->td.base.options.buffers = job->td->base.options.buffers; /* may have been replaced */
    helper->had_warning = false;
    job->done[task] = read_task(&helper->td, job, task, NULL) == IMGSTAT_OK && !helper->had_warning;
}

ImgstatResult tiff_tiles_read(TiffDecoder *td, uint32_t down, uint32_t n, uint8_t *to, size_t pitch,
                              ImgstatError *err)
{
    const size_t tasks = (size_t)n * tiff_planes_together(td) * td->layout.across;
    Job job = {.td = td, .down = down, .to = to, .pitch = pitch};
    if (needs_helpers(td))
        job.done = calloc(tasks, sizeof *job.done);
    if (job.done && td->helpers->pool)
        thread_pool_run(td->helpers->pool, tasks, help, &job);
    else if (job.done)
        for (size_t task = 0; task < tasks; task++)
            help(&job, task, 0);
    ImgstatResult res = IMGSTAT_OK;
    for (size_t task = 0; task < tasks && res == IMGSTAT_OK; task++)
        if (!job.done || !job.done[task])
            res = read_task(td, &job, task, err);
    free(job.done);
    return res;
}
