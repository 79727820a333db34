/* SPDX-License-Identifier: MIT */
/* grid.c: the rectangles that images are cut into, and what pixels a thread gets for one. */
#include "cpu/cpu.h"

/* Samples of a rectangle, about: large enough to hide what a task costs, small enough that threads
 * finish a band together and that 32-bit counters hold it many times over. A segment is whole
 * pieces. */
enum { TASK_SAMPLES = 1 << 18, SEGMENT_PIXELS = 64 * PIECE };
/* Of what a thread fetches for a rectangle: it stays in the cache of a core, beside counters. */
enum { FETCH_BYTES = 1 << 19 };

static size_t pixel_bytes(const ImagePro *image)
{
    return (size_t)image->channels * sample_bits(image->sample) / 8;
}

CpuGrid cpu_grid(const ImagePro *image)
{
    CpuGrid grid = {0};
    if (image->width == 0 || image->height == 0)
        return grid;
    grid.segment = image->width < SEGMENT_PIXELS ? image->width : SEGMENT_PIXELS;
    grid.segments = (image->width - 1) / grid.segment + 1;
    const uint64_t across = (uint64_t)grid.segment * image->channels;
    const uint64_t rows = across < TASK_SAMPLES ? TASK_SAMPLES / across : 1;
    grid.rows = image->height < rows ? image->height : (uint32_t)rows;
    grid.bands = (image->height - 1) / grid.rows + 1;
    return grid;
}

CpuGrid cpu_source_grid(const PixelSource *source, const ImagePro *image)
{
    CpuGrid grid = cpu_grid(image);
    if (image->host || grid.bands == 0)
        return grid;
    const size_t fit = FETCH_BYTES / (image->width * pixel_bytes(image));
    if (source->tile_width) {
        grid.segment = source->tile_width;
        grid.rows = source->tile_height;
    } else if (fit < grid.rows) {
        grid.rows = fit > 0 ? (uint32_t)fit : 1;
    }
    grid.segments = (image->width - 1) / grid.segment + 1;
    grid.bands = (image->height - 1) / grid.rows + 1;
    return grid;
}

CpuRect cpu_rect(const ImagePro *image, const CpuGrid *grid, size_t task)
{
    CpuRect rect = {.image = image};
    rect.y0 = (uint32_t)(task / grid->segments) * grid->rows;
    rect.x0 = (uint32_t)(task % grid->segments) * grid->segment;
    rect.y1 = image->height - rect.y0 < grid->rows ? image->height : rect.y0 + grid->rows;
    rect.x1 = image->width - rect.x0 < grid->segment ? image->width : rect.x0 + grid->segment;
    return rect;
}

bool cpu_rect_fetch(const PixelSource *source, unsigned thread, CpuRect *rect, ImagePro *rows)
{
    const ImagePro *image = rect->image;
    if (image->host)
        return true;
    const uint32_t n = rect->y1 - rect->y0;
    const void *pixels;
    *rows = *image;
    if (source->tile_width) {
        pixels = source->tile(source->context, thread, rect->x0, rect->y0, &rows->pitch);
        rows->host = (void *)((uintptr_t)pixels - rect->x0 * pixel_bytes(image)); /* of column 0 */
    } else {
        pixels = source->rows(source->context, thread, rect->y0, n);
        rows->host = (void *)(uintptr_t)pixels; /* only read */
    }
    rows->height = n;
    rows->first_row += rect->y0;
    *rect = (CpuRect){.image = rows, .y1 = n, .x0 = rect->x0, .x1 = rect->x1};
    return pixels != NULL;
}

ImgstatResult cpu_check_image(const ImagePro *image, ImgstatError *err)
{
    if (image->memory != IMGSTAT_HOST && image->memory != IMGSTAT_PINNED)
        return error_set(err, IMGSTAT_ERR_ARG, "the CPU cannot read an image in device memory");
    if (!image->host && image->width > 0 && image->height > 0)
        return error_set(err, IMGSTAT_ERR_ARG, "the image has no pixels");
    return IMGSTAT_OK;
}

ImgstatResult cpu_check_source(const PixelSource *source, ImgstatError *err)
{
    if (source->rows || source->tile_width)
        return source->n == 1 ? IMGSTAT_OK
                              : error_set(err, IMGSTAT_ERR_ARG, "rows of one image are fetched");
    for (size_t i = 0; i < source->n; i++)
        IMGSTAT_TRY(cpu_check_image(&source->images[i], err));
    return IMGSTAT_OK;
}
