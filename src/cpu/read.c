/* SPDX-License-Identifier: MIT */
/* read.c: a further read of an image, and each of its parts as a call of its own. */
#include "cpu/read.h"

static void read_task(void *context, size_t task, unsigned thread)
{
    CpuRead *const read = context;
    CpuRect rect = cpu_rect(read->image, &read->grid, task);
    ImagePro rows;
    if (!cpu_rect_fetch(read->device, thread, &rect, &rows))
        return;
    if (read->n > 0)
        cpu_counts_rect(read, &rect, thread);
    if (read->pass->central)
        cpu_central_rect(read, &rect, thread);
}

ImgstatResult cpu_read(Device *base, const ImagePro *image, const ReadRequest *pass,
                       ImgstatError *err)
{
    CpuDevice *const device = (CpuDevice *)base;
    CpuRead read = {.device = device, .image = image, .pass = pass, .grid = cpu_grid(image)};
    if (!base->source)
        IMGSTAT_TRY(cpu_check_image(image, err));
    IMGSTAT_TRY(cpu_counts_begin(&read, err));
    const size_t rects = (size_t)read.grid.segments * read.grid.bands;
    if (read.n > 0 || pass->central)
        thread_pool_run(device->pool, rects, read_task, &read);
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

ImgstatResult cpu_central(Device *device, const ImagePro *image, const double *center, Central *out,
                          ImgstatError *err)
{
    return cpu_read(device, image, &(ReadRequest){.center = center, .central = out}, err);
}
