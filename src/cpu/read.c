/* SPDX-License-Identifier: MIT */
/* read.c: a further read of an image, and its parts as calls of their own. */
#include "cpu/read.h"

/* Rectangles that are looked through together, beside the groups of the windows' last batch. */
typedef struct Batch {
    CpuRead *read;
    size_t first;               /* rectangle */
    unsigned groups;            /* tasks; those after them are rectangles */
    unsigned channel, channels; /* of those with windows: first, and how many get their pieces */
} Batch;

static void look_through(const Batch *batch, size_t task, unsigned thread)
{
    CpuRead *const read = batch->read;
    CpuRect rect = cpu_rect(read->image, &read->grid, batch->first + task);
    ImagePro rows;
    const bool there = cpu_rect_fetch(read->device, thread, &rect, &rows);
    if (there && batch->channel == 0 && read->n > 0)
        cpu_counts_rect(read, &rect, thread);
    if (there && batch->channel == 0 && read->pass->central)
        cpu_central_rect(read, &rect, thread);
    for (unsigned c = 0; c < batch->channels; c++)
        cpu_windows_piece(read->device, there ? &rect : NULL, batch->channel + c,
                          task * batch->channels + c, thread);
}

static void run_task(void *context, size_t task, unsigned thread)
{
    const Batch *const batch = context;
    if (task < batch->groups)
        cpu_windows_count(batch->read->device->windows, (unsigned)task);
    else
        look_through(batch, task - batch->groups, thread);
}

/* As many rectangles as the windows have room for; of one with more channels than that, a part. */
static void look_in_batches(CpuRead *read, size_t rects)
{
    CpuWindows *const windows = read->device->windows;
    const unsigned active = cpu_windows_channels(windows);
    unsigned channel = 0;
    for (size_t first = 0; first < rects;) {
        const unsigned left = active - channel;
        const CpuWindowsBatch room = cpu_windows_batch(windows, left);
        const Batch batch = {.read = read,
                             .first = first,
                             .groups = room.groups,
                             .channel = channel,
                             .channels = left < room.pieces ? left : (unsigned)room.pieces};
        const size_t fit = channel > 0 ? 1 : room.pieces / batch.channels;
        const size_t n = rects - first < fit ? rects - first : fit;
        thread_pool_run(read->device->pool, batch.groups + n, run_task, (void *)(uintptr_t)&batch);
        cpu_windows_made(windows, n * batch.channels);
        channel += batch.channels;
        if (channel == active) {
            first += n;
            channel = 0;
        }
    }
}

ImgstatResult cpu_read(Device *base, const ImagePro *image, const ReadRequest *pass,
                       ImgstatError *err)
{
    CpuDevice *const device = (CpuDevice *)base;
    CpuRead read = {.device = device, .image = image, .pass = pass, .grid = cpu_grid(image)};
    if (!base->source)
        IMGSTAT_TRY(cpu_check_image(image, err));
    if (pass->n_windows)
        IMGSTAT_TRY(cpu_windows_check(device, image, err));
    IMGSTAT_TRY(cpu_counts_begin(&read, err));
    const size_t rects = (size_t)read.grid.segments * read.grid.bands;
    Batch all = {.read = &read};
    if (pass->n_windows)
        look_in_batches(&read, rects);
    else if (read.n > 0 || pass->central)
        thread_pool_run(device->pool, rects, run_task, &all);
    return cpu_counts_end(&read, err);
}

ImgstatResult cpu_count_digits(Device *device, const ImagePro *image, DigitCount *counts, size_t n,
                               ImgstatError *err)
{
    return cpu_read(device, image, &(ReadRequest){.digits = counts, .n_digits = n}, err);
}

ImgstatResult cpu_count_range(Device *device, const ImagePro *image, RangeCount *counts, size_t n,
                              ImgstatError *err)
{
    return cpu_read(device, image, &(ReadRequest){.ranges = counts, .n_ranges = n}, err);
}

ImgstatResult cpu_gather(Device *device, const ImagePro *image, KeyGather *gathers, size_t n,
                         ImgstatError *err)
{
    return cpu_read(device, image, &(ReadRequest){.gathers = gathers, .n_gathers = n}, err);
}

ImgstatResult cpu_windows_add(Device *device, const ImagePro *image, ImgstatError *err)
{
    return cpu_read(device, image, &(ReadRequest){.n_windows = 1}, err);
}

ImgstatResult cpu_central(Device *device, const ImagePro *image, const double *center, Central *out,
                          ImgstatError *err)
{
    return cpu_read(device, image, &(ReadRequest){.center = center, .central = out}, err);
}
